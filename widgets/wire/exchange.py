"""Requests and responses from a cluster's events, or messages of a simulator's trace, as arrows.

    event "request"   asker ──────────────────> broker      request: the event's time less `took`
                            <──────────────────             response: the event's time

Both times are by the broker's clock; the time of a message in the network is not measured. The
event of an exchange comes with its response, so one that waits long comes late to the list.

A party is a client by its client.id, or a broker ("broker 1"). A broker is recognized by fields
that only brokers set in a request.

Invariant: arrows are ordered by time, a response after its request.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from engine.broker.frames import NAMES, frame
from engine.cluster.event_stream import ClusterEvent
from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.kraft_apis import BY_NAME
from widgets.wire.anatomy import ANSWER, ASK, FieldNode, dissect, errors
from widgets.wire.values import error_name, title

MOST = 2_000  # exchanges of a live cluster that are kept
REPLIES = ("Fetched", "session")  # the beginnings of simulated responses
CODES = {code.name for code in ErrorCode} - {"none"}
NO_IDS: Mapping[int, str] = {}


def broker(number: int) -> str:
    return f"broker {number}"


class Exchange:
    """A request and its answer."""

    def __init__(self, event: ClusterEvent, ids: Mapping[int, str] = NO_IDS) -> None:
        """`ids`: the transactional id of each producer id, which some requests leave out."""
        self.ids = ids
        facts = self.facts = dict(event.data)  # a copy: the stream removes the bytes of the oldest
        self.number = event.number
        left, came = event.at, event.at - int(facts["took"])  # older recordings have only these
        self.left: float = facts["left_us"] / 1000 if "left_us" in facts else left
        self.came: float = facts["came_us"] / 1000 if "came_us" in facts else came
        self.api = BY_NAME[facts["api"]]
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
        """All have a response except a Produce with acks=0."""
        return self.api != Api.PRODUCE or "partitions" in self.facts

    def frame(self, way: str) -> bytes | None:
        """Its bytes, as far as they are kept."""
        return frame(self.facts, NAMES[way == ANSWER])

    @cached_property
    def asked(self) -> list[FieldNode]:
        return self._leaves(ASK)

    @cached_property
    def answered(self) -> list[FieldNode]:
        return self._leaves(ANSWER)

    def _leaves(self, way: str) -> list[FieldNode]:
        found = self.frame(way)
        return [] if found is None else dissect(self.api.name, self.version, way, found)

    @cached_property
    def errors(self) -> list[str]:
        rows = [row.get("error", 0) for row in self.facts.get("partitions", ())]
        told = [error_name(code) for code in rows if code]
        return list(dict.fromkeys([*errors(self.answered), *told]))

    @cached_property
    def routine(self) -> str:
        """Its name, if it is periodic and without news."""
        if self.api == Api.HEARTBEAT and not self.errors:
            return "heartbeat"
        if self.api == Api.FETCH and not self.errors:
            given = sum(row.get("bytes", 0) for row in self.facts.get("partitions", ()))
            return "" if given else "empty fetch"
        return ""


class MessageArrow(NamedTuple):
    at: float  # ms, by the source of the events
    number: int  # of the exchange, or of the message
    way: str  # ASK or ANSWER
    source: str
    target: str
    kind: str  # the API's name; of a simulated message the first word
    routine: str  # the name under which it is counted; "": it is drawn
    exchange: Exchange | None = None
    words: str = ""  # the text of a simulated message
    lost: bool = False
    answer: bool = True  # it has a response

    @property
    def key(self) -> str:
        return f"{self.number}{'<' if self.way == ANSWER else '>'}"

    @property
    def ends(self) -> tuple[str, str]:
        return self.source, self.target

    @property
    def parties(self) -> set[str]:
        return {self.source, self.target}


class MessageLog:
    """All arrows, and their parties."""

    def __init__(self, most: int = 0) -> None:
        """`most`: exchanges that are kept; 0: all."""
        self.arrows: list[MessageArrow] = []
        self.parties: list[str] = []  # clients in the order of their first request, then brokers
        self.kinds: list[str] = []
        self.forgotten = 0
        self.start: float | None = None
        self._most = most
        self._number = 0  # of the last event
        self._ids: dict[int, str] = {}  # the transactional id of each producer id

    @property
    def last(self) -> int:
        return self._number

    def add(self, events: Iterable[ClusterEvent]) -> bool:
        """Whether there was something new."""
        found: list[MessageArrow] = []
        for event in events:
            self._number = max(self._number, event.number)
            if event.kind == "request":
                found += _arrows(Exchange(event, self._ids))
            elif event.kind == "transaction.changed":
                self._ids[event.data["producer"]] = event.data["id"]
        return self._take(found)

    def add_moments(self, moments: Iterable[Any]) -> bool:
        """Add the messages of a simulator's moments."""
        number = 0
        found: list[MessageArrow] = []
        for moment in moments:
            for each in moment.messages:
                number += 1
                found.append(_message(number, moment.at, each))
        return self._take(found)

    def _take(self, found: list[MessageArrow]) -> bool:
        if not found:
            return False
        arrows = sorted([*self.arrows, *found], key=_place)
        if not self.forgotten:  # a long request may have come before the first event
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


def _place(arrow: MessageArrow) -> tuple[float, int, bool]:
    return arrow.at, arrow.number, arrow.way == ANSWER


def rank(party: str) -> tuple[int, int]:
    """Clients on the left, then brokers by number, then ZooKeeper."""
    name, _, number = party.partition(" ")
    is_broker = name == "broker" and number.isdigit()
    return (1, int(number)) if is_broker else (2, 0) if party == "zookeeper" else (0, 0)


def _arrows(it: Exchange) -> Iterator[MessageArrow]:
    kind, answer = title(it.api), it.has_answer
    ends = it.asker, it.server
    yield MessageArrow(it.came, it.number, ASK, *ends, kind, it.routine, it, answer=answer)
    if answer:
        yield MessageArrow(it.left, it.number, ANSWER, *ends[::-1], kind, it.routine, it)


def _message(number: int, at: int, each: Any) -> MessageArrow:
    """A simulated message; its text shows whether it is a request or a response."""
    source, target = _party(each.source), _party(each.target)
    kind, _, rest = each.text.partition(" ")
    is_answer = kind in REPLIES or kind.endswith("Response")
    is_answer |= source.startswith("broker ") and not target.startswith(("broker ", "zoo"))
    way, kind = (ANSWER, "answers") if is_answer else (ASK, kind.rstrip(",:"))
    routine = "routine message" if each.routine else ""
    words, lost = each.text if is_answer else rest, each.arrives < 0
    if not lost:
        words += f", {each.arrives - at} ms"
    return MessageArrow(
        at, number, way, source, target, kind, routine, None, words.strip(", "), lost
    )


def _party(machine: str) -> str:
    name, _, number = machine.partition("-")
    return broker(int(number)) if name == "broker" and number.isdigit() else machine
