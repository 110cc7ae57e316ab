"""A query's run as moments, batch by batch, from Spark's reports. Pure, and without Spark.

    Spark's report on a batch ─────┐
    "records": its input records ──┼─> one plain dict a batch ──> History ──> BatchMoment, ...
    "table": its rows now ─────────┘   (JSON: can be saved)                   for pictures
    "ended": how the query ended

A query reports each batch when it is done, and every ten seconds that it is idle: the latter has no
"addBatch" among its times, and makes no moment. A batch without rows does: Spark runs one when the
watermark has moved, to close windows and to delete state that is not needed any more.

Invariant: moments are in the order of their batches; each batch of a run has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from widgets.stream import words
from widgets.stream.table import TableDiff

MOST = 500  # moments that are kept

Plain: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PartitionShare:
    """The records that a batch read of one partition."""

    topic: str
    partition: int
    start: int | None  # None: the start of the query, which Spark does not report
    end: int
    latest: int | None  # the end of the partition; None: the source does not report it

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def lag(self) -> int | None:
        return None if self.latest is None else max(self.latest - self.end, 0)


@dataclass(frozen=True, slots=True)
class SourceProgress:
    name: str
    rows: int
    shares: tuple[PartitionShare, ...]


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The state of an operator."""

    operator: str  # Spark's name
    rows: int
    updated: int
    removed: int
    late: int  # rows before the watermark, which are dropped
    memory: int  # bytes


@dataclass(frozen=True, slots=True)
class SampleRecord:
    partition: str  # orders-0
    offset: int
    key: str
    value: str


@dataclass(frozen=True)
class BatchMoment:
    """The end of a batch."""

    batch: int
    run: str  # another one after each start of the query
    name: str  # the query's
    at: int  # when it began, in ms since 1970
    took: int  # ms
    parts: tuple[tuple[str, int], ...]  # Spark's names, ms
    sources: tuple[SourceProgress, ...]
    states: tuple[OperatorState, ...]  # as rows flow through them
    sink: str
    arriving: float  # input rows a second since the batch before
    rows_out: int | None  # None: the sink doesn't count
    watermark: int | None  # ms since 1970; None: there is none, or not yet
    event_times: tuple[int, int] | None  # the earliest and latest among the rows
    records: tuple[SampleRecord, ...] | None = None  # the last input records; None: not fetched
    table: TableDiff | None = None

    @property
    def key(self) -> str:
        """Its key in a picture."""
        return f"{self.run[:4]} {self.batch}"

    @property
    def rows(self) -> int:
        return sum(it.rows for it in self.sources)

    @property
    def rate(self) -> float:
        """Rows a second while it ran."""
        return self.rows / self.took * 1000 if self.took else 0.0

    @property
    def rate_out(self) -> float | None:
        return None if self.rows_out is None else self.rows_out / max(self.took, 1) * 1000

    @property
    def shares(self) -> list[PartitionShare]:
        return [share for source in self.sources for share in source.shares]

    @cached_property
    def lag(self) -> int | None:
        """Records that wait; None if no source reports them."""
        known = [share.lag for share in self.shares if share.lag is not None]
        return sum(known) if known else None

    @property
    def late(self) -> int:
        return sum(it.late for it in self.states)


@dataclass(slots=True)
class QueryHistory:
    moments: list[BatchMoment] = field(default_factory=list)
    forgotten: int = 0  # moments that were dropped, over the limit
    ended: str = ""  # in a sentence; "": it runs
    failed: bool = False
    _kept: list[Plain] = field(default_factory=list)

    def add(self, told: Plain) -> bool:
        """True: the picture may change."""
        news = False
        if ran(told) and not self.knows(told):
            self.moments.append(moment(told))
            self._kept.append(kept(told))
            news = True
        if len(self.moments) > MOST:
            self.forgotten += 1
            del self.moments[0], self._kept[0]
        if "ended" in told and not self.ended:
            self.ended, self.failed = str(told["ended"]), bool(told.get("failed"))
            news = True
        return news

    def knows(self, told: Plain) -> bool:
        here = str(told.get("runId", "")), int(told["batchId"])
        return any((it.run, it.batch) == here for it in reversed(self.moments))

    def plain(self) -> list[Plain]:
        """All moments as JSON, which can be added to another history."""
        end = {"ended": self.ended, "failed": self.failed}
        return [*self._kept, end] if self.ended else list(self._kept)


