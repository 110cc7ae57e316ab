"""The stock clients of Python behind one face: write these records, read so many.

    CLIENTS["aiokafka"].write(bootstrap, topic, RECORDS, "zstd")
    CLIENTS["confluent"].read(bootstrap, topic, 3)

confluent is librdkafka, in C; kafka-python and aiokafka are in Python. What each can do besides
is shown in a module of its own, in its own words.
"""

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka

from engine.storage.records import Record
from tests.limits import ANSWER_S

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    import kafka


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LONG = 30_000  # milliseconds that a reader lets the broker wait: three times our patience
SECOND = 1_700_000_000_000
# What every client can send; each but confluent refuses something that others may.
RECORDS = [
    Record(0, SECOND, b"key", b"value"),
    Record(1, SECOND + 5, None, b"v" * 70_000, (("trace", b"\0\1"), ("trace", b""))),
    Record(2, SECOND - 5, b"gone", None),
    Record(3, SECOND + 86_400_000, b"", b"", (("naïve ✓", b"1"),)),
    *[Record(n, SECOND + n, b"%d" % n, b"x" * n) for n in range(4, 100)],
]


class Client(NamedTuple):
    """Both wait until it is done, and fail if that is not soon."""

    write: Callable[[str, str, Sequence[Record], str], None]
    read: Callable[[str, str, int], list[Record]]


def patiently() -> Iterator[None]:
    """Again and again, but not forever."""
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        yield
    raise TimeoutError(f"not within {ANSWER_S:.0f} s")


# -- confluent -------------------------------------------------------------------------------


def confluent_write(
    bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none", **settings: Any
) -> list[confluent_kafka.Message]:
    """What the broker acknowledged; `_` in a setting stands for `.`."""
    producer = confluent_kafka.Producer(
        named({"bootstrap_servers": bootstrap, "compression_type": codec} | settings)
    )
    told: list[confluent_kafka.Message] = []
    failed: list[Any] = []
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            partition=0,
            timestamp=record.timestamp,
            headers=list(record.headers),
            on_delivery=lambda error, message: (
                failed.append(error) if error else told.append(message)
            ),
        )
    assert producer.flush(ANSWER_S) == 0
    assert not failed, failed
    return told


def named(settings: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in settings.items()}


@contextmanager
def confluent_consumer(bootstrap: str, **settings: Any) -> Iterator[confluent_kafka.Consumer]:
    """It wants the name of a group even if it never joins one.

    For OFFSET_BEGINNING it takes half a second, whoever the broker is; a number is found at once.
    """
    defaults = {"bootstrap_servers": bootstrap, "group_id": "none", "enable_auto_commit": False}
    with closing(confluent_kafka.Consumer(named(defaults | settings))) as consumer:
        yield consumer


def confluent_take(consumer: confluent_kafka.Consumer, count: int) -> list[confluent_kafka.Message]:
    found: list[confluent_kafka.Message] = []
    for _ in patiently():
        for message in consumer.consume(count - len(found), timeout=0.1):
            assert message.error() is None, message.error()
            found.append(message)
        if len(found) == count:
            return found
    raise AssertionError


def confluent_read(bootstrap: str, topic: str, count: int) -> list[Record]:
    with confluent_consumer(bootstrap) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        return [
            Record(
                message.offset(),
                message.timestamp()[1],
                message.key(),
                message.value(),
                tuple(message.headers() or ()),
            )
            for message in confluent_take(consumer, count)
        ]


# -- kafka-python ----------------------------------------------------------------------------


def kafka_python_write(
    bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none", **settings: Any
) -> list[Any]:
    compression = None if codec == "none" else codec
    with closing(
        kafka.KafkaProducer(bootstrap_servers=bootstrap, compression_type=compression, **settings)
    ) as producer:
        sent = [
            producer.send(
                topic,
                record.value,
                record.key,
                partition=0,
                timestamp_ms=record.timestamp,
                headers=list(record.headers),
            )
            for record in records
        ]
        return [each.get(ANSWER_S) for each in sent]


def kafka_python_consumer(bootstrap: str, **settings: Any) -> closing[Any]:
    defaults = {"group_id": None, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    return closing(kafka.KafkaConsumer(bootstrap_servers=bootstrap, **(defaults | settings)))


def kafka_python_take(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    for _ in patiently():
        for records in consumer.poll(100, max_records=count - len(found)).values():
            found += records
        if len(found) == count:
            return found
    raise AssertionError


def kafka_python_read(bootstrap: str, topic: str, count: int) -> list[Record]:
    with kafka_python_consumer(bootstrap) as consumer:
        consumer.assign([kafka.TopicPartition(topic, 0)])
        return [plain(record) for record in kafka_python_take(consumer, count)]


def plain(record: Any) -> Record:
    headers = tuple((name, value) for name, value in record.headers)
    return Record(record.offset, record.timestamp, record.key, record.value, headers)


# -- aiokafka --------------------------------------------------------------------------------


@asynccontextmanager
async def aiokafka_started(client: Any) -> Any:
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


def aiokafka_producer(bootstrap: str, **settings: Any) -> Any:
    return aiokafka_started(aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **settings))


def aiokafka_consumer(bootstrap: str, **settings: Any) -> Any:
    defaults = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
    return aiokafka_started(
        aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, **(defaults | settings))
    )


async def aiokafka_send(producer: Any, topic: str, records: Sequence[Record]) -> list[Any]:
    sent = [
        await producer.send(
            topic,
            record.value,
            record.key,
            partition=0,
            timestamp_ms=record.timestamp,
            headers=list(record.headers),
        )
        for record in records
    ]
    return await asyncio.wait_for(asyncio.gather(*sent), ANSWER_S)


async def aiokafka_take(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []
    async with asyncio.timeout(ANSWER_S):
        while len(found) < count:
            for records in (await consumer.getmany(timeout_ms=100)).values():
                found += records
    assert len(found) == count
    return found


def aiokafka_write(bootstrap: str, topic: str, records: Sequence[Record], codec: str) -> None:
    async def write() -> None:
        compression = None if codec == "none" else codec
        async with aiokafka_producer(bootstrap, compression_type=compression) as producer:
            await aiokafka_send(producer, topic, records)

    asyncio.run(write())


def aiokafka_read(bootstrap: str, topic: str, count: int) -> list[Record]:
    async def read() -> list[Record]:
        async with aiokafka_consumer(bootstrap) as consumer:
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            return [plain(record) for record in await aiokafka_take(consumer, count)]

    return asyncio.run(read())


CLIENTS = {
    "confluent": Client(confluent_write, confluent_read),
    "kafka-python": Client(kafka_python_write, kafka_python_read),
    "aiokafka": Client(aiokafka_write, aiokafka_read),
}
