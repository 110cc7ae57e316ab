"""The states of a broker in its cluster.

    STARTING ── LOADED ──> FENCED ── REGISTERED ──> REGISTERED ── KNOWN ──> READY
                             ^                          │                     │ LEAVE
                             └───────── LOST ───────────┴────── LEAVING <─────┘

A fenced broker leads nothing and is in nobody's metadata: it has not registered yet, or its
registration was lost, because ZooKeeper (or the controller) has not heard from it for too long. It
registers again, also while it is leaving: only a registered broker can hand over its leaderships.
"""

from collections.abc import Mapping
from enum import Enum


class LifecycleState(Enum):
    """The states of a broker in its cluster"""

    STARTING = "starting"  # reads its logs and the metadata; does not register
    FENCED = "fenced"  # may register
    REGISTERED = "registered"  # the cluster knows where it listens
    READY = "ready"  # the controller has sent it the metadata
    LEAVING = "leaving"  # hands over its leaderships


class LifecycleStep(Enum):
    LOADED = "loaded"
    REGISTERED = "registered"
    KNOWN = "known"
    LOST = "lost"
    LEAVE = "leave"


LIFECYCLE_STEPS: Mapping[tuple[LifecycleState, LifecycleStep], LifecycleState] = {
    (LifecycleState.STARTING, LifecycleStep.LOADED): LifecycleState.FENCED,
    (LifecycleState.FENCED, LifecycleStep.REGISTERED): LifecycleState.REGISTERED,
    (LifecycleState.REGISTERED, LifecycleStep.KNOWN): LifecycleState.READY,
    (LifecycleState.REGISTERED, LifecycleStep.LEAVE): LifecycleState.LEAVING,
    (LifecycleState.READY, LifecycleStep.LEAVE): LifecycleState.LEAVING,
    (LifecycleState.REGISTERED, LifecycleStep.LOST): LifecycleState.FENCED,
    (LifecycleState.READY, LifecycleStep.LOST): LifecycleState.FENCED,
    (LifecycleState.LEAVING, LifecycleStep.LOST): LifecycleState.FENCED,
}


class BrokerLifecycle:
    def __init__(self) -> None:
        self.state = LifecycleState.STARTING

    def take(self, step: LifecycleStep) -> None:
        """Steps come from outside, at any time: one that is not in the table changes nothing."""
        self.state = LIFECYCLE_STEPS.get((self.state, step), self.state)

    @property
    def may_register(self) -> bool:
        return self.state is LifecycleState.FENCED

    @property
    def is_loaded(self) -> bool:
        return self.state is not LifecycleState.STARTING
