"""Cuts ranges of offsets into Spark's tasks: usually one task for each Kafka partition.

    orders-0  |#########################|      two partitions, minPartitions=4
    orders-1  |#####|
              v
    orders-0  |########|########|########|     task 1, 2, 3
    orders-1  |#####|                          task 4

`maxRecordsPerPartition` cuts first, so that no task is too long; if that gives fewer tasks than
`minPartitions`, the long ranges are cut in proportion to their size. Sizes are estimates, since
compaction removes records; the number of tasks is close to the number that was asked for.

Invariant: the splits of a range follow one another without a gap, and none is empty.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from engine.model import TopicPartition
from sparkstreams.offsets import OffsetRange


@dataclass(frozen=True)
class Split(InputPartition):
    """What one task reads."""

    topic: str
    partition: int
    start: int  # the first offset
    end: int  # the one after the last

    @property
    def at(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def plan(
    spans: Iterable[OffsetRange], min_partitions: int | None = None, max_records: int | None = None
) -> list[Split]:
    """The tasks of a batch, as Spark's KafkaOffsetRangeCalculator has them."""
    spans = [span for span in sorted(spans) if span.size]
    if max_records is not None:
        spans = [cut for span in spans for cut in _cut(span, -(-span.size // max_records))]
    if min_partitions is not None and len(spans) < min_partitions:
        spans = list(_spread(spans, min_partitions))
    return [Split(*span.partition, span.start, span.end) for span in spans]


def _spread(spans: list[OffsetRange], parts: int) -> Iterator[OffsetRange]:
    """About `parts` of them. A range too short to be cut does not count for the others' shares."""
    total = sum(span.size for span in spans)
    whole = [span for span in spans if _share(span, total, parts) == 1]
    long = total - sum(span.size for span in whole)
    left = max(parts - len(whole), 1)
    for span in spans:
        yield from [span] if span in whole else _cut(span, _share(span, long, left))


def _share(span: OffsetRange, total: int, parts: int) -> int:
    return max(int(span.size / total * parts + 0.5), 1)


def _cut(span: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    edges = [span.start + span.size * number // parts for number in range(parts + 1)]
    for start, end in pairwise(edges):
        if start < end:
            yield OffsetRange(span.partition, start, end)
