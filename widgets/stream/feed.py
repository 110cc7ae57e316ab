"""New data about a query, as plain dicts, from Spark, the brokers and the table.

    query.lastProgress ── another batch? ──> query.recentProgress ──┐
    brokers ── the records of its offsets ──────────────────────────┼──> [{"batchId": 7, ...}]
    table() ── its rows now, and those of the poll before ── ───────┘

It uses only `isActive`, `lastProgress` and so on of the query, so a saved one needs no Spark. A
poll may be slow, so it runs in a thread of its own.

Invariant: each batch is returned once; after the end of the query there are no more requests.
"""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from engine.client.consumer import Consumer
from engine.client.values import KafkaException
from widgets.stream import words
from widgets.stream.history import Plain, SampleRecord, moment, ran
from widgets.stream.last_records import tail
from widgets.stream.table import Row, compared, rows_of

STOPPED = "The query has stopped."
MOST = 10  # the newest batches, whose records are fetched in one poll


class Feed:
    def __init__(self, query: Any, cluster: Any, table: Callable[[], Any] | None) -> None:
        self.over = False
        self.status = ""  # Spark's status text
        self.trouble = ""  # why there are no records, or no table
        self._query, self._table = query, table
        self._bootstrap = str(getattr(cluster, "bootstrap", cluster or ""))
        self._asking = threading.Lock()
        self._told: set[tuple[str, int]] = set()  # run and batch
        self._last: Plain = {}  # the last progress of the query
        self._rows: Sequence[Row] | None = None  # of the table, at the poll before
        self._rows_at: int | None = None  # the batch before that poll

    @property
    def has_records(self) -> bool:
        return bool(self._bootstrap)

    @property
    def has_table(self) -> bool:
        return self._table is not None

    def ask(self) -> list[Plain]:
        """The batches since the last call, and the end of the query."""
        with self._asking:
            if self.over:
                return []
            try:
                reports, end = self._reports()
            except Exception as error:  # Spark is gone: reported as the end
                reports = []
                end = {"ended": f"Spark answers no more ({type(error).__name__}).", "failed": True}
            self.over = bool(end)
            return self._furnished(self._new(reports)) + ([end] if end else [])

    def _reports(self) -> tuple[list[Any], Plain]:
        """Spark's reports, and the end of the query."""
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

    # -- records and table -------------------------------------------------------------------------

    def _furnished(self, news: list[Plain]) -> list[Plain]:
        """Add the records of the newest batches, and the table after the last one."""
        if not news:
            return news
        troubles = []
        if self._bootstrap:
            try:
                self._add_records(news[-MOST:])
            except Exception as error:  # shown above the picture, which has no records then
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
        found: list[list[SampleRecord]] = [[] for _ in batches]
        if any(batch.rows for batch in batches):
            config = {
                "bootstrap.servers": self._bootstrap,
                "client.id": "stream-view",
                "auto.offset.reset": "earliest",
            }
            with Consumer(config) as consumer:
                found = [tail(consumer, batch.shares, batch.rows) for batch in batches]
        for told, records in zip(news, found, strict=True):
            told["records"] = [[it.partition, it.offset, it.key, it.value] for it in records]

    def _add_table(self, told: Plain) -> None:
        assert self._table is not None, "asked for only where there is one"
        batch, rows = int(told["batchId"]), rows_of(self._table())
        before = [] if self._rows is None and batch == 0 else self._rows
        told["table"] = compared(before, rows, self._rows_at).plain()
        self._rows, self._rows_at = rows, batch


def _plain(progress: Any) -> Plain:
    """A plain dict from an object of Spark's, or from a dict."""
    told: Plain = json.loads(progress.json) if hasattr(progress, "json") else dict(progress)
    return told


def _why(error: Exception) -> str:
    if isinstance(error, KafkaException):
        return words.sentence(error.args[0].str())
    return words.sentence(str(error) or repr(error))
