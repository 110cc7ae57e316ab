"""The real cluster of this lab: three brokers, a ZooKeeper, and topics of their own for everyone.

    cluster = real.cluster()          a running, healthy one: started or mended if need be
    topic = real.topic(cluster)       one partition, on brokers 1, 2 and 3, led by the first
    real.isr(cluster, topic)          what ZooKeeper says, not what a broker believes

Sessions end after 6 seconds, and a follower may lag for 3: shorter than Kafka's own 18 and 30, so
that nobody waits long; and a follower that sleeps is missed by its leader before ZooKeeper does.

Invariant: each experiment takes a cluster that is whole, and a topic that nobody else writes to.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from lab import PATIENCE, Keeper, dotted, raise_all, until

from engine import Cluster
from engine import TopicPartition as Place
from engine.client.admin.values import NewTopic
from engine.cluster.stream import Happened
from engine.controller import znodes
from engine.controller.znodes import PartitionState
from engine.model import TopicPartition

SESSION, LAG = 6.0, 3.0  # seconds
CONFIG = {
    "zookeeper.session.timeout.ms": f"{SESSION * 1000:.0f}",
    "replica.lag.time.max.ms": f"{LAG * 1000:.0f}",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.leader.rebalance.enable": "false",  # who leads changes only when we do something
    "auto.create.topics.enable": "false",
}

__all__ = ["cluster", "until"]  # what the notebook takes from here, too

QUIET = logging.getLogger("replication.real")  # that a connection ends is no news
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False

_numbers = count(1)


def mend(cluster: Cluster) -> None:
    """Take back every fault; returns when all brokers serve and all replicas are in sync."""
    cluster.heal()
    raise_all(cluster)
    until("all brokers and replicas in sync", lambda: _whole(cluster))


def _whole(cluster: Cluster) -> bool:
    state, live = cluster.state(), set(cluster.brokers)
    return (
        set(map(int, children(cluster, znodes.BROKER_IDS))) == live
        and state.controller in live
        and all(set(each.brokers) == live for each in state.brokers.values())
        and all(set(it.isr) == set(it.assignment) and it.leader in live for it in _led(state))
    )


def _led(state: Any) -> list[Any]:
    return list(state.partitions.values())


cluster = Keeper(CONFIG, mend).cluster


# -- topics ----------------------------------------------------------------------------------


def topic(
    cluster: Cluster, *replicas: Sequence[int], name: str = "orders", **config: str
) -> TopicPartition:
    """A new topic with a partition for each list of replicas; returns the first of them."""
    wanted = [list(each) for each in replicas or ([1, 2, 3],)]
    title = f"{name}-{next(_numbers)}"
    new = NewTopic(title, replica_assignment=wanted, config=dotted(config))
    cluster.admin.create_topics([new])[title].result(PATIENCE)
    places = [TopicPartition(title, number) for number in range(len(wanted))]
    until(f"leaders for {title}", lambda: all(leads(cluster, each) for each in places))
    return TopicPartition(title, 0)


def leads(cluster: Cluster, partition: TopicPartition) -> bool:
    """Whether its leader and the followers that are alive have all heard of their roles."""
    found = cluster.state().partitions.get(partition)
    roles = [each.role for each in found.replicas.values() if each.answers] if found else []
    return "leader" in roles and "none" not in roles


def write(
    cluster: Cluster, partition: TopicPartition, values: Iterable[str], **config: Any
) -> list[int]:
    """Records, each acknowledged or given up; the offsets of those that were acknowledged."""
    stored: list[int] = []

    def heard(error: Any, message: Any) -> None:
        if error is None:
            stored.append(message.offset())

    with closing(cluster.producer({"acks": "all"} | dotted(config))) as producer:
        for value in values:
            producer.produce(
                partition.topic, value, partition=partition.partition, on_delivery=heard
            )
        producer.flush()
    return stored


def read(cluster: Cluster, partition: TopicPartition, wanted: int, **config: Any) -> list[str]:
    """The first so many records, or as many as there are."""
    settings = {"group.id": "reader", "enable.auto.commit": "false"} | config
    with closing(cluster.consumer(settings)) as consumer:
        consumer.assign([Place(partition.topic, partition.partition, 0)])
        end = consumer.get_watermark_offsets(Place(*partition))[1]
        found: list[str] = []
        while len(found) < min(wanted, end):
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{partition} gave {len(found)} records of {end}"
            found.append((message.value() or b"").decode())
    return found


# -- what ZooKeeper says ---------------------------------------------------------------------


@contextmanager
def keeper(cluster: Cluster) -> Iterator[KazooClient]:
    """A client of ZooKeeper's own, as a person with a shell would use it."""
    client = KazooClient(cluster.zookeeper, logger=QUIET)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def get(cluster: Cluster, path: str) -> bytes | None:
    with keeper(cluster) as client:
        try:
            return bytes(client.get(path)[0])
        except NoNodeError:
            return None


def must(cluster: Cluster, path: str) -> bytes:
    """What stands there, once it does."""
    return until(f"something at {path}", lambda: get(cluster, path)) or b""


def children(cluster: Cluster, path: str) -> list[str]:
    with keeper(cluster) as client:
        try:
            return sorted(client.get_children(path))
        except NoNodeError:
            return []


def state(cluster: Cluster, partition: TopicPartition) -> PartitionState:
    return PartitionState.decode(must(cluster, znodes.state_path(partition)))


def isr(cluster: Cluster, partition: TopicPartition) -> tuple[int, ...]:
    return state(cluster, partition).isr


def another(cluster: Cluster, partition: TopicPartition, than: int) -> int:
    """The next leader, once there is one."""

    def found() -> int:
        leader = state(cluster, partition).leader
        return 0 if leader in (-1, than) else leader

    return until(f"another leader of {partition} than broker {than}", found)


def out(cluster: Cluster, partition: TopicPartition, replica: int) -> None:
    """Until a replica is not in the ISR."""
    words = f"broker {replica} out of the ISR of {partition}"
    until(words, lambda: replica not in isr(cluster, partition))


def assigned(cluster: Cluster, partition: TopicPartition) -> tuple[int, ...]:
    data = get(cluster, znodes.topic_path(partition.topic)) or b""
    return znodes.Topic.decode(data).partitions[partition.partition].replicas


def controller(cluster: Cluster) -> int:
    """-1: nobody."""
    data = get(cluster, znodes.CONTROLLER)
    return znodes.Controller.decode(data).broker_id if data else -1


def others(cluster: Cluster, broker: int) -> list[int]:
    return [each for each in cluster.brokers if each != broker]


def tail(cluster: Cluster) -> int:
    """The number of the last event so far."""
    events = cluster.events()
    return events[-1].number if events else 0


def requests(cluster: Cluster, after: int) -> list[Happened]:
    """Traced requests since an event."""
    return [each for each in cluster.events(after) if each.kind == "request"]
