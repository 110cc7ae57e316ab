"""The states of a member, on its own side. The group's own are in coordinator/states.py.

              subscribed            all have joined          here is your share     told
        ┌─ OUT ─────────> JOINING ─────────────────> SYNCING ────────────> TAKING ──────> STABLE
        │   ^              ^  │                         │                     │             │
        │   │ not again    │  │ unsubscribed,           │ once more           │             │
        │   │        again │  v no member any more      v                     v             │
        │   └──────────── RELEASING <─────────────────────────────────────────┴─────────────┘
        │                                     members, topics, partitions have changed; the end
        └─ every consumer starts here

    OUT         no member, or one that has failed
    JOINING     JoinGroup: who is there? It takes until the last member has joined, so no heartbeats
    SYNCING     SyncGroup: what is whose? The leader works it out, the others wait
    TAKING      the application is told what it has lost and won
    STABLE      everyone reads what is theirs
    RELEASING   the application is told what it has to give up before the next JoinGroup

TAKING and RELEASING wait for the application, as its callbacks run where it polls. Whoever is in
a state with heartbeats hears in the answer that the others have begun anew.

Invariant: a member changes its state by `check`ed steps only.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    OUT = "out"
    JOINING = "joining"
    SYNCING = "syncing"
    TAKING = "taking"
    STABLE = "stable"
    RELEASING = "releasing"


# To each state, those from which it may be reached.
BEFORE: Mapping[State, frozenset[State]] = {
    State.OUT: frozenset({State.RELEASING}),
    State.JOINING: frozenset({State.OUT, State.RELEASING}),
    State.SYNCING: frozenset({State.JOINING}),
    State.TAKING: frozenset({State.SYNCING}),
    State.STABLE: frozenset({State.TAKING}),
    State.RELEASING: frozenset({State.JOINING, State.SYNCING, State.TAKING, State.STABLE}),
}


def check(was: State, to: State) -> None:
    assert was in BEFORE[to], f"no member goes from {was.value} to {to.value}"
