"""Our consumer by assignment, while what it reads changes hands, is cut off, or is deleted."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from engine.client.consumer import Consumer
from engine.client.values import KafkaError, Message, TopicPartition
from proof.chaos.cluster_reader import QUICK, create
from tests.cluster.test_stories_comeback import CONFIG as USUAL
from tests.cluster.test_stories_comeback import allow_unclean, append, placed
from tests.interop.watch import until

CONFIG = USUAL
SOON = 30.0  # seconds
Make = Callable[..., Consumer]


@pytest.fixture
def admin(cluster) -> AdminClient:
    patient = {"socket.timeout.ms": 30_000}  # until there is a controller, too
    return AdminClient(QUICK | patient | {"bootstrap.servers": cluster.bootstrap})


@pytest.fixture
def make(cluster) -> Iterator[Make]:
    """A consumer of partition 0 of a topic, from an offset on; closed in the end."""
    made: list[Consumer] = []

    def make(topic: str, start: int = 0, **settings: Any) -> Consumer:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        basic = {
            "bootstrap.servers": cluster.bootstrap,
            "auto.offset.reset": "earliest",
            "metadata.max.age.ms": 500,
            "reconnect.backoff.max.ms": 200,
        }
        made.append(Consumer(basic | given))
        made[-1].assign([TopicPartition(topic, 0, start)])
        return made[-1]

    yield make
    for each in made:
        each.close()


def take(consumer: Consumer, count: int) -> list[Message]:
    found: list[Message] = []

    def enough() -> bool:
        found.extend(consumer.consume(count - len(found), 0.1))
        return len(found) == count

    until(enough, SOON)
    return found


def values(messages: list[Message]) -> list[Any]:
    return [each.value() for each in messages]


def happened(consumer: Consumer) -> list[str]:
    return [event.kind for event in consumer.events]


def test_a_leader_dies_and_every_record_comes_once_and_in_order(cluster, truth, topic, make):
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    producer = Producer(QUICK | settings | {"message.timeout.ms": 60_000})
    consumer, seen, victim = make(topic), [], truth.state(topic, 0).leader
    for number in range(3000):
        producer.produce(topic, b"%d" % number, partition=0)
        if number % 300 == 0:
            producer.flush(1)
            seen += consumer.consume(500, 0.01)
        if number == 1500:
            assert seen
            cluster.kill(victim)
    assert producer.flush(SOON) == 0
    seen += take(consumer, 3000 - len(seen))
    assert values(seen) == [b"%d" % number for number in range(3000)]
    assert truth.state(topic, 0).leader != victim
    assert seen[-1].leader_epoch() > seen[0].leader_epoch()
    assert "position.validated" in happened(consumer)
    assert "log.truncated" not in happened(consumer)


def cut(cluster, truth, admin, leader: int, other: int, readers: list[Consumer]) -> None:
    """They see a, b, x and y. Then the only one that has x and y dies, and the other leads."""
    append(cluster, leader, "cut", b"a", b"b")
    cluster.kill(other)
    truth.await_isr("cut", 0, {leader})
    append(cluster, leader, "cut", b"x", b"y")
    for reader in readers:
        assert values(take(reader, 4)) == [b"a", b"b", b"x", b"y"]
    cluster.kill(leader)
    until(lambda: truth.state("cut", 0).leader == -1)
    cluster.restart(other)
    allow_unclean(admin, "cut")
    truth.await_leader("cut", 0, other_than=leader)
    append(cluster, other, "cut", b"p", b"q", b"r")


def test_a_truncation_is_noticed_by_the_epoch_though_the_offset_is_there(
    cluster, truth, admin, make
):
    """By its offset, 4, the reader would go on with r, and never know."""
    leader, other = [each for each in cluster.brokers if each != truth.await_controller()][:2]
    placed(cluster, truth, "cut", leader, other)
    follows, strict = make("cut"), make("cut", auto_offset_reset="none")
    cut(cluster, truth, admin, leader, other, [follows, strict])

    assert values(take(follows, 3)) == [b"p", b"q", b"r"]
    (told,) = [each.data for each in follows.events if each.kind == "log.truncated"]
    assert (told["offset"], told["to"]) == (4, 2)

    (message,) = take(strict, 1)
    assert message.error() == KafkaError._LOG_TRUNCATION
    assert "offset 2 to 3" in message.error().str()
    assert strict.poll(0.3) is None
    strict.seek(TopicPartition("cut", 0, 2))
    assert values(take(strict, 3)) == [b"p", b"q", b"r"]


def test_retention_deletes_what_a_slow_reader_has_not_read(cluster, truth, make):
    """It goes on with the first record there is, or is told that its offset is gone."""
    config = {"retention.ms": "1", "segment.bytes": "2000", "min.insync.replicas": "1"}
    create(cluster.bootstrap, NewTopic("old", 1, 1, config=config))
    truth.await_whole("old")
    with closing(Producer(QUICK | {"bootstrap.servers": cluster.bootstrap})) as producer:
        for number in range(20):
            producer.produce("old", b"%d" % number + bytes(500), partition=0, timestamp=1000)
            assert producer.flush(SOON) == 0
    place = TopicPartition("old", 0)
    slow, strict = make("old", 5), make("old", 5, auto_offset_reset="none")

    def first() -> int:
        return slow.get_watermark_offsets(place, timeout=SOON)[0]

    until(lambda: first() > 5)
    slow.seek(TopicPartition("old", 0, 5))
    strict.seek(TopicPartition("old", 0, 5))
    told = next(it for it in iter(lambda: strict.poll(SOON), None) if it.error())
    assert told.error() == KafkaError._AUTO_OFFSET_RESET
    assert "out of range" in told.error().str()
    until(lambda: slow.poll(0.1) is None and slow.position([place])[0].offset == 20)
    assert "position.reset" in happened(slow)


def test_poll_while_everybody_is_gone(cluster, topic, make):
    """Nothing comes, nothing is raised; and when they are back, it goes on."""
    consumer = make(topic)
    began = time.monotonic()
    for broker in cluster.brokers:
        cluster.kill(broker)
    assert consumer.poll(0.5) is None
    assert time.monotonic() - began >= 0.5
    for broker in cluster.brokers:
        cluster.restart(broker, wait=False)
    with closing(Producer(QUICK | {"bootstrap.servers": cluster.bootstrap})) as producer:
        producer.produce(topic, b"back", partition=0)
        assert producer.flush(SOON) == 0
    assert values(take(consumer, 1)) == [b"back"]
