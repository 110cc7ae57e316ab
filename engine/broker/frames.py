"""The bytes of traced requests: as text in an event, within a limit.

    asked     | size | header | body ...                    the first 4 KB of the request
    answered  | size | header | body ... length of records | the first 4 KB of the response, up to
                                                             the first records from a log file

Records that are sent from a log file by sendfile are not read for a trace: the bytes end with their
length. The frame's size shows how much is left out.

Invariant: all kept texts together have at most `most` characters. The oldest are removed first;
their events stay, without the bytes.
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
    """The events that have bytes, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._facts: deque[Facts] = deque()

    def keep(self, facts: Facts) -> None:
        """Keep an event with bytes; older events may lose theirs."""
        self._held += _size(facts)
        self._facts.append(facts)
        while self._held > self._most:
            oldest = self._facts.popleft()
            self._held -= _size(oldest)
            for name in NAMES:
                oldest.pop(name, None)


def texts(request: Frame, answer: Sequence[Any] | None) -> Facts:
    """The texts for an event: of a request without its size, and of a response in pieces."""
    size = SIZE.pack(len(request))
    facts = {NAMES[0]: _text(size + request[: CAP - SIZE.size])}
    if answer is not None:
        ours = takewhile(lambda piece: isinstance(piece, bytes | bytearray | memoryview), answer)
        facts[NAMES[1]] = _text(b"".join(ours)[:CAP])
    return facts


def frame(facts: Facts, name: str) -> bytes | None:
    """The bytes of one of the two; None if the event has none."""
    text = facts.get(name)
    return None if text is None else b64decode(text)


def _text(data: bytes | bytearray) -> str:
    return b64encode(data).decode()


def _size(facts: Facts) -> int:
    return sum(len(facts.get(name, "")) for name in NAMES)
