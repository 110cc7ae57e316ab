"""A pipeline in a process of its own: orders counted by who ordered. Where it runs, it is not told.

python -m tests.streams.connected BOOTSTRAP SOURCE CHANGES CHECKPOINT   ->   one line of JSON
"""

import json
import sys

from pyspark.sql import functions as f

from sparkstreams import queries, record_columns, session, tables
from tests.streams.table_stories import finished, rows


def main(bootstrap: str, source: str, changes: str, checkpoint: str) -> None:
    spark = session.start("connected")
    records = spark.read.format("kafka-lab").option("kafka.bootstrap.servers", bootstrap)
    batch = records.option("subscribe", source).load().groupBy(f.col("key").cast("string"))
    orders = record_columns.stream(spark, bootstrap, source, "price INT", maxOffsetsPerTrigger=10)
    counted = tables.count(orders, "key")
    once = queries.to_topic(
        counted, bootstrap, changes, checkpoint=checkpoint, exactly_once=True, available_now=True
    )
    epochs = finished(once).lastProgress["batchId"]
    table = finished(queries.as_table(counted, "counted", available_now=True))
    told = {
        "client": type(spark).__module__,
        "batch": rows(batch.count()),
        "epochs": epochs,
        "topic": rows(tables.from_changelog(spark, bootstrap, changes, "count INT")),
        "written": spark.read.format("kafka-lab")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": changes})
        .load()
        .count(),
        "table": rows(spark.sql("SELECT key, count FROM counted")),
        "waits": queries.lag(table.lastProgress)[1],
    }
    session.stop(spark)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
