"""What is new about a query, as plain dicts: asked of Spark, of the brokers and of the table.

    query.lastProgress ── another batch? ──> query.recentProgress ──┐
    brokers ── the records of its offsets ──────────────────────────┼──> [{"batchId": 7, ...}]
    table() ── its rows now, beside those of the look before ───────┘

The query is known by what it does (`isActive`, `lastProgress`, ...), so nothing of Spark is needed
to look at one that was kept. A look takes as long as it takes to ask: it has a thread of its own.

Invariant: each batch is told once; after the end of the query nobody is asked any more.
"""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from engine.client.cluster import ClusterView
from engine.client.connection import Address
from widgets.stream import words
from widgets.stream.history import Plain, Record, moment, ran
from widgets.stream.table import Row, compared, rows_of
from widgets.stream.tail import PATIENCE, tail

STOPPED = "The query has stopped."
MOST = 10  # batches, the newest, whose records are looked for in one look


class Feed:
    def __init__(self, query: Any, cluster: Any, table: Callable[[], Any] | None) -> None:
        self.over = False
        self.status = ""  # what Spark says that it is doing
        self.trouble = ""  # why there are no records, or no table
        self._query, self._table = query, table
        self._bootstrap = str(getattr(cluster, "bootstrap", cluster or ""))
        self._asking = threading.Lock()
        self._told: set[tuple[str, int]] = set()  # run and batch
        self._last: Plain = {}  # what the query said last
        self._rows: Sequence[Row] | None = None  # of the table, at the look before
        self._rows_at: int | None = None  # after which batch that was

    @property
    def has_records(self) -> bool:
        return bool(self._bootstrap)

    @property
    def has_table(self) -> bool:
        return self._table is not None

    def ask(self) -> list[Plain]:
        """The batches that were done since, and the end."""
        with self._asking:
            if self.over:
                return []
            try:
                reports, end = self._reports()
            except Exception as error:  # whatever it is, Spark is gone: that is told, as the end
                reports = []
                end = {"ended": f"Spark answers no more ({type(error).__name__}).", "failed": True}
            self.over = bool(end)
            return self._furnished(self._new(reports)) + ([end] if end else [])

    def _reports(self) -> tuple[list[Any], Plain]:
        """What Spark has to say, and how the query ended if it did."""
        query = self._query
        active = bool(query.isActive)  # first, or the last batch might be missed
        self.status = words.status(str(query.status["message"]))
        newest = query.lastProgress
        reports = []
        if newest is not None and (last := _plain(newest)) != self._last:
            reports, self._last = list(query.recentProgress), last
        if active:
            return reports, {}
        error = query.exception()
        if error is None:
            return reports, {"ended": STOPPED, "failed": False}
        return reports, {"ended": words.sentence(str(error)), "failed": True}

    def _new(self, reports: list[Any]) -> list[Plain]:
        found = []
        for told in map(_plain, reports):
            here = str(told.get("runId", "")), int(told["batchId"])
            if ran(told) and here not in self._told:
                self._told.add(here)
                found.append(told)
        return found

    # -- beside it -------------------------------------------------------------------------

    def _furnished(self, news: list[Plain]) -> list[Plain]:
        """With the records of the newest batches, and with the table as it is after the last."""
        if not news:
            return news
        troubles = []
        if self._bootstrap:
            try:
                self._add_records(news[-MOST:])
            except Exception as error:  # told above the picture, which goes on without them
                troubles.append(f"No records: {_why(error)}")
        if self._table is not None:
            try:
                self._add_table(news[-1])
            except Exception as error:  # as above: the learner's own function may do anything
                troubles.append(f"No table: {_why(error)}")
        self.trouble = " ".join(troubles)
        return news

    def _add_records(self, news: list[Plain]) -> None:
        batches = [moment(told) for told in news]
        found: list[list[Record]] = [[] for _ in batches]
        if any(batch.rows for batch in batches):
            addresses = [Address.parse(text) for text in self._bootstrap.split(",")]
            with ClusterView(addresses, "stream-view", PATIENCE, PATIENCE) as cluster:
                found = [tail(cluster, batch.shares, batch.rows) for batch in batches]
        for told, records in zip(news, found, strict=True):
            told["records"] = [[it.partition, it.offset, it.key, it.value] for it in records]

    def _add_table(self, told: Plain) -> None:
        assert self._table is not None, "asked for only where there is one"
        batch, rows = int(told["batchId"]), rows_of(self._table())
        before = [] if self._rows is None and batch == 0 else self._rows
        told["table"] = compared(before, rows, self._rows_at).plain()
        self._rows, self._rows_at = rows, batch


def _plain(progress: Any) -> Plain:
    """Of an object of Spark's, or of what is plain already."""
    told: Plain = json.loads(progress.json) if hasattr(progress, "json") else dict(progress)
    return told


def _why(error: Exception) -> str:
    return words.sentence(str(getattr(error, "message", None) or error) or repr(error))
