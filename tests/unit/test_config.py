"""Kafka's names, defaults, ranges and words."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import (
    BrokerConfig,
    Config,
    Entry,
    Layer,
    Source,
    Synonym,
    TopicConfig,
    Type,
    describe_broker,
    describe_topic,
    inert,
)
from engine.config.key import parse, printed
from engine.errors import ApiException, ErrorCode

NEEDED = {"broker.id": "1", "zookeeper.connect": "127.0.0.1:2181"}
ACK_TEXT = (
    "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
    "offsets.topic.replication.factor"
)

# As Apache Kafka 2.8.2 prints them.
TOPIC_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.downconversion.enable": "true",
    "message.format.version": "2.8-IV1",
    "message.timestamp.difference.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


def broker(values: dict[str, str] | None = None) -> BrokerConfig:
    return BrokerConfig.parse(NEEDED | (values or {}))


def refusal(config: type[Config], **values: str | None) -> str:
    needed = NEEDED if config is BrokerConfig else {}
    with pytest.raises(ApiException) as caught:
        config.parse(needed | {name.replace("_", "."): text for name, text in values.items()})
    assert caught.value.code == ErrorCode.invalid_config
    return caught.value.message


def test_topic_defaults_are_those_of_kafka() -> None:
    assert dict(sorted(TopicConfig().texts().items())) == TOPIC_DEFAULTS


def test_a_broker_that_sets_nothing_gives_topics_those_defaults() -> None:
    assert broker().topic_defaults() == TopicConfig()


def test_every_topic_key_has_a_default_on_the_broker_but_the_throttled_replicas() -> None:
    with_default = {key.topic for key in BrokerConfig.keys().values()}
    without = {key.name for key in TopicConfig.keys().values() if key.field not in with_default}
    assert without == {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
    }


@pytest.mark.parametrize("config", [TopicConfig, BrokerConfig])
def test_every_key_is_documented_and_every_default_is_a_valid_text(config: type[Config]) -> None:
    for name, key in config.keys().items():
        assert key.doc.endswith("."), name
        if not key.required and (text := printed(key.default)) is not None:
            assert config.value(name, text) == key.default, name


def test_every_key_without_effect_is_in_order_and_refused_on_a_command_line() -> None:
    keys = BrokerConfig.keys()
    for name, key in inert.table().items():
        assert key.change in ("restart", "cluster-wide", "per-broker", "per-listener"), name
        if key.default is not None:
            key.validate(key.parse(key.default))
        if name not in keys:
            assert "no effect here" in refusal(BrokerConfig, **{name: "1"})


def test_overrides_lie_on_top_of_a_base() -> None:
    base = broker({"log.segment.bytes": "1000", "log.flush.interval.messages": "5"})
    topic = TopicConfig.parse({"segment.bytes": "2000"}, base=base.topic_defaults())
    assert (topic.segment_bytes, topic.flush_messages, topic.retention_bytes) == (2000, 5, -1)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("segment.bytes", " 14 ", 14),
        ("segment.bytes", "+2147483647", 2**31 - 1),
        ("retention.ms", "-1", -1),
        ("retention.ms", "9223372036854775807", 2**63 - 1),
        ("retention.ms", "-" + "0" * 5000 + "1", -1),
        ("retention.ms", "0" * 5000, 0),
        ("min.cleanable.dirty.ratio", "1e-2", 0.01),
        ("min.cleanable.dirty.ratio", ".5", 0.5),
        ("unclean.leader.election.enable", "TRUE", True),
        ("cleanup.policy", "compact , delete", ("compact", "delete")),
        ("cleanup.policy", "", ()),
        ("message.format.version", "2.1", "2.1"),
        ("message.format.version", "0.11.0-IV2", "0.11.0-IV2"),
        ("leader.replication.throttled.replicas", "*", ("*",)),
        ("leader.replication.throttled.replicas", "0:1,2:3", ("0:1", "2:3")),
    ],
)
def test_text_becomes_a_value(name: str, text: str, value: Any) -> None:
    parsed = TopicConfig.value(name, text)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("segment.bytes", "13", "Value must be at least 14"),
        ("segment.bytes", "x", "Not a number of type INT"),
        ("segment.bytes", "2147483648", "Not a number of type INT"),
        ("segment.bytes", "1_000", "Not a number of type INT"),
        ("segment.bytes", "1000.0", "Not a number of type INT"),
        ("segment.bytes", "١٤", "Not a number of type INT"),
        ("segment.bytes", "", "Not a number of type INT"),
        ("retention.ms", "-2", "Value must be at least -1"),
        ("retention.bytes", "9223372036854775808", "Not a number of type LONG"),
        ("retention.bytes", "-9223372036854775809", "Not a number of type LONG"),
        ("retention.ms", "9" * 5000, "Not a number of type LONG"),
        ("segment.bytes", "-" + "9" * 5000, "Not a number of type INT"),
        ("segment.bytes", "-", "Not a number of type INT"),
        ("min.cleanable.dirty.ratio", "1.1", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "-0.1", "Value must be at least 0"),
        ("min.cleanable.dirty.ratio", "nan", "Not a number of type DOUBLE"),
        ("min.cleanable.dirty.ratio", "0_1", "Not a number of type DOUBLE"),
        (
            "unclean.leader.election.enable",
            "yes",
            "Expected value to be either true or false",
        ),
        ("cleanup.policy", "shred", "String must be one of: compact, delete"),
        (
            "compression.type",
            "brotli",
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            "message.timestamp.type",
            "createtime",
            "String must be one of: CreateTime, LogAppendTime",
        ),
        (
            "leader.replication.throttled.replicas",
            "*,0:1",
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas "
            "in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_a_bad_value_is_refused_in_kafkas_words(name: str, text: str, why: str) -> None:
    assert refusal(TopicConfig, **{name: text}) == (
        f"Invalid value {text} for configuration {name}: {why}"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cleanup.policy", "compact" + " " * 1_000_000 + "x"),
        ("leader.replication.throttled.replicas", "0:1" + "\t" * 1_000_000 + "x"),
        ("min.cleanable.dirty.ratio", "1" * 1_000_000 + "x"),
        ("retention.ms", "0" * 1_000_000 + "x"),
    ],
)
@pytest.mark.timeout(10)
def test_a_long_value_is_refused_at_once(name: str, text: str) -> None:
    assert name in refusal(TopicConfig, **{name: text})


def test_of_a_list_the_bad_word_is_told() -> None:
    message = refusal(TopicConfig, cleanup_policy="compact,shred")
    assert message.startswith("Invalid value shred for configuration cleanup.policy: ")


def test_a_format_from_before_record_batches_is_refused() -> None:
    for version in ("0.10.2", "3.0", "2.8-IV", "new"):
        message = refusal(TopicConfig, message_format_version=version)
        assert f"Version `{version}` is not a valid version" in message


@pytest.mark.parametrize(
    ("config", "name", "message"),
    [
        (
            TopicConfig,
            "segmnt.bytes",
            "Unknown topic config name: segmnt.bytes; did you mean segment.bytes?",
        ),
        (
            TopicConfig,
            "RETENTION_MS",
            "Unknown topic config name: RETENTION_MS; did you mean retention.ms?",
        ),
        (
            BrokerConfig,
            "segment.bytes",
            "Unknown broker config name: segment.bytes; did you mean log.segment.bytes?",
        ),
        (TopicConfig, "xyzzy", "Unknown topic config name: xyzzy"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(
    config: type[Config], name: str, message: str
) -> None:
    with pytest.raises(ApiException) as caught:
        config.parse({name: "1"})
    assert (caught.value.code, caught.value.message) == (ErrorCode.invalid_config, message)


def test_null_is_not_a_value() -> None:
    with pytest.raises(
        ApiException, match=r"Null value not supported for topic configs: flush\.ms"
    ):
        TopicConfig.parse({"flush.ms": None})


@pytest.mark.parametrize("name", NEEDED)
def test_what_has_no_default_must_be_given(name: str) -> None:
    with pytest.raises(ApiException) as caught:
        BrokerConfig.parse({key: text for key, text in NEEDED.items() if key != name})
    assert caught.value.message == (
        f'Missing required configuration "{name}" which has no default value.'
    )


def test_the_limit_of_an_address_is_a_number_of_32_bits() -> None:
    key = "max.connections.per.ip.overrides"
    assert broker({key: "192.0.2.7: 2147483647"}).max_connections_per_ip_overrides
    for number in ("2147483648", "-1", "9" * 5000, ""):
        with pytest.raises(ApiException, match="is not ADDRESS:NUMBER"):
            broker({key: f"192.0.2.7:{number}"})


def test_a_value_that_was_never_text_is_checked_too() -> None:
    with pytest.raises(ApiException, match="Value must be at least 14"):
        TopicConfig(segment_bytes=13)
    with pytest.raises(ApiException, match="Value must be at least 14"):
        replace(TopicConfig(), segment_bytes=13)


def test_values_that_contradict_each_other_are_refused() -> None:
    assert refusal(TopicConfig, min_compaction_lag_ms="10", max_compaction_lag_ms="9") == (
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (9)"
    )
    assert "conflict topic config" in refusal(
        BrokerConfig, log_cleaner_min_compaction_lag_ms="2", log_cleaner_max_compaction_lag_ms="1"
    )
    assert "prevent unnecessary socket timeouts" in refusal(
        BrokerConfig, replica_socket_timeout_ms="499"
    )
    assert "frequent changes in ISR" in refusal(BrokerConfig, replica_lag_time_max_ms="499")
    assert refusal(BrokerConfig, offsets_commit_required_acks="4") == ACK_TEXT


@pytest.mark.parametrize(
    ("given", "retention"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_that_is_set_counts(given: dict[str, str], retention: int) -> None:
    assert broker(given).topic_defaults().retention_ms == retention


def test_other_keys_with_two_names() -> None:
    defaults = broker(
        {
            "log.roll.hours": "2",
            "log.roll.jitter.hours": "1",
            "log.flush.scheduler.interval.ms": "5",
        }
    ).topic_defaults()
    assert defaults.segment_ms == 7_200_000
    assert defaults.segment_jitter_ms == 3_600_000
    assert defaults.flush_ms == 5
    assert broker({"log.roll.ms": "9"}).topic_defaults().segment_ms == 9
    assert broker({"log.flush.interval.ms": "9"}).topic_defaults().flush_ms == 9


@pytest.mark.parametrize("unit", ["ms", "minutes", "hours"])
def test_nothing_is_kept_for_no_time(unit: str) -> None:
    name = f"log.retention.{unit}"
    assert refusal(BrokerConfig, **{name: "0"}) == (
        f"Invalid value 0 for configuration {name}: "
        f"{name} must be unlimited (-1) or, greater than or equal to 1"
    )


def test_where_a_broker_listens() -> None:
    plain = ("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")
    assert broker().endpoints == broker().advertised == (plain,)
    config = broker({"listeners": "PLAINTEXT://:0", "advertised.listeners": "PLAINTEXT://[::1]:9"})
    assert config.endpoints == (("PLAINTEXT", "", 0, "PLAINTEXT"),)
    assert config.advertised == (("PLAINTEXT", "::1", 9, "PLAINTEXT"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("127.0.0.1:9092", "Unable to parse 127.0.0.1:9092 to a broker endpoint"),
        ("PLAINTEXT://localhost:65536", "there is no port 65536"),
        ("", "it must not be empty"),
    ],
)
def test_where_a_broker_cannot_listen(text: str, why: str) -> None:
    assert refusal(BrokerConfig, listeners=text).endswith(f"configuration listeners: {why}")


def test_what_cannot_be_reached_is_not_advertised() -> None:
    message = refusal(BrokerConfig, advertised_listeners="PLAINTEXT://0.0.0.0:9092")
    assert "cannot use the nonroutable meta-address 0.0.0.0. " in message


def test_listeners_of_several_protocols() -> None:
    config = broker(
        {
            "listeners": "INSIDE://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,SASL_SSL:SASL_SSL",
            "inter.broker.listener.name": "INSIDE",
            "ssl.client.auth": "none",
            "listener.name.sasl_ssl.ssl.client.auth": "required",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": "secret",
            "listener.name.sasl_ssl.connections.max.reauth.ms": "5000",
            "listener.name.sasl_ssl.plain.connections.max.reauth.ms": "1000",
        }
    )
    assert [each.protocol for each in config.endpoints] == ["PLAINTEXT", "SASL_SSL"]
    assert config.inter_broker_listener == "INSIDE"
    assert config.secured("SASL_SSL").value("ssl.client.auth") == "required"
    assert config.secured("INSIDE").value("ssl.client.auth") == "none"
    plain = config.secured("SASL_SSL", "PLAIN")
    assert plain.value("sasl.jaas.config") == "secret"
    assert plain.value("connections.max.reauth.ms") == 1000
    assert config.secured("SASL_SSL", "SCRAM-SHA-256").value("connections.max.reauth.ms") == 5000
    assert "secret" not in repr(config) + str(config.texts())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"listeners": "SSL://:1"}, "inter.broker.listener.name must be a listener name defined"),
        ({"listeners": "FOO://:1"}, "No security protocol defined for listener FOO"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "must have a different name"),
        ({"listeners": "PLAINTEXT://:1,SSL://:1"}, "must have a different port"),
        (
            {"listener_security_protocol_map": "PLAINTEXT:TLS"},
            "Invalid security protocol",
        ),
        ({"advertised_listeners": "PLAINTEXT://a:1,SSL://a:2"}, "must be equal to or a subset of"),
        (
            {"inter_broker_listener_name": "A", "security_inter_broker_protocol": "SSL"},
            "Only one of inter.broker.listener.name and security.inter.broker.protocol",
        ),
        (
            {"listeners": "SASL_SSL://:1", "security_inter_broker_protocol": "SASL_SSL",
             "sasl_enabled_mechanisms": "PLAIN"},
            "must be included in sasl.enabled.mechanisms",
        ),
        ({"ssl_client_auth": "perhaps"}, "String must be one of: none, requested, required"),
        ({"ssl_enabled_protocols": "TLSv1.2,SSLv3"}, "String must be one of: TLSv1.2, TLSv1.3"),
    ],
)  # fmt: skip
def test_listeners_that_cannot_be(settings: dict[str, str], why: str) -> None:
    assert why in refusal(BrokerConfig, **settings)


@given(st.integers(-(2**70), 2**70))
def test_an_integer_is_what_fits_its_type(number: int) -> None:
    for type, bits in ((Type.SHORT, 16), (Type.INT, 32), (Type.LONG, 64)):
        if number.bit_length() < bits or number == -(1 << bits - 1):
            assert parse("x", type, str(number)) == number
        else:
            with pytest.raises(ApiException, match=f"Not a number of type {type.name}"):
                parse("x", type, str(number))


# -- DescribeConfigs ---------------------------------------------------------------------------


def entry(entries: list[Entry], name: str) -> Entry:
    (found,) = [entry for entry in entries if entry.name == name]
    return found


def test_a_description_names_every_place_where_a_value_is_set() -> None:
    layers: list[Layer] = [
        (Source.STATIC_BROKER, {"log.segment.bytes": "3000"}),
        (Source.DYNAMIC_BROKER, {"log.segment.bytes": "2000"}),
    ]
    overrides = {"segment.bytes": "1000"}
    config = TopicConfig.parse(overrides)

    described = entry(describe_topic(config, overrides, layers), "segment.bytes")

    assert (described.value, described.source) == ("1000", Source.TOPIC)
    assert described.source is not Source.DEFAULT
    assert described.synonyms == [
        Synonym("segment.bytes", "1000", Source.TOPIC),
        Synonym("log.segment.bytes", "2000", Source.DYNAMIC_BROKER),
        Synonym("log.segment.bytes", "3000", Source.STATIC_BROKER),
        Synonym("log.segment.bytes", "1073741824", Source.DEFAULT),
    ]


def test_a_topic_that_overrides_nothing_is_described_by_its_broker() -> None:
    config = broker({"log.retention.hours": "1"})
    layers = [(Source.STATIC_BROKER, NEEDED | {"log.retention.hours": "1"})]
    entries = describe_topic(config.topic_defaults(), {}, layers)

    assert len(entries) == len(TOPIC_DEFAULTS)
    retention = entry(entries, "retention.ms")
    assert (retention.value, retention.source) == ("3600000", Source.STATIC_BROKER)
    assert retention.synonyms[0] == ("log.retention.hours", "1", Source.STATIC_BROKER)
    assert entry(entries, "segment.bytes").source is Source.DEFAULT
    assert entry(entries, "leader.replication.throttled.replicas").synonyms == []


def test_a_broker_is_described() -> None:
    given = NEEDED | {"log.retention.ms": "5"}
    entries = describe_broker(broker(given), [(Source.STATIC_BROKER, given)])

    own = entry(entries, "broker.id")
    assert (own.value, own.source, own.read_only) == ("1", Source.STATIC_BROKER, True)
    assert entry(entries, "log.retention.ms").value == "5"
    assert not entry(entries, "log.retention.ms").read_only
    hours = entry(entries, "log.retention.hours")  # stands, and does not count
    assert (hours.value, hours.source, hours.read_only) == ("168", Source.DEFAULT, True)
    assert [synonym.name for synonym in hours.synonyms] == ["log.retention.hours"]
    minutes = entry(entries, "log.retention.minutes")
    assert (minutes.value, minutes.source, minutes.synonyms) == (None, Source.DEFAULT, [])


def test_a_key_that_is_given_its_default_counts_as_given() -> None:
    config = broker({"log.segment.bytes": "1073741824"})
    assert config.given == {*NEEDED, "log.segment.bytes"}
    assert config.lenient({"log.retention.ms": "5"})[0].given == config.given
