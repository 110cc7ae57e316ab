"""Measure a cluster's throughput and latency, as kafka-producer-perf-test and its like do.

    perf producer --topic T --num-records N [--record-size BYTES] [--throughput RECORDS]
                  [--producer-props bootstrap.servers=HOST:PORT acks=all batch.size=65536]
    perf consumer --topic T --messages N [--fetch-size BYTES] [--from-latest] [--timeout MS]

They use engine.Producer and engine.Consumer. The latency of a producer is the time from `produce`
until the record is acknowledged; that of a consumer is the time that `consume` took to return
messages. MB are 1024 * 1024 bytes of keys and values. Both ends are Python, whose speed is often
the limit: compare only figures of one machine and one run.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.cli.connection import client_config, connect, failure
from engine.cli.main import UsageError, to_stderr
from engine.cli.options import (
    BROKER_LIST,
    Options,
    add_bootstrap,
    add_options,
    known,
    setting,
    take_broker_list,
)
from engine.client.consumer import Consumer
from engine.client.producer import Producer
from engine.client.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from engine.errors import ApiException, ErrorCode
from engine.storage.batch import Codec

PROPS = {"acks": "1", "batch.size": "16384", "compression.type": "none"}
ACKS = ["0", "1", "-1", "all"]
PERCENTILES = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}
MB = 1024 * 1024
REPORT = 2.0  # seconds between two lines of progress
TURN = 500  # records that are sent, or returned, at once


PRODUCER: Options = {
    "record-size BYTES": (int, 200, "default: %(default)s"),
    "throughput RECORDS": (float, -1, "the most records per second; -1, the default: no limit"),
}
CONSUMER: Options = {
    "from-latest": "read only new records",
    "fetch-size BYTES": (int, MB, "of one partition in one fetch (default: %(default)s)"),
    "timeout MS": (int, 10_000, "stop if no record arrives for this time (default: %(default)s)"),
}


def add_arguments(parser: ArgumentParser) -> None:
    roles = parser.add_subparsers(dest="role", required=True, metavar="producer|consumer")
    producer = roles.add_parser("producer", help="send records", allow_abbrev=False)
    consumer = roles.add_parser("consumer", help="read records", allow_abbrev=False)
    for each in (producer, consumer):
        add_bootstrap(each, BROKER_LIST if each is consumer else {})
        add_options(each, {"topic T": "the topic"}, required=True)
    add_options(producer, {"num-records N": (int, None, "how many to send")}, required=True)
    add_options(producer, PRODUCER)
    defaults = f"by default: {' '.join(f'{key}={value}' for key, value in PROPS.items())}"
    add_options(producer, {"producer-props KEY=VALUE": (setting, (), defaults)}, nargs="+")
    add_options(consumer, {"messages N": (int, None, "how many to read")}, required=True)
    add_options(consumer, CONSUMER)


def run(options: Namespace) -> int:
    return _produce(options) if options.role == "producer" else _consume(options)


class Stats:
    """Counts, and how long things took. Batches share a latency, so each has a weight."""

    def __init__(self, verb: str) -> None:
        self.count = self.size = 0
        self._verb = verb
        self._latencies: list[tuple[float, int]] = []  # (seconds, records)
        self._began = self._window_began = time.perf_counter()
        self._window = (0, 0, 0)  # count, size and number of latencies when it began

    def add(self, count: int, size: int, latency: float) -> None:
        self.count += count
        self.size += size
        self._latencies.append((latency, count))
        now = time.perf_counter()
        if now - self._window_began >= REPORT:
            count, size, seen = self._window
            spent = now - self._window_began
            self._window_began = now
            self._window = (self.count, self.size, len(self._latencies))
            line = self._line(self.count - count, self.size - size, spent, self._latencies[seen:])
            to_stderr(line + ".")

    def total(self) -> str:
        spent = time.perf_counter() - self._began
        line = self._line(self.count, self.size, spent, self._latencies)
        shares = (
            f"{percentile(self._latencies, share) * 1000:.1f} ms {name}"
            for name, share in PERCENTILES.items()
        )
        return f"{line}, {', '.join(shares)}."

    def _line(self, count: int, size: int, spent: float, latencies: list[tuple[float, int]]) -> str:
        average = sum(latency * weight for latency, weight in latencies) / max(count, 1)
        slowest = max((latency for latency, _ in latencies), default=0.0)
        return (
            f"{count} records {self._verb}, {count / spent:.1f} records/sec "
            f"({size / spent / MB:.2f} MB/sec), {average * 1000:.1f} ms avg latency, "
            f"{slowest * 1000:.1f} ms max latency"
        )


@contextmanager
def totals(stats: Stats) -> Iterator[None]:
    """Print the totals afterwards, and also if Control-C ends the measurement."""
    try:
        yield
    except KeyboardInterrupt:
        print(stats.total())
        raise
    print(stats.total())


def percentile(values: list[tuple[float, int]], share: float) -> float:
    """The value below which this share of the weights is."""
    left = share * sum(weight for _, weight in values)
    for value, weight in sorted(values):
        left -= weight
        if left < 0:
            return value
    return max((value for value, _ in values), default=0.0)


# -- producer --------------------------------------------------------------------------------


def _produce(options: Namespace) -> int:
    props = _props(options)
    value = bytes(65 + number * 7919 % 26 for number in range(options.record_size))
    with connect(options) as cluster:
        cluster.topic(options.topic, create=True)
    stats = Stats("sent")

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise failure(error)
        stats.add(1, len(value), message.latency() or 0.0)

    props |= {**client_config(options), "on_delivery": delivered}
    began, sent = time.perf_counter(), 0
    with totals(stats), Producer(props) as producer:
        while sent < options.num_records:
            due = min(options.num_records, sent + TURN)
            if options.throughput > 0:
                spent = time.perf_counter() - began
                due = min(due, 1 + int(spent * options.throughput))
                if due <= sent:
                    producer.poll(sent / options.throughput - spent)
                    continue
            _send(producer, options.topic, value, due - sent)
            sent = due
            producer.poll(0)
        producer.flush()
    return 0


def _send(producer: Producer, topic: str, value: bytes, count: int) -> None:
    """Records that the producer does not take end the measurement."""
    try:
        for _ in range(count):
            producer.produce(topic, value)
    except KafkaException as error:
        raise failure(error.args[0]) from error
    except BufferError as full:
        raise ApiException(ErrorCode.request_timed_out, str(full)) from full


def _props(options: Namespace) -> dict[str, Any]:
    names = [*PROPS, "bootstrap.servers"]
    props = PROPS | known(options.producer_props, names, "producer property")
    options.bootstrap_server = props.pop("bootstrap.servers", options.bootstrap_server)
    if props["acks"] not in ACKS:
        raise UsageError(f"acks={props['acks']}: it is one of {', '.join(ACKS)}")
    if not props["batch.size"].isdecimal():
        raise UsageError(f"batch.size={props['batch.size']}: it is a number of bytes")
    codecs = [codec.name.lower() for codec in Codec]
    if props["compression.type"] not in codecs:
        raise UsageError(
            f"compression.type={props['compression.type']}: it is one of {', '.join(codecs)}"
        )
    return dict(props)


# -- consumer --------------------------------------------------------------------------------


def _consume(options: Namespace) -> int:
    take_broker_list(options)
    start = OFFSET_END if options.from_latest else OFFSET_BEGINNING
    with connect(options) as cluster:
        numbers = list(cluster.topic(options.topic).partitions)
    config = {
        **client_config(options),
        "max.partition.fetch.bytes": options.fetch_size,
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
    }
    stats = Stats("read")
    with totals(stats), Consumer(config) as consumer:
        consumer.assign([TopicPartition(options.topic, number, start) for number in numbers])
        while stats.count < options.messages:
            began = time.perf_counter()
            first = consumer.poll(options.timeout / 1000)
            if first is None:
                to_stderr(
                    f"nothing came for {options.timeout} ms, {stats.count} of {options.messages} "
                    "records were read"
                )
                break
            messages = [first, *consumer.consume(TURN, 0)]
            waited = time.perf_counter() - began
            for error in filter(None, (each.error() for each in messages)):
                raise failure(error)
            size = sum(len(it.key() or b"") + len(it.value() or b"") for it in messages)
            stats.add(len(messages), size, waited)
    return int(stats.count < options.messages)
