"""Quotas on a real broker: who is over one is told for how long it waits, and waits.

The broker says how long it throttles; no test has an opinion of how fast it is. What the quota of
two seconds allows can be used at once, so one large request is enough to be over it.
"""

import json
import math
import time
from datetime import timedelta

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaProducer

from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.interop.clients import patiently
from tests.interop.plain import TEN_SECONDS, asked, create, new_name
from tests.interop.raw import Raw, batch, fetch, metadata, produce
from tests.limits import ANSWER_S

CONFIG = {"quota.window.num": "3", "group.initial.rebalance.delay.ms": "0"}
WINDOWS = 2  # whole ones of a second, and the current one


def altered(client, entity, quotas, *, validate_only=False, version=None):
    """The answer's entry, after changing the quotas of one entity; None removes one."""
    ops = [
        {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
        for key, value in quotas.items()
    ]
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
    (entry,) = asked(
        client,
        Api.ALTER_CLIENT_QUOTAS,
        version,
        entries=[{"entity": parts, "ops": ops}],
        validate_only=validate_only,
    ).entries
    return entry


def described(client, *components, strict=False, version=None):
    """What DescribeClientQuotas finds: {entity: quotas}."""
    answer = asked(
        client,
        Api.DESCRIBE_CLIENT_QUOTAS,
        version,
        components=[
            dict(zip(("entity_type", "match_type", "match"), each, strict=True))
            for each in components
        ],
        strict=strict,
    )
    assert not answer.error_code, answer.error_message
    return {
        tuple((it.entity_type, it.entity_name) for it in entry.entity): {
            it.key: it.value for it in entry.values
        }
        for entry in answer.entries
    }


@pytest.fixture
def quota(cluster, client):
    """Sets quotas of entities, and waits until the broker follows them; removes them at the end."""
    done = []

    def set_quota(entity, **quotas):
        done.append((entity, quotas))
        assert altered(client, entity, quotas).error_code == ErrorCode.none

    yield set_quota
    for entity, quotas in done:
        assert altered(client, entity, dict.fromkeys(quotas)).error_code == ErrorCode.none


@pytest.fixture
def topic(client):
    name = new_name()
    client.create(name)
    return name


def ms(answer):
    return answer.throttle_time // timedelta(milliseconds=1)


def exceeded(raw, topic, size):
    """The first answer that throttles, and when it was asked for: a broker follows a quota a moment
    after it was set."""
    for _ in patiently():
        began = time.monotonic()
        answer = raw.ask(Api.PRODUCE, produce(topic, batch("x" * size)))
        if ms(answer):
            return answer, began
    raise AssertionError


# -- requests and answers ----------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_stored_described_and_removed(cluster, client, quota, version):
    quota({"user": "alice", "client-id": None}, producer_byte_rate=1024.0, request_percentage=12.5)
    quota({"client-id": "a/b"}, consumer_byte_rate=2048.0)
    quota({"ip": "127.0.0.9"}, connection_creation_rate=1000.0)
    both = (("user", "alice"), ("client-id", None))
    everything = described(client, version=version)
    assert everything[both] == {"producer_byte_rate": 1024.0, "request_percentage": 12.5}
    assert everything[("client-id", "a/b"),] == {"consumer_byte_rate": 2048.0}
    assert everything[("ip", "127.0.0.9"),] == {"connection_creation_rate": 1000.0}
    assert list(described(client, ("user", 0, "alice"), version=version)) == [both]
    assert described(client, ("user", 0, "alice"), strict=True, version=version) == {}
    assert list(described(client, ("client-id", 1, None), version=version)) == [both]
    assert set(described(client, ("client-id", 2, None), version=version)) == {
        both,
        (("client-id", "a/b"),),
    }
    if not cluster.is_kraft:
        assert json.loads(cluster.znode("/config/users/alice/clients/<default>")) == {
            "version": 1,
            "config": {"producer_byte_rate": "1024", "request_percentage": "12.5"},
        }
    assert altered(client, {"client-id": "a/b"}, {"consumer_byte_rate": None}).error_code == 0
    assert described(client, ("client-id", 0, "a/b")) == {}


def test_nothing_is_written_when_it_is_only_validated(client):
    entity = {"user": "carol"}
    assert not altered(client, entity, {"producer_byte_rate": 1.0}, validate_only=True).error_code
    assert described(client, ("user", 0, "carol")) == {}


@pytest.mark.parametrize(
    ("entity", "key", "value", "why"),
    [
        ({"user": ""}, "producer_byte_rate", 1.0, "Empty user not supported"),
        ({}, "producer_byte_rate", 1.0, "Invalid empty client quota entity"),
        (
            {"user": "a"},
            "producer_byte_rate",
            -1.0,
            "Configuration producer_byte_rate must be a LONG value",
        ),
        (
            {"ip": "127.0.0.1"},
            "connection_creation_rate",
            0.5,
            "Configuration connection_creation_rate must be a INT value",
        ),
        ({"user": "a"}, "speed", 1.0, "Invalid configuration key speed"),
        (
            {"ip": "not an address"},
            "connection_creation_rate",
            1.0,
            " is not a valid IP or resolvable host.",
        ),
        (
            {"user": "a", "ip": "127.0.0.1"},
            "connection_creation_rate",
            1.0,
            "Invalid quota entity combination, IP entity should not be used with user/client ID "
            "entity.",
        ),
    ],
)
def test_what_is_refused(client, entity, key, value, why):
    entry = altered(client, entity, {key: value})
    assert (entry.error_code, why in entry.error_message) == (ErrorCode.invalid_request, True)


def test_an_address_of_version_6_where_names_are_in_paths(cluster, client):
    """It has a limit where there is no ZooKeeper; Kafka refuses it elsewhere, too."""
    entry = altered(client, {"ip": "::1"}, {"connection_creation_rate": 1000.0})
    assert entry.error_code == (0 if cluster.is_kraft else ErrorCode.invalid_request)
    assert (described(client, ("ip", 0, "::1")) != {}) is cluster.is_kraft
    altered(client, {"ip": "::1"}, {"connection_creation_rate": None})


@pytest.mark.parametrize(
    "quotas",
    [
        {"producer_byte_rate": 0.0},
        {"producer_byte_rate": math.nan},
        {"request_percentage": -1.0},
        {"request_percentage": math.nan},
    ],
    ids=str,
)
def test_a_quota_that_makes_no_sense_throttles_nobody_as_in_kafka(cluster, topic, quota, quotas):
    quota({"client-id": "nothing"}, **quotas)
    with Raw(cluster.bootstrap, client_id="nothing") as raw:
        assert described(raw, ("client-id", 0, "nothing"))
        for _ in range(3):
            assert not ms(raw.ask(Api.PRODUCE, produce(topic, batch("x" * 100_000))))


def test_a_filter_that_is_refused(client):
    answer = asked(
        client,
        Api.DESCRIBE_CLIENT_QUOTAS,
        components=[{"entity_type": "user", "match_type": 2}] * 2,
        strict=False,
    )
    assert answer.error_code == ErrorCode.invalid_request
    assert answer.error_message == "Duplicate user filter component entity type"
    assert answer.entries is None


# -- throttling ----------------------------------------------------------------------------------


def test_a_producer_over_its_quota_is_told_and_is_not_served_meanwhile(cluster, topic, quota):
    rate = 100_000.0
    quota({"client-id": "big"}, producer_byte_rate=rate)
    with (
        Raw(cluster.bootstrap, client_id="big") as big,
        Raw(cluster.bootstrap, client_id="small") as neighbour,
    ):
        answer, _ = exceeded(big, topic, 900_000)
        assert ms(answer) >= 900_000 / rate * 1000 - WINDOWS * 1000 - 1000
        big.post(Api.PRODUCE, produce(topic, batch("next")))
        assert not ms(neighbour.ask(Api.PRODUCE, produce(topic, batch("y" * 900_000))))
        assert big.is_silent()
    event = [each for each in cluster.events() if each.kind == "client.throttled"][-1]
    assert event.data == {
        "user": "ANONYMOUS",
        "client": "big",
        "quota": "producer_byte_rate",
        "ms": ms(answer),
    }


@pytest.mark.parametrize("acks", [-1, 0])
def test_the_next_request_is_served_when_the_time_is_over(cluster, topic, quota, acks):
    """The broker waits with it, also if no answer tells the client of the time."""
    quota({"client-id": "patient"}, producer_byte_rate=100_000.0)
    with Raw(cluster.bootstrap, client_id="patient") as raw:
        answer, began = exceeded(raw, topic, 250_000)
        raw.post(Api.PRODUCE, produce(topic, batch("x" * 100_000), acks=acks))
        if acks:
            raw.frame()
        else:
            raw.ask(Api.METADATA, metadata(topic))
        assert (time.monotonic() - began) * 1000 >= ms(answer)


def test_a_consumer_over_its_quota_gets_nothing_and_loses_nothing(cluster, client, topic, quota):
    for _ in range(6):
        client.produce(topic, batch("x" * 100_000))
    quota({"client-id": "reader"}, consumer_byte_rate=100_000.0)
    with (
        Raw(cluster.bootstrap, client_id="reader") as reader,
        Raw(cluster.bootstrap, client_id="other") as other,
    ):
        answers = []
        for _ in patiently():
            answers.append(reader.ask(Api.FETCH, fetch(topic, 0, max_wait=0)))
            if ms(answers[-1]):
                break
        assert answers[-1].responses == ()
        answer = other.ask(Api.FETCH, fetch(topic, 0, max_wait=0))
        assert not ms(answer)
        for _ in patiently():
            answer = reader.ask(Api.FETCH, fetch(topic, 0, max_wait=0))
            if not ms(answer):
                break
        assert answer.responses[0].partitions[0].records


def test_a_session_has_its_records_after_a_throttled_answer(cluster, client, topic, quota):
    """What was not sent is due again, although the next request does not name it."""
    with Raw(cluster.bootstrap, client_id="session") as reader:
        opened = reader.ask(Api.FETCH, fetch(topic, 0, session=(0, 0)))
        client.produce(topic, batch("x" * 150_000))
        quota({"client-id": "session"}, consumer_byte_rate=100_000.0)
        exceeded_by_reading(cluster, topic, "session")
        answers = []
        for epoch, _ in enumerate(patiently(), start=1):
            request = fetch(topic, 0, session=(opened.session_id, epoch))
            request.topics = ()
            answers.append(reader.ask(Api.FETCH, request))
            if not ms(answers[-1]):
                break
    *throttled, served = answers
    assert throttled
    for answer in throttled:
        assert (answer.session_id, answer.responses) == (opened.session_id, ())
    assert served.responses[0].partitions[0].records


def exceeded_by_reading(cluster, topic, name):
    """Another connection of the same client reads until it is throttled."""
    with Raw(cluster.bootstrap, client_id=name) as raw:
        for _ in patiently():
            if ms(raw.ask(Api.FETCH, fetch(topic, 0, max_wait=0))):
                return


def test_the_part_of_time(cluster, topic, quota):
    quota({"client-id": "busy"}, request_percentage=0.001)
    with Raw(cluster.bootstrap, client_id="busy") as busy:
        for _ in patiently():
            answer = busy.ask(Api.METADATA, metadata(topic))
            if ms(answer):
                break
        assert 0 < ms(answer) <= 1000  # one window at most


def test_topics_over_the_quota_are_refused_or_let_wait(cluster, quota):
    quota({"client-id": "admin"}, controller_mutation_rate=1.0)
    with Raw(cluster.bootstrap, client_id="admin") as admin:
        for _ in patiently():
            (result,) = create(admin, {"name": new_name(), "num_partitions": 15})
            if result.error_code == ErrorCode.throttling_quota_exceeded:
                break
        assert result.error_message == "The throttling quota has been exceeded."
        name = new_name()
        answer = asked(
            admin,
            Api.CREATE_TOPICS,
            5,
            topics=[{"name": name, "num_partitions": 1, "replication_factor": 1}],
            timeout=TEN_SECONDS,
        )
        assert answer.topics[0].error_code == ErrorCode.none
        assert ms(answer) > 0


def test_an_address_that_connects_too_often(cluster, quota):
    quota({"ip": "127.0.0.7"}, connection_creation_rate=1.0)
    for _ in patiently():
        with Raw(cluster.bootstrap, source="127.0.0.7") as raw:
            raw.post(Api.METADATA, metadata("none"))
            if raw.hung_up():
                break
    with Raw(cluster.bootstrap, source="127.0.0.8") as other:
        other.ask(Api.METADATA, metadata("none"))


# -- clients ---------------------------------------------------------------------------------------


def test_confluent_sees_how_long_it_is_throttled_and_its_neighbour_does_not(
    cluster, client, topic, quota
):
    quota({"client-id": "slow"}, producer_byte_rate=100_000.0)
    seen = {"slow": [], "free": []}
    slow, free = (
        Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "client.id": name,
                "throttle_cb": lambda event, name=name: seen[name].append(event.throttle_time),
            }
        )
        for name in seen
    )
    for _ in patiently():
        for producer in (slow, free):
            producer.produce(topic, b"x" * 60_000)
            producer.flush(ANSWER_S)
            producer.poll(0.1)
        if seen["slow"]:
            break
    assert max(seen["slow"]) > 0
    assert seen["free"] == []


