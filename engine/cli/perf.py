"""Measure what a cluster takes and gives, as kafka-producer-perf-test and consumer-perf-test do.

    perf producer --topic T --num-records N [--record-size BYTES] [--throughput RECORDS]
                  [--producer-props acks=all batch.size=65536 compression.type=lz4]
    perf consumer --topic T --messages N [--fetch-size BYTES] [--from-latest] [--timeout MS]

The latency of a producer is the time from the first record of a batch until the batch is
acknowledged; that of a consumer is the time it had to wait for what a fetch brings. MB are
1024 * 1024 bytes of keys and values. Both ends run in one Python thread, which is often what
is measured: compare figures of one machine and one run only.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engine.cli.options import add_bootstrap, connect, known, setting

if TYPE_CHECKING:
    from engine.errors import KafkaError
    from engine.storage.batch import Codec

PROPS = {"acks": "1", "batch.size": "16384", "compression.type": "none"}
ACKS = {"0": 0, "1": 1, "-1": -1, "all": -1}
PERCENTILES = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}
MB = 1024 * 1024
REPORT = 2.0  # seconds between two lines of progress


def add_arguments(parser: ArgumentParser) -> None:
    roles = parser.add_subparsers(dest="role", required=True, metavar="producer|consumer")
    producer = roles.add_parser("producer", help="send records", allow_abbrev=False)
    consumer = roles.add_parser("consumer", help="read records", allow_abbrev=False)
    for each in (producer, consumer):
        add_bootstrap(each)
        each.add_argument("--topic", required=True, metavar="T", help="the topic")
    producer.add_argument(
        "--num-records", type=int, required=True, metavar="N", help="how many to send"
    )
    producer.add_argument(
        "--record-size", type=int, default=200, metavar="BYTES", help="default: %(default)s"
    )
    producer.add_argument(
        "--throughput",
        type=float,
        default=-1,
        metavar="RECORDS",
        help="send no more than so many a second; -1, the default: as many as will go",
    )
    producer.add_argument(
        "--producer-props",
        type=setting,
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help=f"by default: {' '.join(f'{key}={value}' for key, value in PROPS.items())}",
    )
    consumer.add_argument(
        "--messages", type=int, required=True, metavar="N", help="how many to read"
    )
    consumer.add_argument(
        "--fetch-size",
        type=int,
        default=MB,
        metavar="BYTES",
        help="of one partition in one fetch (default: %(default)s)",
    )
    consumer.add_argument(
        "--from-latest", action="store_true", help="read only what is sent from now on"
    )
    consumer.add_argument(
        "--timeout",
        type=int,
        default=10_000,
        metavar="MS",
        help="stop when nothing came for so long (default: %(default)s)",
    )


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
            print(line + ".", file=sys.stderr, flush=True)

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


def percentile(values: list[tuple[float, int]], share: float) -> float:
    """The value that this share of the weights is below."""
    left = share * sum(weight for _, weight in values)
    for value, weight in sorted(values):
        left -= weight
        if left < 0:
            return value
    return max((value for value, _ in values), default=0.0)


# -- producer --------------------------------------------------------------------------------


def _produce(options: Namespace) -> int:
    from engine.client.writer import Writer
    from engine.model import TopicPartition
    from engine.storage.batch import HEADER_SIZE
    from engine.storage.records import Builder

    acks, batch_size, codec = _props(options)
    value = bytes(65 + number * 7919 % 26 for number in range(options.record_size))
    with connect(options.bootstrap_server) as cluster:
        numbers = list(cluster.topic(options.topic, create=True).partitions)
        stats = Stats("sent")

        def done(about: tuple[int, float], error: "KafkaError | None") -> None:
            if error is not None:
                raise error
            count, since = about
            stats.add(count, count * len(value), time.perf_counter() - since)

        began, sent, turn = time.perf_counter(), 0, 0
        with Writer(cluster, done, acks) as writer:
            while sent < options.num_records:
                now = time.perf_counter()
                due = options.num_records
                if options.throughput > 0:
                    due = min(due, 1 + int((now - began) * options.throughput))
                    if due <= sent:
                        writer.poll(began + sent / options.throughput - now)
                        continue
                builder, size, timestamp = Builder(), HEADER_SIZE, time.time_ns() // 1_000_000
                while sent < due and size < batch_size:
                    size = builder.append(None, value, timestamp)
                    sent += 1
                partition = TopicPartition(options.topic, numbers[turn % len(numbers)])
                turn += 1
                writer.send(partition, builder.build(codec), (builder.count, now))
            writer.flush()
    print(stats.total())
    return 0


def _props(options: Namespace) -> "tuple[int, int, Codec]":
    from engine.cli.main import UsageError
    from engine.storage.batch import Codec

    props = PROPS | known(options.producer_props, PROPS, "producer property")
    if props["acks"] not in ACKS:
        raise UsageError(f"acks={props['acks']}: it is one of {', '.join(ACKS)}")
    if not props["batch.size"].isdecimal():
        raise UsageError(f"batch.size={props['batch.size']}: it is a number of bytes")
    codecs = [codec.name.lower() for codec in Codec]
    if props["compression.type"] not in codecs:
        raise UsageError(
            f"compression.type={props['compression.type']}: it is one of {', '.join(codecs)}"
        )
    codec = Codec[props["compression.type"].upper()]
    return ACKS[props["acks"]], int(props["batch.size"]), codec


# -- consumer --------------------------------------------------------------------------------


def _consume(options: Namespace) -> int:
    from engine.client.reader import EARLIEST, LATEST, Reader, list_offset
    from engine.model import TopicPartition

    start = LATEST if options.from_latest else EARLIEST
    with connect(options.bootstrap_server) as cluster:
        partitions = [
            TopicPartition(options.topic, number)
            for number in cluster.topic(options.topic).partitions
        ]
        positions = {each: list_offset(cluster, each, start) for each in partitions}
        stats = Stats("read")
        with Reader(cluster, positions, options.fetch_size, start) as reader:
            while stats.count < options.messages:
                began = time.perf_counter()
                batches = reader.poll(options.timeout / 1000)
                waited = time.perf_counter() - began
                if not batches:
                    why = f": {reader.trouble.message}" if reader.trouble else ""
                    print(
                        f"nothing came for {options.timeout} ms, {stats.count} of "
                        f"{options.messages} records were read{why}",
                        file=sys.stderr,
                    )
                    break
                records = [record for batch in batches for record in batch.records()]
                size = sum(len(it.key or b"") + len(it.value or b"") for it in records)
                stats.add(len(records), size, waited)
    print(stats.total())
    return int(stats.count < options.messages)
