"""Unmodified kafka-python produces and consumes. It alone of the three keeps fetch sessions."""

import time
from contextlib import closing

import kafka
import kafka.errors
import pytest
from kafka import TopicPartition

from engine.storage import records
from engine.storage.batch import HEADER_SIZE, Codec, scan
from engine.storage.records import Record
from tests.interop.clients import (
    CODECS,
    LONG,
    SECOND,
    kafka_python_consumer,
    kafka_python_take,
    kafka_python_write,
    patiently,
)
from tests.interop.plain import new_name
from tests.interop.raw import altered, undecided
from tests.limits import ANSWER_S

TEN = [Record(n, SECOND + 100 * n, b"%d" % n, b"value %d" % n) for n in range(10)]
LARGEST = 1_048_588  # max.message.bytes, Kafka's default
AROUND_A_VALUE = HEADER_SIZE + 11  # bytes: the batch's header, and seven lengths and deltas
APPEND_TIME = 1


@pytest.fixture
def ten(cluster, topic):
    """The first partition of a topic, with ten records."""
    kafka_python_write(cluster.bootstrap, topic, TEN)
    return TopicPartition(topic, 0)


@pytest.fixture
def consumer(cluster):
    with kafka_python_consumer(cluster.bootstrap) as consumer:
        yield consumer


def values(found):
    return [record.value for record in found]


def test_it_guesses_the_release(cluster, consumer, topic):
    """2.8 by single versions; without ZooKeeper 3.1, whose Fetch has ids of topics."""
    assert consumer.config["api_version"] == ((3, 3) if cluster.is_kraft else (2, 8))
    assert consumer.partitions_for_topic(topic) == {0, 1}
    assert topic in consumer.topics()


class TestProducing:
    @pytest.mark.parametrize("acks", [0, 1, "all"])
    def test_acks(self, cluster, client, topic, acks):
        told = kafka_python_write(
            cluster.bootstrap, topic, TEN, acks=acks, enable_idempotence=acks == "all"
        )
        if acks != 0:
            assert [each.offset for each in told] == [*range(10)]
        for _ in patiently():  # acks=0 is told before the broker has it
            if client.end_offset(topic) == 10:
                return

    def test_the_broker_s_own_time(self, cluster, client, consumer):
        topic, before = new_name(), int(time.time() * 1000)
        client.create(topic, message_timestamp_type="LogAppendTime")
        told = kafka_python_write(cluster.bootstrap, topic, TEN)
        consumer.assign([TopicPartition(topic, 0)])
        read = kafka_python_take(consumer, 10)
        assert {record.timestamp_type for record in read} == {APPEND_TIME}
        assert [record.timestamp for record in read] == [each.timestamp for each in told]
        assert before <= read[0].timestamp <= read[-1].timestamp <= time.time() * 1000

    @pytest.mark.parametrize("codec", CODECS)
    def test_idempotence(self, cluster, client, topic, codec):
        many = [Record(n, SECOND, None, b"%d" % n) for n in range(1000)]
        settings = {"enable_idempotence": True, "batch_size": 1000}
        told = kafka_python_write(cluster.bootstrap, topic, many, codec, **settings)
        assert [each.offset for each in told] == [*range(1000)]
        headers = [header for _, header in scan(client.fetch(topic, 0).records)]
        assert len({header.producer_id for header in headers}) == 1
        assert headers[0].producer_id >= 0
        assert all(header.base_sequence == header.base_offset for header in headers)
        assert len(headers) > 1

    def test_as_large_as_the_topic_allows(self, cluster, client, topic):
        largest = Record(0, SECOND, None, b"x" * (LARGEST - AROUND_A_VALUE))
        settings = {"max_request_size": 2 * LARGEST}
        kafka_python_write(cluster.bootstrap, topic, [largest], **settings)
        too_large = [largest._replace(value=largest.value + b"x")]
        with pytest.raises(kafka.errors.MessageSizeTooLargeError):
            kafka_python_write(cluster.bootstrap, topic, too_large, **settings)
        [(_, header)] = scan(client.fetch(topic, 0).records)
        assert header.size == LARGEST

    def test_more_replicas_wanted_than_there_are(self, cluster, client):
        topic, once = new_name(), {"retries": 0, "enable_idempotence": False}
        client.create(topic, min_insync_replicas=2)
        with pytest.raises(kafka.errors.NotEnoughReplicasError):
            kafka_python_write(cluster.bootstrap, topic, TEN, acks="all", **once)
        kafka_python_write(cluster.bootstrap, topic, TEN, acks=1, **once)
        assert client.end_offset(topic) == 10

    def test_topics_come_into_being(self, cluster, client):
        topic = new_name()
        kafka_python_write(cluster.bootstrap, topic, TEN)
        assert client.end_offset(topic) == 10


