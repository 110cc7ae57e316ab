"""A run of the simulator, for the views.

    Trace            moments, ms since the start   ──>  states and events, ms since 1970
    TraceMessage     from, to, arrival            ──>  SimulatedMessage: with its position
    Violation, Fork                                ──>  StoryLine: marks on the timeline

The trace has every message, so it can be stepped from message to message. A fork is the same run up
to a moment, and another one after it; all forks of a run are kept, to switch between them.

    seed 7   ━━━━━━━●━━━━━━━━━━━━━━━
    seed 8          ↱━━━━━━━━━━━━━━━

Invariant: up to the moment of a fork, both runs have the same pictures.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from engine.errors import invalid_request
from widgets.story import EXPIRY, FAULT, NEWS, Sort, StoryLine

if TYPE_CHECKING:
    from proof.storms.trace import Trace

FORKED = Sort("↱", "rose", 5)
BROKEN = Sort("✗", "bad", 6)
KEPT = 8  # forks of a run, with the run itself
TROUBLE = ("link.cut", "link.slowed", "link.loses", "link.scattered")


class SimulatedMessage(NamedTuple):
    """A message in flight."""

    key: str
    source: str  # broker-1, zookeeper, producer ...
    target: str
    text: str
    sent: int  # ms since 1970
    arrives: int  # before `sent`: never

    @property
    def lost(self) -> bool:
        return self.arrives < self.sent

    def under_way(self, at: int) -> bool:
        return self.sent == at if self.lost else self.sent <= at <= self.arrives

    def share(self, at: int) -> float:
        """The share of its way at this time."""
        return 0.5 if self.lost else (at - self.sent) / max(self.arrives - self.sent, 1)


class SimulatedRun:
    """A Film for widgets/run_source.py, with messages and forks."""

    def __init__(self, trace: "Trace", runs: "list[SimulatedRun] | None" = None) -> None:
        self.trace = trace
        self._zero = trace[0].state.at - trace[0].at
        self._times = [self._zero + moment.at for moment in trace]
        self._states = [
            moment.state if moment.state.at == at else replace(moment.state, at=at)
            for at, moment in zip(self._times, trace, strict=True)
        ]
        self.end = max(self._zero + trace.end, self._times[-1])
        self._messages = list(self._posted())
        self.steps = self._steps()
        self.runs = [] if runs is None else runs  # the run and its forks share one list
        self.runs.append(self)
        del self.runs[1 : len(self.runs) - KEPT + 1]

    @property
    def start(self) -> int:
        """The start of the run, by the simulator's clock."""
        return self._zero

    def at(self, time: int) -> ClusterState:
        return self._states[max(bisect_right(self._times, time) - 1, 0)]

    def __iter__(self) -> Iterator[ClusterState]:
        return iter(self._states)

    @property
    def name(self) -> str:
        """The name of the run among its forks."""
        forks = self.trace.recipe.forks
        if not forks:
            return f"seed {self.trace.recipe.seed}"
        return f"seed {forks[-1].seed} from {forks[-1].at / 1000:.2f} s on"

    @property
    def broken(self) -> str:
        """The broken invariant; "": none."""
        violation = self.trace.violation
        return violation.invariant.replace("_", " ") if violation else ""

    # -- messages ------------------------------------------------------------------------

    def _posted(self) -> Iterator[SimulatedMessage]:
        """All messages except periodic ones without news."""
        for at, moment in zip(self._times, self.trace, strict=True):
            for number, each in enumerate(moment.messages):
                if not each.routine:
                    arrives = self._zero + each.arrives if each.arrives >= 0 else -1
                    key = f"message {at} {number}"
                    yield SimulatedMessage(key, each.source, each.target, each.text, at, arrives)

    def messages(self, at: int) -> list[SimulatedMessage]:
        """The messages in flight."""
        return [message for message in self._messages if message.under_way(at)]

    def sent(self, after: int, until: int) -> list[SimulatedMessage]:
        return [message for message in self._messages if after < message.sent <= until]

    def _steps(self) -> list[int]:
        """The moments at which the picture changes."""
        seen = {message.sent for message in self._messages} | {self.start, self.end}
        seen |= {new.at for old, new in pairwise(self._states) if _changed(old, new)}
        happened = zip(self._times, self.trace, strict=True)
        return sorted(seen | {at for at, moment in happened if moment.events})

    # -- another future ------------------------------------------------------------------

    def fork(self, at: int) -> "SimulatedRun":
        """The run stays the same up to that moment; after it, other random choices are made."""
        if at >= self.end:
            reason = "at its end a run has no other future: go back a little, and fork there"
            raise invalid_request(reason)
        recipes = [run.trace.recipe for run in self.runs]
        used = {seed for it in recipes for seed in (it.seed, *(fork.seed for fork in it.forks))}
        return SimulatedRun(self.trace.fork(at - self._zero + 1, max(used) + 1), self.runs)

    # -- events -------------------------------------------------------------------

    def events(self, after: int = 0) -> list[ClusterEvent]:
        """The events, in the form of a real cluster's."""
        found = [told for event in self._happened() if (told := self._translated(event))]
        return [each for each in found if each.number > after]

    def _happened(self) -> Iterator[ClusterEvent]:
        """Without events that are not new: whole links are healed all the time, and a fault of both
        directions of a link is two events."""
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

    def _translated(self, event: ClusterEvent) -> ClusterEvent | None:
        """A simulator's own faults, as a real cluster would report them."""
        match event.kind:
            case "broker.started":
                return event._replace(data={**event.data, "pid": 0})  # as in the snapshots
            case "broker.lost-power":
                number = event.data["records"]
                were = "1 record was" if number == 1 else f"{number:,} records were"
                lost = f"its power failed, {were} not on its disk"
                return event._replace(
                    kind="broker.died", data={"broker": event.data["broker"], "reason": lost}
                )
            case "broker.stopping":
                gone = self._gone(event.data["broker"], event.at)
                return event._replace(kind="broker.stopped", at=gone) if gone else None
        return event

    def _gone(self, broker: int, after: int) -> int | None:
        """The events of brokers that have stopped after a request."""
        later = self._states[bisect_right(self._times, after) - 1 :]
        down = (it.at for it in later if it.brokers[broker].status is Status.DOWN)
        return next(down, None)

    def lines(self) -> list[StoryLine]:
        """The lines for events that a real cluster does not have."""
        told = [line for event in self._happened() if (line := _line(event))]
        for fork in self.trace.recipe.forks:
            words = f"another future from here on: seed {fork.seed}"
            told.append(StoryLine(self._zero + fork.at - 1, FORKED, words, "fork", "run.forked"))
        broken = self.trace.violation
        if broken is not None:
            words = f"BROKEN PROMISE: {self.broken}"
            told.append(
                StoryLine(self._zero + broken.at, BROKEN, words, "broken", "promise.broken")
            )
        return sorted(told, key=lambda line: line.at)


