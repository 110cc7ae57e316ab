"""The classes that decide in a broker. Others may be put in their place.

    Rules()                          Kafka's rules: every broker has them by default
    Rules(replicas=MyReplicas)       a broker whose replica manager is of this class

The simulator's planted defects and the learner's own rules are subclasses of these, or a function
in the place of `elect`.
"""

from typing import NamedTuple

from engine.controller.election import Elect, elect
from engine.coordinator.group_coordinator import GroupCoordinator
from engine.coordinator.transactions.coordinator import TransactionCoordinator
from engine.replication.replica_manager import ReplicaManager


class Rules(NamedTuple):
    replicas: type[ReplicaManager] = ReplicaManager
    groups: type[GroupCoordinator] = GroupCoordinator
    transactions: type[TransactionCoordinator] = TransactionCoordinator
    elect: Elect = elect  # of the controller, which runs in one of the brokers


KAFKAS = Rules()
