"""Our own producer and a real broker: what is delivered, and what is told."""

import threading

import pytest

from engine.client.admin.values import NewPartitions
from engine.client.producer import Producer
from engine.client.values import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError
from engine.storage.batch import scan
from engine.storage.records import Record
from tests.interop.clients import SECOND, confluent_read
from tests.interop.delivering import Told, making, new_name, new_topic
from tests.interop.watch import until


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def make(cluster):
    with making(cluster.bootstrap) as make:
        yield make


def test_a_stock_client_reads_what_was_written(cluster, client, make):
    topic, producer = new_topic(client), make()
    producer.produce(topic, "välue", "key", timestamp=SECOND, headers={"trace": b"1"})
    producer.produce(topic, None, b"gone", timestamp=SECOND + 1, headers=[("a", None)])
    producer.produce(topic, b"", timestamp=SECOND + 2)
    assert producer.flush(10) == 0
    assert confluent_read(cluster.bootstrap, topic, 3) == [
        Record(0, SECOND, b"key", "välue".encode(), (("trace", b"1"),)),
        Record(1, SECOND + 1, b"gone", None, (("a", None),)),
        Record(2, SECOND + 2, None, b""),
    ]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed(cluster, client, make, codec):
    topic, producer = new_topic(client), make(compression_type=codec)
    for number in range(100):
        producer.produce(topic, b"%d" % number * 100)
    producer.flush()
    found = confluent_read(cluster.bootstrap, topic, 100)
    assert [each.value for each in found] == [b"%d" % number * 100 for number in range(100)]


def test_each_record_is_reported_with_its_place_in_order(client, make, told):
    topic, producer = new_topic(client, 2), make(linger_ms=5)
    for number in range(500):
        producer.produce(topic, b"%d" % number, partition=number % 2, on_delivery=told)
    assert len(producer) > 0
    assert producer.flush() == 0 == len(producer)
    assert told.errors == [None] * 500
    for partition in range(2):
        mine = [each for each in told.messages if each.partition() == partition]
        assert [each.offset() for each in mine] == list(range(250))
        assert [int(each.value()) for each in mine] == list(range(partition, 500, 2))
    first = told.messages[0]
    assert (first.topic(), first.key(), first.headers(), first.error()) == (
        (topic, None, None, None)
    )
    assert first.timestamp()[0] == TIMESTAMP_CREATE_TIME
    assert first.latency() > 0


def test_the_brokers_own_time_is_told(client, make, told):
    topic, producer = new_topic(client, message_timestamp_type="LogAppendTime"), make()
    producer.produce(topic, b"a", timestamp=17, callback=told)
    producer.flush()
    kind, at = told.messages[0].timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME and at > SECOND


def test_with_acks_0_nobody_knows_where_it_went(cluster, client, make, told):
    topic, producer = new_topic(client), make(acks=0, on_delivery=told)
    producer.produce(topic, b"a")
    producer.flush()
    assert (told.errors, told.places) == ([None], [(0, None)])
    assert [each.value for each in confluent_read(cluster.bootstrap, topic, 1)] == [b"a"]


def test_poll_waits_for_the_first_report_and_serves_it(client, make, told):
    topic, producer = new_topic(client), make(on_delivery=told)
    assert producer.poll(0) == 0
    producer.produce(topic, b"a")
    assert producer.poll(10) == 1
    assert told.places == [(0, 0)]


def test_a_callback_may_produce(client, make, told):
    topic, producer = new_topic(client), make()
    producer.produce(
        topic, b"a", on_delivery=lambda *_: producer.produce(topic, b"b", on_delivery=told)
    )
    producer.flush()
    assert told.places == [(0, 1)]


def test_keys_stay_together_and_the_rest_is_spread(cluster, make, told):
    topic, producer = new_name(), make(on_delivery=told, batch_size=1000)
    cluster.admin.create_topic(topic, partitions=3)  # and each has a leader
    for number in range(3000):
        producer.produce(topic, b"v" * 100, key=b"key" if number % 2 else None)
    producer.flush()
    with_key = {each.partition() for each in told.messages if each.key()}
    without = {each.partition() for each in told.messages if not each.key()}
    assert len(with_key) == 1 and without == {0, 1, 2}


def test_a_partitioner_of_ones_own(client, make, told):
    topic = new_topic(client, 3)
    producer = make(partitioner=lambda key, partitions: len(key) % partitions)
    for key in (b"a", b"ab", b"abc"):
        producer.produce(topic, b"", key, on_delivery=told)
    producer.flush()
    assert sorted(told.places) == [(0, 0), (1, 0), (2, 0)]


def test_partitions_that_come_later_are_found(cluster, client, make, told):
    topic, producer = new_topic(client), make(on_delivery=told)
    producer.produce(topic, b"a")
    producer.flush()
    cluster.admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    producer.produce(topic, b"b", partition=1)
    producer.flush()
    assert told.places == [(0, 0), (1, 0)]


def test_a_closed_producer_has_delivered(cluster, client, make):
    topic = new_topic(client)
    with make(linger_ms=60_000) as producer:
        producer.produce(topic, b"a")
    assert [each.value for each in confluent_read(cluster.bootstrap, topic, 1)] == [b"a"]


def test_what_waits_can_be_purged(client, make, told):
    topic, producer = new_topic(client), make(linger_ms=60_000, on_delivery=told)
    producer.produce(topic, b"a")
    producer.purge()
    assert producer.flush(5) == 0
    assert told.errors == [KafkaError._PURGE_QUEUE]


def test_topics_are_listed(client, make):
    topic, producer = new_topic(client, 2), make()
    found = producer.list_topics(topic, timeout=10)
    assert {name: sorted(it.partitions) for name, it in found.topics.items()} == {topic: [0, 1]}
    assert topic in producer.list_topics().topics


def test_a_batch_that_the_topic_refuses_is_split(cluster, client, make, told):
    topic = new_topic(client, max_message_bytes="5000")
    producer = make(batch_size=16_384, linger_ms=20, on_delivery=told, enable_idempotence=True)
    for number in range(100):
        producer.produce(topic, b"%d" % number + b"." * 500)
    producer.flush()
    assert told.errors == [None] * 100
    found = confluent_read(cluster.bootstrap, topic, 100)
    assert [int(each.value.rstrip(b".")) for each in found] == list(range(100))


def test_numbers_are_on_the_disk(cluster, client, make):
    topic, producer = new_topic(client), make(enable_idempotence=True)
    for _ in range(3):
        producer.produce(topic, b"a")
        producer.flush()
    log = cluster.directory(1) / f"{topic}-0" / f"{0:020}.log"
    headers = [header for _, header in scan(log.read_bytes())]
    assert [header.base_sequence for header in headers] == [0, 1, 2]
    assert len({header.producer_id for header in headers}) == 1
    assert headers[0].producer_id >= 0


def test_two_threads_may_share_a_producer(cluster, client, make):
    topic, producer = new_topic(client), make()
    threads = [
        threading.Thread(target=lambda: [producer.produce(topic, b"%d" % n) for n in range(1000)])
        for _ in range(2)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert producer.flush(20) == 0
    assert len(confluent_read(cluster.bootstrap, topic, 2000)) == 2000


def test_a_producer_that_is_let_go_leaves_no_thread(cluster, client):
    before = set(threading.enumerate())
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    assert set(threading.enumerate()) > before
    del producer
    until(lambda: set(threading.enumerate()) <= before)
