"""What happened in this broker, numbered, the oldest forgotten first.

    number    1   2   3   4   5   6   7
              forgotten   |  in the ring  |      after(3) -> 4, 5, 6, 7      after(0) -> the same,
                                                                             and 3 are lost

Everything that decides emits events. Requests are traced too, but only while a lab wants to see
them: each is then an event of its own, with the partitions that it was about; of a request for a
thousand partitions only the first are told. On demand the bytes come with it, too (frames.py).
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from engine.broker.frames import IN_A_BROKER, Frames, told
from engine.model import Event
from engine.wire.apis import APIS, Api
from engine.wire.errors import RequestHeader
from engine.wire.frame import Frame

KEPT = 10_000
TOLD = 20  # partitions of one request
MILLISECOND = 1_000_000  # nanoseconds
SENDER = re.compile(r"broker-(\d+)-txn-marker-sender")  # the client.id of who sends markers


class Span(NamedTuple):
    """From when a request was here until its answer was, in nanoseconds since 1970."""

    came: int
    left: int


class Since(NamedTuple):
    events: list[Event]
    last: int  # the number of the last of them
    lost: int  # how many that were asked for had been forgotten


class Ring(deque[Event]):
    def __init__(self, kept: int = KEPT) -> None:
        super().__init__(maxlen=kept)
        self.total = 0  # the number of the newest event
        self.tracing = False
        self.framing = False  # with the bytes of what is traced
        self._frames = Frames(IN_A_BROKER)

    def append(self, event: Event) -> None:
        self.total += 1
        super().append(event)

    def after(self, number: int, most: int) -> Since:
        """The events that follow one, no more than so many; 0 comes before the first."""
        forgotten = self.total - len(self)
        first = max(number, forgotten)
        events = list(islice(self, first - forgotten, first - forgotten + most))
        return Since(events, first + len(events), first - number)

    def request(
        self,
        header: RequestHeader,
        peer: str,
        size: int,
        request: Any,
        response: Any,
        began: int,
        now: int,
    ) -> None:
        """A request has its answer; only to be called while `tracing`."""
        facts: dict[str, Any] = {
            "api": APIS[header.api_key].name,
            "version": header.api_version,
            "client": header.client_id,
            "peer": peer,
            "size": size,
            "took": now - began,  # ms, with all that it waited for
        }
        for name in ("controller_id", "controller_epoch", "broker_epoch", "replica_id"):
            value = getattr(request, name, None)
            if value is not None and value != -1:
                facts[name] = int(value)
        asker = broker_of(request, header.client_id)
        if asker is not None:
            facts["asker"] = asker
        if response is not None and header.api_key in _ABOUT:
            rows = _ABOUT[APIS[header.api_key]](request, response)
            facts["partitions"] = list(islice(rows, TOLD))
            facts["more"] = sum(1 for _ in rows)
        self.append(Event("request", now, facts))

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
        """The same, exactly: which of two brokers was first shows only in microseconds."""
        times = span.came // MILLISECOND, span.left // MILLISECOND
        self.request(header, peer, len(frame), request, response, *times)
        facts = self[-1].data
        facts["came_us"], facts["left_us"] = span.came // 1000, span.left // 1000
        if self.framing:
            facts |= told(frame, answer)
            self._frames.keep(facts)


def broker_of(request: Any, client_id: str | None = None) -> int | None:
    """Which broker must be asking, if it is one: only brokers know how to say these things.

    With markers it does not say which it is; then its client.id does.
    """
    if hasattr(request, "markers"):
        sender = SENDER.fullmatch(client_id or "")
        return int(sender[1]) if sender else None
    for name in ("replica_id", "controller_id", "broker_id"):
        number = getattr(request, name, None)
        if number is not None and number >= 0:
            return int(number)
    return None


def _fetched(request: Any, response: Any) -> Iterator[dict[str, Any]]:
    """From where a reader wants to go on, and what it got; a session leaves out what is as it was.

    So a partition may be asked for and have nothing, or give something and not be asked for anew.
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


def _told(request: Any, response: Any) -> Iterator[dict[str, Any]]:
    """What a controller told about each partition."""
    for topic in request.topic_states:
        for each in topic.partition_states:
            row = {"topic": topic.topic_name, "partition": each.partition_index}
            for name in ("leader", "leader_epoch", "isr", "delete_partition"):
                if hasattr(each, name):
                    row[name] = getattr(each, name)
            yield row


def _length(records: Any) -> int:
    """Of bytes, or of a slice of a file."""
    if records is None:
        return 0
    return int(records.size) if hasattr(records, "size") else len(records)


_ABOUT = {
    Api.FETCH: _fetched,
    Api.PRODUCE: _produced,
    Api.LEADER_AND_ISR: _told,
    Api.UPDATE_METADATA: _told,
    Api.STOP_REPLICA: _told,
}