def _changed(old: ClusterState, new: ClusterState) -> bool:
    """Whether anything but the time has changed."""
    return (
        old.partitions is not new.partitions
        or old.brokers is not new.brokers
        or (old.controller, old.links) != (new.controller, new.links)
    )


def _line(event: ClusterEvent) -> StoryLine | None:
    data = event.data
    match event.kind:
        case "broker.stopping":
            words = f"broker {data['broker']} is asked to stop"
            return StoryLine(event.at, NEWS, words, "stop", event.kind)
        case "session.expired":
            words = f"ZooKeeper ends the session of broker {data['broker']}"
            return StoryLine(event.at, EXPIRY, words, "session", event.kind)
        case "link.loses":
            words = f"link {_ends(data)} loses {data['share']:.0%} of what is sent"
            return StoryLine(event.at, FAULT, words, "loss", event.kind)
        case "link.scattered":
            words = f"on link {_ends(data)} one message overtakes another"
            return StoryLine(event.at, FAULT, words, "disorder", event.kind)
    return None


def _ends(data: dict[str, Any]) -> str:
    return f"{data['one']} – {data['other']}".replace("zookeeper", "ZooKeeper")


def film_of(source: Any) -> Any:
    """A simulator's trace as a film; anything else is one already."""
    return SimulatedRun(source) if hasattr(source, "recipe") else source
