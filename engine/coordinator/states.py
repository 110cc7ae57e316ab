"""The states of a consumer group, under Kafka's names.

                 first member              all have joined again
       ┌── EMPTY ───────────> PREPARING ─────────────────────> COMPLETING ──┐
       │     ^                 │  ^  ^                           │          │ the leader's
       │     └─ nobody joined ─┘  │  └── a member joins, leaves, ─┘          │ assignment is
       v                          │      changes, is not heard of           │ replicated
     DEAD <── deleted, expired,   │                                         v
              or led elsewhere    └──────── the same ─────────────────── STABLE

    EMPTY        no members; offsets may be kept, and committed without a group
    PREPARING    who is still there? Each has to join again; heartbeats are told so
    COMPLETING   a new generation; its members wait for what the leader makes of it
    STABLE       everyone knows their share
    DEAD         forgotten here; another broker may know it

Invariant: a group changes its state by `check`ed steps only.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


# To each state, those from which it may be reached.
BEFORE: Mapping[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.PREPARING}),
    State.PREPARING: frozenset({State.EMPTY, State.COMPLETING, State.STABLE}),
    State.COMPLETING: frozenset({State.PREPARING}),
    State.STABLE: frozenset({State.COMPLETING}),
    State.DEAD: frozenset(set(State) - {State.DEAD}),
}


def check(was: State, to: State) -> None:
    assert was in BEFORE[to], f"no group goes from {was.value} to {to.value}"
