"""Load on a Kafka broker, made by confluent-kafka: the engine, the mock and Apache Kafka.

The client is librdkafka, in C, with a thin Python layer; at a few hundred thousand records a second
that layer is the limit, for any broker.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import MappingProxyType
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.peers.peer import CONSUME, PATIENCE, VALUE, Load, Size, TwoWay, percentile

FIRST = 1  # the offset behind the record that opens the producer's connection
PARTITIONS = 100
KEYED = f"produce, {PARTITIONS} partitions, keyed"
LZ4 = f"{KEYED}, lz4"
KEYS = [f"key-{number}" for number in range(10_007)]
CLIENTS = 40
CROWD = f"{CLIENTS} clients that wait"
AGAIN = 10  # times that a small log is read in one measurement
CONSUMER = {
    "group.id": "bench",  # a must, though nothing is committed
    "enable.auto.commit": False,
    # A client that has more than this in its queue fetches nothing for a second.
    "queued.min.messages": 1_000_000,
    "fetch.queue.backoff.ms": 10,
    "fetch.wait.max.ms": 5,  # at the end of a log, before the client can go back to its beginning
}
_numbers = count()


def _failed(error: KafkaError, message: Message) -> None:
    raise RuntimeError(f"a record was not stored: {error}")


QUIET = {"delivery.report.only.error": True, "on_delivery": _failed, "log_level": 2}


class KafkaPeer(TwoWay):
    bootstrap: str
    security: Mapping[str, str] = MappingProxyType({})  # a user's settings
    _topic: str

    def new_topic(self) -> str:
        """Its name; the broker creates it when the producer asks for it."""
        return f"bench-{next(_numbers)}"

    def loads(self, size: Size) -> dict[str, Load]:
        def small() -> float:
            self.produce(size.small)
            return self.consume(size.small, AGAIN)

        more = {
            "latency p99": lambda: percentile(self.ping(size.pings), 0.99),
            "produce, 16 KB batches": lambda: self.produce(size.records, {"batch.size": 16_384}),
            "produce, idempotent": lambda: self.produce(size.records, {"enable.idempotence": True}),
            "consume, small log": small,
        }
        return self.columns(size) | more

    def columns(self, size: Size) -> dict[str, Load]:
        """What is compared with other brokers of Kafka's protocol, also with three replicas."""
        return {
            "produce": lambda: self.produce(size.records),
            CONSUME: lambda: self.consume(size.records),
            KEYED: lambda: self.produce(size.records, partitions=PARTITIONS),
            LZ4: lambda: self.produce(size.records, {"compression.type": "lz4"}, PARTITIONS),
            "latency p50": lambda: percentile(self.ping(size.pings), 0.5),
            CROWD: lambda: self.crowded(size.pings),
        }

    def produce(
        self, records: int, more: dict[str, Any] | None = None, partitions: int = 1
    ) -> float:
        settings = {"queue.buffering.max.messages": records} | (more or {})
        producer = self._producer(settings, partitions)
        start = time.perf_counter()
        for number in range(records):
            if partitions > 1:
                producer.produce(self._topic, VALUE, KEYS[number % len(KEYS)])
            else:
                producer.produce(self._topic, VALUE, partition=0)
        unsent = producer.flush(PATIENCE)
        spent = time.perf_counter() - start
        if unsent:
            raise TimeoutError(f"{self.name} has not taken {unsent} of {records} records")
        return spent

    def consume(self, records: int, times: int = 1) -> float:
        at = {"bootstrap.servers": self.bootstrap, **self.security}
        consumer = Consumer(CONSUMER | at)
        consumer.list_topics(self._topic, PATIENCE)  # connects
        begin = TopicPartition(self._topic, 0, FIRST)
        start = time.perf_counter()
        consumer.assign([begin])
        self._read(consumer, records)
        for _ in range(times - 1):
            consumer.seek(begin)
            self._read(consumer, records)
        spent = time.perf_counter() - start
        consumer.close()
        return spent

    def _read(self, consumer: Consumer, records: int) -> None:
        left, deadline = records, time.monotonic() + PATIENCE
        while left:
            found = consumer.consume(min(10_000, left), 1.0)
            left -= len(found)
            if not found and time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} does not give {left} of {records} records")
        if found[-1].offset() != FIRST + records - 1:  # an error counts as a message too
            raise RuntimeError(f"{self.name}: {found[-1].error() or found[-1].offset()}")

    def ping(self, times: int) -> list[float]:
        producer = self._producer({"linger.ms": 0})
        return [_ping(producer, self._topic) for _ in range(times)]

    def crowded(self, times: int) -> float:
        """Seconds until many clients have stored so many records, each of them one by one."""
        first = self._producer({"linger.ms": 0})
        at = {"bootstrap.servers": self.bootstrap, **self.security}
        settings = at | {"acks": "all", "linger.ms": 0} | QUIET
        producers = [first, *(Producer(settings) for _ in range(CLIENTS - 1))]
        with ThreadPoolExecutor(CLIENTS) as threads:
            list(threads.map(lambda each: _ping(each, self._topic), producers))  # connects
            start = time.perf_counter()

            def store(producer: Producer) -> None:
                for _ in range(times // CLIENTS):
                    _ping(producer, self._topic)

            list(threads.map(store, producers))
            return time.perf_counter() - start

    def _producer(self, more: dict[str, Any], partitions: int = 1) -> Producer:
        """For a topic of its own; the connection is open, and one record went that way."""
        at = {"bootstrap.servers": self.bootstrap, **self.security}
        producer = Producer(at | {"acks": "all", "linger.ms": 5} | more | QUIET)
        self._topic = self.new_topic()
        if partitions > 1:
            new = NewTopic(self._topic, partitions)
            admin = AdminClient(at | {"log_level": 2})
            (made,) = admin.create_topics([new], operation_timeout=PATIENCE).values()
            made.result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while producer.list_topics(self._topic, PATIENCE).topics[self._topic].error:
            if time.monotonic() > deadline:  # the broker creates it, which takes a moment
                raise TimeoutError(f"{self.name} does not create a topic")
            time.sleep(0.05)
        _ping(producer, self._topic)
        return producer


def _ping(producer: Producer, topic: str) -> float:
    start = time.perf_counter()
    producer.produce(topic, VALUE, partition=0)
    producer.flush(PATIENCE)
    return time.perf_counter() - start
