"""A broker dies and comes back: clients that were there before go on, and nothing is lost."""

import asyncio
from contextlib import closing

import kafka
import pytest
from confluent_kafka import Producer, TopicPartition

from tests.interop.clients import (
    aiokafka_consumer,
    aiokafka_producer,
    aiokafka_take,
    confluent_consumer,
    confluent_take,
    kafka_python_consumer,
    kafka_python_take,
)
from tests.limits import ANSWER_S

CONFIG: dict[str, str] = {}  # a broker of its own, to be killed
BEFORE, AFTER = b"before", b"after"


@pytest.fixture
def restart(cluster):
    def restart():
        cluster.kill(1)
        cluster.restart(1)

    return restart


def test_confluent(cluster, topic, restart):
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    producer = Producer(settings | {"reconnect.backoff.max.ms": 100})
    with confluent_consumer(cluster.bootstrap, reconnect_backoff_max_ms=100) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        for value in (BEFORE, AFTER):
            producer.produce(topic, value, partition=0)
            assert producer.flush(ANSWER_S) == 0
            assert [message.value() for message in confluent_take(consumer, 1)] == [value]
            if value is BEFORE:
                restart()


def test_kafka_python(cluster, topic, restart):
    with (
        closing(kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap)) as producer,
        kafka_python_consumer(cluster.bootstrap) as consumer,
    ):
        consumer.assign([kafka.TopicPartition(topic, 0)])
        for value in (BEFORE, AFTER):
            producer.send(topic, value, partition=0).get(ANSWER_S)
            assert [record.value for record in kafka_python_take(consumer, 1)] == [value]
            if value is BEFORE:
                restart()


def test_aiokafka(cluster, topic, restart):
    async def story():
        async with (
            aiokafka_producer(cluster.bootstrap, enable_idempotence=True) as producer,
            aiokafka_consumer(cluster.bootstrap) as consumer,
        ):
            consumer.assign([kafka.TopicPartition(topic, 0)])
            for value in (BEFORE, AFTER):
                await producer.send_and_wait(topic, value, partition=0)
                assert [record.value for record in await aiokafka_take(consumer, 1)] == [value]
                if value is BEFORE:
                    await asyncio.to_thread(restart)

    asyncio.run(story())
