"""A run of the simulator as a film: what a cluster did when it was only played.

    Trace      moments, in ms since the start       Film      states and events, ms since 1970
    Message    from, to, when it arrives       ──>  Letter    the same, and how far it has come
    Violation, Fork                            ──>  Line      marks on the timeline

Nothing in it is measured, so nothing is missed: each message is there, and one goes through the
run from one to the next. A fork is the same run up to a moment, and another one from there on;
all runs of a family are kept, to go from one to the other and back.

    seed 7   ━━━━━━━●━━━━━━━━━━━━━━━
    seed 8          ↱━━━━━━━━━━━━━━━

Invariant: up to the moment of a fork, both runs have the same pictures.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.cluster.state import ClusterState, Status
from engine.cluster.stream import Happened
from engine.errors import ErrorCode, KafkaError
from widgets.story import EXPIRY, FAULT, NEWS, Line, Sort

if TYPE_CHECKING:
    from engine.sim.trace import Trace

FORKED = Sort("↱", "rose", 5)
BROKEN = Sort("✗", "bad", 6)
KEPT = 8  # runs of a family
TROUBLE = ("link.cut", "link.slowed", "link.loses", "link.scattered")


class Letter(NamedTuple):
    """A message on its way."""

    key: str
    source: str  # broker-1, zookeeper, producer ...
    target: str
    text: str
    sent: int  # ms since 1970
    arrives: int  # never, if that is before it was sent

    @property
    def lost(self) -> bool:
        return self.arrives < self.sent

    def under_way(self, at: int) -> bool:
        return self.sent == at if self.lost else self.sent <= at <= self.arrives

    def share(self, at: int) -> float:
        """How much of its way it has behind it."""
        return 0.5 if self.lost else (at - self.sent) / max(self.arrives - self.sent, 1)


class Rehearsal:
    """A film, as widgets/reel.py wants it, and more."""

    def __init__(self, trace: "Trace", runs: "list[Rehearsal] | None" = None) -> None:
        self.trace = trace
        self._zero = trace[0].state.at - trace[0].at
        self._times = [self._zero + moment.at for moment in trace]
        self._states = [
            moment.state if moment.state.at == at else replace(moment.state, at=at)
            for at, moment in zip(self._times, trace, strict=True)
        ]
        self.end = max(self._zero + trace.end, self._times[-1])
        self._letters = list(self._posted())
        self.steps = self._steps()
        self.runs = [] if runs is None else runs  # the family: one list for all
        self.runs.append(self)
        del self.runs[1 : len(self.runs) - KEPT + 1]

    @property
    def start(self) -> int:
        """When the world began, as the simulator counts."""
        return self._zero

    def at(self, time: int) -> ClusterState:
        return self._states[max(bisect_right(self._times, time) - 1, 0)]

    def __iter__(self) -> Iterator[ClusterState]:
        return iter(self._states)

    @property
    def name(self) -> str:
        """Which run of the family it is."""
        forks = self.trace.recipe.forks
        if not forks:
            return f"seed {self.trace.recipe.seed}"
        return f"seed {forks[-1].seed} from {forks[-1].at / 1000:.2f} s on"

    @property
    def broken(self) -> str:
        """The promise that was not kept; "": none."""
        violation = self.trace.violation
        return violation.invariant.replace("_", " ") if violation else ""

    # -- messages ------------------------------------------------------------------------

    def _posted(self) -> Iterator[Letter]:
        """All but what goes to and fro all the time and brings nothing."""
        for at, moment in zip(self._times, self.trace, strict=True):
            for number, each in enumerate(moment.messages):
                if not each.routine:
                    arrives = self._zero + each.arrives if each.arrives >= 0 else -1
                    key = f"letter {at} {number}"
                    yield Letter(key, each.source, each.target, each.text, at, arrives)

    def letters(self, at: int) -> list[Letter]:
        """Those under way."""
        return [letter for letter in self._letters if letter.under_way(at)]

    def sent(self, after: int, until: int) -> list[Letter]:
        return [letter for letter in self._letters if after < letter.sent <= until]

    def _steps(self) -> list[int]:
        """Every moment at which there is something new to see."""
        seen = {letter.sent for letter in self._letters} | {self.start, self.end}
        seen |= {new.at for old, new in pairwise(self._states) if _changed(old, new)}
        happened = zip(self._times, self.trace, strict=True)
        return sorted(seen | {at for at, moment in happened if moment.events})

    # -- another future ------------------------------------------------------------------

    def fork(self, at: int) -> "Rehearsal":
        """What is seen at that moment stays; what follows is left to chance anew."""
        if at >= self.end:
            reason = "at its end a run has no other future: go back a little, and fork there"
            raise KafkaError(ErrorCode.invalid_request, reason)
        recipes = [run.trace.recipe for run in self.runs]
        used = {seed for it in recipes for seed in (it.seed, *(fork.seed for fork in it.forks))}
        return Rehearsal(self.trace.fork(at - self._zero + 1, max(used) + 1), self.runs)

    # -- what happened -------------------------------------------------------------------

    def events(self, after: int = 0) -> list[Happened]:
        """In the words of a real cluster."""
        found = [told for event in self._happened() if (told := self._translated(event))]
        return [each for each in found if each.number > after]

    def _happened(self) -> Iterator[Happened]:
        """Without what says nothing new: links that were whole are healed all the time, and what
        is done to both directions of a link is told twice."""
        wrong: set[frozenset[Any]] = set()
        for moment in self.trace:
            for event in moment.events:
                ends = frozenset((event.data.get("one"), event.data.get("other")))
                if event.kind == "link.healed":
                    if not wrong:
                        continue
                    wrong.clear()
                elif event.kind in TROUBLE:
                    if ends in wrong:
                        continue
                    wrong.add(ends)
                yield event

    def _translated(self, event: Happened) -> Happened | None:
        """What only a simulator can do, told as a real cluster would see it."""
        match event.kind:
            case "broker.started":
                return event._replace(data={**event.data, "pid": 0})  # as the pictures have it
            case "broker.lost-power":
                lost = f"its power failed, {event.data['records']} records were not on its disk"
                return event._replace(
                    kind="broker.died", data={"broker": event.data["broker"], "reason": lost}
                )
            case "broker.stopping":
                gone = self._gone(event.data["broker"], event.at)
                return event._replace(kind="broker.stopped", at=gone) if gone else None
        return event

    def _gone(self, broker: int, after: int) -> int | None:
        """When a broker that was asked to stop has stopped."""
        later = self._states[bisect_right(self._times, after) - 1 :]
        down = (it.at for it in later if it.brokers[broker].status is Status.DOWN)
        return next(down, None)

    def lines(self) -> list[Line]:
        """What events of a real cluster have no words for."""
        told = [line for event in self._happened() if (line := _line(event))]
        for fork in self.trace.recipe.forks:
            words = f"another future from here on: seed {fork.seed}"
            told.append(Line(self._zero + fork.at - 1, FORKED, words, "fork", "run.forked"))
        broken = self.trace.violation
        if broken is not None:
            words = f"BROKEN PROMISE: {self.broken}"
            told.append(Line(self._zero + broken.at, BROKEN, words, "broken", "promise.broken"))
        return sorted(told, key=lambda line: line.at)


def _changed(old: ClusterState, new: ClusterState) -> bool:
    """But for the time."""
    return (
        old.partitions is not new.partitions
        or old.brokers is not new.brokers
        or (old.controller, old.links) != (new.controller, new.links)
    )


def _line(event: Happened) -> Line | None:
    data = event.data
    match event.kind:
        case "broker.stopping":
            words = f"broker {data['broker']} is asked to stop"
            return Line(event.at, NEWS, words, "stop", event.kind)
        case "session.expired":
            words = f"ZooKeeper ends the session of broker {data['broker']}"
            return Line(event.at, EXPIRY, words, "session", event.kind)
        case "link.loses":
            words = f"link {_ends(data)} loses {data['share']:.0%} of what is sent"
            return Line(event.at, FAULT, words, "loss", event.kind)
        case "link.scattered":
            words = f"on link {_ends(data)} one message overtakes another"
            return Line(event.at, FAULT, words, "disorder", event.kind)
    return None


def _ends(data: dict[str, Any]) -> str:
    return f"{data['one']} – {data['other']}".replace("zookeeper", "ZooKeeper")


def film_of(source: Any) -> Any:
    """A simulator's trace as a film; anything else is one already."""
    return Rehearsal(source) if hasattr(source, "recipe") else source
