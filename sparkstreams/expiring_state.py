"""State that expires: a deleted or silent key leaves it. Uses Spark's `transformWithState`.

    bob {"item":"tea"}    state: bob -> tea        output: bob tea
    bob (null)            state: -                 output: bob, deleted
    ann {"item":"gin"}    state: ann -> gin        ... and nothing more for `forget_ms`: state: -

An aggregation, as in `tables.latest`, keeps an entry for every key that it has ever seen. Here our
own code is called with a key, its new rows, and the key's value in the state store, which it may
clear. It can do as much as a processor of Kafka Streams, but it is slower: every key is sent to
Python and back, with a request to the JVM for its state.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BooleanType, StructField, StructType

from sparkstreams.record_columns import DELETED, KEY, ORIGIN, is_deleted
from sparkstreams.tables import Keys, keyed, names

OFFSET = "offset"


class Last(StatefulProcessor):
    """Keeps the row with the highest offset, until a tombstone or a timeout removes it."""

    def __init__(self, keys: list[str], schema: StructType, forget_ms: int | None) -> None:
        self._keys = keys
        self._schema = schema  # of the value: the columns beside the key, and the offset
        self._forget_ms = forget_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getValueState("row", self._schema, self._forget_ms)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[Row]:
        last = max(rows, key=lambda row: row[OFFSET])
        *columns, _ = self._schema.names
        before = self._kept.get()
        if before is not None and before[-1] > last[OFFSET]:
            return
        if last[DELETED]:
            self._kept.clear()
        else:
            self._kept.update(tuple(last[name] for name in self._schema.names))
        yield Row(**{name: last[name] for name in (*self._keys, *columns, DELETED)})


def kept(df: DataFrame, key: Keys = KEY, forget_ms: int | None = None) -> DataFrame:
    """As `latest`, but a deleted key leaves the state, and so does one without records for
    `forget_ms` (the output has no row for the latter).

    To check the time Spark runs empty batches, one after the other. With `forget_ms`, give the
    query an `every`; with `available_now` it would never end.
    """
    keys = names(key)
    marked = keyed(df, keys).withColumn(DELETED, is_deleted(df))
    columns = [name for name in marked.columns if name not in (*keys, *ORIGIN, DELETED)]
    wanted = marked.select(*keys, *columns, DELETED, f.col(OFFSET))
    fields = {field.name: field for field in wanted.schema}
    value = StructType([*(fields[name] for name in columns), fields[OFFSET]])
    given = StructType([fields[name] for name in (*keys, *columns)])
    given.add(StructField(DELETED, BooleanType()))
    time = "none" if forget_ms is None else "ProcessingTime"
    last = Last(keys, value, forget_ms)
    return wanted.groupBy(*keys).transformWithState(last, given, "Update", time)
