"""A query's run, batch by batch: what Spark reports, folded into moments. Pure, and without Spark.

    what Spark reports of a batch ─┐
    "records": what came in ───────┼─> one plain dict a batch ──> History ──> Moment, Moment, ...
    "table": what is in it now ────┘   (JSON: to be kept)                     what a picture shows
    "ended": how the query ended

A query tells of each batch when it is done, and every ten seconds that nothing is to be done: the
latter has no "addBatch" among its times, and makes no moment. A batch without rows does: Spark
runs one when the watermark has moved, to close windows and to drop state that nobody can need.

Invariant: moments stand in the order in which their batches ran; each batch of a run has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from widgets.stream import words
from widgets.stream.table import Table

MOST = 500  # moments that are kept

Plain: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Share:
    """What a batch read of one partition."""

    topic: str
    partition: int
    start: int | None  # None: where the query began, of which Spark says nothing
    end: int
    latest: int | None  # where the partition ended; None: the source doesn't tell

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def lag(self) -> int | None:
        return None if self.latest is None else max(self.latest - self.end, 0)


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    rows: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Of an operator that remembers."""

    operator: str  # Spark's name
    rows: int
    updated: int
    removed: int
    late: int  # rows that came behind the watermark, and count no more
    memory: int  # bytes


@dataclass(frozen=True, slots=True)
class Record:
    partition: str  # orders-0
    offset: int
    key: str
    value: str


@dataclass(frozen=True)
class Moment:
    """The end of a batch."""

    batch: int
    run: str  # another one after each start of the query
    name: str  # the query's
    at: int  # when it began, in ms since 1970
    took: int  # ms
    parts: tuple[tuple[str, int], ...]  # Spark's names, ms
    sources: tuple[Source, ...]
    states: tuple[State, ...]  # as rows flow through them
    sink: str
    arriving: float  # rows a second that came in since the batch before
    rows_out: int | None  # None: the sink doesn't count
    watermark: int | None  # ms since 1970; None: there is none, or not yet
    event_times: tuple[int, int] | None  # the earliest and latest among the rows
    records: tuple[Record, ...] | None = None  # the last that came in; None: not looked for
    table: Table | None = None

    @property
    def key(self) -> str:
        """What tells it apart from others in a picture."""
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
    def shares(self) -> list[Share]:
        return [share for source in self.sources for share in source.shares]

    @cached_property
    def lag(self) -> int | None:
        """Records that wait; None if no source tells."""
        known = [share.lag for share in self.shares if share.lag is not None]
        return sum(known) if known else None

    @property
    def late(self) -> int:
        return sum(it.late for it in self.states)


@dataclass(slots=True)
class History:
    moments: list[Moment] = field(default_factory=list)
    forgotten: int = 0  # moments that were too many
    ended: str = ""  # in a sentence; "": it runs
    failed: bool = False
    _kept: list[Plain] = field(default_factory=list)

    def add(self, told: Plain) -> bool:
        """True: something new is to be seen."""
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
        """All of it, to be kept as JSON and added to another history."""
        end = {"ended": self.ended, "failed": self.failed}
        return [*self._kept, end] if self.ended else list(self._kept)


def ran(told: Plain) -> bool:
    """Whether this tells of a batch, and not only that there was nothing to do."""
    return "addBatch" in told.get("durationMs", {})


def kept(told: Plain) -> Plain:
    """Without what no picture shows: the many metrics of a state store."""
    names = (
        *("runId", "name", "timestamp", "batchId", "inputRowsPerSecond", "durationMs"),
        *("eventTime", "sources", "sink", "records", "table"),
    )
    operators = [
        {name: it for name, it in each.items() if name != "customMetrics"}
        for each in told.get("stateOperators", [])
    ]
    return {name: told[name] for name in names if name in told} | {"stateOperators": operators}


def moment(told: Plain) -> Moment:
    spans, times = dict(told["durationMs"]), told.get("eventTime") or {}
    out = told.get("sink", {}).get("numOutputRows", -1)
    watermark, table = _time(times.get("watermark")), told.get("table")
    edges = _time(times.get("min")), _time(times.get("max"))
    records = told.get("records")
    return Moment(
        batch=told["batchId"],
        run=str(told.get("runId", "")),
        name=told.get("name") or "",
        at=_time(told["timestamp"]) or 0,
        took=spans.get(words.WHOLE) or sum(spans.values()),
        parts=_parts(spans),
        sources=tuple(map(_source, told.get("sources", []))),
        # Spark begins at the sink, rows begin at the source.
        states=tuple(map(_state, reversed(told.get("stateOperators", [])))),
        sink=words.plain(told.get("sink", {}).get("description", ""), "sink"),
        arriving=told.get("inputRowsPerSecond") or 0.0,
        rows_out=None if out is None or out < 0 else out,
        watermark=watermark or None,
        event_times=(edges[0], edges[1]) if edges[0] is not None and edges[1] is not None else None,
        records=None if records is None else tuple(Record(*it) for it in records),
        table=None if table is None else Table.of(table),
    )


def _parts(spans: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """In the order in which they happen, those that Spark has added since the last."""
    whole = spans.get(words.WHOLE, 0)
    names = [*(it for it in words.PARTS if it in spans)]
    names += sorted(it for it in spans if it not in words.PARTS and it != words.WHOLE)
    rest = whole - sum(spans[it] for it in names)
    return (*((it, spans[it]) for it in names), *([(words.REST, rest)] if rest > 0 else []))


def _source(told: Plain) -> Source:
    start, end, latest = (
        words.topics_of(told.get(name)) for name in ("startOffset", "endOffset", "latestOffset")
    )
    rows, whole = told.get("numInputRows", 0), sum(map(sum, map(dict.values, end.values())))
    # Spark doesn't say where a query began: at the first records, if it read as many as there are.
    # A partition found later has no start either, and is read from its first record.
    unknown = 0 if start or rows == whole else None
    shares = [
        Share(
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
    return Source(name, rows, tuple(shares))


def _state(told: Plain) -> State:
    return State(
        operator=told["operatorName"],
        rows=told.get("numRowsTotal", 0),
        updated=told.get("numRowsUpdated", 0),
        removed=told.get("numRowsRemoved", 0),
        late=told.get("numRowsDroppedByWatermark", 0),
        memory=told.get("memoryUsedBytes", 0),
    )


def _time(told: str | None) -> int | None:
    """Of a text as "2026-11-22T07:55:51.448Z", in ms since 1970."""
    return None if told is None else round(datetime.fromisoformat(told).timestamp() * 1000)
