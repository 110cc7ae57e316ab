"""Kafka topics as tables and streams of Spark, in Python: no jar, any Kafka-compatible broker.

    from engine.streams import register, session

    spark = session.start(say=print)
    orders = spark.readStream.format("kafka-lab").option("subscribe", "orders")...

    driver                                              executors (Python workers)
    option, options      what can be set
    topics, offsets  ->  source -> splits -- Split -->  reading -> columns -> Arrow -> Spark
                         sink   <------- staged ------  sink (tasks)

Read it in this order: `offsets` (arithmetic on how far a query has come), `splits` (tasks),
`topics` (what the cluster tells), `source` (how Spark calls all that), `reading` and `columns`
(from batches of records to Arrow, quickly); then `sink` and its parts; then `session` (a small
quiet Spark) and the helpers in the articles' words: `tables`, `windows`, `state`.

Nothing is home-made where Spark has it: offsets stand in its checkpoint, state in its stores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: "SparkSession") -> None:
    """Let this session read and write format("kafka-lab")."""
    spark.dataSource.register(import_module("engine.streams.source").KafkaLab)
