"""Unmodified aiokafka produces and consumes, all in one event loop."""

import asyncio
import time

import aiokafka
import aiokafka.errors
import pytest
from aiokafka import TopicPartition

from engine.storage.batch import HEADER_SIZE, scan
from engine.storage.records import Record
from tests.interop.clients import (
    CODECS,
    LONG,
    SECOND,
    aiokafka_consumer,
    aiokafka_producer,
    aiokafka_send,
    aiokafka_take,
    patiently,
)
from tests.interop.plain import new_name
from tests.interop.raw import undecided
from tests.limits import ANSWER_S

TEN = [Record(n, SECOND + 100 * n, b"%d" % n, b"value %d" % n) for n in range(10)]
LARGEST = 1_048_588  # max.message.bytes, Kafka's default
AROUND_A_VALUE = HEADER_SIZE + 11  # bytes: the batch's header, and seven lengths and deltas
APPEND_TIME = 1


@pytest.fixture
def write(cluster):
    def write(topic, records, **settings):
        async def story():
            async with aiokafka_producer(cluster.bootstrap, **settings) as producer:
                return await aiokafka_send(producer, topic, records)

        return asyncio.run(story())

    return write


@pytest.fixture
def told(cluster):
    """Run a story, which is told to a consumer."""

    def told(story, *partitions, **settings):
        async def tell():
            async with aiokafka_consumer(cluster.bootstrap, **settings) as consumer:
                consumer.assign(partitions)
                await story(consumer)

        asyncio.run(tell())

    return told


@pytest.fixture
def ten(write, topic):
    """The first partition of a topic, with ten records."""
    write(topic, TEN)
    return TopicPartition(topic, 0)


def values(found):
    return [record.value for record in found]


class TestProducing:
    @pytest.mark.parametrize("acks", [0, 1, "all"])
    def test_acks(self, client, topic, write, acks):
        told = write(topic, TEN, acks=acks)
        assert [each and each.offset for each in told] == (
            [None] * 10 if acks == 0 else [*range(10)]
        )
        for _ in patiently():  # acks=0 is told before the broker has it
            if client.end_offset(topic) == 10:
                return

    def test_the_broker_s_own_time(self, client, write, told):
        topic, before = new_name(), int(time.time() * 1000)
        client.create(topic, message_timestamp_type="LogAppendTime")
        acknowledged = [each.timestamp for each in write(topic, TEN)]

        async def story(consumer):
            read = await aiokafka_take(consumer, 10)
            assert {record.timestamp_type for record in read} == {APPEND_TIME}
            assert [record.timestamp for record in read] == acknowledged
            assert before <= read[0].timestamp <= read[-1].timestamp <= time.time() * 1000

        told(story, TopicPartition(topic, 0))

    @pytest.mark.parametrize("codec", CODECS)
    def test_idempotence(self, client, topic, write, codec):
        many = [Record(n, SECOND, None, b"%d" % n) for n in range(1000)]
        compression = None if codec == "none" else codec
        settings = {"compression_type": compression, "enable_idempotence": True}
        told = write(topic, many, max_batch_size=1000, **settings)
        assert [each.offset for each in told] == [*range(1000)]
        headers = [header for _, header in scan(client.fetch(topic, 0).records)]
        assert len({header.producer_id for header in headers}) == 1
        assert headers[0].producer_id >= 0
        assert all(header.base_sequence == header.base_offset for header in headers)
        assert len(headers) > 1

    def test_as_large_as_the_topic_allows(self, client, topic, write):
        largest = Record(0, SECOND, None, b"x" * (LARGEST - AROUND_A_VALUE))
        settings = {"max_request_size": 2 * LARGEST}
        write(topic, [largest], **settings)
        with pytest.raises(aiokafka.errors.MessageSizeTooLargeError):
            write(topic, [largest._replace(value=largest.value + b"x")], **settings)
        [(_, header)] = scan(client.fetch(topic, 0).records)
        assert header.size == LARGEST

    def test_topics_come_into_being(self, client, write):
        topic = new_name()
        write(topic, TEN)
        assert client.end_offset(topic) == 10


