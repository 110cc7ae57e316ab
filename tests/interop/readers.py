"""Our consumers for a test, closed in the end, and records for them to read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Producer

from engine.client.consumer import Consumer
from engine.client.values import KafkaException, Message
from engine.cluster.cluster import Cluster
from tests.interop.watch import until

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "log.retention.ms": "-1",  # records of long ago
    "auto.create.topics.enable": "false",
}
SOON = 20.0  # seconds; what takes longer will not come
FUNCTIONS = ("on_commit", "error_cb")

Make = Callable[..., Consumer]
Produce = Callable[..., None]


@contextmanager
def consumers(cluster: Cluster) -> Iterator[Make]:
    """Makes consumers with settings, given as key_words."""
    made: list[Consumer] = []

    def make(**settings: Any) -> Consumer:
        given = {
            name if name in FUNCTIONS else name.replace("_", "."): value
            for name, value in settings.items()
        }
        basic = {"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"}
        made.append(Consumer(basic | given))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()


def producing(cluster: Cluster) -> Produce:
    """With a stock client."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 5, "log_level": 0})

    def produce(topic: str, *values: Any, partition: int = 0, **more: Any) -> None:
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(SOON) == 0

    return produce


def take(consumer: Consumer, count: int) -> list[Message]:
    """The next so many messages."""
    found: list[Message] = []

    def enough() -> bool:
        found.extend(consumer.consume(count - len(found), 0.1))
        return len(found) == count

    until(enough)
    return found


def values(messages: list[Message]) -> list[Any]:
    return [each.value() for each in messages]


def code_of(call: Callable[[], Any]) -> int:
    """Of the KafkaException that it raises."""
    with pytest.raises(KafkaException) as caught:
        call()
    return int(caught.value.args[0].code())


def text(number: int) -> bytes:
    return b"%d" % number
