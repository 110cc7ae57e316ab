"""The bytes of traced requests: as text in an event, and never more of them than there is room for.

    asked     | size | header | body ...                    the first 4 KB of the request
    answered  | size | header | body ... length of records | the first 4 KB of the answer, as far
                                                             as it does not come from a log file

Records that are sent straight from a log file are not read for it: their length is the last of
what is told. Whoever decodes finds in a frame's size how much was left out.

Invariant: all texts that are held take no more than `most` characters. The oldest give way: the
event stays, without its bytes.
"""

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from engine.wire.frame import SIZE, Frame

CAP = 4096  # bytes of one frame
IN_A_BROKER, IN_A_LAB = 256 * 1024, 8 * 1024 * 1024  # characters
NAMES = "asked", "answered"  # in the facts of an event

Facts = dict[str, Any]


class Frames:
    """Those whose events are held here, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._facts: deque[Facts] = deque()

    def keep(self, facts: Facts) -> None:
        """An event that has bytes; older ones may lose theirs."""
        self._held += _size(facts)
        self._facts.append(facts)
        while self._held > self._most:
            oldest = self._facts.popleft()
            self._held -= _size(oldest)
            for name in NAMES:
                oldest.pop(name, None)


def told(request: Frame, answer: Sequence[Any] | None) -> Facts:
    """The bytes, as an event has them, of a request without its size and of an answer in pieces."""
    size = SIZE.pack(len(request))
    facts = {NAMES[0]: _text(size + request[: CAP - SIZE.size])}
    if answer is not None:
        ours = takewhile(lambda piece: isinstance(piece, bytes | bytearray | memoryview), answer)
        facts[NAMES[1]] = _text(b"".join(ours)[:CAP])
    return facts


def frame(facts: Facts, name: str) -> bytes | None:
    """One of the two, back from its text; None if it is not told."""
    text = facts.get(name)
    return None if text is None else b64decode(text)


def _text(data: bytes | bytearray) -> str:
    return b64encode(data).decode()


def _size(facts: Facts) -> int:
    return sum(len(facts.get(name, "")) for name in NAMES)
