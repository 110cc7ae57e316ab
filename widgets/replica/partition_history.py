"""One partition's history: the ends of its logs, high watermark, leader, and answers to producers.

    states ──> samples    12.30 s   leader 1, epoch 2, ISR 1 2 3, ends 40 40 38, HW 38
                          12.41 s   ... only when something changed
           └─> rises      12.41 s   HW 38 -> 40: these records may be acknowledged
    events ──> answers    12.40 s   a Produce request had its answer: offset 38, no error
           ├─> cuts       15.02 s   broker 1 cut its log back from 42 to 40
           └─> story      elections, faults, changes of the ISR, times without a leader

A producer with acks=all waits for a rise: the high watermark moves, and the leader answers the
requests that wait for lower offsets. It counts only while one broker stays leader, also in a new
epoch; a new leader that learns the high watermark answers no producer. A rise comes from two states
of the leader, so it is as exact as their distance (a tenth of a second when live). Answers are
exact, but brokers report them only while they are traced (`cluster.trace()`).

Invariant: all lists are in the order of time; consecutive samples differ.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, PartitionState
from engine.errors import ErrorCode
from engine.model import TopicPartition
from widgets.story import Story

MOST = 4000  # samples and answers that are kept
NOTHING = PartitionState(-1, -1, (), (), {}, {})  # before it is created, and once it is deleted


class Sample(NamedTuple):
    """The state from this time on, until the next sample."""

    at: int  # ms since 1970, as all times here
    state: PartitionState
    turn: bool = False  # the leader, the ISR or the answering brokers have changed

    @property
    def committed(self) -> int | None:
        """The leader's high watermark, or the last one of a dead leader."""
        leader = self.state.replicas.get(self.state.leader)
        return leader.high_watermark if leader else None

    @property
    def stable(self) -> int | None:
        """The last stable offset of the same replica; an old recording does not have it."""
        leader = self.state.replicas.get(self.state.leader)
        return leader.last_stable if leader and leader.last_stable >= 0 else None

    @property
    def waits(self) -> bool:
        """Readers with read_committed wait for the end of a transaction."""
        return self.stable is not None and self.stable < (self.committed or 0)

    def stands(self, broker: int) -> str:
        """lead, sync, lag, gone (it does not answer), or "" without a replica."""
        replica = self.state.replicas.get(broker)
        if replica is None:
            return ""
        if not replica.answers:
            return "gone"
        if self.state.leader == broker:
            return "lead"
        return "sync" if broker in self.state.isr else "lag"

    @property
    def leader_and_epoch(self) -> tuple[int, int]:
        return self.state.leader_epoch, self.state.leader


class Rise(NamedTuple):
    """A rise of the high watermark."""

    at: int
    was: int
    now: int


class ProduceResponse(NamedTuple):
    """A response to a producer."""

    at: int
    client: str
    offset: int
    error: ErrorCode
    took: int  # ms


class Cut(NamedTuple):
    """A truncation: a log was longer than its leader's."""

    at: int
    broker: int
    was: int
    end: int


Told = TypeVar("Told", Sample, Rise, ProduceResponse, Cut)


def during(found: Sequence[Told], start: int, end: int) -> Sequence[Told]:
    """The items after a start and up to an end, from a list in the order of time."""
    first = bisect_right(found, start, key=lambda it: it.at)
    return found[first : bisect_right(found, end, key=lambda it: it.at)]


class PartitionHistory:
    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.samples: list[Sample] = []
        self.rises: list[Rise] = []
        self.answers: list[ProduceResponse] = []
        self.cuts: list[Cut] = []
        self.story = Story()
        self.transactional = False  # whether the LSO was ever below the high watermark
        self.seen = 0  # the time of the last state
        self._number = 0  # of the last event

    def at(self, time: int) -> Sample:
        """The sample at this time."""
        place = bisect_right(self.samples, time, key=lambda sample: sample.at)
        return self.samples[max(place - 1, 0)]

    @property
    def brokers(self) -> list[int]:
        """All brokers that ever had a replica."""
        return sorted({broker for sample in self.samples for broker in sample.state.replicas})

    # -- states --------------------------------------------------------------------------

    def see(self, states: Iterable[ClusterState]) -> None:
        for state in states:
            self.seen = max(state.at, self.seen)
            now = state.partitions.get(self.partition, NOTHING)
            last = self.samples[-1] if self.samples else None
            if last is None:
                self.samples.append(Sample(state.at, now))
                self.transactional |= self.samples[-1].waits
            elif last.state is not now and last.state != now:
                turn = _standing(last.state) != _standing(now)
                self.samples.append(Sample(max(state.at, last.at), now, turn))
                self._compare(last, self.samples[-1])
                self.transactional |= self.samples[-1].waits
        if len(self.samples) > MOST:
            self._thin_out()

    def _compare(self, old: Sample, new: Sample) -> None:
        was, now = old.committed, new.committed
        if was is None or now is None or old.state.leader != new.state.leader:
            return
        serves = [it.stands(it.state.leader) == "lead" for it in (old, new)]
        if was < now and all(serves):
            self.rises.append(Rise(new.at, was, now))
            del self.rises[:-MOST]

    def _thin_out(self) -> None:
        """Drop every other sample, except the turns."""
        last = len(self.samples) - 1
        self.samples = [
            sample
            for place, sample in enumerate(self.samples)
            if place % 2 == 0 or place == last or sample.turn
        ]

    # -- events --------------------------------------------------------------------------

    def add_events(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            if 0 < event.number <= self._number:
                continue  # a repeated event
            self._number = max(event.number, self._number)
            if event.kind == "request":
                self._answered(event)
            elif self._concerns(event):
                self.story.add([event])
                if event.kind == "log.truncated" and event.broker is not None:
                    self._cut_back(event, event.broker)
        for items in (self.answers, self.cuts):  # by the clocks of several brokers
            items.sort(key=lambda it: it.at)

    def _concerns(self, event: ClusterEvent) -> bool:
        """Whether a line is about this partition."""
        if event.kind == "transaction.changed":
            return str(self.partition) in event.data["partitions"]
        if "topic" not in event.data:
            return event.kind.startswith(("broker.", "link.", "controller."))
        topic, number = self.partition
        return (event.data["topic"], event.data.get("partition", number)) == (topic, number)

    def _cut_back(self, event: ClusterEvent, broker: int) -> None:
        was, end = event.data["was"], event.data["end_offset"]
        if end < was:
            self.cuts.append(Cut(event.at, broker, was, end))

    def _answered(self, event: ClusterEvent) -> None:
        data = event.data
        for row in data.get("partitions", ()) if data.get("api") == "PRODUCE" else ():
            if (row["topic"], row["partition"]) == self.partition:
                error, client = ErrorCode(row["error"]), str(data.get("client"))
                self.answers.append(
                    ProduceResponse(event.at, client, row["offset"], error, data["took"])
                )
        del self.answers[:-MOST]


def _standing(state: PartitionState) -> tuple[object, ...]:
    answers = [(broker, replica.answers) for broker, replica in state.replicas.items()]
    return state.leader, state.leader_epoch, state.isr, answers
