"""SIGKILL at any moment: what was acknowledged is there, once and in order, and clients go on."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from engine.cluster.cluster import Cluster
from engine.wire.errors import Malformed
from tests.interop.raw import Raw
from tests.interop.watch import until

ROUNDS, PARTITIONS = 3, 3
# Segments roll and indexes grow all the time, so that a crash may fall into any of it.
CONFIG = {
    "log.segment.bytes": "300000",
    "log.index.interval.bytes": "1000",
    "log.flush.interval.messages": "5000",
    "replica.high.watermark.checkpoint.interval.ms": "50",
}


class Load:
    """An idempotent producer that goes on and on, and what it was told."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        self.acknowledged: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.failures: list[KafkaError] = []
        self.fatal: list[KafkaError] = []
        self.sent = 0
        self._over = Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "batch.num.messages": 50,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "error_cb": self._failed,
            }
        )
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            if len(self._producer) > 20_000:
                self._producer.poll(0.01)
                continue
            value = b"%d" % self.sent + b"x" * 100
            partition = self.sent % PARTITIONS
            self._producer.produce(self.topic, value, partition=partition, callback=self._told)
            self.sent += 1
            if self.sent % 100 == 0:
                self._producer.poll(0.002)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(error)
            return
        number = int(message.value().rstrip(b"x"))
        self.acknowledged[message.partition()].append((message.offset(), number))

    def _failed(self, error: KafkaError) -> None:
        if error.fatal():
            self.fatal.append(error)

    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def finish(self) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0


class Reading:
    """A consumer that reads along, and what it got of each partition."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.got: defaultdict[int, list[int]] = defaultdict(list)
        self.failures: list[KafkaError] = []
        self._over = Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.1):
                if message.error() is not None:
                    self.failures.append(message.error())
                else:
                    self.got[message.partition()].append(int(message.value().rstrip(b"x")))
        self._consumer.close()

    def count(self) -> int:
        return sum(map(len, self.got.values()))

    def finish(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def reading(cluster: Cluster, load: "Load") -> Iterator[Reading]:
    reading = Reading(cluster.bootstrap, load.topic)
    yield reading
    reading.finish()


@pytest.fixture
def load(cluster: Cluster, client: Raw) -> Iterator[Load]:
    assert client.create("load", partitions=PARTITIONS) == 0
    load = Load(cluster.bootstrap, "load")
    yield load
    load.finish()


def test_every_acknowledged_record_is_there_once_and_in_order(cluster, load, reading):
    random = Random(20210419)
    for _ in range(ROUNDS):
        some = load.count() + random.randrange(1, 9000)
        until(lambda some=some: load.count() >= some)
        cluster.kill(1)
        cluster.restart(1)
    enough = load.count() + 2000
    until(lambda: load.count() >= enough)
    load.finish()
    until(lambda: reading.count() >= load.sent)
    reading.finish()

    assert not reading.failures
    assert not load.failures
    assert not load.fatal
    assert load.count() == load.sent
    assert "Traceback" not in Path(cluster.child(1).log).read_text()
    with Raw(cluster.bootstrap) as reader:
        for partition in range(PARTITIONS):
            stored = {
                record.offset: int(record.value.rstrip(b"x"))
                for record in reader.read("load", partition=partition)
            }
            sent = list(range(partition, load.sent, PARTITIONS))
            assert [*stored.values()] == sent
            assert reading.got[partition] == sent
            assert stored.items() >= set(load.acknowledged[partition])


def test_a_crash_while_topics_come_and_go(cluster):
    """What was answered is done; what was not may be either, but never half."""
    random = Random(7)
    for turn in range(2):
        client = Raw(cluster.bootstrap)
        names = [f"short-{turn}-{number}" for number in range(40)]
        created = []

        def create(client: Raw = client, names: list[str] = names, done: list = created) -> None:
            for name in names:
                try:
                    assert client.create(name) == 0
                except (OSError, Malformed):
                    return  # the broker is gone
                done.append(name)

        worker = Thread(target=create)
        worker.start()
        some = random.randrange(1, 20)
        until(lambda some=some, done=created: len(done) >= some)
        cluster.kill(1)
        worker.join()
        client.close()
        cluster.restart(1)
        with Raw(cluster.bootstrap) as after:
            there = {topic.name for topic in after.topics(*names) if topic.error_code == 0}
            assert there >= set(created)
            assert len(there) <= len(created) + 1
            for name in there:
                assert after.produce(name, b"").error_code == 87
                assert after.end_offset(name) == 0
                assert after.delete(name) == 0
            assert not [topic for topic in after.topics(*names) if topic.error_code == 0]