def test_a_confluent_consumer_reads_everything_in_its_own_time(cluster, client, topic, quota):
    for _ in range(6):
        client.produce(topic, batch("x" * 50_000))
    quota({"client-id": "slow reader"}, consumer_byte_rate=100_000.0)
    throttled, read = [], 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": "slow reader",
            "group.id": new_name(),
            "auto.offset.reset": "earliest",
            "throttle_cb": lambda event: throttled.append(event.throttle_time),
        }
    )
    try:
        consumer.subscribe([topic])
        for _ in patiently():
            record = consumer.poll(1)
            if record is not None:
                assert record.error() is None
                read += 1
            if read == 6:
                break
    finally:
        consumer.close()
    assert read == 6


def test_kafka_python_is_throttled_too(cluster, topic, quota, caplog):
    quota({"client-id": "python"}, producer_byte_rate=100_000.0)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, client_id="python")
    try:
        for _ in range(6):
            producer.send(topic, b"x" * 60_000).get(ANSWER_S)
    finally:
        producer.close()
    assert "ProduceResponse throttled by broker" in caplog.text


def test_the_state_of_the_cluster_shows_rate_and_throttle(cluster, topic, quota):
    quota({"client-id": "shown"}, producer_byte_rate=100_000.0)
    with Raw(cluster.bootstrap, client_id="shown") as raw:
        answer, _ = exceeded(raw, topic, 300_000)
        (use,) = [it for it in cluster.state().brokers[1].quotas if it["client"] == "shown"]
    assert use["quota"] == "producer_byte_rate"
    assert use["limit"] == 100_000
    assert use["rate"] > 100_000
    assert use["throttle_ms"] == ms(answer)
