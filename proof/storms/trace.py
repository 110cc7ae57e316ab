"""A run with all its states, events and messages: step forward, step back, fork it.

    trace = Trace.of(seed=7)
    trace.violation                    the broken invariant, or None
    trace.at(12_340)                   the cluster 12.34 s after its start, a ClusterState
    trace[0], trace[1], ...            every moment with a change, an event or a message
    trace.index(12_340)                the index of the moment; + 1 is the next, - 1 the previous
    trace.fork(at=12_000, seed=8)      the same run until then, and another one from there on
    print(trace.diagram())             a sequence diagram, as text
    trace.save("run.jsonl.gz")         for engine.cluster.recording.Recording

A running cluster can't be copied (half of it is coroutines that wait for an answer), but the same
seed makes the same run again. So a fork runs from the beginning, and its random choices come from
another seed from some time on; and a trace keeps snapshots, not clusters.

Invariant: tracing changes nothing: a run is the same with and without a trace.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.recording import RecordingWriter
from engine.cluster.state import ClusterState
from engine.sim.message_text import message_text
from engine.sim.picture import Picture
from engine.sim.world import START, World
from proof.storms.defects import SOUND, Defect
from proof.storms.diagram import draw
from proof.storms.invariants import Violation
from proof.storms.moment import Moment, TraceMessage
from proof.storms.quorum_defects import OF_KRAFT_TOO
from proof.storms.run import SECONDS, Fork, Run
from proof.storms.storm import KINDS


class Recipe(NamedTuple):
    """All that a run depends on."""

    seed: int
    seconds: float = SECONDS
    defect: str = ""  # a name in DEFECTS or, without ZooKeeper, in KRAFT_DEFECTS
    forks: tuple[Fork, ...] = ()
    planted: Defect | None = None  # a rule of a challenge, which has no name in DEFECTS
    kinds: Collection[str] = KINDS  # of faults
    most: int | None = None  # faults; None: as many as come
    kraft: bool = False  # without ZooKeeper
    controllers: int | None = None  # 0: the brokers are; None: by the seed

    def run(self) -> Run:
        defect = self.planted or (OF_KRAFT_TOO[self.defect] if self.defect else SOUND)
        return Run(
            *(self.seed, self.seconds),
            defect=defect,
            forks=self.forks,
            kinds=self.kinds,
            most=self.most,
            kraft=self.kraft,
            controllers=self.controllers,
        )

    def forked(self, at: int, seed: int) -> "Recipe":
        """The same run until then, and another one from there on."""
        forks = [each for each in self.forks if each.at < at]
        return self._replace(forks=(*forks, Fork(at, seed)))

    @property
    def command(self) -> str:
        """The command that replays the run."""
        words = [f"python -m engine simulate --seed {self.seed} --seconds {self.seconds:g}"]
        words += ["--kraft"] if self.kraft else []
        words += [] if self.controllers is None else [f"--controllers {self.controllers}"]
        words += [f"--defect {self.defect}"] if self.defect else []
        words += [f"--fork {at / 1000:g}:{seed}" for at, seed in self.forks]
        return " ".join(words)


class Trace:
    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.violation: Violation | None = None
        run = recipe.run()
        self._watch(run.world)
        try:
            for _ in run.steps():
                self._keep(run.world)
        except Violation as violation:
            self.violation = violation
            self._keep(run.world)
        except BaseException:
            run.abandon()
            raise
        self.end = run.world.now

    def _watch(self, world: World) -> None:
        self._moments: list[Moment] = []
        self._messages: list[TraceMessage] = []  # of this moment, so far
        self._seen = 0  # how many events
        self._picture = Picture(world)
        world.network.carried.append(self._carried)

    @classmethod
    def of(cls, seed: int, seconds: float = SECONDS, *, defect: str = "") -> Self:
        return cls(Recipe(seed, seconds, defect))

    def fork(self, at: int, seed: int) -> "Trace":
        return Trace(self.recipe.forked(at, seed))

    # -- looking ---------------------------------------------------------------------------

    def at(self, time: int) -> ClusterState:
        """The state so many milliseconds after the start."""
        return self._moments[self.index(time)].state

    def index(self, time: int) -> int:
        """The index of the last moment up to this time; before the first one, of the first."""
        return max(bisect_right(self._moments, time, key=lambda moment: moment.at) - 1, 0)

    def between(self, start: int, end: int) -> Sequence[Moment]:
        first = bisect_left(self._moments, start, key=lambda moment: moment.at)
        return self._moments[first : bisect_right(self._moments, end, key=lambda each: each.at)]

    def __getitem__(self, index: int) -> Moment:
        return self._moments[index]

    def __len__(self) -> int:
        return len(self._moments)

    def __iter__(self) -> Iterator[Moment]:
        return iter(self._moments)

    def diagram(self, start: int = 0, end: int | None = None, *, routine: bool = False) -> str:
        """A line for each message and each event in between. With `routine`, also the periodic
        messages: fetches without records, pings, metadata."""
        moments = self.between(start, self.end if end is None else end)
        return draw(moments, routine=routine)

    def save(self, path: Path | str) -> None:
        writer = RecordingWriter(Path(path))
        with writer.file:
            for moment in self._moments:
                writer.write(moment.state, moment.events, moment is self._moments[-1])

    # -- keeping ---------------------------------------------------------------------------

    def _carried(self, source: str, target: str, what: Any, arrives: int) -> None:
        text = message_text(what)
        if text:
            arrives = arrives - START if arrives > 0 else arrives
            self._messages.append(TraceMessage(source, target, *text, arrives))

    def _keep(self, world: World) -> None:
        state = self._picture.take()
        events = tuple(
            ClusterEvent(kind, at, broker or None, data, number)
            for number, (_, broker, (kind, at, data)) in enumerate(
                world.events[self._seen :], self._seen + 1
            )
        )
        self._seen += len(events)
        last = self._moments[-1] if self._moments else None
        changed = last is None or _differs(last.state, state)
        if changed or events or self._messages:
            messages, self._messages = tuple(self._messages), []
            state = state if changed or last is None else last.state
            if last is not None and last.at == world.now:
                self._moments.pop()
                events, messages = last.events + events, last.messages + messages
            self._moments.append(Moment(world.now, state, events, messages))


def _differs(old: ClusterState, new: ClusterState) -> bool:
    """Whether anything but the clocks has changed."""
    return (
        old.partitions is not new.partitions
        or old.links != new.links
        or old.controller != new.controller
        or any(
            (each.status, each.epoch, each.session, each.active, each.brokers)
            != (was.status, was.epoch, was.session, was.active, was.brokers)
            for each, was in zip(new.brokers.values(), old.brokers.values(), strict=True)
        )
    )