class TestConsuming:
    def test_seek_and_position(self, ten, told):
        async def story(consumer):
            assert values(await aiokafka_take(consumer, 10)) == [record.value for record in TEN]
            assert await consumer.position(ten) == 10
            consumer.seek(ten, 7)
            assert [record.offset for record in await aiokafka_take(consumer, 3)] == [7, 8, 9]
            await consumer.seek_to_beginning(ten)
            assert await consumer.position(ten) == 0
            await consumer.seek_to_end(ten)
            assert await consumer.position(ten) == 10

        told(story, ten)

    def test_offsets_at_both_ends_and_by_time(self, ten, told):
        async def story(consumer):
            other = TopicPartition(ten.topic, 1)
            assert await consumer.beginning_offsets([ten, other]) == {ten: 0, other: 0}
            assert await consumer.end_offsets([ten, other]) == {ten: 10, other: 0}
            asked = [SECOND - 1, SECOND, SECOND + 401, SECOND + 900, SECOND + 901]
            found = [(await consumer.offsets_for_times({ten: each}))[ten] for each in asked]
            assert [each and (each.offset, each.timestamp - SECOND) for each in found] == [
                (0, 0),
                (0, 0),
                (5, 500),
                (9, 900),
                None,
            ]

        told(story, ten)

    @pytest.mark.parametrize(("isolation", "end"), [("uncommitted", 12), ("committed", 10)])
    def test_an_open_transaction_ends_what_is_stable(self, client, ten, told, isolation, end):
        assert client.produce(ten.topic, undecided("a", "b"), transactional_id="t").error_code == 0

        async def story(consumer):
            assert await consumer.end_offsets([ten]) == {ten: end}
            assert len(await aiokafka_take(consumer, end)) == end
            assert await consumer.getmany(timeout_ms=100) == {}  # there is no more to come

        told(story, ten, isolation_level=f"read_{isolation}")

    @pytest.mark.parametrize(("reset", "first"), [("earliest", 0), ("latest", 10)])
    def test_an_offset_that_is_not_there_begins_anew(self, ten, told, reset, first):
        async def story(consumer):
            read = 0
            consumer.seek(ten, 99)
            async with asyncio.timeout(ANSWER_S):
                while await consumer.position(ten) == 99:
                    read += sum(map(len, (await consumer.getmany(timeout_ms=10)).values()))
            assert await consumer.position(ten) - read == first

        told(story, ten, auto_offset_reset=reset)

    def test_a_record_wakes_who_waits_for_it(self, cluster, topic, told):
        async def story(consumer):
            async with aiokafka_producer(cluster.bootstrap) as producer:
                for record in TEN[:3]:
                    await aiokafka_send(producer, topic, [record])
                    assert values(await aiokafka_take(consumer, 1)) == [record.value]

        waits = {"fetch_max_wait_ms": LONG, "request_timeout_ms": 2 * LONG}
        told(story, TopicPartition(topic, 0), **waits)

    def test_a_record_larger_than_what_is_asked_for(self, topic, write, told):
        large = [Record(n, SECOND, None, b"%d" % n * 500_000) for n in range(5)]
        write(topic, large)

        async def story(consumer):
            assert values(await aiokafka_take(consumer, 5)) == [record.value for record in large]

        little = {"max_partition_fetch_bytes": 1000, "fetch_max_bytes": 1000}
        told(story, TopicPartition(topic, 0), **little)

    def test_many_partitions(self, cluster, client, told):
        topic = new_name()
        client.create(topic, partitions=40)
        partitions = [TopicPartition(topic, number) for number in range(40)]

        async def story(consumer):
            async with aiokafka_producer(cluster.bootstrap) as producer:
                for number in range(400):
                    await producer.send(topic, b"%d" % number, partition=number % 40)
                await producer.flush()
            found = [(r.partition, int(r.value)) for r in await aiokafka_take(consumer, 400)]
            assert sorted(found) == sorted((number % 40, number) for number in range(400))

        told(story, *partitions)
