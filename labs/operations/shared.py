"""The lab's cluster and its ledger.

    shared.cluster()                     three brokers, whole again
    shared.fresh("readers")              a name that nobody has had: of a group, or of a client

Invariant: what a section changes for all (a fourth broker, a quota) it takes back itself.
"""

from itertools import count

from lab import LabCluster, raise_all, traced, until

from engine import Cluster
from widgets import Ledger

__all__ = ["raise_all", "traced", "until"]

CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "quota.window.num": "3",  # of a second; Kafka's 11 let a client use ten seconds' quota at once
}

ledger = Ledger("07_operations")
cluster = LabCluster(CONFIG, Cluster.mend).cluster

_numbers = count(1)


def fresh(name: str) -> str:
    return f"{name}-{next(_numbers)}"
