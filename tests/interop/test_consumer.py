"""Our consumer at a real broker, by assignment: messages, positions, and what can be wrong."""

import gc
import os
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from engine.client.consumer import Consumer
from engine.client.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    KafkaError,
    Message,
    TopicPartition,
)
from engine.cluster.cluster import Cluster
from tests.interop import readers
from tests.interop.readers import SOON, Make, Produce, code_of, take, text, values
from tests.interop.watch import threads, until

CONFIG = readers.CONFIG


@pytest.fixture
def make(cluster: Cluster) -> Iterator[Make]:
    with readers.consumers(cluster) as make:
        yield make


@pytest.fixture
def produce(cluster: Cluster) -> Produce:
    return readers.producing(cluster)


# -- messages --------------------------------------------------------------------------------


def test_every_record_comes_once_and_in_order(make, produce, topic):
    produce(topic, *map(text, range(3000)))
    consumer = make()
    consumer.assign([TopicPartition(topic, 0)])
    assert values(take(consumer, 3000)) == [*map(text, range(3000))]
    assert consumer.poll(0.1) is None


def test_a_message_has_all_that_was_produced(make, produce, topic):
    produce(topic, b"v", key=b"k", headers=[("a", b"1"), ("none", None)], timestamp=1234)
    consumer = make()
    consumer.assign([TopicPartition(topic, 0)])
    message = consumer.poll(SOON)
    assert (message.key(), message.value()) == (b"k", b"v")
    assert message.headers() == [("a", b"1"), ("none", None)]
    assert message.timestamp() == (1, 1234)
    assert (message.topic(), message.partition(), message.offset()) == (topic, 0, 0)


def test_a_tombstone_is_a_message_though_it_has_no_length(make, produce, topic):
    produce(topic, None, None)
    consumer = make()
    consumer.assign([TopicPartition(topic, 0)])
    assert [consumer.poll(SOON).value(), consumer.poll(SOON).value()] == [None, None]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_decompressed(cluster, make, topic, codec):
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "linger.ms": 50, "compression.type": codec}
    )
    for number in range(100):
        producer.produce(topic, text(number), partition=0)
    assert producer.flush(SOON) == 0
    consumer = make()
    consumer.assign([TopicPartition(topic, 0)])
    assert values(take(consumer, 100)) == [*map(text, range(100))]


def test_max_poll_records_limits_what_consume_gives(make, produce, topic):
    produce(topic, *map(text, range(100)))
    consumer = make(max_poll_records=30)
    consumer.assign([TopicPartition(topic, 0)])
    take(consumer, 1)
    assert len(consumer.consume(100, SOON)) == 30


def test_a_small_fetch_still_brings_a_large_record(make, produce, topic):
    """The first batch comes whole, however small the limits are."""
    produce(topic, bytes(200_000), b"small")
    consumer = make(max_partition_fetch_bytes=1000, fetch_max_bytes=1000)
    consumer.assign([TopicPartition(topic, 0)])
    assert [len(value) for value in values(take(consumer, 2))] == [200_000, 5]


def test_the_end_of_a_partition_is_told_on_request(make, produce, topic):
    produce(topic, b"a")
    consumer = make(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0)])
    message, end = take(consumer, 2)
    assert message.value() == b"a"
    assert (end.error(), end.offset()) == (KafkaError._PARTITION_EOF, 1)


# -- positions -------------------------------------------------------------------------------


def test_seeking_to_and_fro(make, produce, topic):
    produce(topic, *map(text, range(10)))
    consumer = make()
    place = TopicPartition(topic, 0)
    consumer.assign([place])
    assert values(take(consumer, 3)) == [b"0", b"1", b"2"]
    assert consumer.position([place])[0].offset == 3
    consumer.seek(TopicPartition(topic, 0, 8))
    assert values(take(consumer, 2)) == [b"8", b"9"]
    consumer.seek_to_beginning()
    assert consumer.poll(SOON).value() == b"0"
    consumer.seek_to_end(place)
    until(lambda: consumer.poll(0.05) is None and consumer.position([place])[0].offset == 10)
    produce(topic, b"new")
    assert consumer.poll(SOON).value() == b"new"


