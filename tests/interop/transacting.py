"""Producers that write in transactions, the stock ones and ours, behind one face; and readers.

    with WRITERS["aiokafka"](bootstrap, "till-1") as writer:
        writer.begin()
        writer.send("orders", b"tea")
        writer.commit()                      or abort()
    READERS["confluent"](bootstrap, "orders", 3, "read_committed")

Whatever goes wrong comes out as the client's own exception; `is_fenced` tells whether it says that
another producer has taken the transactional id over.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any, Protocol

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka.errors

import engine
from tests.interop.clients import (
    aiokafka_consumer,
    aiokafka_take,
    confluent_take,
    kafka,
    kafka_python_consumer,
    kafka_python_take,
)
from tests.limits import ANSWER_S

PARTITION = 0
ALL = 30.0  # seconds for one step of a transaction


class Writer(Protocol):
    def begin(self) -> None: ...
    def send(self, topic: str, value: bytes) -> None: ...
    def offsets(self, topic: str, offset: int, group: str) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def is_fenced(self, error: BaseException) -> bool: ...


class Confluent:
    """confluent-kafka's producer, and ours, which has the same methods."""

    def __init__(self, module: Any, bootstrap: str, transactional_id: str, **settings: Any) -> None:
        self._module = module
        mine = {"bootstrap.servers": bootstrap, "transactional.id": transactional_id}
        self._producer = module.Producer(mine | settings)
        self._producer.init_transactions(ALL)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes) -> None:
        self._producer.produce(topic, value, partition=PARTITION)
        self._producer.flush(ALL)

    def offsets(self, topic: str, offset: int, group: str) -> None:
        with closing(self._consumer(group)) as consumer:
            place = self._module.TopicPartition(topic, PARTITION, offset)
            metadata = consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction([place], metadata, ALL)

    def _consumer(self, group: str) -> Any:
        bootstrap = self._producer.list_topics(timeout=ALL).brokers.values()
        servers = ",".join(f"{each.host}:{each.port}" for each in bootstrap)
        return self._module.Consumer({"bootstrap.servers": servers, "group.id": group})

    def commit(self) -> None:
        self._producer.commit_transaction(ALL)

    def abort(self) -> None:
        self._producer.abort_transaction(ALL)

    def is_fenced(self, error: BaseException) -> bool:
        fenced = (self._module.KafkaError._FENCED, self._module.KafkaError.PRODUCER_FENCED)
        return error.args[0].fatal() and error.args[0].code() in fenced

    def close(self) -> None:
        self._producer.purge()
        if self._module is engine:  # confluent's ends with its last reference
            self._producer.close(ANSWER_S)


class KafkaPython:
    def __init__(self, bootstrap: str, transactional_id: str, **settings: Any) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, **settings
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes) -> None:
        self._producer.send(topic, value, partition=PARTITION).get(ALL)

    def offsets(self, topic: str, offset: int, group: str) -> None:
        place = {kafka.TopicPartition(topic, PARTITION): kafka.OffsetAndMetadata(offset, "", -1)}
        self._producer.send_offsets_to_transaction(place, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def is_fenced(self, error: BaseException) -> bool:
        return isinstance(
            error,
            kafka.errors.ProducerFencedError | kafka.errors.InvalidProducerEpochError,
        )

    def close(self) -> None:
        self._producer.close(timeout=ANSWER_S)


class Aiokafka:
    """Its loop stands still between two calls, which does no harm: a producer has no heartbeat."""

    def __init__(self, bootstrap: str, transactional_id: str, **settings: Any) -> None:
        self._loop = asyncio.Runner()

        async def start() -> Any:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id, **settings
            )
            await producer.start()
            return producer

        self._producer = self._loop.run(start())

    def begin(self) -> None:
        self._loop.run(self._producer.begin_transaction())

    def send(self, topic: str, value: bytes) -> None:
        self._loop.run(self._producer.send_and_wait(topic, value, partition=PARTITION))

    def offsets(self, topic: str, offset: int, group: str) -> None:
        place = {aiokafka.TopicPartition(topic, PARTITION): offset}
        self._loop.run(self._producer.send_offsets_to_transaction(place, group))

    def commit(self) -> None:
        self._loop.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._producer.abort_transaction())

    def is_fenced(self, error: BaseException) -> bool:
        return isinstance(error, aiokafka.errors.ProducerFenced)

    def close(self) -> None:
        try:
            self._loop.run(self._producer.stop())
        finally:
            self._loop.close()


@contextmanager
def confluent(bootstrap: str, transactional_id: str, **settings: Any) -> Iterator[Writer]:
    quiet = {"log_level": 2}  # it would go on to tell of a broker that has ended
    with closing(
        Confluent(confluent_kafka, bootstrap, transactional_id, **quiet, **settings)
    ) as it:
        yield it


@contextmanager
def ours(bootstrap: str, transactional_id: str, **settings: Any) -> Iterator[Writer]:
    with closing(Confluent(engine, bootstrap, transactional_id, **settings)) as writer:
        yield writer


@contextmanager
def kafka_python(bootstrap: str, transactional_id: str, **settings: Any) -> Iterator[Writer]:
    with closing(KafkaPython(bootstrap, transactional_id, **settings)) as writer:
        yield writer


@contextmanager
def aiokafka_writer(bootstrap: str, transactional_id: str, **settings: Any) -> Iterator[Writer]:
    with closing(Aiokafka(bootstrap, transactional_id, **settings)) as writer:
        yield writer


WRITERS: dict[str, Callable[..., AbstractContextManager[Writer]]] = {
    "confluent": confluent,
    "ours": ours,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka_writer,
}


# -- readers -----------------------------------------------------------------------------------


def read_alike(module: Any, bootstrap: str, topic: str, count: int, isolation: str) -> list[bytes]:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "none",
        "enable.auto.commit": False,
        "isolation.level": isolation,
    }
    with closing(module.Consumer(settings)) as consumer:
        consumer.assign([module.TopicPartition(topic, PARTITION, 0)])
        return [message.value() for message in confluent_take(consumer, count)]


def read_python(bootstrap: str, topic: str, count: int, isolation: str) -> list[bytes]:
    with kafka_python_consumer(bootstrap, isolation_level=isolation) as consumer:
        consumer.assign([kafka.TopicPartition(topic, PARTITION)])
        return [record.value for record in kafka_python_take(consumer, count)]


def read_aiokafka(bootstrap: str, topic: str, count: int, isolation: str) -> list[bytes]:
    async def read() -> list[bytes]:
        async with aiokafka_consumer(bootstrap, isolation_level=isolation) as consumer:
            consumer.assign([aiokafka.TopicPartition(topic, PARTITION)])
            return [record.value for record in await aiokafka_take(consumer, count)]

    return asyncio.run(read())


READERS: dict[str, Callable[[str, str, int, str], list[bytes]]] = {
    "confluent": lambda *words: read_alike(confluent_kafka, *words),
    "ours": lambda *words: read_alike(engine, *words),
    "kafka-python": read_python,
    "aiokafka": read_aiokafka,
}
