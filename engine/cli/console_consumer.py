"""Print records as they come, as kafka-console-consumer.sh does; control-C ends it.

    console-consumer --topic orders --from-beginning --max-messages 10
    console-consumer --topic orders --partition 0 --offset 41
    console-consumer --topic orders --property print.key=true --property print.offset=true
    console-consumer --topic orders --group billing --from-beginning
    console-consumer --topic orders --isolation-level read_committed

Values are printed as the bytes that they are, one a line. Without --from-beginning or --offset only
records are read that are sent from now on. All partitions of the topic are read, unless one is
named; order holds within a partition only. As a member of a group it reads its share, goes on where
the group has come to, and commits what it has printed. With --isolation-level read_committed what
was written in a transaction is printed once that is committed, and never if it is aborted. What
went wrong and how many records there were is told on stderr.
"""

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.cli.options import QUIET, add_bootstrap, add_property, connect, is_true, known, setting

if TYPE_CHECKING:
    from engine.client.cluster import ClusterView
    from engine.client.consumer import Consumer
    from engine.client.reader import Reader
    from engine.client.values import KafkaError as Told
    from engine.client.values import Message
    from engine.model import TopicPartition
    from engine.storage.batch import Header
    from engine.storage.records import Record

PROPERTIES = {  # in the order in which they are printed
    "print.timestamp": "false",
    "print.partition": "false",
    "print.offset": "false",
    "print.headers": "false",
    "print.key": "false",
    "print.value": "true",
    "key.separator": "\t",  # between all that is printed of a record
    "line.separator": "\n",
    "headers.separator": ",",
    "null.literal": "null",  # what is printed for no key or no value
}
COMMITTED = "read_committed"
FOREVER = 10**9
EARLIEST, LATEST = -2, -1  # as in the protocol
POLL = 0.5  # seconds; so often it is asked whether it is time to stop
AT_ONCE = 1000  # records that are printed together
KINDS = ("NoTimestampType", "CreateTime", "LogAppendTime")


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    parser.add_argument("--topic", required=True, metavar="T", help="what to read")
    parser.add_argument(
        "--from-beginning", action="store_true", help="start with the oldest record that is there"
    )
    parser.add_argument("--partition", type=int, metavar="N", help="read this one only")
    parser.add_argument(
        "--offset",
        type=_offset,
        metavar="O",
        help="with --partition: where to start, a number, earliest or latest",
    )
    parser.add_argument("--max-messages", type=int, metavar="N", help="stop after so many")
    parser.add_argument(
        "--timeout-ms", type=int, metavar="MS", help="stop when nothing came for so long"
    )
    parser.add_argument(
        "--isolation-level",
        choices=("read_uncommitted", COMMITTED),
        help="read_committed: pass over what was aborted, and wait for what may still be",
    )
    add_property(parser, PROPERTIES)
    parser.add_argument("--group", metavar="G", help="read as a member of this group")
    parser.add_argument(
        "--consumer-property",
        action="append",
        type=setting,
        default=[],
        metavar="KEY=VALUE",
        help="with --group: a key of the consumer's configuration; may be given several times",
    )


def run(options: Namespace) -> int:
    from engine.cli.main import UsageError
    from engine.client.reader import Reader

    if options.group is not None and options.partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    if options.group is None and options.consumer_property:
        raise UsageError("--consumer-property is for a member of a group: give --group")
    if options.offset is not None and options.partition is None:
        raise UsageError("--offset needs --partition")
    if options.offset is not None and options.from_beginning:
        raise UsageError("--from-beginning and --offset say the same: give one of them")
    printer = _Printer(PROPERTIES | known(options.property, PROPERTIES, "property"))
    if options.group is not None or options.isolation_level == COMMITTED:
        _read(printer, options)
        return 0
    with connect(options.bootstrap_server, patience=FOREVER) as cluster:
        start = EARLIEST if options.from_beginning else LATEST
        with Reader(cluster, _positions(cluster, options, start), reset=start) as reader:
            try:
                _print(reader, printer, options)
            finally:
                print(f"Processed a total of {printer.count} messages", file=sys.stderr)
    return 0


def _positions(
    cluster: "ClusterView", options: Namespace, start: int
) -> "dict[TopicPartition, int]":
    """Where to start with each partition."""
    from engine.client.reader import list_offset
    from engine.model import TopicPartition

    wanted = start if options.offset is None else options.offset
    partitions = [TopicPartition(options.topic, number) for number in _numbers(cluster, options)]
    if wanted >= 0:
        return dict.fromkeys(partitions, wanted)
    return {each: list_offset(cluster, each, wanted) for each in partitions}


def _numbers(cluster: "ClusterView", options: Namespace) -> list[int]:
    """The partitions to read."""
    from engine.errors import ErrorCode, KafkaError

    numbers = list(cluster.topic(options.topic).partitions)
    if options.partition is not None:
        if options.partition not in numbers:
            raise KafkaError(
                ErrorCode.unknown_topic_or_partition,
                f"topic {options.topic} has no partition {options.partition}: the last one is "
                f"{numbers[-1]}",
            )
        return [options.partition]
    return numbers


def _print(reader: "Reader", printer: "_Printer", options: Namespace) -> None:
    most, silence = _limits(options)
    last, told = time.monotonic(), 0.0
    while printer.count < most:
        now = time.monotonic()
        if (left := last + silence - now) <= 0:
            return
        batches = reader.poll(min(left, POLL))
        for batch in batches:
            for record in batch.records()[: most - printer.count]:
                printer.add(Line.of_record(batch.partition, batch.header, record))
            printer.flush()
        if batches:
            last = time.monotonic()
        elif reader.trouble and now >= max(last, told) + QUIET:
            told = now
            print(f"waiting: {reader.trouble.message}", file=sys.stderr, flush=True)


