"""What a source can be told, and what it answers when that can't be."""

import pickle

import pytest

from engine.client.address import Address
from engine.errors import ApiException
from engine.model import TopicPartition
from sparkstreams.offsets import EARLIEST, LATEST, Bound
from sparkstreams.source_options import ReadOptions

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


def options(**given: str) -> ReadOptions:
    """`__` stands for a dot."""
    named = {name.replace("__", "."): text for name, text in given.items()}
    base = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "orders"}
    return ReadOptions.of({name: it for name, it in {**base, **named}.items() if it != "-"})


def test_what_is_not_set_has_sparks_defaults() -> None:
    plain = options()

    assert plain.addresses == [Address("127.0.0.1", 9092)]
    assert plain.subscribe == ("orders",)
    assert plain.fail_on_data_loss
    assert not plain.include_headers
    assert plain.starting(LATEST).value == LATEST
    assert plain.ending.value == LATEST
    assert (plain.retries, plain.retry_interval_ms, plain.max_trigger_delay) == (3, 10, 900)
    assert plain.consumer.isolation_level == "read_uncommitted"


def test_names_mind_no_case_and_options_travel_to_executors() -> None:
    given = options(STARTINGOFFSETS="Earliest", includeheaders="TRUE", minPartitions=" 8 ")

    assert given.starting(LATEST) == Bound("startingOffsets", EARLIEST)
    assert given.include_headers
    assert given.min_partitions == 8
    assert pickle.loads(pickle.dumps(given)) == given


def test_spark_adds_options_of_its_own() -> None:
    options(path="/somewhere", checkpointLocation="/tmp/c", queryType="x", queryName="orders")


def test_three_ways_to_say_what_to_read() -> None:
    assert options(subscribe="a, b,").subscribe == ("a", "b")
    assert options(subscribe="-", subscribePattern="or.*").subscribe_pattern == "or.*"
    assert options(subscribe="-", assign='{"orders": [1, 0]}').assign == (A, B)


def test_a_time_goes_before_times_and_those_before_offsets() -> None:
    each = {"startingOffsets": '{"orders": {"0": 5}}'}
    assert options(**each).starting(LATEST) == Bound("startingOffsets", {A: 5})
    each |= {"startingOffsetsByTimestamp": '{"orders": {"0": 1000}}'}
    assert options(**each).starting(LATEST).value == {A: 1000}
    each |= {"startingTimestamp": "2000"}
    assert options(**each).starting(LATEST) == Bound("startingTimestamp", 2000, by_time=True)
    assert options(endingTimestamp="3000").ending == Bound("endingTimestamp", 3000, by_time=True)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15m", 900), ("30s", 30), ("250ms", 0.25), ("1500", 1.5), ("2 h", 7200)]
)
def test_durations_are_sparks(text: str, seconds: float) -> None:
    assert options(maxTriggerDelay=text).max_trigger_delay == seconds


def test_a_consumers_own_settings_are_taken_or_have_no_effect() -> None:
    given = options(
        kafka__isolation__level="read_committed",
        kafka__fetch__max__bytes="1000",
        kafka__group__id="g",
        kafka__receive__buffer__bytes="4096",
    )

    assert given.consumer.isolation_level == "read_committed"
    assert given.consumer.fetch_max_bytes == 1000
    assert given.kafka.keys() == {
        "bootstrap.servers",
        "isolation.level",
        "fetch.max.bytes",
        "group.id",
    }


