"""Values as confluent-kafka has them: what a program does with one it can do with the other."""

from typing import Any

import confluent_kafka
import pytest

from engine import errors
from engine.client import values
from engine.client.values import KafkaError, KafkaException, error_of, exception_of
from engine.errors import ErrorCode

BOTH = pytest.mark.parametrize("module", [values, confluent_kafka], ids=["ours", "confluent"])


def test_every_code_that_both_name_is_the_same() -> None:
    theirs = {
        name: getattr(confluent_kafka.KafkaError, name)
        for name in dir(confluent_kafka.KafkaError)
        if name.strip("_").isupper()
    }
    ours = {name: getattr(KafkaError, name, None) for name in theirs}
    both = {name: code for name, code in ours.items() if code is not None}
    assert both == {name: theirs[name] for name in both}
    assert {name for name, code in theirs.items() if code >= -1} <= both.keys()
    assert {"_PARTITION_EOF", "_MSG_TIMED_OUT", "_ALL_BROKERS_DOWN", "_FATAL"} <= both.keys()


@BOTH
def test_an_error_is_its_code(module: Any) -> None:
    error = module.KafkaError(3)
    assert error.code() == module.KafkaError.UNKNOWN_TOPIC_OR_PART == 3
    assert error.name() == "UNKNOWN_TOPIC_OR_PART"
    assert error == 3 and error == module.KafkaError(3, "said otherwise") and error != 4
    assert error < module.KafkaError(4)
    assert hash(error) == hash(module.KafkaError(3, "said otherwise"))
    assert not error.fatal() and not error.retriable() and not error.txn_requires_abort()
    assert 'val=3,str="Broker: ' in str(error)


@BOTH
def test_an_error_says_what_it_was_told_to(module: Any) -> None:
    error = module.KafkaError(-185, "too slow", True, True)
    assert (error.str(), error.fatal(), error.retriable()) == ("too slow", True, True)
    assert repr(error) == 'KafkaError{FATAL,code=_TIMED_OUT,val=-185,str="too slow"}'
    assert module.KafkaError(999).name() == "ERR_999?"


@BOTH
def test_an_exception_holds_its_error(module: Any) -> None:
    with pytest.raises(module.KafkaException) as caught:
        raise module.KafkaException(module.KafkaError(-191))
    assert caught.value.args[0].code() == module.KafkaError._PARTITION_EOF


@BOTH
def test_partitions_are_compared_whatever_the_offset(module: Any) -> None:
    first, same, second = (module.TopicPartition("a", n, o) for n, o in ((0, 5), (0, 7), (1, 1)))
    assert first == same and hash(first) == hash(same) and first < second
    assert {first, same, second} == {first, second}
    assert module.TopicPartition("a").partition == -1
    assert module.TopicPartition("a").offset == module.OFFSET_INVALID == -1001
    assert (first.error, first.metadata, first.leader_epoch) == (None, None, None)
    assert str(first) == "TopicPartition{topic=a,partition=0,offset=5,leader_epoch=None,error=None}"
    with pytest.raises(TypeError, match="argument 1 must be str, not int"):
        module.TopicPartition(5)


@BOTH
def test_a_message_tells_what_it_holds(module: Any) -> None:
    message = module.Message(
        topic="orders",
        partition=1,
        offset=17,
        key=b"k",
        value=b"value",
        headers=[("trace", b"1")],
        timestamp=(module.TIMESTAMP_CREATE_TIME, 1000),
        latency=0.5,
        leader_epoch=3,
    )
    assert (message.topic(), message.partition(), message.offset()) == ("orders", 1, 17)
    assert (message.key(), message.value(), len(message)) == (b"k", b"value", 5)
    assert message.headers() == [("trace", b"1")]
    assert message.timestamp() == (1, 1000)
    assert (message.latency(), message.leader_epoch(), message.error()) == (0.5, 3, None)


@BOTH
def test_a_message_without_anything(module: Any) -> None:
    message = module.Message(topic="orders")
    assert message.topic() == "orders"
    assert message.key() is message.value() is message.headers() is message.error() is None
    assert len(message) == 0 and not message


@BOTH
def test_a_message_can_be_changed(module: Any) -> None:
    message = module.Message(topic="a", value=b"1")
    message.set_value("one")
    message.set_key("k")
    message.set_topic("b")
    message.set_headers([("h", b"")])
    assert (message.topic(), message.key(), message.value()) == ("b", "k", "one")
    assert message.headers() == [("h", b"")]


def test_a_place_that_was_never_known_is_none() -> None:
    assert values.Message("a", -1, -1).partition() is None
    assert values.Message("a", 0, values.OFFSET_INVALID).offset() is None


@pytest.mark.parametrize(
    ("code", "told", "retriable"),
    [
        (ErrorCode.not_leader_or_follower, KafkaError.NOT_LEADER_FOR_PARTITION, True),
        (ErrorCode.invalid_config, KafkaError.INVALID_CONFIG, False),
        (ErrorCode.network_exception, KafkaError._TRANSPORT, True),
        (ErrorCode.broker_not_available, KafkaError._ALL_BROKERS_DOWN, False),
    ],
    ids=lambda it: getattr(it, "name", None),
)
def test_the_engines_errors_are_translated_once(
    code: ErrorCode, told: int, retriable: bool
) -> None:
    error = error_of(errors.ApiException(code, "in our words"))
    assert (error.code(), error.str()) == (told, "in our words")
    assert (error.retriable(), error.fatal()) == (retriable, False)


def test_a_better_code_may_be_given() -> None:
    exception = exception_of(errors.ApiException(ErrorCode.invalid_config), KafkaError._INVALID_ARG)
    assert isinstance(exception, KafkaException)
    assert exception.args[0] == KafkaError._INVALID_ARG


def test_a_fatal_error_is_not_to_be_tried_again() -> None:
    error = error_of(errors.ApiException(ErrorCode.network_exception), fatal=True)
    assert error.fatal() and not error.retriable()
