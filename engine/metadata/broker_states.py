"""The states of a broker without ZooKeeper, as it sees itself (Kafka's BrokerState).

    STARTING ── CAUGHT_UP ──> RECOVERY ── UNFENCED ──> RUNNING ── LEAVE ──> PENDING_CONTROLLED_
        │                        │                                          SHUTDOWN
        └──────── LEAVE ─────────┴────────> SHUTTING_DOWN <──── MAY_STOP ──────┘

The controller has states of its own for each broker: quorum_controller/broker_heartbeats.py. What
moves a broker from one to the next is broker/kraft/lifecycle_manager.py.
"""

from collections.abc import Mapping
from enum import Enum


class BrokerRunState(Enum):
    """The states of a broker without ZooKeeper"""

    STARTING = "starting"  # reads the metadata
    RECOVERY = "recovery"  # applies them to its replicas; it wants to be unfenced
    RUNNING = "running"  # leads, follows, and serves clients
    PENDING_CONTROLLED_SHUTDOWN = "pending controlled shutdown"  # hands over its leaderships
    SHUTTING_DOWN = "shutting down"


class BrokerStep(Enum):
    CAUGHT_UP = "caught up"
    UNFENCED = "unfenced"
    LEAVE = "leave"
    MAY_STOP = "may stop"


BROKER_STEPS: Mapping[tuple[BrokerRunState, BrokerStep], BrokerRunState] = {
    (BrokerRunState.STARTING, BrokerStep.CAUGHT_UP): BrokerRunState.RECOVERY,
    (BrokerRunState.RECOVERY, BrokerStep.UNFENCED): BrokerRunState.RUNNING,
    (BrokerRunState.STARTING, BrokerStep.LEAVE): BrokerRunState.SHUTTING_DOWN,
    (BrokerRunState.RECOVERY, BrokerStep.LEAVE): BrokerRunState.SHUTTING_DOWN,
    (BrokerRunState.RUNNING, BrokerStep.LEAVE): BrokerRunState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerRunState.PENDING_CONTROLLED_SHUTDOWN, BrokerStep.MAY_STOP): BrokerRunState.SHUTTING_DOWN,
}
