"""What our own producer refuses, and how: one clear error for each mistake."""

import json
import os
import socket

import pytest

from engine.client.producer import Producer
from engine.client.values import KafkaError
from tests.interop.clients import confluent_read
from tests.interop.delivering import Told, making, new_topic, refusal

CONFIG = {"auto.create.topics.enable": "false"}


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def make(cluster):
    with making(cluster.bootstrap) as make:
        yield make


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"linger": 5}, "Unknown producer config name: linger; did you mean linger.ms?"),
        ({"acks": 7}, "Invalid value 7 for configuration acks: String must be one of"),
        ({"batch.size": -1}, "batch.size: Value must be at least 0"),
        ({"bootstrap.servers": "nowhere"}, "'nowhere' is not HOST:PORT"),
        ({"on_delivery": 5}, "on_delivery requires a function"),
    ],
    ids=str,
)
def test_a_wrong_configuration(given, told):
    settings = {"bootstrap.servers": "127.0.0.1:1"} | given
    assert told in refusal(lambda: Producer(settings), KafkaError._INVALID_ARG)


def test_a_topic_that_does_not_exist(client, make):
    topic, producer = new_topic(client), make()
    text = refusal(lambda: producer.produce(topic + "x", b"a"), KafkaError._UNKNOWN_TOPIC)
    assert text == f"there is no topic {topic}x in this cluster; did you mean {topic}?"
    producer.produce(topic, b"it goes on")
    assert producer.flush(10) == 0


def test_a_topic_that_cannot_be(make):
    producer = make()
    text = refusal(lambda: producer.produce("what?", b"a"), KafkaError.TOPIC_EXCEPTION)
    assert "what?" in text


def test_a_partition_that_does_not_exist(client, make):
    topic, producer = new_topic(client, 2), make()
    text = refusal(
        lambda: producer.produce(topic, b"a", partition=2), KafkaError._UNKNOWN_PARTITION
    )
    assert text == f"topic {topic} has partitions 0 to 1, not 2"


def test_a_record_too_large(client, make):
    topic, producer = new_topic(client), make(max_request_size=1000)
    text = refusal(lambda: producer.produce(topic, bytes(1000)), KafkaError.MSG_SIZE_TOO_LARGE)
    assert "more than max.request.size (1000) allows" in text
    assert len(producer) == 0


def test_a_record_too_large_for_the_topic(client, make, told):
    topic, producer = new_topic(client, max_message_bytes="500"), make(on_delivery=told)
    producer.produce(topic, bytes(1000))
    producer.produce(topic, b"small")
    assert producer.flush(20) == 0
    assert told.errors == [KafkaError.MSG_SIZE_TOO_LARGE, None]


def test_who_waits_for_room_gets_it(client, make):
    topic, producer = new_topic(client), make(buffer_memory=2000, linger_ms=60_000)
    for _ in range(100):
        producer.produce(topic, bytes(500))
    assert producer.flush(20) == 0


def test_no_broker_at_all(told):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    heard = []
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "max.block.ms": 200,
            "error_cb": heard.append,
        }
    )
    text = refusal(lambda: producer.produce("orders", b"a"), KafkaError._TIMED_OUT)
    assert "nothing is known of topic orders after 0.2 s (max.block.ms)" in text
    assert f"no broker at 127.0.0.1:{port}: Connection refused" in text
    refusal(lambda: producer.list_topics(timeout=0.2), KafkaError._TRANSPORT)
    producer.poll(10)
    assert heard == [KafkaError._ALL_BROKERS_DOWN]
    assert producer.poll(0) == 0, "it was told already"
    producer.close()


def test_flush_with_a_time_out_tells_how_many_are_left(cluster, client, make, told):
    topic, producer = new_topic(client), make(delivery_timeout_ms=1500, on_delivery=told)
    producer.produce(topic, b"a")
    producer.flush()
    cluster.pause(1)
    try:
        producer.produce(topic, b"b")
        producer.produce(topic, b"c")
        assert producer.flush(0.1) == 2 == len(producer)
        assert producer.flush() == 0
    finally:
        cluster.resume(1)
    assert told.errors == [None, KafkaError._MSG_TIMED_OUT, KafkaError._MSG_TIMED_OUT]
    assert "given up: not delivered within 1.5 s" in told.errors[-1].str()


def test_use_after_close(client, make):
    topic, producer = new_topic(client), make()
    assert producer.close() and producer.close()
    for call in (
        lambda: producer.produce(topic, b"a"),
        lambda: producer.poll(0),
        producer.flush,
        producer.purge,
        producer.list_topics,
    ):
        with pytest.raises(RuntimeError, match="Producer has been closed"):
            call()
    assert len(producer) == 0


def test_a_callback_that_raises_is_heard_and_the_others_still_come(client, make, told):
    topic, producer = new_topic(client), make(on_delivery=told)

    def broken(error, message):
        raise ZeroDivisionError("of the application")

    producer.produce(topic, b"a", on_delivery=broken)
    producer.produce(topic, b"b")
    with pytest.raises(ZeroDivisionError, match="of the application"):
        producer.flush()
    assert producer.flush() == 0
    assert told.places == [(0, 1)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from 3.12 on
def test_a_fork_in_mid_use(cluster, client, make, told):
    topic, producer = new_topic(client), make(linger_ms=200, on_delivery=told)
    producer.produce(topic, b"a")
    read, write = os.pipe()
    child = os.fork()
    if not child:  # no assertion may leave this process
        found = {}
        for name in ("produce", "flush", "close"):
            try:
                found[name] = str(getattr(producer, name)(*[topic] * (name == "produce")))
            except RuntimeError as error:
                found[name] = str(error)
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.waitpid(child, 0)
    found = json.loads(os.read(read, 4000))
    os.close(read)
    os.close(write)
    for name in ("produce", "flush"):
        assert f"process {child} is a fork of it" in found[name]
    assert found["close"] == "True"
    assert producer.flush(10) == 0
    assert told.places == [(0, 0)]
    assert len(confluent_read(cluster.bootstrap, topic, 1)) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"topic": 5}, "a topic is text, not int"),
        ({"value": 5}, "a value is bytes, text or None, not int"),
        ({"value": bytearray(1)}, "a value is bytes, text or None, not bytearray"),
        ({"key": 5}, "a key is bytes, text or None, not int"),
        ({"partition": "1"}, "a partition is an int, not str"),
        ({"timestamp": 1.5}, "a timestamp is an int, not float"),
        ({"headers": 5}, "expected headers to be dict or list"),
        ({"headers": [("a", "b", "c")]}, "Headers are expected to be a list of"),
        ({"headers": {"a": 5}}, "a header's value is bytes, text or None, not int"),
    ],
    ids=str,
)
def test_values_of_a_wrong_type(client, make, words, told):
    producer = make()
    with pytest.raises(TypeError, match=told):
        producer.produce(**({"topic": "orders"} | words))
    assert len(producer) == 0