class TestConsuming:
    def test_seek_and_position(self, consumer, ten):
        consumer.assign([ten])
        assert values(kafka_python_take(consumer, 10)) == [record.value for record in TEN]
        assert consumer.position(ten) == 10
        consumer.seek(ten, 7)
        assert [record.offset for record in kafka_python_take(consumer, 3)] == [7, 8, 9]
        consumer.seek_to_beginning(ten)
        assert consumer.position(ten) == 0
        consumer.seek_to_end(ten)
        assert consumer.position(ten) == 10

    def test_offsets_at_both_ends_and_by_time(self, consumer, ten):
        other = TopicPartition(ten.topic, 1)
        assert consumer.beginning_offsets([ten, other]) == {ten: 0, other: 0}
        assert consumer.end_offsets([ten, other]) == {ten: 10, other: 0}
        asked = [SECOND - 1, SECOND, SECOND + 401, SECOND + 900, SECOND + 901]
        found = [consumer.offsets_for_times({ten: each})[ten] for each in asked]
        assert [each and (each.offset, each.timestamp - SECOND) for each in found] == [
            (0, 0),
            (0, 0),
            (5, 500),
            (9, 900),
            None,
        ]

    @pytest.mark.parametrize("codec", CODECS)
    def test_offsets_by_time_though_a_header_lacks_it(self, client, consumer, topic, codec):
        """As Go's sarama sends it: Kafka fills in the largest time of a batch."""
        times = [SECOND, SECOND + 9000, SECOND + 5000]
        rows = [Record(n, time, None, b"x" * 100 * n) for n, time in enumerate(times)]
        whole = records.encode(rows, codec=Codec[codec.upper()])
        for _ in range(2):
            assert client.produce(topic, altered(whole, max_timestamp=-1)).error_code == 0
        partition = TopicPartition(topic, 0)
        asked = [SECOND + 1, SECOND + 9000, SECOND + 9001]
        found = [consumer.offsets_for_times({partition: each})[partition] for each in asked]
        assert [each and each.offset for each in found] == [1, 1, None]

    @pytest.mark.parametrize(("isolation", "end"), [("uncommitted", 12), ("committed", 10)])
    def test_an_open_transaction_ends_what_is_stable(self, cluster, client, ten, isolation, end):
        assert client.produce(ten.topic, undecided("a", "b"), transactional_id="t").error_code == 0
        level = f"read_{isolation}"
        with kafka_python_consumer(cluster.bootstrap, isolation_level=level) as consumer:
            assert consumer.end_offsets([ten]) == {ten: end}
            consumer.assign([ten])
            assert len(kafka_python_take(consumer, end)) == end
            assert consumer.poll(100) == {}  # there is no more to come

    @pytest.mark.parametrize(("reset", "position"), [("earliest", 1), ("latest", 10)])
    def test_an_offset_that_is_not_there_begins_anew(self, cluster, ten, reset, position):
        with kafka_python_consumer(cluster.bootstrap, auto_offset_reset=reset) as consumer:
            consumer.assign([ten])
            consumer.seek(ten, 99)
            for _ in patiently():
                consumer.poll(100, max_records=1)
                if consumer.position(ten) == position:
                    break
            assert consumer.position(ten) == position

    def test_a_record_wakes_who_waits_for_it(self, cluster, topic):
        waits = {"fetch_max_wait_ms": LONG, "request_timeout_ms": 2 * LONG}
        with kafka_python_consumer(cluster.bootstrap, **waits) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            for number in range(3):
                assert consumer.poll(100) == {}  # by now it has asked
                kafka_python_write(cluster.bootstrap, topic, TEN[number : number + 1])
                assert values(kafka_python_take(consumer, 1)) == [TEN[number].value]

    def test_a_record_larger_than_what_is_asked_for(self, cluster, topic):
        large = [Record(n, SECOND, None, b"%d" % n * 500_000) for n in range(5)]
        kafka_python_write(cluster.bootstrap, topic, large)
        little = {"max_partition_fetch_bytes": 1000, "fetch_max_bytes": 1000}
        with kafka_python_consumer(cluster.bootstrap, **little) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            assert values(kafka_python_take(consumer, 5)) == [record.value for record in large]


def test_a_fetch_session_over_forty_partitions(cluster, client, consumer):
    """One row asked for in full, then only what has changed; a partition more, and one fewer."""
    topic = new_name()
    client.create(topic, partitions=40)
    partitions = [TopicPartition(topic, number) for number in range(40)]
    consumer.assign(partitions[:39])
    with closing(kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap)) as producer:

        def round_trip(numbers):
            for number in numbers:
                producer.send(topic, b"%d" % number, partition=number)
            producer.flush(ANSWER_S)
            found = kafka_python_take(consumer, len(numbers))
            assert sorted(record.partition for record in found) == [*numbers]

        round_trip(range(39))
        (session,) = consumer._fetcher._session_handlers.values()
        opened = session.next_metadata
        for _ in range(3):
            round_trip([3, 17, 38])
        consumer.assign(partitions[1:])
        round_trip([1, 39])
    for _ in patiently():  # what it has in hand it does not ask for
        consumer.poll(100)
        if set(session.session_partitions) == set(partitions[1:]):
            break
    now = session.next_metadata
    assert (now.session_id, now.epoch > opened.epoch + 3) == (opened.session_id, True)
    assert now.session_id != 0
    assert set(session.session_partitions) == set(partitions[1:])
