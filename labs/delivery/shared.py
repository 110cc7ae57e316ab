"""The cluster of labs 06_sending and 07_promises.

A broker's session ends after 6 seconds (Kafka: 18 with ZooKeeper, 9 without).
"""

from itertools import count

from lab import LabCluster, TracedPartition, state_now, traced, until

from engine import Cluster, Producer

__all__ = ["TracedPartition", "cluster", "fresh", "traced"]

CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}

cluster = LabCluster(CONFIG, Cluster.mend).cluster


def await_leader(producer: Producer, topic: str) -> None:
    """Until the broker that the producer asks names a leader of the topic's first partition."""
    until("a leader", lambda: producer.list_topics(topic).topics[topic].partitions[0].leader > 0)


def await_markers(cluster: Cluster) -> None:
    """Until each partition has the markers of all transactions that have ended.

    A commit is answered as soon as its coordinator has stored it; the markers follow. Without the
    marker a reader with read_committed stops before the transaction, as if it were still open.
    """

    def marked() -> bool:
        return not any(it.unmarked for it in state_now(cluster).transactions.values())

    until("markers of all transactions that have ended", marked)


_numbers = count(1)


def served(cluster: Cluster, after: int, client: str, api: str) -> list[int]:
    """When a client's requests of one kind were served, in ms; the brokers trace no more."""
    found = served_so_far(cluster, after, client, api)
    cluster.trace(False)
    return found


def served_so_far(cluster: Cluster, after: int, client: str, api: str) -> list[int]:
    """When a client's requests of one kind were served, in ms; as the brokers have traced them."""
    asked = [it for it in cluster.events(after) if it.kind == "request"]
    return sorted(it.at for it in asked if (it.data["client"], it.data["api"]) == (client, api))


def fresh(name: str) -> str:
    """A name that nobody has had: of a group, or of a transactional id."""
    return f"{name}-{next(_numbers)}"
