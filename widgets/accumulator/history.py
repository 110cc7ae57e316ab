"""The batches of a producer over time, made from what it publishes.

    BufferState, ten times a second ──> AccumulatorHistory ──> at(time) ──> AccumulatorMoment

Each batch says when it was created, closed, sent and answered, so a moment between two polls is
known as well. Only how full an open batch was is known from the polls alone.

Invariant: a batch that is done never changes.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from engine.client.producing.batch_log import BatchEvent, BatchState, BatchStep, BufferState, Cause
from engine.model import TopicPartition

Plain: TypeAlias = dict[str, Any]
MOST = 4000  # batches that are kept
DONE = frozenset({BatchEvent.ACKNOWLEDGED, BatchEvent.GIVEN_UP, BatchEvent.SPLIT})


class BatchThen(NamedTuple):
    """A batch as it was at some time."""

    batch: BatchState
    steps: tuple[BatchStep, ...]  # up to then
    records: int | None  # None: not known, since it was open between two polls
    bytes: int

    @property
    def event(self) -> BatchEvent:
        return self.steps[-1].event

    @property
    def cause(self) -> str:
        return next((it.why for it in self.steps if it.event is BatchEvent.CLOSED), "")

    @property
    def attempts(self) -> int:
        return sum(it.event is BatchEvent.SENT for it in self.steps)

    @property
    def done(self) -> bool:
        return self.event in DONE

    @property
    def lasted(self) -> float:
        """Seconds from its first record to its last event."""
        return self.steps[-1].at - self.steps[0].at


class AccumulatorMoment(NamedTuple):
    buffer: BufferState  # the settings; its batches are those below
    at: float  # seconds since the first batch was created
    batches: tuple[BatchThen, ...]
    live: bool

    @property
    def used(self) -> int:
        return self.buffer.used if self.live else sum(it.bytes for it in self.open)

    @property
    def open(self) -> list[BatchThen]:
        return [it for it in self.batches if not it.done]

    @property
    def partitions(self) -> list[TopicPartition]:
        return sorted({it.batch.partition for it in self.batches})

    def with_event(self, *events: BatchEvent) -> list[BatchThen]:
        return [it for it in self.batches if it.event in events]

    def closed_by(self, cause: Cause) -> int:
        return sum(it.cause == cause for it in self.batches)


class AccumulatorHistory:
    def __init__(self) -> None:
        self.buffer: BufferState | None = None  # the last one
        self.batches: dict[int, BatchState] = {}
        self.samples: dict[int, list[tuple[float, int, int]]] = {}  # time, records, bytes
        self.missed = 0  # batches that were done and dropped between two polls
        self._times: list[float] | None = None

    def add(self, buffer: BufferState) -> None:
        newest = max(self.batches, default=0)
        first = min((it.number for it in buffer.batches), default=newest + 1)
        self.missed += max(first - newest - 1, 0)
        for batch in buffer.batches:
            if self.batches.get(batch.number) != batch:
                self.batches[batch.number] = batch
                self._times = None
                if len(batch.steps) == 1:
                    told = buffer.at, batch.records, batch.bytes
                    self.samples.setdefault(batch.number, []).append(told)
        for number in sorted(self.batches)[: max(len(self.batches) - MOST, 0)]:
            del self.batches[number]
            self.samples.pop(number, None)
        self.buffer = buffer._replace(batches=())

    @property
    def times(self) -> list[float]:
        """When something happened to a batch, or it was seen with more records; in order."""
        if self._times is None:
            steps = {step.at for batch in self.batches.values() for step in batch.steps}
            seen = {at for samples in self.samples.values() for at, _, _ in samples}
            self._times = sorted(steps | seen)
        return self._times

    def at(self, index: int | None) -> AccumulatorMoment:
        """After the event of that number; None: now."""
        assert self.buffer is not None, "a view asks the producer before it draws"
        times = self.times
        time = times[index] if index is not None and times else self.buffer.at
        found = (self._then(it, time, index is None) for it in self.batches.values())
        first = times[0] if times else time
        shown = times[-1] if index is None and times else time
        batches = tuple(it for it in found if it is not None)
        return AccumulatorMoment(self.buffer, shown - first, batches, index is None)

    def _then(self, batch: BatchState, time: float, live: bool) -> BatchThen | None:
        steps = batch.steps if live else tuple(it for it in batch.steps if it.at <= time)
        if not steps:
            return None
        if len(steps) > 1 or live:
            return BatchThen(batch, steps, batch.records, batch.bytes)
        seen = [it for it in self.samples.get(batch.number, []) if it[0] <= time]
        return BatchThen(batch, steps, *(seen[-1][1:] if seen else (None, 0)))

    # -- as JSON -----------------------------------------------------------------------------

    def plain(self) -> Plain:
        assert self.buffer is not None, "a view asks the producer before it is kept"
        batches = [
            [it.number, [*it.partition], it.records, it.bytes, [[*s] for s in it.steps], it.offset]
            for it in self.batches.values()
        ]
        samples = [[number, *told] for number, each in self.samples.items() for told in each]
        kept = {"batches": batches, "samples": samples, "missed": self.missed}
        return {"buffer": list(self.buffer[:-1]), **kept}

    @classmethod
    def of(cls, plain: Plain) -> "AccumulatorHistory":
        made = cls()
        made.buffer = BufferState(*plain["buffer"])
        made.missed = plain["missed"]
        for number, partition, records, size, steps, offset in plain["batches"]:
            told = tuple(_steps(steps))
            where = TopicPartition(*partition)
            made.batches[number] = BatchState(number, where, records, size, told, offset)
        for number, *told in plain["samples"]:
            made.samples.setdefault(number, []).append((told[0], told[1], told[2]))
        return made


def _steps(plain: Iterable[list[Any]]) -> Iterable[BatchStep]:
    for at, event, why in plain:
        yield BatchStep(at, BatchEvent(event), why)
