"""What the controller is told: all that can happen to it, as values.

    Began                     this broker is registered: become controller if nobody is
    Changed (asks.py)         a watch has fired
    Answered                  a broker has answered a request of the controller
    Rebalance                 it is time to look for leaders that are not the preferred ones
    UncleanAllowed            leaders that lack records are allowed from now on
    the others                what a client asks; the work's result is the answer

Each is handled from beginning to end before the next is taken up, so no two decisions ever mix.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.controller.asks import Changed
from engine.errors import KafkaError
from engine.model import TopicPartition


class Began(NamedTuple):
    """Also after a new session with ZooKeeper: whatever happened meanwhile, no watch told us."""


class Answered(NamedTuple):
    broker: int
    broker_epoch: int  # of the life of the broker that the request was sent to
    request: Any  # LeaderAndIsrRequest or StopReplicaRequest
    response: Any


class Rebalance(NamedTuple):
    """Every `leader.imbalance.check.interval.seconds`."""


class UncleanAllowed(NamedTuple):
    """`unclean.leader.election.enable` was set: partitions without a leader may have one now."""

    topic: str | None  # None: the brokers' default, for all topics


class ControlledShutdown(NamedTuple):
    """A broker wants to stop. Result: the partitions that it still leads, or a KafkaError."""

    broker: int
    broker_epoch: int


class ElectLeaders(NamedTuple):
    """ElectLeaders requests. Result: each partition's KafkaError, or None where it is done."""

    partitions: frozenset[TopicPartition] | None  # None: all
    unclean: bool = False  # otherwise the preferred leader


class AlterReassignments(NamedTuple):
    """Target replicas of each partition; None cancels. Result: KafkaError or None for each."""

    moves: Mapping[TopicPartition, tuple[int, ...] | None]


class ListReassignments(NamedTuple):
    """Result: Mapping[TopicPartition, znodes.Replicas] of what is under way."""

    partitions: frozenset[TopicPartition] | None  # None: all


Event = (
    Began
    | Changed
    | Answered
    | Rebalance
    | UncleanAllowed
    | ControlledShutdown
    | ElectLeaders
    | AlterReassignments
    | ListReassignments
)

Outcomes = Mapping[TopicPartition, KafkaError | None]
