"""The lab's cluster: three brokers that all sections share, and small helpers around them.

    cluster = stand.cluster()       started by the first section that is run, whole again if a
                                    section has left a broker dead

Sessions may be shorter here than Kafka allows by default (six seconds), so that a lost consumer is
noticed after a moment. Everything else is as Kafka has it.
"""

from collections.abc import Mapping
from itertools import count

from lab import LabCluster, state_now, until

from engine import Cluster, TopicPartition
from engine.client.admin.values import ElectionType, NewPartitions
from engine.cluster.state import PartitionState
from widgets import Ledger

__all__ = ["state_now"]

OFFSETS = "__consumer_offsets"
CONFIG = {
    "group.min.session.timeout.ms": "500",
    "zookeeper.session.timeout.ms": "4000",  # a dead broker is noticed after this time
    "log.cleaner.backoff.ms": "200",  # the cleaner looks for work at once
}

ledger = Ledger("03_rebalance")
_numbers = count(1)


def _prepare(on: Cluster) -> None:
    """As if nothing had happened before: __consumer_offsets is there, and no broker is idle.

    The first request for a coordinator creates that topic. A broker that was killed and runs again
    leads nothing until its partitions elect their preferred replicas.
    """
    on.mend()
    consumer = on.consumer({"group.id": "first"})
    consumer.committed([TopicPartition("anything", 0)])
    consumer.close()
    on.admin.elect_leaders(ElectionType.PREFERRED).result()
    until("preferred leaders", lambda: all(map(_is_preferred, on.state().partitions.values())))


def _is_preferred(partition: PartitionState) -> bool:
    return partition.leader == partition.assignment[0]


clusters = LabCluster(CONFIG, mend=_prepare)
cluster, with_zookeeper = clusters.cluster, clusters.with_zookeeper


def fresh(name: str) -> str:
    """A name that was not used yet: a cell that runs again begins with a new group."""
    return f"{name}-{next(_numbers)}"


def partitions(on: Cluster, topic: str) -> int:
    """How many a topic has, as ZooKeeper or the quorum has it."""
    return len(on.view.partitions(topic))


def fill(on: Cluster, topic: str, each: int) -> None:
    """So many records for each partition; their values count from 0."""
    producer = on.producer({"linger.ms": "5"})
    for number in range(each):
        for partition in range(partitions(on, topic)):
            producer.produce(topic, value=str(number), partition=partition)
    producer.flush()
    producer.close()


def ends(on: Cluster, topic: str) -> dict[int, int]:
    """By partition: the offset that the next record will have."""
    with on.consumer({"group.id": "reader"}) as consumer:
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number))[1]
            for number in range(partitions(on, topic))
        }


def grow(on: Cluster, topic: str, count: int) -> None:
    """The topic has `count` partitions from now on, each with a leader."""
    on.admin.create_partitions([NewPartitions(topic, count)])[topic].result()
    wanted = {(topic, number) for number in range(count)}
    until(
        "leaders of the new partitions",
        lambda: wanted <= {it for it, each in on.state().partitions.items() if each.leader > 0},
    )


def move(on: Cluster, topic: str, brokers: Mapping[int, int]) -> None:
    """Each of these partitions to one broker, which then leads it."""
    places = {TopicPartition(topic, number): [broker] for number, broker in brokers.items()}
    for done in on.admin.alter_partition_reassignments(places).values():
        done.result()
    until(
        "the partitions to be moved",
        lambda: all(on.leader(topic, number) == to for number, to in brokers.items()),
    )


def last_event(on: Cluster) -> int:
    """The number of what happened last."""
    events = on.events()
    return events[-1].number if events else 0