def ran(told: Plain) -> bool:
    """Whether this is the report of a batch, and not of an idle query."""
    return "addBatch" in told.get("durationMs", {})


def kept(told: Plain) -> Plain:
    """The report without the metrics that no picture shows."""
    names = (
        *("runId", "name", "timestamp", "batchId", "inputRowsPerSecond", "durationMs"),
        *("eventTime", "sources", "sink", "records", "table"),
    )
    operators = [
        {name: it for name, it in each.items() if name != "customMetrics"}
        for each in told.get("stateOperators", [])
    ]
    return {name: told[name] for name in names if name in told} | {"stateOperators": operators}


def moment(told: Plain) -> BatchMoment:
    spans, times = dict(told["durationMs"]), told.get("eventTime") or {}
    out = told.get("sink", {}).get("numOutputRows", -1)
    watermark, table = _time(times.get("watermark")), told.get("table")
    edges = _time(times.get("min")), _time(times.get("max"))
    records = told.get("records")
    return BatchMoment(
        batch=told["batchId"],
        run=str(told.get("runId", "")),
        name=told.get("name") or "",
        at=_time(told["timestamp"]) or 0,
        took=spans.get(words.WHOLE) or sum(spans.values()),
        parts=_parts(spans),
        sources=tuple(map(_source, told.get("sources", []))),
        # Spark lists operators from the sink; here they are listed from the source.
        states=tuple(map(_state, reversed(told.get("stateOperators", [])))),
        sink=words.plain(told.get("sink", {}).get("description", ""), "sink"),
        arriving=told.get("inputRowsPerSecond") or 0.0,
        rows_out=None if out is None or out < 0 else out,
        watermark=watermark or None,
        event_times=(edges[0], edges[1]) if edges[0] is not None and edges[1] is not None else None,
        records=None if records is None else tuple(SampleRecord(*it) for it in records),
        table=None if table is None else TableDiff.of(table),
    )


def _parts(spans: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The parts in the order of execution, unknown ones last."""
    whole = spans.get(words.WHOLE, 0)
    names = [*(it for it in words.PARTS if it in spans)]
    names += sorted(it for it in spans if it not in words.PARTS and it != words.WHOLE)
    rest = whole - sum(spans[it] for it in names)
    return (*((it, spans[it]) for it in names), *([(words.REST, rest)] if rest > 0 else []))


def _source(told: Plain) -> SourceProgress:
    start, end, latest = (
        words.topics_of(told.get(name)) for name in ("startOffset", "endOffset", "latestOffset")
    )
    rows, whole = told.get("numInputRows", 0), sum(map(sum, map(dict.values, end.values())))
    # Spark does not report the start of a query: it is 0 if the batch read all records.
    # A partition found later has no start either, and is read from its first record.
    unknown = 0 if start or rows == whole else None
    shares = [
        PartitionShare(
            topic,
            int(partition),
            start.get(topic, {}).get(partition, unknown),
            offset,
            latest.get(topic, {}).get(partition),
        )
        for topic, offsets in sorted(end.items())
        for partition, offset in sorted(offsets.items(), key=lambda it: int(it[0]))
    ]
    name = words.source(str(told.get("description", "")), told.get("endOffset"))
    return SourceProgress(name, rows, tuple(shares))


def _state(told: Plain) -> OperatorState:
    return OperatorState(
        operator=told["operatorName"],
        rows=told.get("numRowsTotal", 0),
        updated=told.get("numRowsUpdated", 0),
        removed=told.get("numRowsRemoved", 0),
        late=told.get("numRowsDroppedByWatermark", 0),
        memory=told.get("memoryUsedBytes", 0),
    )


def _time(told: str | None) -> int | None:
    """A time such as "2026-11-22T07:55:51.448Z" in ms since 1970."""
    return None if told is None else round(datetime.fromisoformat(told).timestamp() * 1000)
