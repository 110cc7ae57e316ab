"""The events of this broker: numbered, in a ring buffer that drops the oldest.

    number    1   2   3   4   5   6   7
              dropped     |  in the ring  |      after(3) -> 4, 5, 6, 7      after(0) -> the same,
                                                                             and 3 are lost

Every part that decides something emits events. Requests become events only while a lab traces them:
each with the first of the partitions that it names, and on demand with its bytes (frames.py).
"""

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from engine.broker.frames import IN_A_BROKER, Frames, texts
from engine.config.security import is_secret
from engine.model import Event
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from engine.wire.frame import Frame
from engine.wire.kraft_apis import EVERY_API

KEPT = 10_000
SHOWN = 20  # partitions of one request
MILLISECOND = 1_000_000  # nanoseconds
SENDER = re.compile(r"broker-(\d{1,9})-txn-marker-sender")  # the client.id of a sender of markers


class Span(NamedTuple):
    """When a request arrived and when its response was ready: nanoseconds since 1970."""

    came: int
    left: int


class Since(NamedTuple):
    events: list[Event]
    last: int  # the number of the last of them
    lost: int  # how many of the requested events were dropped


class Ring(deque[Event]):
    def __init__(self, kept: int = KEPT) -> None:
        super().__init__(maxlen=kept)
        self.total = 0  # the number of the newest event
        self.tracing = False
        self.framing = False  # traces have the bytes of requests
        self._frames = Frames(IN_A_BROKER)

    def append(self, event: Event) -> None:
        self.total += 1
        super().append(event)

    def after(self, number: int, most: int) -> Since:
        """At most `most` events after the one with this number; 0 stands for all."""
        dropped = self.total - len(self)
        first = max(number, dropped)
        events = list(islice(self, first - dropped, first - dropped + most))
        return Since(events, first + len(events), first - number)

    def traced(
        self,
        header: RequestHeader,
        peer: str,
        request: Any,
        response: Any,
        span: Span,
        frame: Frame,
        answer: Sequence[Any] | None,
    ) -> None:
        """Add an event for a request and its response; only while `tracing`."""
        began, now = span.came // MILLISECOND, span.left // MILLISECOND
        facts: dict[str, Any] = {
            "api": EVERY_API[header.api_key].name,
            "version": header.api_version,
            "client": header.client_id,
            "peer": peer,
            "size": len(frame),
            "took": now - began,  # ms, waiting included
            "came_us": span.came // 1000,  # to compare two brokers
            "left_us": span.left // 1000,
        }
        for name in ("controller_id", "controller_epoch", "broker_epoch", "replica_id"):
            value = getattr(request, name, None)
            if value is not None and value != -1:
                facts[name] = int(value)
        asker = broker_of(request, header.client_id)
        if asker is not None:
            facts["asker"] = asker
        if response is not None and header.api_key in _ABOUT:
            rows = _ABOUT[header.api_key](request, response)
            facts["partitions"] = list(islice(rows, SHOWN))
            facts["more"] = sum(1 for _ in rows)
        self.append(Event("request", now, facts))
        if self.framing and not _has_secrets(header, request):
            facts |= texts(frame, answer)
            self._frames.keep(facts)


def broker_of(request: Any, client_id: str | None = None) -> int | None:
    """The id of the broker that sent a request, or None for a client.

    Only brokers send these fields. WriteTxnMarkers has no such field; its client.id tells.
    """
    if hasattr(request, "markers"):
        sender = SENDER.fullmatch(client_id or "")
        return int(sender[1]) if sender else None
    field = _sender_field(request.__class__)
    number = -1 if field is None else getattr(request, field)
    return int(number) if number is not None and number >= 0 else None


@cache
def _sender_field(kind: Hashable) -> str | None:
    """The field of a request with the id of the broker that sent it."""
    names = "replica_id", "controller_id", "broker_id"
    return next((name for name in names if hasattr(kind, name)), None)


def _has_secrets(header: RequestHeader, request: Any) -> bool:
    """Whether the bytes of a request have a password or a key in them: then no event has them."""
    if header.api_key in (Api.ALTER_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS):
        names = [it.name for resource in request.resources for it in resource.configs]
        return any(is_secret(name) for name in names)
    return header.api_key in (Api.ALTER_USER_SCRAM_CREDENTIALS, Api.SASL_AUTHENTICATE)


def _fetched(request: Any, response: Any) -> Iterator[dict[str, Any]]:
    """The partitions of a Fetch. In a fetch session a partition may be in the request only, or in
    the response only.
    """
    given = {
        (topic.topic, each.partition_index): each
        for topic in response.responses
        for each in topic.partitions
    }
    asked = {
        (topic.topic, each.partition): each.fetch_offset
        for topic in request.topics
        for each in topic.partitions
    }
    for topic, partition in sorted(given.keys() | asked.keys()):
        row: dict[str, Any] = {"topic": topic, "partition": partition}
        if (topic, partition) in asked:
            row["offset"] = asked[topic, partition]
        if (topic, partition) in given:
            answer = given[topic, partition]
            row["bytes"] = _length(answer.records)
            row["high_watermark"] = answer.high_watermark
            row["error"] = int(answer.error_code)
        yield row


def _produced(request: Any, response: Any) -> Iterator[dict[str, Any]]:
    sizes = {
        (topic.name, each.index): _length(each.records)
        for topic in request.topic_data
        for each in topic.partition_data
    }
    for topic in response.responses:
        for each in topic.partition_responses:
            yield {
                "topic": topic.name,
                "partition": each.index,
                "bytes": sizes.get((topic.name, each.index), 0),
                "offset": each.base_offset,
                "error": int(each.error_code),
            }


def _controlled(request: Any, response: Any) -> Iterator[dict[str, Any]]:
    """The partitions of a request from the controller."""
    for topic in request.topic_states:
        for each in topic.partition_states:
            row = {"topic": topic.topic_name, "partition": each.partition_index}
            for name in ("leader", "leader_epoch", "isr", "delete_partition"):
                if hasattr(each, name):
                    row[name] = getattr(each, name)
            yield row


def _length(records: Any) -> int:
    """The length of bytes, or of a slice of a file."""
    if records is None:
        return 0
    return int(records.size) if hasattr(records, "size") else len(records)


_ABOUT: dict[int, Callable[[Any, Any], Iterator[dict[str, Any]]]] = {
    Api.FETCH: _fetched,
    Api.PRODUCE: _produced,
    Api.LEADER_AND_ISR: _controlled,
    Api.UPDATE_METADATA: _controlled,
    Api.STOP_REPLICA: _controlled,
}
