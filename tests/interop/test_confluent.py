"""Unmodified confluent-kafka, which is librdkafka, produces and consumes."""

import time

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Producer,
    TopicPartition,
)

from engine.storage.batch import HEADER_SIZE, scan
from engine.storage.records import Record
from tests.interop.clients import (
    CODECS,
    LONG,
    SECOND,
    confluent_consumer,
    confluent_take,
    confluent_write,
    named,
    patiently,
)
from tests.interop.plain import new_name
from tests.interop.raw import undecided
from tests.limits import ANSWER_S

TEN = [Record(n, SECOND + 100 * n, b"%d" % n, b"value %d" % n) for n in range(10)]
LAST = -2000  # librdkafka: less n stands for the last n records
LARGEST = 1_048_588  # max.message.bytes, Kafka's default
AROUND_A_VALUE = HEADER_SIZE + 11  # bytes: the batch's header, and seven lengths and deltas


@pytest.fixture
def ten(cluster, topic):
    """A topic with ten records in partition 0."""
    confluent_write(cluster.bootstrap, topic, TEN)
    return topic


def at(topic, offset, partition=0):
    return TopicPartition(topic, partition, offset)


def values(messages):
    return [message.value() for message in messages]


def failures(producer, topic, value):
    found = []
    producer.produce(topic, value, partition=0, on_delivery=lambda error, _: found.append(error))
    assert producer.flush(ANSWER_S) == 0
    return found


class TestProducing:
    @pytest.mark.parametrize("acks", ["0", "1", "all"])
    def test_acks(self, cluster, client, topic, acks):
        told = confluent_write(cluster.bootstrap, topic, TEN, acks=acks)
        offsets = [None] * 10 if acks == "0" else [*range(10)]
        assert [message.offset() for message in told] == offsets
        for _ in patiently():  # acks=0 is told before the broker has it
            if client.end_offset(topic) == 10:
                return

    def test_nothing_at_all_is_a_record_too(self, cluster, topic):
        confluent_write(cluster.bootstrap, topic, [Record(0, SECOND, None, None, (("h", None),))])
        with confluent_consumer(cluster.bootstrap) as consumer:
            consumer.assign([at(topic, 0)])
            (message,) = confluent_take(consumer, 1)
        assert (message.key(), message.value(), message.headers()) == (None, None, [("h", None)])
        assert message.timestamp() == (TIMESTAMP_CREATE_TIME, SECOND)

    def test_the_broker_s_own_time(self, cluster, client):
        topic, before = new_name(), time.time() * 1000
        client.create(topic, message_timestamp_type="LogAppendTime")
        told = confluent_write(cluster.bootstrap, topic, TEN)
        with confluent_consumer(cluster.bootstrap) as consumer:
            consumer.assign([at(topic, 0)])
            read = confluent_take(consumer, 10)
        kinds, times = zip(*(message.timestamp() for message in read), strict=True)
        assert set(kinds) == {TIMESTAMP_LOG_APPEND_TIME}
        assert int(before) <= min(times) <= max(times) <= time.time() * 1000
        assert [message.timestamp() for message in told] == list(zip(kinds, times, strict=True))

    @pytest.mark.parametrize("codec", CODECS)
    def test_idempotence(self, cluster, client, topic, codec):
        records = [Record(n, SECOND, None, b"%d" % n) for n in range(3000)]
        settings = {"enable_idempotence": True, "batch_num_messages": 100}
        told = confluent_write(cluster.bootstrap, topic, records, codec, **settings)
        assert [message.offset() for message in told] == [*range(3000)]
        headers = [header for _, header in scan(client.fetch(topic, 0).records)]
        assert len({(header.producer_id, header.producer_epoch) for header in headers}) == 1
        assert headers[0].producer_id >= 0
        assert all(header.base_sequence == header.base_offset for header in headers)
        assert len(headers) >= 30

    def test_as_large_as_the_topic_allows(self, cluster, client, topic):
        settings = {"bootstrap_servers": cluster.bootstrap, "message_max_bytes": 2 * LARGEST}
        producer = Producer(named(settings))
        assert failures(producer, topic, b"x" * (LARGEST - AROUND_A_VALUE)) == [None]
        (error,) = failures(producer, topic, b"x" * (LARGEST - AROUND_A_VALUE + 1))
        assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
        [(_, header)] = scan(client.fetch(topic, 0).records)
        assert header.size == LARGEST

    def test_topics_come_into_being(self, cluster, client):
        topic = new_name()
        confluent_write(cluster.bootstrap, topic, TEN, allow_auto_create_topics=True)
        assert client.end_offset(topic) == 10


