"""The states of a producer that has a transactional id.

                  init_transactions                       begin_transaction
    UNINITIALIZED ────────────────> INITIALIZING ──> READY ─────────────> IN_TRANSACTION
                                         ^          ^  ^                   │     │     │
                            a new epoch  │          │  └── COMMITTING <────┘     │     │
                                         │          │         │   commit         │     │
                                         └─────── ABORTING <──│── abort ─────────┘     │
                                                      ^       v                        │
                                                      └──── ABORTABLE_ERROR <──────────┘
                                                      abort         a record was refused, ...

    UNINITIALIZED    the cluster does not know of us yet
    INITIALIZING     InitProducerId: who are we? Whoever had our transactional id before is fenced
    READY            between two transactions
    IN_TRANSACTION   records and offsets may be sent
    COMMITTING       nothing new; what was sent is delivered first, then EndTxn
    ABORTING         likewise, but what was never sent is given up
    ABORTABLE_ERROR  this transaction can't be committed; after an abort all is well again
    FATAL_ERROR      from anywhere, and for good: somebody newer has our transactional id, say

Invariant: a producer changes its state by `check`ed steps only.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    """The states of a producer with a transactional id, under Kafka's names."""

    UNINITIALIZED = "Uninitialized"
    INITIALIZING = "Initializing"
    READY = "Ready"
    IN_TRANSACTION = "InTransaction"
    COMMITTING = "CommittingTransaction"
    ABORTING = "AbortingTransaction"
    ABORTABLE_ERROR = "AbortableError"
    FATAL_ERROR = "FatalError"


# To each state, those from which it may be reached.
BEFORE: Mapping[State, frozenset[State]] = {
    State.UNINITIALIZED: frozenset(),
    State.INITIALIZING: frozenset({State.UNINITIALIZED, State.ABORTING}),
    State.READY: frozenset({State.INITIALIZING, State.COMMITTING, State.ABORTING}),
    State.IN_TRANSACTION: frozenset({State.READY}),
    State.COMMITTING: frozenset({State.IN_TRANSACTION}),
    State.ABORTING: frozenset({State.IN_TRANSACTION, State.ABORTABLE_ERROR}),
    State.ABORTABLE_ERROR: frozenset({State.IN_TRANSACTION, State.COMMITTING}),
    State.FATAL_ERROR: frozenset(State) - {State.FATAL_ERROR},
}


def check(was: State, to: State) -> None:
    assert was in BEFORE[to], f"no producer goes from {was.value} to {to.value}"