def _limits(options: Namespace) -> tuple[int, float]:
    """So many records, and so many seconds in which none comes."""
    most = FOREVER if options.max_messages is None else options.max_messages
    return most, FOREVER if options.timeout_ms is None else options.timeout_ms / 1000


# -- with a consumer: as a member of a group, or of what is committed ------------------------


def _read(printer: "_Printer", options: Namespace) -> None:
    from engine.client.consumer import Consumer

    with connect(options.bootstrap_server) as cluster:
        numbers = _numbers(cluster, options)  # a topic that is not there is told at once
    with closing(_made(Consumer, _config(options))) as consumer:
        if options.group is not None:
            consumer.subscribe([options.topic])
        else:
            _assign(consumer, numbers, options)
        try:
            _consume(consumer, printer, options)
        finally:
            print(f"Processed a total of {printer.count} messages", file=sys.stderr)


def _config(options: Namespace) -> dict[str, str]:
    config = dict(options.consumer_property) | {"bootstrap.servers": options.bootstrap_server}
    if options.group is not None:
        config["group.id"] = options.group
    if options.isolation_level is not None:
        config["isolation.level"] = options.isolation_level
    if options.from_beginning:
        config["auto.offset.reset"] = "earliest"
    return config


def _assign(consumer: "Consumer", numbers: list[int], options: Namespace) -> None:
    from engine.client.values import OFFSET_BEGINNING, OFFSET_END, TopicPartition

    start = OFFSET_BEGINNING if options.from_beginning else OFFSET_END
    if options.offset is not None:
        start = {EARLIEST: OFFSET_BEGINNING, LATEST: OFFSET_END}.get(options.offset, options.offset)
    consumer.assign([TopicPartition(options.topic, number, start) for number in numbers])


def _made(kind: "type[Consumer]", config: dict[str, str]) -> "Consumer":
    from engine.client.values import KafkaException
    from engine.errors import ErrorCode, KafkaError

    try:
        return kind(config)
    except KafkaException as error:
        raise KafkaError(ErrorCode.invalid_config, error.args[0].str()) from error


def _consume(consumer: "Consumer", printer: "_Printer", options: Namespace) -> None:
    most, silence = _limits(options)
    last = time.monotonic()
    while printer.count < most and (left := last + silence - time.monotonic()) > 0:
        first = consumer.poll(min(left, POLL))
        more = consumer.consume(min(most - printer.count, AT_ONCE) - 1, 0) if first else []
        for message in [first, *more] if first else []:
            if error := message.error():
                _complain(error)
            else:
                printer.add(Line.of_message(message))
                last = time.monotonic()
        printer.flush()


def _complain(error: "Told") -> None:
    """What may pass is told; what may not ends the command."""
    from engine.errors import ErrorCode, KafkaError

    if not error.retriable():
        known = {int(each): each for each in ErrorCode}
        raise KafkaError(known.get(error.code(), ErrorCode.unknown_server_error), error.str())
    print(f"waiting: {error.str()}", file=sys.stderr, flush=True)


# -- lines -------------------------------------------------------------------------------------


class Line(NamedTuple):
    """What there is to print of a record."""

    kind: str  # of the timestamp
    timestamp: int
    partition: int
    offset: int
    headers: Any
    key: bytes | None
    value: bytes | None

    @classmethod
    def of_record(cls, at: "TopicPartition", header: "Header", it: "Record") -> "Line":
        kind = KINDS[1 + header.is_log_append_time]
        return cls(kind, it.timestamp, at.partition, it.offset, it.headers, it.key, it.value)

    @classmethod
    def of_message(cls, it: "Message") -> "Line":
        kind, timestamp = it.timestamp()
        place = it.partition() or 0, it.offset() or 0
        return cls(KINDS[kind], timestamp, *place, it.headers() or (), it.key(), it.value())


class _Printer:
    """Records as lines, in the format of Kafka's DefaultMessageFormatter."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.count = 0
        self._show = {
            name.removeprefix("print.")
            for name, value in properties.items()
            if name.startswith("print.") and is_true(value)
        }
        self._between = properties["key.separator"].encode()
        self._end = properties["line.separator"].encode()
        self._between_headers = properties["headers.separator"].encode()
        self._null = properties["null.literal"].encode()
        self._lines: list[bytes] = []

    def add(self, it: Line) -> None:
        self.count += 1
        parts = []
        if "timestamp" in self._show:
            parts.append(b"%s:%d" % (it.kind.encode(), it.timestamp))
        if "partition" in self._show:
            parts.append(b"Partition:%d" % it.partition)
        if "offset" in self._show:
            parts.append(b"Offset:%d" % it.offset)
        if "headers" in self._show:
            pairs = (name.encode() + b":" + self._bytes(data) for name, data in it.headers)
            parts.append(self._between_headers.join(pairs) or b"NO_HEADERS")
        if "key" in self._show:
            parts.append(self._bytes(it.key))
        if "value" in self._show:
            parts.append(self._bytes(it.value))
        self._lines += (self._between.join(parts), self._end)

    def flush(self) -> None:
        sys.stdout.buffer.write(b"".join(self._lines))
        sys.stdout.buffer.flush()
        self._lines.clear()

    def _bytes(self, content: bytes | None) -> bytes:
        return self._null if content is None else content


def _offset(text: str) -> int:
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text.lower() in words:
        return words[text.lower()]
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not earliest, latest or a number from 0 on")
    return int(text)
