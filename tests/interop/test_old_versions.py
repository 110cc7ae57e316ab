"""Clients that speak like those before Kafka 0.11, and what they must not do to others.

kafka-python is pinned to an old release by `api_version`, librdkafka by `broker.version.fallback`.
tests/real compares our answers with Kafka's own.
"""

import threading
import time
from contextlib import closing

import confluent_kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as Partition

from engine.storage import records
from engine.storage.batch import Codec
from engine.storage.message_sets import decode, encode_messages
from engine.storage.records import Record
from engine.wire.apis import Api
from tests.interop.raw import Raw, batch, fetch, produce

RELEASES = [(0, 8, 2), (0, 9), (0, 10, 0), (0, 10, 1), (0, 10, 2)]
VALUES = [f"value-{number}".encode() for number in range(50)]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("codec", [None, "gzip", "snappy"])
def test_kafka_python_of_an_old_release(cluster, topic, release, codec):
    old = {"bootstrap_servers": cluster.bootstrap, "api_version": release}
    with closing(KafkaProducer(**old, compression_type=codec, acks=-1)) as producer:
        sent = [producer.send(topic, value, key=b"key", partition=0) for value in VALUES]
        assert [each.get(20).offset for each in sent] == list(range(len(VALUES)))
    found = []
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}
    with closing(KafkaConsumer(**old, **options, group_id=f"old-{topic}")) as consumer:
        consumer.assign([Partition(topic, 0)])
        deadline = time.monotonic() + 30
        while len(found) < len(VALUES) and time.monotonic() < deadline:
            for rows in consumer.poll(1000).values():
                found += rows
        consumer.commit()
        assert consumer.committed(Partition(topic, 0)) == len(VALUES)
    assert [row.value for row in found] == VALUES
    assert [row.offset for row in found] == list(range(len(VALUES)))


@pytest.mark.parametrize("release", ["0.9.0", "0.10.0", "0.10.2"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_librdkafka_of_an_old_release(cluster, topic, release, codec):
    old = {
        "bootstrap.servers": cluster.bootstrap,
        "api.version.request": False,
        "broker.version.fallback": release,
    }
    producer = confluent_kafka.Producer(old | {"compression.type": codec})
    for value in VALUES:
        producer.produce(topic, value, key=b"key", partition=0)
    assert producer.flush(30) == 0
    with closing(confluent_kafka.Consumer(old | {"group.id": f"old-{topic}"})) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found = consumer.consume(len(VALUES), 30)
        assert [(each.error(), each.value()) for each in found] == [(None, it) for it in VALUES]
        consumer.commit(found[-1], asynchronous=False)
        (stored,) = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], 20)
        assert stored.offset == len(VALUES)


def test_old_and_new_clients_read_each_other(client, topic):
    """In one log, side by side: it has record batches only."""
    old = [Record(n, 5 + n, b"k", b"old") for n in range(2)]
    for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        assert client.produce(topic, encode_messages(old, 1, codec), 2).error_code == 0
        assert client.produce(topic, batch("new"), 9).error_code == 0
    new = client.read(topic)
    assert [each.value for each in new] == [b"old", b"old", b"new"] * 4
    data = client.ask(Api.FETCH, fetch(topic, 0), 3).responses[0].partitions[0].records
    assert decode(data) == new[: len(decode(data))]


def test_a_bad_message_set_beside_a_good_one(client, cluster):
    """Each partition has a result of its own."""
    name = "old-and-bad"
    assert client.create(name, partitions=3) == 0
    good = encode_messages([Record(0, 1, None, b"x")], 0)
    bad = good[:20] + bytes([good[20] ^ 1]) + good[21:]
    answer = client.ask(Api.PRODUCE, produce(name, bad, more=((1, good), (2, b""))), 1)
    rows = {each.index: each for each in answer.responses[0].partition_responses}
    assert [rows[n].error_code.name for n in range(3)] == ["corrupt_message", "none", "none"]
    assert [rows[n].base_offset for n in range(3)] == [-1, 0, -1]


def test_others_are_served_while_much_is_converted(client, cluster, topic):
    """Half a million records for an old reader take seconds; a new one does not wait for them."""
    big = [Record(n, 1, None, b"") for n in range(120_000)]
    for _ in range(4):
        batch = records.encode(big, codec=Codec.GZIP)
        assert client.produce(topic, batch, 9).error_code == 0
    done = threading.Event()
    found = []

    def read() -> None:
        with Raw(cluster.bootstrap) as reader:
            answer = reader.ask(Api.FETCH, fetch(topic, 0, max_bytes=50 << 20), 0)
            found.extend(decode(answer.responses[0].partitions[0].records))
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    meanwhile = 0
    while not done.is_set():
        assert client.is_served()
        meanwhile += 1
    thread.join()
    assert len(found) >= len(big)
    assert meanwhile > 5