class TestConsuming:
    @pytest.mark.parametrize(("start", "first"), [(OFFSET_BEGINNING, 0), (4, 4), (LAST - 3, 7)])
    def test_where_to_begin(self, cluster, ten, start, first):
        with confluent_consumer(cluster.bootstrap) as consumer:
            consumer.assign([at(ten, start)])
            assert values(confluent_take(consumer, 10 - first)) == [r.value for r in TEN[first:]]
            assert consumer.position([at(ten, 0)])[0].offset == 10

    def test_only_what_comes_from_now_on(self, cluster, ten):
        with confluent_consumer(cluster.bootstrap, enable_partition_eof=True) as consumer:
            consumer.assign([at(ten, OFFSET_END)])
            end = consumer.poll(ANSWER_S)
            assert (end.error().code(), end.offset()) == (KafkaError._PARTITION_EOF, 10)
            confluent_write(cluster.bootstrap, ten, [Record(0, SECOND, None, b"new")])
            assert values(confluent_take(consumer, 1)) == [b"new"]

    def test_seek_pause_and_resume(self, cluster, ten):
        with confluent_consumer(cluster.bootstrap) as consumer:
            consumer.assign([at(ten, 0), at(ten, 0, 1)])
            confluent_take(consumer, 10)
            consumer.pause([at(ten, 0)])
            consumer.seek(at(ten, 8))
            consumer.resume([at(ten, 0)])
            assert values(confluent_take(consumer, 2)) == [b"value 8", b"value 9"]

    @pytest.mark.parametrize(("reset", "first"), [("earliest", 0), ("latest", 10)])
    def test_an_offset_that_is_not_there_begins_anew(self, cluster, ten, reset, first):
        settings = {"auto_offset_reset": reset, "enable_partition_eof": True}
        with confluent_consumer(cluster.bootstrap, **settings) as consumer:
            consumer.assign([at(ten, 99)])
            assert consumer.poll(ANSWER_S).offset() == first  # a record, or the end

    def test_offsets_by_time(self, cluster, ten):
        asked = [SECOND - 1, SECOND, SECOND + 401, SECOND + 900, SECOND + 901]
        with confluent_consumer(cluster.bootstrap) as consumer:
            found = [consumer.offsets_for_times([at(ten, each)])[0] for each in asked]
            assert [each.offset for each in found] == [0, 0, 5, 9, OFFSET_END]
            assert consumer.get_watermark_offsets(at(ten, 0)) == (0, 10)

    @pytest.mark.parametrize(("isolation", "end"), [("uncommitted", 12), ("committed", 10)])
    def test_it_sees_an_open_transaction_only_if_it_wants_to(
        self, cluster, client, ten, isolation, end
    ):
        assert client.produce(ten, undecided("a", "b"), transactional_id="t").error_code == 0
        settings = {"isolation_level": f"read_{isolation}", "enable_partition_eof": True}
        with confluent_consumer(cluster.bootstrap, **settings) as consumer:
            consumer.assign([at(ten, 8)])
            *read, last = [consumer.poll(ANSWER_S) for _ in range(8, end + 1)]
        assert [message.offset() for message in read] == [*range(8, end)]
        assert (last.error().code(), last.offset()) == (KafkaError._PARTITION_EOF, end)

    def test_a_record_wakes_who_waits_for_it(self, cluster, topic):
        waits = {"fetch_wait_max_ms": LONG, "fetch_min_bytes": 1}
        with confluent_consumer(cluster.bootstrap, **waits) as consumer:
            consumer.assign([at(topic, 0)])
            for number in range(3):
                confluent_write(cluster.bootstrap, topic, TEN[number : number + 1])
                assert values(confluent_take(consumer, 1)) == [TEN[number].value]

    def test_it_gets_what_there_is_when_its_wait_is_over(self, cluster, ten):
        waits = {"fetch_wait_max_ms": 50, "fetch_min_bytes": 100_000_000}
        with confluent_consumer(cluster.bootstrap, **waits) as consumer:
            consumer.assign([at(ten, 0)])
            assert len(confluent_take(consumer, 10)) == 10

    def test_it_does_not_wait_at_the_end_of_a_segment(self, cluster, client):
        topic = new_name()
        client.create(topic, segment_bytes=2000)
        records = [Record(n, SECOND, None, b"x" * 1000) for n in range(20)]
        confluent_write(cluster.bootstrap, topic, records, batch_num_messages=1)
        waits = {"fetch_wait_max_ms": LONG, "fetch_min_bytes": 3000}
        with confluent_consumer(cluster.bootstrap, **waits) as consumer:
            consumer.assign([at(topic, 0)])
            assert len(confluent_take(consumer, 19)) == 19

    def test_a_record_larger_than_what_is_asked_for(self, cluster, topic):
        records = [Record(n, SECOND, None, b"%d" % n * 500_000) for n in range(5)]
        confluent_write(cluster.bootstrap, topic, records)
        little = dict.fromkeys(
            ("fetch_message_max_bytes", "fetch_max_bytes", "message_max_bytes"), 1000
        )
        with confluent_consumer(cluster.bootstrap, **little) as consumer:
            consumer.assign([at(topic, 0)])
            assert values(confluent_take(consumer, 5)) == [record.value for record in records]


def test_a_hundred_partitions(cluster, client):
    topic = new_name()
    client.create(topic, partitions=100)
    producer = Producer(named({"bootstrap_servers": cluster.bootstrap}))
    for number in range(1000):
        producer.produce(topic, b"%d" % number, partition=number % 100)
    assert producer.flush(ANSWER_S) == 0
    with confluent_consumer(cluster.bootstrap) as consumer:
        consumer.assign([at(topic, 0, number) for number in range(100)])
        messages = confluent_take(consumer, 1000)
    by_partition = {number: [] for number in range(100)}
    for message in messages:
        by_partition[message.partition()].append(int(message.value()))
    assert by_partition == {number: [*range(number, 1000, 100)] for number in range(100)}


def test_what_there_is(cluster, ten):
    with confluent_consumer(cluster.bootstrap) as consumer:
        found = consumer.list_topics(timeout=ANSWER_S)
        missing = consumer.list_topics("nowhere", timeout=ANSWER_S).topics["nowhere"]
    assert {str(broker) for broker in found.brokers.values()} == {f"{cluster.bootstrap}/1"}
    assert (found.controller_id, len(found.cluster_id)) == (1, 22)
    parts = found.topics[ten].partitions
    assert {each.id: (each.leader, each.replicas, each.isrs) for each in parts.values()} == {
        0: (1, [1], [1]),
        1: (1, [1], [1]),
    }
    assert missing.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
