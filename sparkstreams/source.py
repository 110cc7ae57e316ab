"""The source's interface to Spark: the next offsets to read, and the tasks that read them.

    new query    initialOffset() ──────────────> startingOffsets, as numbers
    each time    latestOffset(start, limit) ───> the end of the next micro-batch
                 partitions(start, end) ───────> its splits, which executors read
    batch        partitions() ─────────────────> from startingOffsets to endingOffsets

The reader of a stream exists in one Python process of the driver while its query runs. It does not
keep the query's position: Spark has that in the checkpoint, and passes it. It keeps the last ids
and offsets of topics, to notice a topic that was created again, even if it is longer than before.

If records were deleted before they were read (retention, a deleted topic), `failOnDataLoss`
decides: an error, or a line in the log, and the query continues with the earliest offset.

Invariant: between the offsets of two micro-batches no record is left out unless that is reported.
"""

import logging
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from sparkstreams import offsets
from sparkstreams.offsets import EARLIEST, LATEST, Bound, Json, OffsetRange, Offsets, bad, listed
from sparkstreams.range_reader import read
from sparkstreams.source_options import ReadOptions
from sparkstreams.splits import Split, plan
from sparkstreams.topics import Partitions, Topics

FORMAT = "kafka-lab"
COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT"
)
HEADERS = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
ANEW = "its topic was deleted and made anew, or its log was cut off by an unclean election"

log = logging.getLogger(__name__)


