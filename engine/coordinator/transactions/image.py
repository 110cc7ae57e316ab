"""All that is known of a transactional id, and what it leads to next.

    image ── begun, extended, ended, fenced, completed ──> the next image, to be written down

An image never changes: the next one goes to the log, and takes the place of this one when it is
replicated. So a write that fails has changed nothing.

Epochs tell the incarnations of one producer apart. Each InitProducerId raises the epoch, and who
still writes under an earlier one is fenced. One below the largest is the last that anybody gets:
the largest is kept for fencing that one. After it, another producer id begins with epoch 0.

    InitProducerId without an id        the next epoch
    InitProducerId, "I am (7, 3)"       (7, 3) is current: the next epoch, (7, 4)
                                        (7, 3) was current before, and asked: still (7, 4),
                                        it has not heard the answer (KIP-360)
                                        or else: fenced

Stricter than Kafka 2.8 in one thing: who is fenced, and says who it is, does not get the ongoing
transaction of its successor aborted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from engine.coordinator.effects import Writer
from engine.coordinator.transactions.states import AT_REST, State
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_EPOCH, NO_PRODUCER_ID

UNKNOWN = -1  # a time
NOBODY = Writer(NO_PRODUCER_ID, NO_EPOCH)
LARGEST = 2**15 - 1  # epoch: nobody is given it
LAST = LARGEST - 1


@dataclass(frozen=True, slots=True)
class Image:
    writer: Writer  # the one producer that may write
    timeout: int  # ms: an ongoing transaction that is older is aborted
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()  # of the ongoing or ending transaction
    updated: int = UNKNOWN  # when it came to be as it is
    started: int = UNKNOWN  # when the first partition was added
    # Who the writer was when it asked for a new epoch; not written down, so a successor has to
    # fence who asks the second time.
    before: Writer = NOBODY

    def admits(self, expected: Writer | None) -> bool:
        """Whether one who says it is this writer may become the next one."""
        is_new = self.writer.epoch == NO_EPOCH
        return expected is None or is_new or expected in (self.writer, self.before)

    def begun(
        self, expected: Writer | None, timeout: int, now: int, new_id: Callable[[], int]
    ) -> Self:
        """For a producer that starts, or starts again."""
        if not self.admits(expected):
            raise KafkaError(ErrorCode.producer_fenced, f"{expected} is none of ours any more")
        writer, before = self.writer, self.before
        if expected is None or expected != before:
            before = NOBODY if expected is None or writer.epoch == NO_EPOCH else writer
            writer = self._next(new_id)
        return self._at(
            now,
            writer=writer,
            before=before,
            timeout=timeout,
            state=State.EMPTY,
            partitions=frozenset(),
            started=UNKNOWN,
        )

    def _next(self, new_id: Callable[[], int]) -> Writer:
        if self.writer.epoch >= LAST:
            return Writer(new_id(), 0)
        return self.writer._replace(epoch=self.writer.epoch + 1)

    def extended(self, partitions: frozenset[TopicPartition], now: int) -> Self:
        return self._at(
            now,
            state=State.ONGOING,
            partitions=self.partitions | partitions,
            started=now if self.state in AT_REST else self.started,
        )

    def ended(self, committed: bool, now: int) -> Self:
        return self._at(now, state=State.PREPARE_COMMIT if committed else State.PREPARE_ABORT)

    def fenced(self, now: int) -> Self:
        """Aborted under an epoch that nobody is told of: whoever wrote can't go on."""
        epoch = min(self.writer.epoch + 1, LARGEST)
        return self._at(
            now,
            state=State.PREPARE_ABORT,
            writer=self.writer._replace(epoch=epoch),
            before=NOBODY,
        )

    def completed(self, now: int) -> Self:
        committed = self.state is State.PREPARE_COMMIT
        to = State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT
        return self._at(now, state=to, partitions=frozenset())

    def forgotten(self, now: int) -> Self:
        return self._at(now, state=State.DEAD, partitions=frozenset())

    def is_late(self, now: int) -> bool:
        return self.state is State.ONGOING and self.started + self.timeout < now

    def _at(self, now: int, **changes: object) -> Self:
        return replace(self, updated=now, **changes)  # type: ignore[arg-type]
