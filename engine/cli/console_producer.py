"""Send lines: each line of the standard input becomes a record, as kafka-console-producer.sh does.

    console-producer --topic orders                             type; control-D ends it
    seq 1000 | console-producer --topic numbers
    console-producer --topic orders --property parse.key=true --property key.separator=:

A record with a key goes to the partition that the key's hash says, the same as with any Kafka
client. Lines without a key go to one partition after the other, a batch to each. What there is to
read goes into one batch, up to 16 KB; nothing waits for more to be typed unless --timeout says so.
A topic that is not there is created if the broker allows it.
"""

import os
import selectors
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.cli.options import add_bootstrap, add_property, connect, is_true, known

if TYPE_CHECKING:
    from engine.client.writer import Writer
    from engine.errors import KafkaError

PROPERTIES = {
    "parse.key": "false",  # whether a line has a key in front
    "key.separator": "\t",
    "ignore.error": "false",  # a line without a separator is then a record without a key
    "null.marker": "",  # what stands for no value at all: a tombstone
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = {"0": 0, "1": 1, "-1": -1, "all": -1}

BATCH_BYTES = 16 * 1024  # a batch is sent when it has so many: batch.size
READ_BYTES = 64 * 1024


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    parser.add_argument("--topic", required=True, metavar="T", help="where to send them")
    add_property(parser, PROPERTIES)
    parser.add_argument(
        "--compression-codec",
        choices=CODECS,
        nargs="?",
        const="gzip",
        default="none",
        help="how batches are compressed (default: %(default)s; named without a codec: gzip)",
    )
    parser.add_argument(
        "--request-required-acks",
        choices=ACKS,
        default="1",
        help="who has to have a record before it counts as sent: nobody, the leader, or all "
        "replicas in sync (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=0,
        metavar="MS",
        help="how long a line may wait for more lines to go with it (default: %(default)s)",
    )


def run(options: Namespace) -> int:
    from engine.client.writer import Writer

    parse = _Parser(PROPERTIES | known(options.property, PROPERTIES, "property"))
    with connect(options.bootstrap_server) as cluster:
        partitions = len(cluster.topic(options.topic, create=True).partitions)
        outcome = _Outcome()
        with Writer(cluster, outcome.done, ACKS[options.request_required_acks]) as writer:
            batches = _Batches(writer, options.topic, partitions, options.compression_codec)
            try:
                for number, line in enumerate(_lines(batches, options.timeout / 1000), start=1):
                    batches.add(*parse(line, number))
            finally:
                batches.send()
    return int(outcome.failed)


class _Outcome:
    """Failures are told as they come; the next lines are tried all the same."""

    failed = False

    def done(self, count: int, error: "KafkaError | None") -> None:
        if error is not None:
            self.failed = True
            print(f"not sent, {count} records: {error.message}", file=sys.stderr, flush=True)


class _Batches:
    """The batches that lines are being added to, one a partition at most."""

    def __init__(self, writer: "Writer", topic: str, partitions: int, codec: str) -> None:
        from engine.client.partitioner import partition_of
        from engine.model import TopicPartition
        from engine.storage.batch import Codec
        from engine.storage.records import Builder

        self._writer = writer
        self._partitions = [TopicPartition(topic, number) for number in range(partitions)]
        self._codec = Codec[codec.upper()]
        self._builder, self._partition_of = Builder, partition_of
        self._open: dict[int, Builder] = {}
        self._next = 0  # the partition of lines without a key

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, key: bytes | None, value: bytes | None) -> None:
        number = self._next if key is None else self._partition_of(key, len(self._partitions))
        builder = self._open.get(number)
        if builder is None:
            builder = self._open[number] = self._builder()
        if builder.append(key, value, time.time_ns() // 1_000_000) >= BATCH_BYTES:
            self._send(number)

    def send(self) -> None:
        """Send what there is, and wait until there is word of all that was sent."""
        for number in list(self._open):
            self._send(number)
        self._writer.flush()

    def _send(self, number: int) -> None:
        builder = self._open.pop(number)
        self._writer.send(self._partitions[number], builder.build(self._codec), builder.count)
        if number == self._next:
            self._next = (number + 1) % len(self._partitions)


# -- lines -----------------------------------------------------------------------------------


def _lines(batches: _Batches, linger: float) -> Iterator[bytes]:
    """The lines of stdin, without their ends. Sends what there is when no more is to be read."""
    interactive = sys.stdin.isatty()
    fd, rest = sys.stdin.fileno(), b""
    while True:
        if batches and not _readable(fd, linger):
            batches.send()
        if interactive:
            print(">", end="", flush=True)
        chunk = os.read(fd, READ_BYTES)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r") for line in lines)
    if rest:
        yield rest
    if interactive:
        print()


def _readable(fd: int, timeout: float) -> bool:
    """Whether there is something to read, within so many seconds; in a file there always is."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ)
        except PermissionError:  # epoll takes no files
            return True
        return bool(selector.select(max(timeout, 0)))


class _Parser:
    """From a line to key and value."""

    def __init__(self, properties: dict[str, str]) -> None:
        from engine.cli.main import UsageError

        self._has_key = is_true(properties["parse.key"])
        self._separator = properties["key.separator"].encode()
        self._ignores_errors = is_true(properties["ignore.error"])
        self._null = properties["null.marker"].encode() or None
        if not self._separator:
            raise UsageError("the key.separator cannot be empty")

    def __call__(self, line: bytes, number: int) -> tuple[bytes | None, bytes | None]:
        from engine.errors import ErrorCode, KafkaError

        key: bytes | None = None
        value: bytes | None = line
        if self._has_key:
            before, found, after = line.partition(self._separator)
            if found:
                key, value = before, after
            elif not self._ignores_errors:
                shown = line[:60].decode(errors="backslashreplace")
                raise KafkaError(
                    ErrorCode.invalid_record,
                    f"No key found on line {number}: {shown}; the key.separator is "
                    f"{self._separator.decode()!r}",
                )
        return key, None if value == self._null else value