class KafkaLab(DataSource):
    """The data source that is registered with Spark."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return COLUMNS + (HEADERS if ReadOptions.of(self.options).include_headers else "")

    def reader(self, schema: StructType) -> "BatchReader":
        return BatchReader(ReadOptions.of(self.options).check_batch())

    def streamReader(self, schema: StructType) -> "StreamReader":
        return StreamReader(ReadOptions.of(self.options).check_stream())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise bad("mode", "a topic can't be overwritten; append to it, or delete it first")
        from sparkstreams.sink import batch_writer  # noqa: PLC0415 (only to write)

        return batch_writer(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from sparkstreams.sink import stream_writer  # noqa: PLC0415 (as above)

        return stream_writer(self.options, schema)


class Losses:
    """Records that were deleted before they were read: an error, or a line in the log."""

    def __init__(self, fail: bool) -> None:
        self._fail = fail
        self._reported: set[str] = set()

    def report(self, what: str) -> None:
        if self._fail:
            why = f"{what}. With failOnDataLoss=false the query goes on with what there is"
            raise ApiException(ErrorCode.offset_out_of_range, why)
        if what not in self._reported:
            self._reported.add(what)
            log.warning("%s; going on with what there is (failOnDataLoss=false)", what)


class BatchReader(DataSourceReader):
    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._topics = Topics(options)

    def partitions(self) -> list[InputPartition]:
        starting, ending = self._options.starting(EARLIEST), self._options.ending
        try:
            there = self._topics.look_first()
            if not there:
                raise bad("subscribePattern", "there is no topic of such a name")
            strict = self._options.when_none_is_newer == "error"
            begin = resolve(self._topics, starting, there, strict)
            end = resolve(self._topics, ending, there)
            offsets.check_order(begin, end, starting, ending)
            losses = Losses(self._options.fail_on_data_loss)
            return _plan(self._topics, self._options, begin, end, losses)
        finally:
            self._topics.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._options)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._topics = Topics(options)
        self._losses = Losses(options.fail_on_data_loss)
        self._latest: Offsets = {}  # when they were fetched last
        self._target: Offsets | None = None  # with AvailableNow: the end of the query
        self._ids: dict[str, UUID] = {}  # by topic
        self._recreated: set[str] = set()  # topics that were deleted and created again ...
        self._recreated_at: Offsets = {}  # ... after the query was at these offsets
        self._triggered = -math.inf  # when the last micro-batch was due

    def stop(self) -> None:
        self._topics.close()

    # -- the end of a micro-batch ------------------------------------------------------------

    def initialOffset(self) -> Json:
        there = self._topics.look_first()
        strict = self._options.when_none_is_newer == "error"
        return offsets.to_json(resolve(self._topics, self._options.starting(LATEST), there, strict))

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._fetch_latest({})

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Any, limit: ReadLimit) -> Json:
        begun = self._own(start)
        latest = self._fetch_latest(begun) if self._target is None else self._target
        begin = self._begin(begun, latest)
        if not isinstance(limit, ReadAllAvailable):
            if self._target is None and not self._is_due(offsets.waiting(begin, latest)):
                return offsets.to_json(begun)
            latest = offsets.admit(begin, latest, self._options.max_offsets_per_trigger)
        return offsets.to_json(latest)

    def reportLatestOffset(self) -> Json:
        """For a query's progress: the records after the end of the micro-batch are its lag."""
        return offsets.to_json(self._latest)

    def _is_due(self, waits: int) -> bool:
        now, options = time.monotonic(), self._options
        due = offsets.is_due(
            waits, options.min_offsets_per_trigger, self._triggered, now, options.max_trigger_delay
        )
        if due and waits:
            self._triggered = now
        return due

    # -- its tasks -------------------------------------------------------------------------

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        begun, ends = self._own(start), self._own(end)
        begin = self._begin(begun, ends)
        if any(to > self._latest.get(each, -1) for each, to in ends.items()):
            ends = self._cut_back(ends)  # a batch of an earlier run, which is repeated
        return _plan(self._topics, self._options, begin, ends, self._losses)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self._options)

    def _cut_back(self, ends: Offsets) -> Offsets:
        latest = self._topics.find(dict.fromkeys(ends, LATEST))
        for each in sorted(latest):
            if ends[each] > latest[each]:
                self._losses.report(
                    f"{each} was to be read up to offset {ends[each]} and ends at {latest[each]}: "
                    f"{ANEW}"
                )
        return {each: min(to, latest.get(each, to)) for each, to in ends.items()}

    # -- offsets of the query and of the cluster --------------------------------------------

    def _own(self, value: Any) -> Offsets:
        """Offsets from the checkpoint, which must be of a query that reads the same topics."""
        found = offsets.of_json(value, "checkpoint")
        if foreign := [each for each in found if not self._topics.reads(each)]:
            raise bad(
                "checkpointLocation",
                f"this checkpoint is of a query that reads {listed(foreign)}, which this one does "
                "not; every query needs a checkpoint of its own",
            )
        return found

    def _fetch_latest(self, begun: Offsets) -> Offsets:
        """The latest offsets. If one is lower than before, they are fetched again: a broker that
        has just become leader may not know the high watermark yet."""
        there = self._topics.look(begun)
        for attempt in range(1 + self._options.retries):
            if attempt:
                time.sleep(self._options.retry_interval_ms / 1000)
            self._latest = self._topics.find(dict.fromkeys(there, LATEST))
            if all(self._latest.get(each, 0) >= begun.get(each, 0) for each in there):
                break
        if self._latest != begun:
            self._topics.forget()  # to check the ids of the topics
            self._note_ids(self._topics.look(begun), begun)
        return self._latest

    def _note_ids(self, there: Partitions, begun: Offsets) -> None:
        """A topic with another id is another topic, also with the same name and offsets."""
        if begun != self._recreated_at:
            self._recreated, self._recreated_at = set(), begun
        for partition, its_id in there.items():
            if its_id is not None and self._ids.setdefault(partition.topic, its_id) != its_id:
                self._ids[partition.topic] = its_id
                self._recreated.add(partition.topic)

    def _begin(self, begun: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
        """The next offsets to read. New partitions are read from their beginning."""
        if gone := begun.keys() - latest.keys():
            self._losses.report(f"{listed(gone)} is gone, and what was not read of it")
        recreated = self._recreated if begun == self._recreated_at else set()
        fresh = sorted(latest.keys() - begun.keys())
        for each in sorted(begun.keys() & latest.keys()):
            if latest[each] < begun[each] or each.topic in recreated:
                fresh.append(each)
                self._losses.report(
                    f"{each} was read up to offset {begun[each]} and now ends at {latest[each]}: "
                    f"{ANEW}"
                )
        earliest = self._topics.find(dict.fromkeys(fresh, EARLIEST)) if fresh else {}
        return {each: earliest.get(each, begun.get(each, to)) for each, to in latest.items()}


def resolve(
    topics: Topics, bound: Bound, there: Iterable[TopicPartition], strict: bool = False
) -> dict[TopicPartition, int]:
    """The offset of each partition. `strict`: it is an error if no record is as new as a time."""
    asked = bound.of(set(there))
    if bound.by_time:
        found = _find(topics, asked)
        late = [each for each, offset in found.items() if offset < 0]
        if late and strict:
            raise bad(
                bound.option,
                f"no record of {listed(late)} is as new as {asked[late[0]]}; with "
                "startingOffsetsByTimestampStrategy=latest the query begins at the end",
            )
        return found | _find(topics, dict.fromkeys(late, LATEST))
    numbers = {each: offset for each, offset in asked.items() if offset >= 0}
    offsets.check_inside(bound, numbers, _find(topics, dict.fromkeys(numbers, LATEST)))
    words = {each: offset for each, offset in asked.items() if offset < 0}
    return numbers | _find(topics, words)


def _find(topics: Topics, wanted: Offsets) -> dict[TopicPartition, int]:
    found = topics.find(wanted) if wanted else {}
    if gone := wanted.keys() - found.keys():
        why = f"{listed(gone)} was deleted while its offsets were looked up"
        raise ApiException(ErrorCode.unknown_topic_or_partition, why)
    return found


def _plan(
    topics: Topics, options: ReadOptions, begin: Offsets, end: Offsets, losses: Losses
) -> list[InputPartition]:
    """The tasks, after a check whether retention has deleted records meanwhile."""
    due = {each for each, to in end.items() if to > begin[each]}
    earliest = topics.find(dict.fromkeys(sorted(due), EARLIEST)) if due else {}
    spans = []
    for each in sorted(due):
        if each not in earliest:
            losses.report(f"{each} is gone, and what was not read of it")
            continue
        start = max(begin[each], earliest[each])
        if start > begin[each]:
            losses.report(
                f"offsets {begin[each]} to {start - 1} of {each} are gone: its log starts at "
                f"{start} now, retention or a deletion took away what was before"
            )
        spans.append(OffsetRange(each, start, end[each]))
    return list(plan(spans, options.min_partitions, options.max_records_per_partition))


def _read(partition: InputPartition, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Without any partition, Spark reads one empty InputPartition."""
    return read(partition, options) if isinstance(partition, Split) else iter(())
