"""The last records that a batch has read, fetched from the brokers again.

    Spark: orders-0 from 10 to 17, orders-1 from 4 to 6 ──> a fetch to each leader ──> SampleRecord

Spark reports the offsets of a batch, but not its records. They are still in the log, and can be
read again by their offsets.
"""

import time
from collections.abc import Iterable

from engine.client.consumer import Consumer
from engine.client.values import KafkaError, KafkaException, Message, TopicPartition
from widgets.stream.history import PartitionShare, SampleRecord

MOST = 12  # records that are kept
LONGEST = 60  # characters of a value
PATIENCE = 5.0  # seconds for all of it
QUIET = 0.7  # seconds without a record after which a partition counts as read
AT_ONCE = 500  # messages


def tail(consumer: Consumer, shares: Iterable[PartitionShare], rows: int) -> list[SampleRecord]:
    """The last records, the newest last; fewer if retention or a lost broker removed some."""
    most = min(MOST, rows)
    ends = {(it.topic, it.partition): it.end for it in shares if it.start != it.end}
    if not ends:
        return []
    starts = {(it.topic, it.partition): it.start or 0 for it in shares}
    places = [TopicPartition(*at, max(starts[at], end - most)) for at, end in ends.items()]
    consumer.assign(places)
    found: list[Message] = []
    missing, heard = set(ends), set[tuple[str, int]]()
    until = time.monotonic() + PATIENCE
    while missing and (left := until - time.monotonic()) > 0:
        messages = consumer.consume(AT_ONCE, min(left, QUIET))
        if not messages and missing <= heard:
            break  # the log ends before: the rest was lost with a broker
        for message in messages:
            if error := message.error():
                raise KafkaException(error)
            at = str(message.topic()), message.partition() or 0
            heard.add(at)
            if _offset(message) < ends[at]:
                found.append(message)
        # The position also passes transaction markers, which are no messages.
        missing = {at for at in missing if _position(consumer, at) < ends[at]}
    if not found:
        _check_leaders(consumer, missing)
    found.sort(key=lambda it: (it.timestamp()[1], _offset(it)))
    return [
        SampleRecord(
            f"{it.topic()}-{it.partition()}", _offset(it), _text(it.key()), _text(it.value())
        )
        for it in found[len(found) - min(most, len(found)) :]
    ]


def _position(consumer: Consumer, at: tuple[str, int]) -> int:
    return consumer.position([TopicPartition(*at)])[0].offset


def _check_leaders(consumer: Consumer, missing: Iterable[tuple[str, int]]) -> None:
    """Raise the reason why no records came, if it is known."""
    for topic, number in sorted(missing):
        known = consumer.list_topics(topic, timeout=1).topics[topic].partitions.get(number)
        if known is None or known.leader < 0:
            why = f"{topic}-{number} has no leader"
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, why))


def _offset(message: Message) -> int:
    return message.offset() or 0


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    told = bytes(data[: 4 * LONGEST]).decode("utf-8", "replace")
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"
