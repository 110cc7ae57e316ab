"""A laptop that is put to sleep under a running cluster, and one that is opened the next morning.

All processes of the cluster stand still for longer than any session lasts, ZooKeeper among them.
When they go on, every session is over: brokers register anew, a controller is elected, groups are
joined again, and nobody has to do anything.
"""

import time
from collections.abc import Iterator

import pytest

from engine import Cluster, Consumer, KafkaError, KafkaException, Producer
from engine.cluster.state import ClusterState
from engine.cluster.zookeeper import ask
from engine.model import TopicPartition
from tests.interop.watch import until
from tests.limits import START_S
from widgets import ClusterView, ZooKeeperTree

SESSION = 1.0  # seconds
NIGHT = 4 * SESSION
ORDERS = TopicPartition("orders", 0)
CONFIG = {
    "zookeeper.session.timeout.ms": f"{SESSION * 1000:.0f}",
    "group.min.session.timeout.ms": "500",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3, config=CONFIG) as cluster:
        cluster.admin.create_topic("orders", partitions=1, replication=3)
        yield cluster


def sleep(cluster: Cluster) -> None:
    """ZooKeeper wakes up first, and gives everybody up before a sign of life can come."""
    zookeeper, brokers = cluster._servers.servers[1], [*map(cluster.child, cluster.brokers)]
    for child in (zookeeper.child, *brokers):
        child.pause()
    time.sleep(NIGHT)  # it is the time that passes which is tried here
    zookeeper.child.resume()
    until(lambda: "/brokers/ids/" not in ask(zookeeper.port, "dump"))
    for child in brokers:
        child.resume()


def send(producer: Producer, value: str) -> None:
    producer.produce("orders", value=value)
    assert producer.flush(START_S) == 0


def next_of(consumer: Consumer) -> str:
    message = until(lambda: consumer.poll(0.5), START_S)
    assert message is not None and message.error() is None
    return (message.value() or b"").decode()


def whole_state(cluster: Cluster) -> ClusterState | None:
    """A state to which every broker has contributed: on a busy machine one may answer too late."""
    state = cluster.state()
    answered = all(each.answers for each in state.brokers.values())
    return state if answered and state.controller in state.brokers else None


def whole(cluster: Cluster, evening: ClusterState) -> bool:
    """Registered anew, a controller elected anew, all in sync: not what is left of the evening."""
    state = cluster.state()
    anew = [each.epoch > evening.brokers[number].epoch for number, each in state.brokers.items()]
    term = evening.brokers[evening.controller].controller_epoch
    return (
        all(anew)
        and state.controller in state.brokers
        and state.brokers[state.controller].controller_epoch > term
        and len(state.partitions[ORDERS].isr) == 3
    )


def created(cluster: Cluster, topic: str) -> bool:
    """Whether it could be: not yet, if the controller has not heard of the third broker again."""
    try:
        cluster.admin.create_topic(topic, partitions=3, replication=3)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
            raise
        return False
    return True


def test_everything_goes_on_by_itself(cluster: Cluster) -> None:
    settings: dict[str, str | int] = {"group.id": "kitchen", "auto.offset.reset": "earliest"}
    settings |= {"session.timeout.ms": 1000, "heartbeat.interval.ms": 300}
    producer, consumer = cluster.producer({"acks": "all"}), cluster.consumer(settings)
    consumer.subscribe(["orders"])
    view, tree = ClusterView(cluster), ZooKeeperTree(cluster)
    send(producer, "in the evening")
    assert next_of(consumer) == "in the evening"
    consumer.commit(asynchronous=False)
    evening = until(lambda: whole_state(cluster), START_S)

    sleep(cluster)

    send(producer, "in the morning")
    assert next_of(consumer) == "in the morning"
    until(lambda: whole(cluster, evening), START_S)
    until(lambda: created(cluster, "breakfast"), START_S)
    view.poll()
    until(lambda: tree.poll() and not tree.trouble, START_S)
    assert view.trouble == ""
