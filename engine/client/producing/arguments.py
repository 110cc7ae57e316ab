"""What an application passes to a producer, and the message that it gets back.

Wrong types are refused before anything is done, with Python's TypeError.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engine.client.producing.sender import DeliveryReport
from engine.client.values import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    ConsumerGroupMetadata,
    Message,
)
from engine.storage.records import Headers


def as_bytes(what: str, content: Any) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    raise TypeError(f"a {what} is bytes, text or None, not {type(content).__name__}")


def as_headers(given: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> Headers:
    if not isinstance(given, dict | list | tuple):
        kind = type(given).__name__
        raise TypeError(f"expected headers to be dict or list of (key, value) tuples, not {kind}")
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
        raise TypeError("Headers are expected to be a list of (key, value) tuples")
    return tuple((_name(name), as_bytes("header's value", value)) for name, value in pairs)


def _name(name: Any) -> str:
    if isinstance(name, bytes):
        return name.decode()
    if isinstance(name, str):
        return name
    raise TypeError(f"the name of a header is text, not {type(name).__name__}")


def check_types(topic: Any, partition: Any, timestamp: Any) -> None:
    if not isinstance(topic, str):
        raise TypeError(f"a topic is text, not {type(topic).__name__}")
    for name, value in {"partition": partition, "timestamp": timestamp}.items():
        if not isinstance(value, int):
            raise TypeError(f"a {name} is an int, not {type(value).__name__}")


def check_group_metadata(given: Any) -> None:
    if not isinstance(given, ConsumerGroupMetadata):
        raise TypeError(f"expected ConsumerGroupMetadata, {type(given).__name__} found")


def as_seconds(timeout: float | None) -> float:
    """None, or a negative time-out: no limit."""
    if timeout is None:
        return math.inf
    if not isinstance(timeout, int | float):
        raise TypeError(f"a time-out is a number of seconds, not {type(timeout).__name__}")
    return math.inf if timeout < 0 else float(timeout)


def message_of(
    report: DeliveryReport,
    index: int,  # of the record in its batch
    key: Any,
    value: Any,
    headers: Any,
    timestamp: int,
    produced: float,
) -> Message:
    topic, partition = report.batch.partition
    stamped = TIMESTAMP_CREATE_TIME, timestamp
    if report.append_time >= 0:
        stamped = TIMESTAMP_LOG_APPEND_TIME, report.append_time
    offset = report.offset + index if report.offset >= 0 else -1
    latency = report.at - produced
    error = report.error and report.error.of_record(index)
    return Message(topic, partition, offset, key, value, headers, error, stamped, latency)
