"""The states of a transactional id, under Kafka's names, and in the order of Kafka's numbers.

    InitProducerId                 EndTxn: commit                    all partitions know
         │              ┌──────────────────────────> PREPARE_COMMIT ──> COMPLETE_COMMIT ──┐
         v              │          EndTxn: abort                                          │
       EMPTY ──────> ONGOING ──────────────────────> PREPARE_ABORT ───> COMPLETE_ABORT ───┤
         ^            ^ │  InitProducerId, too long          ^                            │
         │            │ └─────> PREPARE_EPOCH_FENCE ─────────┘                            │
         │            └──────────────────────── the next transaction ─────────────────────┤
         └───────────────────────────── InitProducerId ───────────────────────────────────┘

    EMPTY                a producer has been given an id and an epoch, and has not begun yet
    ONGOING              it writes; each partition is added before the first record goes there
    PREPARE_COMMIT       decided, whatever happens: all that was written is to count
    PREPARE_ABORT        decided, whatever happens: nothing that was written is to count
    COMPLETE_COMMIT      every partition has the marker
    COMPLETE_ABORT       every partition has the marker
    DEAD                 it was not used for long, and is forgotten
    PREPARE_EPOCH_FENCE  on the way to the log: an abort, with an epoch that leaves its producer
                         behind

Invariant: a transaction changes its state by `check`ed steps only.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


NUMBERED = tuple(State)  # by Kafka's number, as it stands in a record

COMPLETE = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
AT_REST = COMPLETE | {State.EMPTY}  # nothing is going on
ENDING = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})  # not all partitions know yet

# To each state, those from which it may be reached.
BEFORE: Mapping[State, frozenset[State]] = {
    State.EMPTY: AT_REST,
    State.ONGOING: AT_REST | {State.ONGOING},
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    State.PREPARE_ABORT: frozenset({State.ONGOING, State.PREPARE_EPOCH_FENCE}),
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    State.DEAD: AT_REST,
    State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
}


def check(was: State, to: State) -> None:
    assert was in BEFORE[to], f"no transaction goes from {was.value} to {to.value}"
