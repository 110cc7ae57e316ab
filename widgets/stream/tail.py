"""The last records that a batch has read, asked of the brokers once more.

    Spark: orders-0 from 10 to 17, orders-1 from 4 to 6 ──> a fetch to each leader ──> Record ...

Spark tells the offsets of a batch, and not its records. They are still in the log, and whoever
knows the offsets can read them again: that is what a log is for.
"""

import time
from collections.abc import Iterable

from engine.client.cluster import ClusterView
from engine.client.reader import EARLIEST, Reader
from engine.model import TopicPartition
from engine.storage.records import Record as Stored
from widgets.stream.history import Record, Share

MOST = 12  # records that are kept
LONGEST = 60  # characters of a value
PATIENCE = 5.0  # seconds for all of it
QUIET = 0.7  # seconds after which a broker that has answered already has no more


def tail(cluster: ClusterView, shares: Iterable[Share], rows: int) -> list[Record]:
    """The newest last; fewer than there should be, if retention or a lost broker took some away."""
    most = min(MOST, rows)
    spans = {
        TopicPartition(it.topic, it.partition): (max(it.start or 0, it.end - most), it.end)
        for it in shares
        if it.start != it.end
    }
    if not spans:
        return []
    found: list[tuple[TopicPartition, Stored]] = []
    positions = {partition: start for partition, (start, _) in spans.items()}
    for topic in {partition.topic for partition in spans}:
        cluster.topic(topic)  # or it is unknown who leads its partitions
    missing, heard = set(spans), set[TopicPartition]()
    until = time.monotonic() + PATIENCE
    with Reader(cluster, positions, reset=EARLIEST) as reader:
        while missing and (left := until - time.monotonic()) > 0:
            batches = reader.poll(min(left, QUIET))
            if not batches and missing <= heard:
                break  # what is missing is no record, but the marker of a transaction
            for batch in batches:
                heard.add(batch.partition)
                end = spans[batch.partition][1]
                found += [(batch.partition, it) for it in batch.records() if it.offset < end]
                if batch.header.last_offset >= end - 1:
                    missing.discard(batch.partition)
        if not found and reader.trouble:
            raise reader.trouble
    found.sort(key=lambda it: (it[1].timestamp, it[1].offset))
    return [
        Record(str(partition), it.offset, _text(it.key), _text(it.value))
        for partition, it in found[len(found) - min(most, len(found)) :]
    ]


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    told = bytes(data[: 4 * LONGEST]).decode("utf-8", "replace")
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"
