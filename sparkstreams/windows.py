"""Time in streams: counts for each window of time, and joins of two streams within a time.

    late = 5 s                 the watermark: the newest timestamp seen, less 5 s
    events   1  4  9 │ 2  8    2 is late. Its window 0..10 is still open, so it counts:
                     v         9 - 5 = 4 is not past 10.
             17 │ 3            now 17 - 5 = 12 is past 10: the window is closed and output,
                v              and 3 is dropped, and counted as dropped.

The watermark moves between micro-batches, never within one. It bounds the state: older entries are
deleted, and in output mode "append" a window is output once, when it closes.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from sparkstreams.record_columns import DELETED, ORIGIN
from sparkstreams.tables import Keys, keyed, names

TIME = "timestamp"


def windowed(
    df: DataFrame,
    every: str,
    late: str,
    key: Keys = (),
    *,
    slide: str | None = None,
    time: str = TIME,
) -> DataFrame:
    """How many rows each window of time has had, for each key: `start`, `end`, key, `count`.

    Windows lie side by side, or begin every `slide` and overlap.
    """
    window = f.window(time, every, slide).alias("_window")
    counted = keyed(df, key).withWatermark(time, late).groupBy(window, *names(key)).count()
    return counted.select(
        f.col("_window.start").alias("start"),
        f.col("_window.end").alias("end"),
        *names(key),
        "count",
    )


def join(
    left: DataFrame,
    right: DataFrame,
    on: Keys,
    within: str,
    *,
    late: str | None = None,
    time: str = TIME,
) -> DataFrame:
    """Rows of two streams with the same key, at most `within` apart in time (mode "append").

    Both sides wait in the state for the other, until the watermark says that none can come.
    Columns of the right that the left has too get "right_" before their names; where the right's
    records came from is left out. A row waits for a partner that is `late`, by default `within`.
    """
    keys = names(on)
    other = right.drop(DELETED, *(name for name in ORIGIN if name != time))
    renamed = other.toDF(
        *(f"right_{name}" if name in left.columns else name for name in other.columns)
    )
    ours, theirs = (
        left.withWatermark(time, late or within),
        renamed.withWatermark(_right(time, left), late or within),
    )
    near = f.expr(f"interval {within}")
    condition = (f.col(_right(time, left)) >= f.col(time) - near) & (
        f.col(_right(time, left)) <= f.col(time) + near
    )
    for key in keys:
        condition &= f.col(key) == f.col(f"right_{key}")
    return ours.join(theirs, condition).drop(*(f"right_{key}" for key in keys))


def late(query: StreamingQuery) -> int:
    """How many rows came too late for their window, or for their partner, and were dropped."""
    return sum(
        operator["numRowsDroppedByWatermark"]
        for progress in list(query.recentProgress)
        for operator in progress["stateOperators"]
    )


def _right(time: str, left: DataFrame) -> str:
    return f"right_{time}" if time in left.columns else time
