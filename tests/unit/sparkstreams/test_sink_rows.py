"""What a sink takes, and what it refuses by its name before a row is written."""

from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from engine.client.partitioner import partition_of
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Codec, Header
from sparkstreams import staging
from sparkstreams.rows import SinkRow, check, rows
from sparkstreams.sink import batch_writer, stream_writer
from sparkstreams.sink_options import WriteOptions
from sparkstreams.staging import StagingWriter
from tests.unit.sparkstreams.topics import Topics

BROKERS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
STRING, BINARY, INT, BIGINT, DATE = (
    kind() for kind in (StringType, BinaryType, IntegerType, LongType, DateType)
)
PAIR = StructType().add("key", STRING).add("value", BINARY)


def schema(**columns: DataType) -> StructType:
    found = StructType()
    for name, kind in columns.items():
        found.add(name, kind)
    return found


# -- columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns",
    [
        {"value": STRING, "topic": STRING},
        {"value": BINARY, "key": BINARY, "topic": STRING, "partition": INT, "other": DATE},
        {"value": STRING, "key": STRING, "topic": STRING, "headers": ArrayType(PAIR)},
    ],
)
def test_sound_columns(columns: dict[str, DataType]) -> None:
    check(schema(**columns), None)
    del columns["topic"]
    check(schema(**columns), "orders")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"key": STRING, "topic": STRING}, "there is no column value, only key, topic"),
        ({"value": STRING}, "set the option topic, or add a column topic"),
        ({"value": BIGINT, "topic": STRING}, "column value is BIGINT, not STRING or BINARY"),
        ({"value": STRING, "key": INT, "topic": STRING}, "column key is INT, not STRING or"),
        ({"value": STRING, "topic": BINARY}, "column topic is BINARY, not STRING"),
        (
            {"value": STRING, "topic": STRING, "partition": BIGINT},
            "column partition is BIGINT, not INT",
        ),
        (
            {"value": STRING, "topic": STRING, "headers": ArrayType(STRING)},
            r"column headers is ARRAY<STRING>, not ARRAY<STRUCT<key: STRING, value: BINARY>>",
        ),
    ],
)
def test_bad_columns_are_refused_when_the_query_starts(
    columns: dict[str, DataType], why: str
) -> None:
    for writer in (batch_writer, stream_writer):
        with pytest.raises(ApiException, match=why) as caught:
            writer(BROKERS, schema(**columns))
        assert caught.value.code == ErrorCode.invalid_request


def test_rows_of_an_arrow_batch() -> None:
    batch = pa.record_batch(
        {
            "value": pa.array(["grün", None, ""]),
            "key": pa.array([b"\xff", b"", None]),
            "topic": pa.array(["a", "b", "a"]),
            "partition": pa.array([None, 2, 0], pa.int32()),
            "headers": pa.array(
                [[{"key": "n", "value": b"1"}, {"key": "n", "value": None}], [], None],
                pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
            ),
            "other": pa.array([1.5, 2.5, 3.5]),
        }
    )
    assert list(rows(batch, None)) == [
        SinkRow("a", None, b"\xff", "grün".encode(), (("n", b"1"), ("n", None))),
        SinkRow("b", 2, b"", None, ()),
        SinkRow("a", 0, None, b"", ()),
    ]
    assert [row.topic for row in rows(batch, "orders")] == ["orders"] * 3, "the option goes first"


def test_a_row_without_a_topic_is_an_error() -> None:
    batch = pa.record_batch({"value": pa.array(["a", "b"]), "topic": pa.array(["x", None])})
    with pytest.raises(ApiException, match="column topic is null in a row"):
        list(rows(batch, None))


def test_a_header_without_a_name_is_an_error() -> None:
    headers = pa.array(
        [[{"key": None, "value": b"1"}]],
        pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
    )
    batch = pa.record_batch({"value": pa.array(["a"]), "headers": headers})
    with pytest.raises(ApiException, match="a header without a name"):
        list(rows(batch, "orders"))


# -- options ---------------------------------------------------------------------------------


