"""Kafka topics as tables and streams of Spark, in Python: no jar, any Kafka-compatible broker.

    from sparkstreams import register, session

    spark = session.start(say=print)
    orders = spark.readStream.format("kafka-lab").option("subscribe", "orders")...

    driver                                              executors (Python workers)
    option, *_options    the options of source and sink
    topics, offsets  ->  source -> splits -- Split -->  range_reader -> columns -> Arrow -> Spark
                         sink   <------- staged ------  sink (tasks)

Read it in this order: `offsets` (the positions of a query), `splits` (tasks), `topics` (partitions
and offsets of the cluster), `source` (the interface that Spark calls), `range_reader` and `columns`
(from record batches to Arrow, fast); then `sink` and its parts; then `session` (a small Spark) and
the helpers with the names of the articles: `tables`, `windows`, `state`.

Spark's own mechanisms are used: offsets are in its checkpoint, state is in its state stores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: "SparkSession") -> None:
    """Let this session read and write format("kafka-lab")."""
    spark.dataSource.register(import_module("sparkstreams.source").KafkaLab)
