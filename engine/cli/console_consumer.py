"""Print records as they come, as kafka-console-consumer.sh does; control-C ends it.

    console-consumer --topic orders --from-beginning --max-messages 10
    console-consumer --topic orders --partition 0 --offset 41
    console-consumer --topic orders --property print.key=true --property print.offset=true
    console-consumer --topic orders --group billing --from-beginning
    console-consumer --topic orders --isolation-level read_committed

Each value is printed as bytes, one a line. Without --from-beginning or --offset only new records
are read. All partitions of the topic are read, unless one is named; records are in order within a
partition only. As a member of a group it reads its partitions from the group's committed offsets,
and commits what it has printed. With --isolation-level read_committed records of a transaction are
printed after its commit, and never if it is aborted. Errors and the number of records are printed
on stderr.
"""

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from engine.cli.connection import client_config, connect, failure
from engine.cli.main import UsageError, to_stderr
from engine.cli.options import (
    add_bootstrap,
    add_options,
    add_property,
    bounded,
    is_true,
    known,
    setting,
)
from engine.client.consumer import Consumer
from engine.client.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from engine.config.topic import LONG_MAX
from engine.errors import ApiException, ErrorCode, invalid_config

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
    "null.literal": "null",  # printed for a null key or value
}
FOREVER = 10**9
NO_LIMIT = (None, -1)
POLL = 0.5  # seconds between two checks whether to stop
AT_ONCE = 1000  # records that are printed together
KINDS = ("NoTimestampType", "CreateTime", "LogAppendTime")
SILENCE = "stop if no record arrives for this time; -1, the default: never"
KEYS = "with --group: a key of the consumer's configuration; may be given several times"


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    add_options(parser, {"topic T": "what to read"}, required=True)
    offset = "with --partition: where to start, a number, earliest or latest"
    add_options(
        parser,
        {
            "from-beginning": "start with the oldest record that is there",
            "partition N": (bounded(0), None, "read this one only"),
            "offset O": (_offset, None, offset),
            "max-messages N": (int, None, "stop after this many records; -1, the default: never"),
            "timeout-ms MS": (int, None, SILENCE),
            "group G": "read as a member of this group",
            "consumer-property KEY=VALUE": (setting, [], KEYS),
        },
    )
    parser.add_argument(
        "--isolation-level",
        choices=("read_uncommitted", "read_committed"),
        help="read_committed: skip aborted transactions, and wait for open ones",
    )
    add_property(parser, PROPERTIES)


def run(options: Namespace) -> int:
    if options.group is not None and options.partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    if options.group is None and options.consumer_property:
        raise UsageError("--consumer-property is for a member of a group: give --group")
    if options.offset is not None and options.partition is None:
        raise UsageError("--offset needs --partition")
    if options.offset is not None and options.from_beginning:
        raise UsageError("--from-beginning and --offset say the same: give one of them")
    printer = _Printer(PROPERTIES | known(options.property, PROPERTIES, "property"))
    partitions = _partitions(options)  # a topic that is not there is an error at once
    with _made(_config(options)) as consumer:
        if options.group is None:
            consumer.assign(partitions)
        else:
            consumer.subscribe([options.topic])
        try:
            _consume(consumer, printer, options)
        finally:
            to_stderr(f"Processed a total of {printer.count} messages")
    return 0


def _partitions(options: Namespace) -> list[TopicPartition]:
    """The partitions to read, each with the offset to start from."""
    with connect(options) as cluster:
        numbers = list(cluster.topic(options.topic).partitions)
    if options.partition is not None:
        if options.partition not in numbers:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition,
                f"topic {options.topic} has no partition {options.partition}: the last one is "
                f"{numbers[-1]}",
            )
        numbers = [options.partition]
    start = OFFSET_BEGINNING if options.from_beginning else OFFSET_END
    if options.offset is not None:
        start = options.offset
    return [TopicPartition(options.topic, number, start) for number in numbers]


def _config(options: Namespace) -> dict[str, Any]:
    own = {
        "group.id": options.group,
        "isolation.level": options.isolation_level,
        "auto.offset.reset": "earliest" if options.from_beginning else None,
    }
    return {
        **dict(options.consumer_property),
        **client_config(options),
        "error_cb": _print_wait,
        **{key: value for key, value in own.items() if value is not None},
    }


def _made(config: dict[str, Any]) -> Consumer:
    try:
        return Consumer(config)
    except KafkaException as error:
        raise invalid_config(error.args[0].str()) from error


def _consume(consumer: Consumer, printer: "_Printer", options: Namespace) -> None:
    most = FOREVER if options.max_messages in NO_LIMIT else options.max_messages
    silence = FOREVER if options.timeout_ms in NO_LIMIT else options.timeout_ms / 1000
    last = time.monotonic()
    while printer.count < most and (left := last + silence - time.monotonic()) > 0:
        first = consumer.poll(min(left, POLL))
        if first is None:  # a message without a value is false
            continue
        for message in [first, *consumer.consume(min(most - printer.count, AT_ONCE) - 1, 0)]:
            if error := message.error():
                _complain(error)
            else:
                printer.add(message)
                last = time.monotonic()
        printer.flush()


def _complain(error: KafkaError) -> None:
    """Print an error that may pass; any other ends the command."""
    if not error.retriable():
        raise failure(error)
    _print_wait(error)


def _print_wait(error: KafkaError) -> None:
    to_stderr(f"waiting: {error.str()}")


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

    def add(self, message: Message) -> None:
        self.count += 1
        parts = []
        if "timestamp" in self._show:
            kind, timestamp = message.timestamp()
            parts.append(b"%s:%d" % (KINDS[kind].encode(), timestamp))
        if "partition" in self._show:
            parts.append(b"Partition:%d" % (message.partition() or 0))
        if "offset" in self._show:
            parts.append(b"Offset:%d" % (message.offset() or 0))
        if "headers" in self._show:
            headers = message.headers() or ()
            pairs = (name.encode() + b":" + self._bytes(data) for name, data in headers)
            parts.append(self._between_headers.join(pairs) or b"NO_HEADERS")
        if "key" in self._show:
            parts.append(self._bytes(message.key()))
        if "value" in self._show:
            parts.append(self._bytes(message.value()))
        self._lines += (self._between.join(parts), self._end)

    def flush(self) -> None:
        sys.stdout.buffer.write(b"".join(self._lines))
        sys.stdout.buffer.flush()
        self._lines.clear()

    def _bytes(self, content: bytes | None) -> bytes:
        return self._null if content is None else content


def _offset(text: str) -> int:
    words = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return bounded(0, LONG_MAX)(text)
    except ArgumentTypeError as error:
        told = str(error).replace("a number", "earliest, latest or a number")
        raise ArgumentTypeError(told) from None
