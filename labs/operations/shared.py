"""The lab's cluster and its ledger.

    shared.cluster()                     three brokers, whole again
    shared.fresh("readers")              a name that nobody has had: of a group, or of a client
    with shared.apis(cluster, "readers") as apis: ...     the kinds of requests of these clients

Invariant: what a section changes for all (a fourth broker, a quota) it takes back itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
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

ledger = Ledger("09_operations")
cluster = LabCluster(CONFIG, Cluster.mend, metadata="zookeeper").cluster

_numbers = count(1)


def fresh(name: str) -> str:
    return f"{name}-{next(_numbers)}"


@contextmanager
def apis(cluster: Cluster, clients: str) -> Iterator[dict[str, set[int]]]:
    """Afterwards, the kinds of requests that clients whose name begins so have sent meanwhile.

    Each with its versions: {"FETCH": {12}, ...}.
    """
    found: dict[str, set[int]] = {}
    after = max((each.number for each in cluster.events()), default=0)
    cluster.trace()
    try:
        yield found
    finally:
        requests = [each for each in cluster.events(after) if each.kind == "request"]
        cluster.trace(False)
        for each in requests:
            if (each.data["client"] or "").startswith(clients):
                found.setdefault(each.data["api"], set()).add(each.data["version"])
