"""What a cluster holds, asked by a stock client: every record, and where the replicas are.

A consumer here commits nothing and joins no group; it starts where it is told, and an offset
that is not there is an error and no reason to start elsewhere.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from engine.chaos.history import Read
from engine.chaos.waiting import until

# A broker that is stopped in its tracks keeps its connections and says nothing: who waits for a
# minute, as clients do by default, makes a short test long. And a leader that has been superseded
# and has not heard of it only lets requests time out, upon which librdkafka asks the same broker
# again: nothing but a regular look at the metadata (by default every five minutes) tells it more.
QUICK: dict[str, Any] = {
    "log_level": 2,  # what happens to connections is no news here
    "socket.timeout.ms": 3000,
    "topic.metadata.refresh.interval.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
}
PATIENCE = 20.0  # seconds


def consumer(bootstrap: str, **settings: Any) -> "closing[Consumer]":
    fixed = {
        "bootstrap.servers": bootstrap,
        "group.id": "none",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "check.crcs": True,
        "fetch.wait.max.ms": 100,
    }
    return closing(Consumer(QUICK | fixed | settings))


def read_all(
    bootstrap: str, topic: str, ends: Mapping[int, int], patience: float = PATIENCE
) -> list[Read]:
    """Every record of these partitions, up to their high watermarks.

    A new leader's high watermark takes a fetch of its followers to be what it was: we wait for
    the ends that are known, but not forever. What is missing then is the judge's business.
    """
    found: list[Read] = []
    with consumer(bootstrap) as reader:
        for partition, end in ends.items():
            high = high_watermark(reader, topic, partition, end, patience)
            found += _partition(reader, topic, partition, high)
    return found


def high_watermark(
    reader: Consumer, topic: str, partition: int, least: int, patience: float
) -> int:
    """At least so much, or what it is after some patience."""
    asked, high, refused = TopicPartition(topic, partition), -1, None
    deadline = time.monotonic() + patience
    while high < least and time.monotonic() < deadline:
        try:
            high = reader.get_watermark_offsets(asked, timeout=2)[1]
        except KafkaException as error:  # no leader yet, for instance
            refused = error
    assert high >= 0, f"nobody tells the high watermark of partition {partition}: {refused}"
    return high


def _partition(reader: Consumer, topic: str, partition: int, high: int) -> list[Read]:
    found: list[Read] = []
    deadline = time.monotonic() + PATIENCE
    reader.assign([TopicPartition(topic, partition, 0)])
    while (found[-1].offset + 1 if found else 0) < high and time.monotonic() < deadline:
        for message in reader.consume(1000, 0.1):
            assert message.error() is None, message.error()
            found.append(as_read(message))
    return [read for read in found if read.offset < high]


def as_read(message: Message) -> Read:
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and value is not None
    return Read(partition, offset, value)


def placement(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """Which brokers have which partition."""
    partitions = AdminClient(QUICK | {"bootstrap.servers": bootstrap}).list_topics(topic, 10)
    found = partitions.topics[topic].partitions
    return {number: sorted(each.replicas) for number, each in sorted(found.items())}


# The controller lost ZooKeeper meanwhile or is another now; or librdkafka let go of a broker of
# which it had just learned that it was one of those it was told to begin with.
PASSING = frozenset(
    {
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_CONTROLLER,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._DESTROY_BROKER,
    }
)


def create(bootstrap: str, topic: NewTopic) -> None:
    """Again, if it failed with what passes; then it may be there already."""
    admin = AdminClient(QUICK | {"bootstrap.servers": bootstrap})
    until(lambda: _is_created(admin, topic))


def _is_created(admin: AdminClient, topic: NewTopic) -> bool:
    (answer,) = admin.create_topics([topic], operation_timeout=20, request_timeout=30).values()
    try:
        answer.result()
    except KafkaException as refused:
        code = refused.args[0].code()
        if code not in PASSING | {KafkaError.TOPIC_ALREADY_EXISTS}:
            raise
        return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
    return True
