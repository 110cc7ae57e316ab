"""Reads a cluster by a stock client: every record, and the brokers of each replica.

The consumer commits nothing and joins no group; it starts at a given offset, and an offset that
does not exist is an error.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from proof.chaos.history import ReadRecord
from proof.chaos.wait import until

# A paused broker keeps its connections and does not answer: with the default timeout of a minute a
# short test would take long. And an old leader that does not know its successor lets requests time
# out, and librdkafka then asks the same broker again, until it refreshes its metadata (by default
# every five minutes).
QUICK: dict[str, Any] = {
    "log_level": 2,  # broken connections are expected here
    "socket.timeout.ms": 3000,
    "topic.metadata.refresh.interval.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
}
READ_WAIT_S = 20.0  # seconds


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
    bootstrap: str,
    topic: str,
    ends: Mapping[int, int],
    patience: float = READ_WAIT_S,
    **settings: Any,
) -> list[ReadRecord]:
    """Every record of these partitions, up to their high watermarks.

    The high watermark of a new leader is right only after its followers have fetched: we wait for
    the known ends, but not forever. The judge finds what is missing then.
    """
    found: list[ReadRecord] = []
    with consumer(bootstrap, **settings) as reader:
        for partition, end in ends.items():
            high = high_watermark(reader, topic, partition, end, patience)
            found += _partition(reader, topic, partition, high)
    return found


def high_watermark(
    reader: Consumer, topic: str, partition: int, least: int, patience: float
) -> int:
    """The high watermark, once it is `least` or more; or its value when the time is over."""
    asked, high, refused = TopicPartition(topic, partition), -1, None
    deadline = time.monotonic() + patience
    while high < least and time.monotonic() < deadline:
        try:
            high = reader.get_watermark_offsets(asked, timeout=2)[1]
        except KafkaException as error:  # no leader yet, for instance
            refused = error
    assert high >= 0, f"no answer with the high watermark of partition {partition}: {refused}"
    return high


def _partition(reader: Consumer, topic: str, partition: int, high: int) -> list[ReadRecord]:
    found: list[ReadRecord] = []
    deadline = time.monotonic() + READ_WAIT_S
    reader.assign([TopicPartition(topic, partition, 0)])
    while (found[-1].offset + 1 if found else 0) < high and time.monotonic() < deadline:
        for message in reader.consume(1000, 0.1):
            assert message.error() is None, message.error()
            found.append(as_read(message))
    return [read for read in found if read.offset < high]


def as_read(message: Message) -> ReadRecord:
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and value is not None
    return ReadRecord(partition, offset, value)


def placement(bootstrap: str, topic: str, **settings: Any) -> dict[int, list[int]]:
    """Which brokers have which partition."""
    admin = AdminClient(QUICK | {"bootstrap.servers": bootstrap} | settings)
    found = admin.list_topics(topic, 10).topics[topic].partitions
    return {number: sorted(each.replicas) for number, each in sorted(found.items())}


# The controller lost its ZooKeeper session or is another one now, which does not know a broker yet
# whose session has just begun; or librdkafka dropped a broker because it is also one of the
# bootstrap servers.
TRANSIENT = frozenset(
    {
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NOT_CONTROLLER,
        KafkaError.INVALID_REPLICA_ASSIGNMENT,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._DESTROY_BROKER,
    }
)


def create(bootstrap: str, topic: NewTopic) -> None:
    """Create a topic. After a transient error try again; it may exist by then."""
    admin = AdminClient(QUICK | {"bootstrap.servers": bootstrap})
    until(lambda: _is_created(admin, topic))


def _is_created(admin: AdminClient, topic: NewTopic) -> bool:
    (answer,) = admin.create_topics([topic], operation_timeout=20, request_timeout=30).values()
    try:
        answer.result()
    except KafkaException as refused:
        code = refused.args[0].code()
        if code not in TRANSIENT | {KafkaError.TOPIC_ALREADY_EXISTS}:
            raise
        return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)
    return True