def test_security_has_the_names_of_librdkafka_and_no_password_is_printed() -> None:
    given = options(
        kafka__security__protocol="SASL_SSL",
        kafka__sasl__mechanisms="SCRAM-SHA-256",
        kafka__sasl__username="alice",
        kafka__sasl__password="secret",
    )

    assert given.consumer.security_texts().items() >= {
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "SCRAM-SHA-256"),
        ("sasl.username", "alice"),
        ("sasl.password", "secret"),
    }
    assert "secret" not in f"{given!r} {given.consumer!r}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"subscibe": "x"}, "subscibe: there is no such option; did you mean subscribe?"),
        ({"startingOffset": "x"}, "did you mean startingOffsets?"),
        ({"bootstrap.servers": "x"}, "did you mean kafka.bootstrap.servers?"),
        ({"zzz": "x"}, "zzz: there is no such option; there are assign, endingOffsets"),
        ({"kafka.bootstrap.servers": "-"}, "kafka.bootstrap.servers: it must say where brokers"),
        ({"kafka.bootstrap.servers": "nowhere"}, "'nowhere' is not HOST:PORT"),
        ({"kafka.fetch.max.byte": "1"}, "fetch.max.byte; did you mean fetch.max.bytes?"),
        ({"kafka.isolation.level": "x"}, "isolation.level: String must be one of"),
        ({"kafka.auto.offset.reset": "latest"}, "kafka.auto.offset.reset: .* set startingOffsets"),
        ({"kafka.security.protocol": "TLS"}, "security.protocol: String must be one of"),
        ({"kafka.security.protocol": "SASL_SSL"}, "SASL_SSL needs sasl.mechanism"),
        ({"kafka.sasl.jaas.config": "x"}, "jaas.config: this is Java's name; .*sasl.username"),
        ({"kafka.ssl.truststore.location": "x"}, "Java's name; give kafka.ssl.ca.location"),
        ({"kafka.ssl.keystore.key": "x"}, "Java's name; give kafka.ssl.certificate.location"),
        ({"subscribe": "-"}, "subscribe, subscribePattern, assign: one of them must be given"),
        ({"subscribePattern": "x"}, "assign: give one of them, not several"),
        ({"subscribe": " , "}, "subscribe: it must not be empty"),
        ({"subscribe": "-", "subscribePattern": "*"}, r"'\*' is no regular expression: nothing"),
        ({"subscribe": "-", "assign": "{}"}, "assign: it must not be empty"),
        ({"subscribe": "-", "assign": '{"a": 1}'}, 'is not of the form {"orders": '),
        ({"startingOffsets": "first"}, "startingOffsets: 'first' is no JSON"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "-3 of orders-0 is no offset"),
        ({"startingTimestamp": "-1"}, "startingTimestamp: Value must be at least 0"),
        ({"startingOffsetsByTimestamp": "earliest"}, "Timestamp: 'earliest' is no JSON"),
        ({"startingOffsetsByTimestampStrategy": "x"}, "must be one of: error, latest"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger: Value must be at least 1"),
        ({"maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger: Not a number"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay: 'soon' is no duration such as 100ms"),
        ({"failOnDataLoss": "no"}, "failOnDataLoss: Expected value to be either true or false"),
        (
            {"minOffsetsPerTrigger": "2", "maxOffsetsPerTrigger": "1"},
            "minOffsetsPerTrigger: 2 is more than maxOffsetsPerTrigger, 1",
        ),
    ],
)
def test_what_can_not_be_is_refused_by_name(given: dict[str, str], told: str) -> None:
    with pytest.raises(ApiException, match=told):
        options(**{name.replace(".", "__"): text for name, text in given.items()})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"startingOffsets": "latest"},
            r"startingOffsets: a batch with latest \(-1\) here is empty",
        ),
        ({"startingOffsets": '{"orders": {"0": -1}}'}, "startingOffsets: a batch with latest"),
        ({"endingOffsets": "earliest"}, r"endingOffsets: a batch with earliest \(-2\) here is"),
    ],
)
def test_a_batch_is_not_empty_from_the_start(given: dict[str, str], told: str) -> None:
    with pytest.raises(ApiException, match=told):
        options(**given).check_batch()


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    text = "5" if name == "endingTimestamp" else '{"orders": {"0": 5}}'
    given = options(**{name: text})

    assert given.check_batch() is given
    with pytest.raises(ApiException, match=f"{name}: a stream has no end; use trigger"):
        given.check_stream()