def test_defaults() -> None:
    taken = WriteOptions.of({**BROKERS, "TOPIC": "orders", "checkpointLocation": "/tmp/x"})
    assert (taken.topic, taken.staging, taken.ledger_topic) == (
        "orders",
        "orders-staging",
        "spark-epochs",
    )
    assert not taken.exactly_once
    assert (taken.config.acks, taken.config.enable_idempotence) == ("all", True)
    assert WriteOptions.of(BROKERS).staging == "spark-staging"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"exactlyOnse": "true"}, "did you mean exactlyOnce"),
        ({"exactlyOnce": "perhaps"}, "exactlyOnce"),
        ({"kafka.acks": "1"}, "acks=all"),
        ({"kafka.enable.idempotence": "false"}, "it is always on"),
        ({"kafka.lingr.ms": "5"}, r"kafka\.\*: .*lingr\.ms"),
        ({"kafka.transactional.id": "t"}, r"transactional\.id: Spark may run a task twice"),
        ({"kafka.security.protocol": "SASL_SSL"}, "SASL_SSL needs sasl.mechanism"),
        ({"kafka.value.serializer": "x"}, "encode them in the DataFrame"),
        ({"topic": ""}, "it must not be empty"),
        ({"topic": "a", "exactlyOnce": "true", "stagingTopic": "a"}, "keeps its own records"),
    ],
)
def test_bad_options_are_refused_by_name(given: dict[str, str], why: str) -> None:
    with pytest.raises(ApiException, match=why) as caught:
        WriteOptions.of(BROKERS | given)
    assert caught.value.code == ErrorCode.invalid_config


def test_exactly_once_is_for_streams() -> None:
    columns = schema(value=STRING)
    with pytest.raises(ApiException, match=r"exactlyOnce.*only a stream has epochs"):
        batch_writer({**BROKERS, "topic": "orders", "exactlyOnce": "true"}, columns)


# -- staging ---------------------------------------------------------------------------------


def stage(topics: Topics, **more: str) -> StagingWriter:
    given = {**BROKERS, "topic": "orders", "exactlyOnce": "true", "kafka.batch.size": "300"}
    return StagingWriter(topics, WriteOptions.of(given | more), task=4)


def test_the_same_key_goes_where_every_kafka_client_sends_it() -> None:
    topics = Topics()
    work = stage(topics)
    for n in range(60):
        work.add(SinkRow("orders", None, b"k%d" % (n % 7), b"%d" % n, ()), 1000)
    work.flush()
    found = {
        (it.key, target.partition)
        for target, staged in work.staged
        for it in records.decode(batch_at(topics, staged.partition, staged.offset))
    }
    assert found == {(b"k%d" % n, partition_of(b"k%d" % n, 3)) for n in range(7)}


def test_a_row_s_own_partition_goes_first_and_must_be_there() -> None:
    work = stage(Topics())
    work.add(SinkRow("orders", 2, b"k", b"v", ()), 1000)
    work.flush()
    assert [target for target, _ in work.staged] == [TopicPartition("orders", 2)]
    with pytest.raises(ApiException, match="partition 3 of orders, which has 3"):
        work.add(SinkRow("orders", 3, b"k", b"v", ()), 1000)


def test_without_keys_a_batch_is_filled_for_one_partition_then_for_another() -> None:
    work = stage(Topics())
    for n in range(400):
        work.add(SinkRow("orders", None, None, b"%d" % n, ()), 1000)
    work.flush()
    places = [target.partition for target, _ in work.staged]
    assert set(places) == {0, 1, 2}
    assert all(one != other for one, other in pairwise(places))


def test_rows_for_many_topics_wait_in_batches_of_their_own() -> None:
    topics = Topics()
    work = stage(topics, **{"kafka.compression.type": "lz4"})
    for n in range(300):
        work.add(SinkRow(f"t{n % 3}", None, b"%d" % n, b"x" * 20, ()), 1000 + n)
    work.flush()
    found: Counter[str] = Counter()
    for target, staged in work.staged:
        assert staged.partition == 1, "task 4 of 3 staging partitions"
        batch = batch_at(topics, staged.partition, staged.offset)
        header = Header.parse(batch)
        assert header.codec is Codec.LZ4 and header.count == staged.records
        found[target.topic] += staged.records
        assert all(int(it.key or b"") % 3 == int(target.topic[1]) for it in records.decode(batch))
    assert found == {"t0": 100, "t1": 100, "t2": 100}


def test_rows_for_very_many_topics_do_not_wait_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "OPEN_BYTES", 10_000)
    work = stage(Topics(), **{"kafka.batch.size": "9999"})
    for n in range(500):
        work.add(SinkRow(f"t{n}", None, b"k", b"x" * 20, ()), 1000)
        assert n - len(work.staged) < 120, "a batch of one such record has 90 bytes"
    work.flush()
    assert len(work.staged) == 500


def batch_at(topics: Topics, partition: int, offset: int) -> bytes:
    log = topics.logs[TopicPartition("orders-staging", partition)]
    return next(it for it in log if Header.parse(it).base_offset == offset)
