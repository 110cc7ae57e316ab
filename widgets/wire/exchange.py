"""Who said what to whom: exchanges out of a cluster's events, or arrows out of a simulator's trace.

    event "request"   asker ──────────────────> broker      it came: the event's time less `took`
                            <──────────────────             the answer left: the event's time

Both times are by the broker's clock; how long a message was on its way nobody has measured. An
exchange is told when its answer leaves, so one that waits long comes late to the list.

A party is a client by its client.id, or a broker ("broker 1"). Brokers are known by what only
brokers say of themselves in a request.

Invariant: arrows are ordered by time, an answer behind its request.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from engine.broker.frames import NAMES, frame
from engine.cluster.stream import Happened
from engine.errors import ErrorCode
from engine.wire.apis import Api
from widgets.wire.anatomy import ANSWER, ASK, Leaf, dissect, errors
from widgets.wire.values import error_name, title

MOST = 2_000  # exchanges of a live cluster that are remembered
REPLIES = ("Fetched", "session")  # how a simulated answer begins
CODES = {code.name for code in ErrorCode} - {"none"}


def broker(number: int) -> str:
    return f"broker {number}"


class Exchange:
    """A request and its answer."""

    def __init__(self, event: Happened) -> None:
        facts = self.facts = dict(event.data)  # the stream takes the bytes of the oldest away
        self.number = event.number
        left, came = event.at, event.at - int(facts["took"])  # all that older recordings tell
        self.left: float = facts["left_us"] / 1000 if "left_us" in facts else left
        self.came: float = facts["came_us"] / 1000 if "came_us" in facts else came
        self.api = Api[facts["api"]]
        self.version = int(facts["version"])
        self.server = broker(event.broker or 0)
        self.asker = self._who()

    def _who(self) -> str:
        for name in ("asker", "replica_id", "controller_id"):
            if name in self.facts:
                return broker(self.facts[name])
        return self.facts["client"] or f"client at {self.facts['peer']}"

    @property
    def title(self) -> str:
        return f"{title(self.api)} v{self.version}"

    @property
    def has_answer(self) -> bool:
        """All have one, but for a produce that wants none."""
        return self.api is not Api.PRODUCE or "partitions" in self.facts

    def frame(self, way: str) -> bytes | None:
        """What is kept of its bytes."""
        return frame(self.facts, NAMES[way == ANSWER])

    @cached_property
    def asked(self) -> list[Leaf]:
        return self._leaves(ASK)

    @cached_property
    def answered(self) -> list[Leaf]:
        return self._leaves(ANSWER)

    def _leaves(self, way: str) -> list[Leaf]:
        found = self.frame(way)
        return [] if found is None else dissect(self.api.name, self.version, way, found)

    @cached_property
    def errors(self) -> list[str]:
        rows = [row.get("error", 0) for row in self.facts.get("partitions", ())]
        told = [error_name(code) for code in rows if code]
        return list(dict.fromkeys([*errors(self.answered), *told]))

    @cached_property
    def routine(self) -> str:
        """What it is, if it comes all the time and brings nothing."""
        if self.api is Api.HEARTBEAT and not self.errors:
            return "heartbeat"
        if self.api is Api.FETCH and not self.errors:
            given = sum(row.get("bytes", 0) for row in self.facts.get("partitions", ()))
            return "" if given else "empty fetch"
        return ""


class Arrow(NamedTuple):
    at: float  # ms, as the source of events counts them
    number: int  # of the exchange, or of the message
    way: str  # ASK or ANSWER
    source: str
    target: str
    kind: str  # the API, as it is written; of a simulated message the first word
    routine: str  # what to count it as; "": it is drawn
    exchange: Exchange | None = None
    words: str = ""  # of a simulated message, which has nothing else
    lost: bool = False
    answer: bool = True  # there will be one

    @property
    def key(self) -> str:
        return f"{self.number}{'<' if self.way == ANSWER else '>'}"

    @property
    def ends(self) -> tuple[str, str]:
        return self.source, self.target

    @property
    def parties(self) -> set[str]:
        return {self.source, self.target}


class Conversation:
    """All arrows that are known, and between whom."""

    def __init__(self, most: int = 0) -> None:
        """`most`: exchanges that are remembered; 0: all."""
        self.arrows: list[Arrow] = []
        self.parties: list[str] = []  # clients in the order in which they came, then brokers
        self.kinds: list[str] = []
        self.forgotten = 0
        self.start: float | None = None
        self._most = most
        self._number = 0  # of the last event

    @property
    def last(self) -> int:
        return self._number

    def add(self, events: Iterable[Happened]) -> bool:
        """Whether there was something new."""
        found: list[Arrow] = []
        for event in events:
            self._number = max(self._number, event.number)
            if event.kind == "request":
                found += _arrows(Exchange(event))
        return self._take(found)

    def tell(self, moments: Iterable[Any]) -> bool:
        """What was sent in a simulator's moments."""
        number = 0
        found: list[Arrow] = []
        for moment in moments:
            for each in moment.messages:
                number += 1
                found.append(_message(number, moment.at, each))
        return self._take(found)

    def _take(self, found: list[Arrow]) -> bool:
        if not found:
            return False
        arrows = sorted([*self.arrows, *found], key=_place)
        if not self.forgotten:  # who waits long has asked before the first that is told
            self.start = arrows[0].at
        if self._most and len(arrows) > 2 * self._most:
            gone = len(arrows) - 2 * self._most
            self.forgotten += gone
            del arrows[:gone]
        self.arrows = arrows
        names = dict.fromkeys([*self.parties, *(it for arrow in found for it in arrow.ends)])
        self.parties = sorted(names, key=rank)
        self.kinds = sorted({*self.kinds, *(arrow.kind for arrow in found)})
        return True


def _place(arrow: Arrow) -> tuple[float, int, bool]:
    return arrow.at, arrow.number, arrow.way == ANSWER


def rank(party: str) -> tuple[int, int]:
    """Clients on the left, then brokers by number, then ZooKeeper."""
    name, _, number = party.partition(" ")
    is_broker = name == "broker" and number.isdigit()
    return (1, int(number)) if is_broker else (2, 0) if party == "zookeeper" else (0, 0)


def _arrows(it: Exchange) -> Iterator[Arrow]:
    kind, answer = title(it.api), it.has_answer
    ends = it.asker, it.server
    yield Arrow(it.came, it.number, ASK, *ends, kind, it.routine, it, answer=answer)
    if answer:
        yield Arrow(it.left, it.number, ANSWER, *ends[::-1], kind, it.routine, it)


def _message(number: int, at: int, each: Any) -> Arrow:
    """A simulated one. Whether it asks or answers its words tell."""
    source, target = _party(each.source), _party(each.target)
    kind, _, rest = each.text.partition(" ")
    is_answer = kind in REPLIES or kind.endswith("Response")
    is_answer |= source.startswith("broker ") and not target.startswith(("broker ", "zoo"))
    way, kind = (ANSWER, "answers") if is_answer else (ASK, kind.rstrip(",:"))
    routine = "routine message" if each.routine else ""
    words, lost = each.text if is_answer else rest, each.arrives < 0
    if not lost:
        words += f", {each.arrives - at} ms"
    return Arrow(at, number, way, source, target, kind, routine, None, words.strip(", "), lost)


def _party(machine: str) -> str:
    name, _, number = machine.partition("-")
    return broker(int(number)) if name == "broker" and number.isdigit() else machine
