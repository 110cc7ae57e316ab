"""Rows of Spark in topics, as a plain consumer finds them; and what is refused, in Spark's errors.

Nobody dies here: that is test_sink_exactly_once.py.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from engine.cluster.cluster import Cluster
from sparkstreams.source import FORMAT
from tests.interop.watch import until
from tests.streams.conftest import NewTopic

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def found(cluster: Cluster) -> Iterator[Any]:
    """All that is in a topic."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "found"})

    def read(topic: str) -> list[Message]:
        known = consumer.list_topics(topic, timeout=10).topics[topic]
        places = [TopicPartition(topic, n, 0) for n in known.partitions]
        end = sum(consumer.get_watermark_offsets(it, timeout=10)[1] for it in places)
        consumer.assign(places)
        messages: list[Message] = []
        until(lambda: messages.extend(consumer.consume(500, 0.2)) or len(messages) >= end)
        assert not any(it.error() for it in messages)
        return messages

    yield read
    consumer.close()


def lines(folder: Path, epochs: int, rows: int) -> Counter[bytes]:
    """Files of lines, one for an epoch: "TOPIC NUMBER"."""
    folder.mkdir(exist_ok=True)
    for epoch in range(epochs):
        text = "".join(f"{'ab'[n % 2]} {epoch}/{n}\n" for n in range(rows))
        (folder / f"{epoch}.txt").write_text(text)
    return Counter(b"%d/%d" % (epoch, n) for epoch in range(epochs) for n in range(rows))


def test_a_batch_with_all_columns(
    spark: SparkSession, cluster: Cluster, new_topic: NewTopic, found: Any
) -> None:
    topic = new_topic(partitions=3)
    frame = spark.range(100).select(
        expr("concat('k', id % 7)").alias("key"),
        expr("if(id = 5, null, encode(string(id), 'utf-8'))").alias("value"),
        expr("if(id < 50, null, int(id % 3))").alias("partition"),
        expr("array(struct('n' as key, encode(string(id), 'utf-8') as value))").alias("headers"),
    )
    to = {"kafka.bootstrap.servers": cluster.bootstrap, "topic": topic}
    frame.write.format(FORMAT).options(**to).mode("append").save()
    messages = found(topic)
    numbers = [int(it.headers()[0][1]) for it in messages]
    assert sorted(numbers) == list(range(100))
    homes: dict[bytes, set[int]] = {}
    for number, it in zip(numbers, messages, strict=True):
        assert it.key() == b"k%d" % (number % 7)
        assert it.value() == (None if number == 5 else b"%d" % number)
        if number < 50:
            homes.setdefault(it.key(), set()).add(it.partition())
        else:
            assert it.partition() == number % 3
    assert all(len(home) == 1 for home in homes.values()), "a key has one partition"


@pytest.mark.parametrize("once", ["false", "true"])
def test_a_stream_into_the_topics_that_its_rows_name(
    spark: SparkSession,
    cluster: Cluster,
    new_topic: NewTopic,
    found: Any,
    tmp_path: Path,
    once: str,
) -> None:
    topics = {"a": new_topic(), "b": new_topic()}
    expected = lines(tmp_path / "in", 2, 40)
    rows = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
    names = " ".join(f"when '{letter}' then '{topic}'" for letter, topic in topics.items())
    stream = rows.select(
        expr(f"case left(value, 1) {names} end").alias("topic"),
        expr("substr(value, 3)").alias("value"),
    ).writeStream.format(FORMAT)
    to = {"kafka.bootstrap.servers": cluster.bootstrap, "exactlyOnce": once}

    def run() -> list[Any]:
        query = (
            stream.options(**to)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return list(query.recentProgress)

    run()
    assert Counter(it.value() for topic in topics.values() for it in found(topic)) == expected
    run()
    assert sum(len(found(topic)) for topic in topics.values()) == expected.total(), "nothing is new"
    expected = lines(tmp_path / "in", 3, 40)
    run()
    assert Counter(it.value() for topic in topics.values() for it in found(topic)) == expected


def test_what_is_refused_says_so_in_the_query_s_error(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    lines(tmp_path / "in", 1, 1)
    to = {"kafka.bootstrap.servers": cluster.bootstrap}
    stream = spark.readStream.text(str(tmp_path / "in"))
    writer = stream.writeStream.format(FORMAT).options(**to)
    with pytest.raises(Exception, match="set the option topic, or add a column topic"):
        writer.option("checkpointLocation", str(tmp_path / "cp")).start().awaitTermination()
    batch = spark.range(1).select(expr("string(id)").alias("value")).write.format(FORMAT)
    with pytest.raises(Exception, match="only a stream has epochs"):
        batch.options(**to, topic="x", exactlyOnce="true").mode("append").save()
    with pytest.raises(Exception, match="did you mean exactlyOnce"):
        batch.options(**to, topic="x", exactlyOnse="true").mode("append").save()