def test_an_assignment_may_say_where_to_begin(make, produce, topic):
    produce(topic, b"a", b"b")
    produce(topic, b"c", b"d", partition=1)
    consumer = make(auto_offset_reset="latest")
    consumer.assign([TopicPartition(topic, 0, 1), TopicPartition(topic, 1, OFFSET_BEGINNING)])
    assert sorted(values(take(consumer, 3))) == [b"b", b"c", b"d"]
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    assert consumer.assignment() == [TopicPartition(topic, 0)]
    assert consumer.poll(0.2) is None


def test_assignments_grow_and_shrink(make, produce, topic):
    produce(topic, b"a")
    produce(topic, b"b", partition=1)
    one, two = TopicPartition(topic, 0), TopicPartition(topic, 1)
    consumer = make()
    consumer.assign([one])
    assert consumer.poll(SOON).value() == b"a"
    consumer.incremental_assign([two])
    assert code_of(lambda: consumer.incremental_assign([two])) == KafkaError._CONFLICT
    assert consumer.poll(SOON).value() == b"b"
    consumer.incremental_unassign([one])
    assert code_of(lambda: consumer.incremental_unassign([one])) == KafkaError._INVALID_ARG
    assert consumer.assignment() == [two]
    produce(topic, b"unread")
    assert consumer.poll(0.3) is None
    consumer.unassign()
    assert consumer.assignment() == []


def test_what_is_paused_is_not_handed_out_and_not_lost(make, produce, topic):
    produce(topic, *map(text, range(10)))
    consumer, place = make(), TopicPartition(topic, 0)
    consumer.assign([place])
    assert consumer.poll(SOON).value() == b"0"
    consumer.pause([place])
    assert consumer.poll(0.3) is None
    consumer.resume([place])
    assert values(take(consumer, 9)) == [*map(text, range(1, 10))]


def test_offsets_by_time_and_the_ends(make, produce, topic):
    for number in range(5):
        produce(topic, text(number), timestamp=1000 + number)
    consumer, place = make(), TopicPartition(topic, 0)
    times = [TopicPartition(topic, 0, 1003), TopicPartition(topic, 1, 0)]
    found = consumer.offsets_for_times(times, timeout=SOON)
    assert [each.offset for each in found] == [3, OFFSET_END]
    assert consumer.get_watermark_offsets(place, timeout=SOON) == (0, 5)
    assert consumer.get_watermark_offsets(place, cached=True) == (OFFSET_INVALID, OFFSET_INVALID)
    consumer.assign([place])
    consumer.poll(SOON)
    assert consumer.get_watermark_offsets(place, cached=True) == (0, 5)


def test_an_offset_out_of_range_without_a_policy_is_an_error(make, produce, topic):
    produce(topic, b"a")
    consumer = make(auto_offset_reset="none")
    consumer.assign([TopicPartition(topic, 0, 99)])
    message = consumer.poll(SOON)
    assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
    assert "offset 99 is out of range" in message.error().str()
    consumer.seek(TopicPartition(topic, 0, 0))
    assert consumer.poll(SOON).value() == b"a"


# -- what is wrong ---------------------------------------------------------------------------


def test_an_unknown_topic_is_told(make):
    consumer = make(group_id="g-unknown")
    consumer.assign([TopicPartition("not-there", 0)])
    message = consumer.poll(SOON)
    assert message.error() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert message.topic() == "not-there"
    absent = TopicPartition("not-there", 0)
    unknown = KafkaError.UNKNOWN_TOPIC_OR_PART
    assert code_of(lambda: consumer.get_watermark_offsets(absent, timeout=SOON)) == unknown
    assert consumer.offsets_for_times([absent], timeout=SOON)[0].error == unknown


def test_an_unknown_partition_is_told(make, topic):
    consumer = make()
    consumer.assign([TopicPartition(topic, 7)])
    assert consumer.poll(SOON).error() == KafkaError._UNKNOWN_PARTITION


