"""The events that the controller handles.

    Began                     this broker is registered: become controller if there is none
    Changed (zookeeper)       a watch has fired
    Answered                  a broker has answered a request of the controller
    Rebalance                 time to look for leaders that are not the preferred ones
    UncleanAllowed            unclean elections are allowed from now on
    the others                requests of clients; the result is the answer

Each is handled from beginning to end before the next one begins.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.errors import ApiException
from engine.model import TopicPartition
from engine.zookeeper.requests import Changed


class Began(NamedTuple):
    """The broker is registered, in its first session with ZooKeeper or a new one."""


class Answered(NamedTuple):
    broker: int
    broker_epoch: int  # the broker epoch in the request
    request: Any  # LeaderAndIsrRequest or StopReplicaRequest
    response: Any


class Rebalance(NamedTuple):
    """Every `leader.imbalance.check.interval.seconds`."""


class UncleanAllowed(NamedTuple):
    """`unclean.leader.election.enable` was set: elect leaders where there is none."""

    topic: str | None  # None: the brokers' default, for all topics


class ControlledShutdown(NamedTuple):
    """A broker wants to stop. Result: the partitions that it still leads, or an ApiException."""

    broker: int
    broker_epoch: int


class IsrChange(NamedTuple):
    """The ISR that a leader asks for."""

    leader_epoch: int
    isr: tuple[int, ...]
    version: int  # of the state that the leader knows


class AlterIsr(NamedTuple):
    """A leader's AlterIsr request. Result: the new state of each partition, or an ApiException;
    or an ApiException for all of them."""

    broker: int
    broker_epoch: int
    changes: Mapping[TopicPartition, IsrChange]


class ElectLeaders(NamedTuple):
    """An ElectLeaders request. Result: an ApiException for each partition, or None."""

    partitions: frozenset[TopicPartition] | None  # None: all
    unclean: bool = False  # otherwise the preferred leader


class AlterReassignments(NamedTuple):
    """Target replicas of each partition; None cancels. Result: for each an ApiException or None."""

    moves: Mapping[TopicPartition, tuple[int, ...] | None]


class ListReassignments(NamedTuple):
    """Result: the assignment of each partition that is being moved."""

    partitions: frozenset[TopicPartition] | None  # None: all


ControllerEvent = (
    Began
    | Changed
    | Answered
    | Rebalance
    | UncleanAllowed
    | ControlledShutdown
    | AlterIsr
    | ElectLeaders
    | AlterReassignments
    | ListReassignments
)

Outcomes = Mapping[TopicPartition, ApiException | None]
