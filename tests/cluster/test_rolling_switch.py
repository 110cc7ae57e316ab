"""A cluster moves from PLAINTEXT to SASL_SSL by rolling restarts, as Kafka's handbook says.

    open         PLAINTEXT
    both         PLAINTEXT, SASL_SSL    brokers talk over PLAINTEXT; clients may use either
    inside       PLAINTEXT, SASL_SSL    brokers talk over SASL_SSL
    closed       SASL_SSL

In between brokers of two steps are in one cluster. Stock clients write all the time, with acks=all:
what was acknowledged is there in the end, once.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.node_launcher import NodeLauncher
from engine.cluster.ports import free_ports
from engine.cluster.security.cluster_security import ClusterSecurity
from engine.cluster.zookeeper import ZookeeperServer
from tests.cluster.truth import Truth, ZookeeperTruth
from tests.interop.watch import until
from tests.limits import START_S, WIDE_SESSION_MS

BROKERS = (1, 2, 3)
PLAIN, SECURED = "PLAINTEXT", "SASL_SSL"
# (listeners, the one between brokers)
STEPS = {
    "open": ([PLAIN], PLAIN),
    "both": ([PLAIN, SECURED], PLAIN),
    "inside": ([PLAIN, SECURED], SECURED),
    "closed": ([SECURED], SECURED),
}
SETTINGS = {
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "zookeeper.session.timeout.ms": WIDE_SESSION_MS,
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
}
TOPIC, PARTITIONS = "orders", 3
ENOUGH = 200  # acknowledged records of each writer after each restart

pytestmark = pytest.mark.timeout(400)


class Switched:
    """Three brokers, each with a port for either protocol."""

    def __init__(self, data: Path, zookeeper: str) -> None:
        self._data, self._zookeeper = data, zookeeper
        self.security = ClusterSecurity(data, SECURED, {"alice": "her password"})
        self.security.store_users(zookeeper)
        places = [(each, it) for each in BROKERS for it in (PLAIN, SECURED)]
        self._ports = dict(zip(places, free_ports(len(places)), strict=True))
        self._launcher = NodeLauncher(data)
        self._running: dict[int, BrokerProcess] = {}

    def bootstrap(self, protocol: str) -> str:
        return ",".join(f"127.0.0.1:{self._ports[each, protocol]}" for each in BROKERS)

    def settings(self, protocol: str) -> dict[str, str]:
        own = self.security.settings("alice") if protocol == SECURED else {}
        return {**own, "bootstrap.servers": self.bootstrap(protocol), "log_level": "0"}

    def start(self, broker: int, step: str) -> None:
        protocols, between = STEPS[step]
        listeners = [f"{it}://127.0.0.1:{self._ports[broker, it]}" for it in protocols]
        secured = self.security.broker_settings(broker, 0) if SECURED in protocols else {}
        settings = {
            **SETTINGS,
            **secured,
            "listeners": ",".join(listeners),
            "security.inter.broker.protocol": between,
        }
        node = BrokerProcess(broker, 0, self._data / f"broker-{broker}", settings)
        node.launch(MetadataAddress(self._zookeeper), {}, self._launcher)
        node.await_ready()
        self._running[broker] = node

    def stop(self, broker: int) -> None:
        self._running.pop(broker).child.terminate(60)

    def kill(self, broker: int) -> None:
        self._running.pop(broker).child.kill()

    def stop_all(self) -> None:
        for broker in list(self._running):
            self.stop(broker)
        self._launcher.stop()


class Writer(threading.Thread):
    """Writes numbers until it is stopped, and keeps those that were acknowledged."""

    def __init__(self, settings: dict[str, str], name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: list[str] = []
        self.lost: list[object] = []
        self._stopped = threading.Event()
        more = {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 120_000}
        self._producer = Producer({**settings, **more})

    def run(self) -> None:
        for number in count():
            if self._stopped.is_set():
                break
            self._producer.produce(TOPIC, f"{self.name}-{number}", on_delivery=self._delivered)
            self._producer.poll(0.002)
        self._producer.flush(120)

    def _delivered(self, error, message) -> None:
        if error is None:
            self.acknowledged.append(message.value().decode())
        else:
            self.lost.append(error)

    def advance(self) -> None:
        enough = len(self.acknowledged) + ENOUGH
        until(lambda: len(self.acknowledged) >= enough or self.lost, START_S)

    def end(self) -> None:
        self._stopped.set()
        self.join(150)
        assert not self.is_alive()


@pytest.fixture
def zookeeper(tmp_path):
    with ZookeeperServer(tmp_path / "zookeeper") as server:
        yield server.address


@pytest.fixture
def brokers(tmp_path, zookeeper):
    made = Switched(tmp_path, zookeeper)
    for broker in BROKERS:
        made.start(broker, "open")
    yield made
    made.stop_all()


def roll(
    brokers: Switched, step: str, truth: Truth, writers: list[Writer], end: Callable[[int], None]
) -> None:
    for broker in BROKERS:
        end(broker)
        brokers.start(broker, step)
        truth.await_whole(TOPIC)
        for writer in writers:
            writer.advance()


@pytest.mark.parametrize("how", ["stop", pytest.param("kill", marks=pytest.mark.long)])
def test_no_acknowledged_record_is_lost_on_the_way_to_sasl_ssl(brokers, zookeeper, how):
    """Also if no broker ends in order, and all fail in the middle of their work."""
    end = getattr(brokers, how)
    with ZookeeperTruth(zookeeper) as truth:
        admin = AdminClient(brokers.settings(PLAIN))
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)]).values():
            future.result(60)
        truth.await_whole(TOPIC)
        plain = Writer(brokers.settings(PLAIN), "plain")
        plain.start()
        roll(brokers, "both", truth, [plain], end)
        secured = Writer(brokers.settings(SECURED), "secured")
        secured.start()
        roll(brokers, "inside", truth, [plain, secured], end)
        plain.end()
        roll(brokers, "closed", truth, [secured], end)
        secured.end()

    assert not plain.lost + secured.lost
    found = Counter(values(brokers))
    assert found == Counter(plain.acknowledged + secured.acknowledged)
    with pytest.raises(KafkaException):
        AdminClient(brokers.settings(PLAIN)).list_topics(timeout=2)


def values(brokers: Switched) -> list[str]:
    """All that is in the topic, over SASL_SSL."""
    consumer = Consumer(
        {**brokers.settings(SECURED), "group.id": "all", "auto.offset.reset": "earliest"}
        | {"enable.partition.eof": True}
    )
    consumer.subscribe([TOPIC])
    read: list[str] = []
    ended: set[int] = set()
    deadline = time.monotonic() + 120
    while len(ended) < PARTITIONS:
        assert time.monotonic() < deadline
        for message in consumer.consume(1000, 1):
            if message.error():
                ended.add(message.partition())
            else:
                read.append(message.value().decode())
    consumer.close()
    return read
