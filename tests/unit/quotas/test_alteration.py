"""What AlterClientQuotas and DescribeClientQuotas take, in Kafka's words."""

import math

import pytest

from engine.errors import ApiException, ErrorCode
from engine.quotas.alteration import (
    Alteration,
    FilterComponent,
    MatchType,
    altered,
    check_address,
    described,
    entity_of,
    java_text,
)
from engine.quotas.entity import DEFAULT, ClientQuotaEntity
from engine.zookeeper.quota_znodes import entity_at, place_of, read_quotas

ALICE = ClientQuotaEntity("alice")
IP = ClientQuotaEntity(ip="10.0.0.1")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "Invalid empty client quota entity"),
        ([("user", "")], "Empty user not supported"),
        ([("client-id", "")], "Empty client-id not supported"),
        ([("group", "g")], "Unhandled client quota entity type: group"),
        (
            [("user", "alice"), ("ip", "10.0.0.1")],
            "Invalid quota entity combination, IP entity should not be used with user/client ID "
            "entity.",
        ),
    ],
)
def test_an_entity_that_is_refused(parts, why):
    with pytest.raises(ApiException) as refused:
        entity_of(parts)
    assert (refused.value.code, refused.value.message) == (ErrorCode.invalid_request, why)


def test_entities():
    entity = entity_of([("client-id", None), ("user", "alice")])
    assert entity == ClientQuotaEntity("alice", DEFAULT)
    assert list(entity.parts()) == [("user", "alice"), ("client-id", None)]


@pytest.mark.parametrize("name", ["", "nobody here", "10.0.0", "%3A%3A1"])
def test_an_address_that_is_none(name):
    with pytest.raises(ApiException, match="is not a valid IP or resolvable host"):
        check_address(name)
    check_address("10.0.0.1")


@pytest.mark.parametrize(
    ("entity", "key", "value", "stored"),
    [
        (ALICE, "producer_byte_rate", 1048576.0, "1048576"),
        (ALICE, "producer_byte_rate", 0.0, "0"),
        (ALICE, "producer_byte_rate", math.nan, "0"),
        (ALICE, "consumer_byte_rate", 9.3e18, None),
        (ALICE, "consumer_byte_rate", -1.0, None),
        (ALICE, "consumer_byte_rate", 0.5, None),
        (ALICE, "consumer_byte_rate", math.inf, None),
        (ALICE, "request_percentage", 0.5, "0.5"),
        (ALICE, "request_percentage", -1.0, "-1.0"),
        (ALICE, "request_percentage", math.nan, "NaN"),
        (ALICE, "controller_mutation_rate", 10.0, "10.0"),
        (IP, "connection_creation_rate", 10.0, "10"),
        (IP, "connection_creation_rate", -1.0, None),
        (IP, "connection_creation_rate", 2.0**31, None),
    ],
)
def test_values(entity, key, value, stored):
    if stored is not None:
        assert altered({}, entity, [Alteration(key, value)]) == {key: stored}
        return
    kind = "INT" if entity is IP else "LONG"
    with pytest.raises(ApiException, match=f"Configuration {key} must be a {kind} value"):
        altered({}, entity, [Alteration(key, value)])


@pytest.mark.parametrize(
    ("entity", "key"),
    [(ALICE, "speed"), (ALICE, "connection_creation_rate"), (IP, "producer_byte_rate")],
)
def test_a_key_that_there_is_not(entity, key):
    with pytest.raises(ApiException, match=f"Invalid configuration key {key}"):
        altered({}, entity, [Alteration(key, 1.0)])


def test_what_is_set_besides_stays():
    config = {"SCRAM-SHA-256": "salt=...", "producer_byte_rate": "1", "consumer_byte_rate": "2"}
    changes = [Alteration("producer_byte_rate", None), Alteration("request_percentage", 5.0)]
    assert altered(config, ALICE, changes) == {
        "SCRAM-SHA-256": "salt=...",
        "consumer_byte_rate": "2",
        "request_percentage": "5.0",
    }