def test_a_broker_that_goes_and_comes_back(cluster, make, produce, topic):
    produce(topic, b"a")
    told: list[KafkaError] = []
    consumer = make(error_cb=told.append, reconnect_backoff_max_ms=100)
    consumer.assign([TopicPartition(topic, 0)])
    assert consumer.poll(SOON).value() == b"a"
    cluster.kill(1)
    assert consumer.poll(0) is None
    until(lambda: consumer.poll(0.05) is None and told)
    assert told[0] in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
    refused = code_of(lambda: consumer.get_watermark_offsets(TopicPartition(topic, 0), 0.2))
    assert refused in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
    cluster.restart(1)
    produce(topic, b"b")
    assert consumer.poll(SOON).value() == b"b"


def test_closing_does_not_wait_for_brokers_that_are_gone(cluster, make, produce, topic):
    produce(topic, b"a")
    consumer = make(group_id=f"group-{topic}")
    consumer.subscribe([topic])
    assert consumer.poll(SOON).value() == b"a"
    cluster.kill(1)
    try:
        began = time.monotonic()
        consumer.close()
        assert time.monotonic() - began < SOON
    finally:
        cluster.restart(1)


def test_nobody_uses_a_consumer_that_is_closed(make, topic):
    consumer, place = make(group_id="g-closed"), TopicPartition(topic, 0, 0)
    with consumer:
        consumer.assign([place])
    for call in (
        consumer.poll,
        consumer.consume,
        consumer.assignment,
        consumer.unassign,
        consumer.unsubscribe,
        consumer.commit,
        consumer.memberid,
        consumer.list_topics,
        lambda: consumer.assign([place]),
        lambda: consumer.incremental_assign([place]),
        lambda: consumer.incremental_unassign([place]),
        lambda: consumer.subscribe([topic]),
        lambda: consumer.seek(place),
        lambda: consumer.pause([place]),
        lambda: consumer.resume([place]),
        lambda: consumer.position([place]),
        lambda: consumer.committed([place]),
        lambda: consumer.offsets_for_times([place]),
        lambda: consumer.get_watermark_offsets(place),
    ):
        with pytest.raises(RuntimeError, match="Consumer closed"):
            call()
    consumer.close()


def test_a_consumer_that_nobody_holds_any_more_ends(cluster, produce, topic):
    """As when a cell of a notebook is run once more."""
    produce(topic, b"a")
    before = threads("brokerlab-client")
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0)])
    assert consumer.poll(SOON).value() == b"a"
    assert threads("brokerlab-client") - before
    del consumer
    gc.collect()
    assert threads("brokerlab-client") <= before


def test_a_fork_is_refused(make, produce, topic):
    produce(topic, b"a")
    consumer = make()
    consumer.assign([TopicPartition(topic, 0)])
    assert consumer.poll(SOON).value() == b"a"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            consumer.poll(0)
        except RuntimeError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"is a fork" in os.read(read, 1000)
    os.close(read)
    os.close(write)
    produce(topic, b"b")
    assert consumer.poll(SOON).value() == b"b", "the parent is none the worse"


def test_wrong_types_are_refused_at_once(make, topic):
    consumer, place = make(group_id="g-types"), TopicPartition(topic, 0)
    for call in (
        lambda: consumer.assign(place),
        lambda: consumer.assign([topic]),
        lambda: consumer.subscribe(topic),
        lambda: consumer.subscribe([topic], on_revoke="no function"),
        Consumer,
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="mutually exclusive"):
        consumer.commit(message=Message(topic, 0, 0), offsets=[])
    with pytest.raises(ValueError, match="between 0 and 1000000"):
        consumer.consume(-1)
    assert code_of(lambda: consumer.subscribe([])) == KafkaError._INVALID_ARG
    assert code_of(lambda: consumer.subscribe(["^("])) == KafkaError._INVALID_ARG
    assert code_of(lambda: consumer.seek(place)) == KafkaError._UNKNOWN_PARTITION
