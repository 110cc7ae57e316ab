"""The appendix' cluster and ledger, and what it takes from the modules of other labs."""

from lab import LabCluster, until
from operations.shared import apis, fresh
from speed.shared import cpu, many, pid_of

from engine import Cluster
from widgets import Ledger

__all__ = ["apis", "cluster", "cpu", "fresh", "ledger", "many", "pid_of", "until"]

CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}

ledger = Ledger("articles")
cluster = LabCluster(CONFIG, Cluster.mend, metadata="zookeeper").cluster
