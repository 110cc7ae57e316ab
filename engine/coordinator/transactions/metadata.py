"""What is known of a transactional id: TransactionMetadata, and the states it goes through.

    InitProducerId                 EndTxn: commit               all partitions have the marker
         │              ┌──────────────────────────> PREPARE_COMMIT ──> COMPLETE_COMMIT ──┐
         v              │          EndTxn: abort                                          │
       EMPTY ──────> ONGOING ──────────────────────> PREPARE_ABORT ───> COMPLETE_ABORT ───┤
         ^            ^ │  InitProducerId, timeout           ^                            │
         │            │ └─────> PREPARE_EPOCH_FENCE ─────────┘                            │
         │            └──────────────────────── the next transaction ─────────────────────┤
         └───────────────────────────── InitProducerId ───────────────────────────────────┘

A transactional id that is not used for long is removed: EMPTY, COMPLETE_COMMIT and COMPLETE_ABORT
lead to DEAD, too.

The metadata is immutable. The next metadata is written to the log, and replaces this one when it
is replicated. So a write that fails changes nothing.

An epoch distinguishes a producer from the earlier ones with the same transactional id. Each
InitProducerId raises the epoch, and fences the producers with an earlier one. The largest epoch is
given to no producer: it fences the one before. After that, a new producer id begins with epoch 0.

    InitProducerId without a producer id    the next epoch
    InitProducerId, "I am (7, 3)"           if (7, 3) is current: the next epoch, (7, 4)
                                            if it was current before and asked for an epoch: (7, 4)
                                            again, as the response was lost (KIP-360)
                                            otherwise: fenced

Stricter than Kafka 2.8 in one point: a fenced producer that names its id and epoch does not abort
the ongoing transaction of its successor.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from engine.coordinator.effects import TransactionalProducer
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, TopicPartition
from engine.storage.batch import NO_PRODUCER_ID


class TxnState(Enum):
    """The states of a transactional id"""

    EMPTY = "Empty"  # a producer has an id and an epoch, and no transaction yet
    ONGOING = "Ongoing"  # a partition is added before the first record is written to it
    PREPARE_COMMIT = "PrepareCommit"  # decided: it will be committed, whatever fails
    PREPARE_ABORT = "PrepareAbort"  # decided: it will be aborted, whatever fails
    COMPLETE_COMMIT = "CompleteCommit"  # all partitions have the marker
    COMPLETE_ABORT = "CompleteAbort"  # all partitions have the marker
    DEAD = "Dead"  # not used for long, and removed
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"  # before an abort that fences; never in a record


NUMBERED = tuple(TxnState)  # by Kafka's number, as in a record

COMPLETE = frozenset({TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})
AT_REST = COMPLETE | {TxnState.EMPTY}  # no transaction is ongoing or ending
ENDING = frozenset({TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT})  # markers are being written

# To each state, those from which it may be reached.
BEFORE: Mapping[TxnState, frozenset[TxnState]] = {
    TxnState.EMPTY: AT_REST,
    TxnState.ONGOING: AT_REST | {TxnState.ONGOING},
    TxnState.PREPARE_COMMIT: frozenset({TxnState.ONGOING}),
    TxnState.PREPARE_ABORT: frozenset({TxnState.ONGOING, TxnState.PREPARE_EPOCH_FENCE}),
    TxnState.COMPLETE_COMMIT: frozenset({TxnState.PREPARE_COMMIT}),
    TxnState.COMPLETE_ABORT: frozenset({TxnState.PREPARE_ABORT}),
    TxnState.DEAD: AT_REST,
    TxnState.PREPARE_EPOCH_FENCE: frozenset({TxnState.ONGOING}),
}

UNKNOWN = -1  # a time
NO_PRODUCER = TransactionalProducer(NO_PRODUCER_ID, NO_EPOCH)
MAX_EPOCH = 2**15 - 1  # no producer gets it
LAST_EPOCH = MAX_EPOCH - 1  # that a producer gets


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    producer: TransactionalProducer  # the one that may write
    timeout: int  # ms after which an ongoing transaction is aborted
    state: TxnState = TxnState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()  # of the ongoing or ending transaction
    updated: int = UNKNOWN  # when the metadata was written
    started: int = UNKNOWN  # when the first partition was added
    # The producer before it asked for the current epoch. It is not in the record, so the next
    # coordinator fences a producer that asks again.
    before: TransactionalProducer = NO_PRODUCER

    def admits(self, expected: TransactionalProducer | None) -> bool:
        """Whether a producer that names its current id and epoch may get the next epoch."""
        is_new = self.producer.epoch == NO_EPOCH
        return expected is None or is_new or expected in (self.producer, self.before)

    def with_next_epoch(
        self,
        expected: TransactionalProducer | None,
        timeout: int,
        now: int,
        new_id: Callable[[], int],
    ) -> Self:
        """InitProducerId, from a producer that starts, or continues after an error."""
        if not self.admits(expected):
            raise ApiException(ErrorCode.producer_fenced, f"{expected} was replaced")
        producer, before = self.producer, self.before
        if expected is None or expected != before:
            before = NO_PRODUCER if expected is None or producer.epoch == NO_EPOCH else producer
            if producer.epoch >= LAST_EPOCH:
                producer = TransactionalProducer(new_id(), 0)
            else:
                producer = producer._replace(epoch=producer.epoch + 1)
        return self._at(
            now,
            producer=producer,
            before=before,
            timeout=timeout,
            state=TxnState.EMPTY,
            partitions=frozenset(),
            started=UNKNOWN,
        )

    def with_partitions(self, partitions: frozenset[TopicPartition], now: int) -> Self:
        return self._at(
            now,
            state=TxnState.ONGOING,
            partitions=self.partitions | partitions,
            started=now if self.state in AT_REST else self.started,
        )

    def prepared(self, committed: bool, now: int) -> Self:
        to = TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT
        return self._at(now, state=to)

    def fenced(self, now: int) -> Self:
        """An abort by the coordinator, in an epoch that no producer has: none can write then."""
        epoch = min(self.producer.epoch + 1, MAX_EPOCH)
        return self._at(
            now,
            state=TxnState.PREPARE_ABORT,
            producer=self.producer._replace(epoch=epoch),
            before=NO_PRODUCER,
        )

    def completed(self, now: int) -> Self:
        committed = self.state is TxnState.PREPARE_COMMIT
        to = TxnState.COMPLETE_COMMIT if committed else TxnState.COMPLETE_ABORT
        return self._at(now, state=to, partitions=frozenset())

    def dead(self, now: int) -> Self:
        return self._at(now, state=TxnState.DEAD, partitions=frozenset())

    def is_late(self, now: int) -> bool:
        return self.state is TxnState.ONGOING and self.started + self.timeout < now

    def _at(self, now: int, **changes: object) -> Self:
        return replace(self, updated=now, **changes)  # type: ignore[arg-type]
