"""Send lines: each line of the standard input becomes a record, as kafka-console-producer.sh does.

    console-producer --topic orders                             type; control-D ends it
    seq 1000 | console-producer --topic numbers
    console-producer --topic orders --property parse.key=true --property key.separator=:

A record with a key goes to the partition of the key's hash, as with any Kafka client. Lines without
a key go to one partition after the other, a batch to each. All available lines go into one batch,
up to 16 KB; it waits for more lines only with --timeout. A topic that does not exist is created if
the broker allows it. A line that is too large, or for which the buffer has no room, is told on
stderr, and the next lines are sent all the same.
"""

import os
import selectors
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator

from engine.cli.connection import RETRY_LIMIT_S, client_config, connect, failure
from engine.cli.main import UsageError, to_stderr
from engine.cli.options import (
    BROKER_LIST,
    add_bootstrap,
    add_options,
    add_property,
    is_true,
    known,
    take_broker_list,
)
from engine.client.producer import Producer
from engine.client.values import KafkaError, KafkaException, Message
from engine.errors import ApiException, ErrorCode

PROPERTIES = {
    "parse.key": "false",  # whether a line has a key in front
    "key.separator": "\t",
    "ignore.error": "false",  # a line without a separator is then a record without a key
    "null.marker": "",  # the text that stands for a null value: a tombstone
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = ["0", "1", "-1", "all"]
LINGER = "how long a line may wait for more lines to go with it (default: %(default)s)"

BATCH_BYTES = 16 * 1024  # of a full batch: batch.size
READ_BYTES = 64 * 1024


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser, BROKER_LIST)
    add_options(parser, {"topic T": "where to send them"}, required=True)
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
        help="which replicas must have a record before it counts as sent: none, the leader, or "
        "all in sync (default: %(default)s)",
    )
    add_options(parser, {"timeout MS": (int, 0, LINGER)})


def run(options: Namespace) -> int:
    take_broker_list(options)
    parse = _Parser(PROPERTIES | known(options.property, PROPERTIES, "property"))
    with connect(options) as cluster:
        partitions = len(cluster.topic(options.topic, create=True).partitions)
    failures = _Failures()
    config = {
        **client_config(options),
        "acks": options.request_required_acks,
        "compression.type": options.compression_codec,
        "batch.size": BATCH_BYTES,
        "delivery.timeout.ms": round(RETRY_LIMIT_S * 1000),
        "on_delivery": failures.add,
        "error_cb": lambda error: to_stderr("waiting: " + error.str()),
    }
    with Producer(config) as producer:
        sender = _Sender(producer, failures, options.topic, partitions)
        try:
            for number, line in enumerate(_lines(sender, options.timeout / 1000), start=1):
                sender.send(number, *parse(line, number))
        finally:
            sender.flush()
    return int(failures.any)


class _Failures:
    """Records that were not sent. They are printed, and the next lines are sent all the same."""

    def __init__(self) -> None:
        self.any = False
        self._counts: Counter[str] = Counter()  # by partition and error

    def add(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.any = True
            self._counts[f"{message.topic()}-{message.partition()}: {error.str()}"] += 1

    def refused(self, line: int, why: str) -> None:
        """The producer does not take a line, and has no report of it."""
        self.any = True
        to_stderr(f"not sent, line {line}: {why}")

    def print(self) -> None:
        for text, count in self._counts.items():
            to_stderr(f"not sent, {count} records: {text}")
        self._counts.clear()


class _Sender:
    """Lines without a key go to one partition after the other, a batch to each."""

    def __init__(
        self, producer: Producer, failures: _Failures, topic: str, partitions: int
    ) -> None:
        self._producer = producer
        self._failures = failures
        self._topic = topic
        self._partitions = partitions
        self._next = 0  # the partition of lines without a key
        self._size = 0  # bytes of the batch that it gets

    def __bool__(self) -> bool:
        """Whether there is something to flush."""
        return bool(len(self._producer))

    def send(self, line: int, key: bytes | None, value: bytes | None) -> None:
        partition = -1  # by the key
        if key is None:
            partition = self._next
            self._size += len(value or b"")
            if self._size >= BATCH_BYTES:
                self._turn()
        try:
            self._producer.produce(self._topic, value, key, partition)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise failure(error.args[0]) from error
            self._failures.refused(line, error.args[0].str())
        except BufferError as full:
            self._failures.refused(line, str(full))
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait for the results of all lines."""
        self._producer.flush()
        self._failures.print()
        if self._size:
            self._turn()

    def _turn(self) -> None:
        self._next, self._size = (self._next + 1) % self._partitions, 0


# -- lines -----------------------------------------------------------------------------------


def _lines(sender: _Sender, linger: float) -> Iterator[bytes]:
    """The lines of stdin, without their ends. When no more is available, it flushes the sender."""
    interactive = sys.stdin.isatty()
    fd, rest = sys.stdin.fileno(), b""
    while True:
        if sender and not _readable(fd, linger):
            sender.flush()
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
    """Whether something can be read within `timeout` seconds; a file can always be read."""
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ)
        except PermissionError:  # epoll takes no files
            return True
        return bool(selector.select(max(timeout, 0)))


class _Parser:
    """From a line to key and value."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._has_key = is_true(properties["parse.key"])
        self._separator = properties["key.separator"].encode()
        self._ignores_errors = is_true(properties["ignore.error"])
        self._null = properties["null.marker"].encode() or None
        if not self._separator:
            raise UsageError("the key.separator cannot be empty")

    def __call__(self, line: bytes, number: int) -> tuple[bytes | None, bytes | None]:
        key: bytes | None = None
        value: bytes | None = line
        if self._has_key:
            before, found, after = line.partition(self._separator)
            if found:
                key, value = before, after
            elif not self._ignores_errors:
                shown = line[:60].decode(errors="backslashreplace")
                raise ApiException(
                    ErrorCode.invalid_record,
                    f"No key found on line {number}: {shown}; the key.separator is "
                    f"{self._separator.decode()!r}",
                )
        return key, None if value == self._null else value
