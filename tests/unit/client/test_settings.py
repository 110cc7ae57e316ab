"""The dict of an application: parsed, checked, its functions set apart."""

from typing import Any

import pytest

from engine.config.client import ClientConfig
from engine.config.producer import ProducerConfig
from engine.errors import ApiException, ErrorCode

AT = {"bootstrap.servers": "127.0.0.1:9092"}


def refused(given: Any, kind: type[ClientConfig] = ProducerConfig) -> str:
    with pytest.raises(ApiException) as caught:
        kind.take(given)
    assert caught.value.code == ErrorCode.invalid_config
    return caught.value.message


def test_text_and_pythons_own_values_are_the_same() -> None:
    typed, _ = ProducerConfig.take(
        {"bootstrap.servers": ["a:1", "b:2"], "linger.ms": 5, "enable.idempotence": True}
    )
    texts, _ = ProducerConfig.take(
        {"bootstrap.servers": "a:1, b:2", "linger.ms": "5", "enable.idempotence": "true"}
    )
    assert typed == texts
    assert (typed.bootstrap_servers, typed.linger_ms) == (("a:1", "b:2"), 5)


def test_the_defaults_are_kafkas() -> None:
    settings, _ = ProducerConfig.take(AT)
    assert settings.texts() == {
        "security.protocol": "PLAINTEXT",
        "ssl.endpoint.identification.algorithm": "https",
        **dict.fromkeys(
            (
                *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location"),
                *("ssl.certificate.pem", "ssl.key.location", "ssl.key.pem", "ssl.key.password"),
                *("sasl.mechanism", "sasl.username", "sasl.password"),
            )
        ),
        "bootstrap.servers": "127.0.0.1:9092",
        "client.id": "",
        "request.timeout.ms": "30000",
        "retry.backoff.ms": "100",
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": "1000",
        "metadata.max.age.ms": "300000",
        "socket.connection.setup.timeout.ms": "10000",
        "acks": "1",
        "enable.idempotence": "false",
        "retries": "2147483647",
        "delivery.timeout.ms": "120000",
        "max.in.flight.requests.per.connection": "5",
        "transactional.id": None,
        "transaction.timeout.ms": "60000",
        "batch.size": "16384",
        "linger.ms": "0",
        "compression.type": "none",
        "max.request.size": "1048576",
        "buffer.memory": "33554432",
        "max.block.ms": "60000",
        "partitioner.class": "default",
    }


def test_functions_are_set_apart() -> None:
    _, functions = ProducerConfig.take(AT | {"error_cb": print, "partitioner": max, "logger": 5})
    assert functions == {"error_cb": print, "partitioner": max}


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"message.timeout.ms": 500}, "delivery_timeout_ms", 500),
        ({"queue.buffering.max.ms": 7}, "linger_ms", 7),
        ({"topic.metadata.refresh.interval.ms": 1000}, "metadata_max_age_ms", 1000),
        ({"request.required.acks": -1}, "acks", "all"),
        ({"acks": 0}, "acks", "0"),
        ({"partitioner": "murmur2_random"}, "partitioner_class", "default"),
        ({"linger.ms": None}, "linger_ms", 0),
    ],
    ids=str,
)
def test_librdkafkas_names_are_understood(given: Any, field: str, value: Any) -> None:
    assert getattr(ProducerConfig.take(AT | given)[0], field) == value


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, 'Missing required configuration "bootstrap.servers" which has no default value.'),
        ({"bootstrap.servers": ""}, "bootstrap.servers: it must not be empty"),
        (
            AT | {"linger": 5},
            "Unknown producer config name: linger; did you mean linger.ms?",
        ),
        (AT | {"group.id": "g"}, "Unknown producer config name: group.id"),
        (AT | {5: 6}, "Unknown producer config name: 5"),
        (
            AT | {"linger.ms": -5},
            "Invalid value -5 for configuration linger.ms: Value must be at least 0",
        ),
        (AT | {"acks": "some"}, "acks: String must be one of: all, 0, 1"),
        (AT | {"retries": "1.5"}, "retries: Not a number of type INT"),
        (AT | {"enable.idempotence": 1}, "Expected value to be either true or false"),
        (AT | {"linger.ms": {}}, "linger.ms: it is of type dict, not text, number or list"),
        (AT | {"error_cb": 5}, "error_cb requires a function"),
        (AT | {"stats_cb": print}, "ask the cluster for its state"),
        (AT | {"enable.idempotence": True, "acks": 1}, "Must set acks to all in order to use"),
        (AT | {"enable.idempotence": True, "retries": 0}, "Must set retries to non-zero"),
        (
            AT | {"enable.idempotence": True, "max.in.flight": 6},
            "Must set max.in.flight.requests.per.connection to at most 5",
        ),
        (
            AT | {"transactional.id": "a", "enable.idempotence": False},
            "Cannot set a transactional.id without also enabling idempotence.",
        ),
        (AT | {"transactional.id": "a", "acks": 1}, "Must set acks to all in order to use"),
        (AT | {"transactional.id": "a", "max.in.flight": 6}, "Must set max.in.flight.requests"),
        (AT | {"transactional.id": ""}, "transactional.id: String must be non-empty"),
        (
            AT | {"delivery.timeout.ms": 100, "request.timeout.ms": 99, "linger.ms": 2},
            "delivery.timeout.ms: should be equal to or larger than linger.ms + request.timeout.ms",
        ),
        (AT | {"delivery.timeout.ms": 1, "linger.ms": 2}, "should be equal to or larger than"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(given: Any, told: str) -> None:
    assert told in refused(given)


def test_a_configuration_is_a_dict() -> None:
    with pytest.raises(TypeError, match="expected a dict of configuration, not str"):
        ProducerConfig.take("bootstrap.servers=a:1")  # type: ignore[arg-type]


def test_what_was_not_given_gives_way() -> None:
    careful, _ = ProducerConfig.take(AT | {"enable.idempotence": "true"})
    assert careful.acks == "all"
    bound, _ = ProducerConfig.take(AT | {"transactional.id": "till-1"})
    assert (bound.enable_idempotence, bound.acks) == (True, "all")
    hasty, _ = ProducerConfig.take(AT | {"delivery.timeout.ms": 500, "linger.ms": 100})
    assert hasty.request_timeout_ms == 400
    patient, _ = ProducerConfig.take(AT | {"request.timeout.ms": 200_000, "linger.ms": 100})
    assert patient.delivery_timeout_ms == 200_100
