"""Time windows, and what comes too late for them: an alarm for the till.

12:00:00 ─────── 12:00:10 ─────── 12:00:20 ──────── 12:00:40 ─────── ...
 error  error     error error                        error
                  error error            watermark: 10 s behind the newest
  alarm at four errors in ten seconds; what is older than the watermark is dropped, and counted
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from table import Table

from engine import Cluster
from engine.streams.windows import late, windowed
from streams import pipes, stand
from streams.unbounded import Cases

NOON = 1_700_049_600_000  # milliseconds since 1970: at twelve, on 15 November 2023
LIMIT = 4  # errors in a window

# When errors happened, in seconds after noon, as they are told of.
FIRST = [1, 8, 11, 12, 15, 19]
LATER = [45]  # so the watermark moves to 35
LATE = [2, 41, 13]  # two are of windows long over
LAST = [80]  # and windows up to 70 are over


@dataclass
class Alarmed:
    """Errors in each window of ten seconds, and alarms."""

    windows: dict[str, int]  # as the stream told of them, when they were over
    alarms: list[tuple[str, str]]
    dropped: int  # late records, as the query counts them
    batch: dict[str, int]  # the same windows, when lateness does not matter

    def __repr__(self) -> str:
        rows = [(at, it, self.windows.get(at, 0)) for at, it in self.batch.items()]
        head = ("window from", "errors, all of them", "errors, by the stream")
        return repr(Table(head, rows))

    def verdicts(self) -> Cases:
        return {
            "C153": {
                "an alarm comes for the window with too many errors, and for no other": [
                    at for at, _ in self.alarms
                ]
                == ["12:00:10"],
                "what comes too late is not counted, but it is known how many": self.dropped == 2
                and self.windows["12:00:00"] == 2
                and self.batch["12:00:00"] == 3,
            }
        }


def errors(log: DataFrame) -> DataFrame:
    """So many in each window, once it is over."""
    counts = windowed(log, "10 seconds", late="10 seconds")
    start = F.date_format("start", "HH:mm:ss")
    return counts.select(start.alias("key"), F.col("count").alias("value"))


def alarmed(cluster: Cluster, spark: SparkSession) -> Alarmed:
    log, out = stand.topic(cluster, "till", retention_ms=-1), stand.topic(cluster, "windows")
    seen = pipes.stream(spark, cluster, log)
    query = pipes.to_topic(errors(seen), cluster, out)
    for part in (FIRST, LATER, LATE, LAST):
        report(cluster, log, part)
        pipes.settle(query)
    dropped = late(query)
    query.stop()
    windows = {it.key: int(it.value or 0) for it in stand.read(cluster, out)}
    alarms = [(at, f"{number} errors") for at, number in windows.items() if number >= LIMIT]
    every = errors(pipes.batch(spark, cluster, log))
    return Alarmed(dict(sorted(windows.items())), sorted(alarms), dropped, pipes.rows(every))


def report(cluster: Cluster, log: str, seconds: Iterable[int]) -> None:
    """Errors, each with the time at which it happened."""
    with cluster.producer(stand.WRITER) as producer:
        for second in seconds:
            producer.produce(log, "error", timestamp=NOON + 1000 * second)
        left = producer.flush()
    assert left == 0, f"{left} records were not acknowledged"