ENTITIES = {
    "alice": ALICE,
    "default": ClientQuotaEntity(DEFAULT),
    "alice app": ClientQuotaEntity("alice", "app"),
    "app": ClientQuotaEntity(client="app"),
    "ip": IP,
}
ANY_USER, ANY_CLIENT = FilterComponent("user"), FilterComponent("client-id")
EXACT, BY_DEFAULT = MatchType.EXACT, MatchType.DEFAULT


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, "alice, default, alice app, app, ip"),
        ([], True, ""),
        ([ANY_USER], False, "alice, default, alice app"),
        ([ANY_USER], True, "alice, default"),
        ([FilterComponent("user", BY_DEFAULT)], False, "default"),
        ([FilterComponent("user", EXACT, "alice")], False, "alice, alice app"),
        ([FilterComponent("user", EXACT, "alice")], True, "alice"),
        ([ANY_USER, ANY_CLIENT], False, "alice app"),
        ([FilterComponent("client-id", EXACT, "app")], False, "alice app, app"),
        ([FilterComponent("ip")], False, "ip"),
        ([FilterComponent("ip", EXACT, "10.0.0.2")], True, ""),
    ],
)
def test_filters(components, strict, found):
    quotas = {entity: {} for entity in ENTITIES.values()}
    names = {entity: name for name, entity in ENTITIES.items()}
    matched = described(quotas, components, strict=strict)
    assert ", ".join(names[each] for each in matched) == found


@pytest.mark.parametrize(
    ("components", "code", "why"),
    [
        ([ANY_USER, ANY_USER], "invalid_request", "Duplicate user filter component entity type"),
        (
            [ANY_CLIENT, ANY_CLIENT],
            "invalid_request",
            "Duplicate client filter component entity type",
        ),
        (
            [FilterComponent("")],
            "invalid_request",
            "Unexpected empty filter component entity type",
        ),
        (
            [FilterComponent("group")],
            "unsupported_version",
            "Custom entity type 'group' not supported",
        ),
        (
            [ANY_USER, FilterComponent("ip")],
            "invalid_request",
            "Invalid entity filter component combination, IP filter component should not be used "
            "with user or clientId filter component.",
        ),
        (
            [FilterComponent("user", 3)],
            "unknown_server_error",
            "The server experienced an unexpected error when processing the request.",
        ),
    ],
)
def test_filters_that_are_refused(components, code, why):
    with pytest.raises(ApiException) as refused:
        list(described({}, components, strict=False))
    assert (refused.value.code.name, refused.value.message) == (code, why)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1048576.0, "1048576.0"),
        (1e7, "1.0E7"),
        (12345678.0, "1.2345678E7"),
        (0.0001, "1.0E-4"),
        (0.001, "0.001"),
        (9.223372036854775807e18, "9.223372036854776E18"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_are_written_as_by_java(value, text):
    assert java_text(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("entity", "kind", "path"),
    [
        (ALICE, "users", "alice"),
        (ClientQuotaEntity(DEFAULT), "users", "<default>"),
        (ClientQuotaEntity("<default>"), "users", "%3Cdefault%3E"),
        (ClientQuotaEntity("CN=a b", DEFAULT), "users", "CN%3Da%20b/clients/<default>"),
        (ClientQuotaEntity(client="a/b"), "clients", "a%2Fb"),
        (IP, "ips", "10.0.0.1"),
    ],
)
def test_places_in_zookeeper(entity, kind, path):
    assert place_of(entity) == (kind, path)
    assert entity_at(kind, path) == entity


def test_what_cannot_be_read_is_left_out(caplog):
    overrides = {
        ("users", "alice"): {"producer_byte_rate": "1024", "SCRAM-SHA-256": "salt=..."},
        ("users", "bob"): {"producer_byte_rate": "much"},
        ("users", "bob/things/app"): {"producer_byte_rate": "1"},
        ("users", "carol"): {"SCRAM-SHA-256": "salt=..."},
        ("topics", "orders"): {"retention.ms": "1"},
    }
    assert read_quotas(overrides) == {ALICE: {"producer_byte_rate": 1024.0}}
    assert "bob are ignored" in caplog.text
    assert "bob/things/app are ignored" in caplog.text
