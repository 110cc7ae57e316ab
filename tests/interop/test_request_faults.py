"""Faults of answers to clients: an error in place of the work, an answer lost after it, and a
coordinator that is slow."""

import time
from collections.abc import Iterator
from contextlib import closing

import confluent_kafka
import pytest

from engine.client.values import KafkaError
from engine.cluster.cluster import Cluster
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.interop.delivering import Told, making
from tests.interop.raw import Raw, batch, metadata, produce
from tests.interop.watch import until
from tests.limits import ANSWER_S, WIDE_SESSION_MS

CONFIG = {"zookeeper.session.timeout.ms": WIDE_SESSION_MS}
NOT_ENOUGH = ErrorCode.not_enough_replicas


@pytest.fixture(autouse=True)
def healed(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.heal()
    assert faults(cluster) == []


def faults(cluster):
    return [dict(each) for each in cluster.state().brokers[1].request_faults]


def heard(cluster, before, kind):
    return [each.data for each in cluster.events(before) if each.kind == kind]


def now(cluster):
    return cluster.events()[-1].number


def values(client, topic):
    return [record.value for record in client.read(topic)]


# -- an error in place of the work --------------------------------------------------------------


def test_so_many_requests_fail_and_nothing_is_stored(cluster, client, topic):
    before = now(cluster)
    cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS", times=2)
    row = {"fault": "fail", "api": "PRODUCE", "error": "NOT_ENOUGH_REPLICAS", "times": 2}
    assert faults(cluster) == [row]
    codes = [client.produce(topic, batch("a")).error_code for _ in range(3)]
    assert codes == [NOT_ENOUGH, NOT_ENOUGH, ErrorCode.none]
    assert values(client, topic) == [b"a"]
    assert faults(cluster) == []
    facts = {"api": "PRODUCE", "error": "NOT_ENOUGH_REPLICAS"}
    until(lambda: len(heard(cluster, before, "request.failed")) == 2)
    assert heard(cluster, before, "request.failed") == [facts | {"client": "raw"}] * 2
    assert heard(cluster, before, "requests.failing") == [facts | {"broker": 1, "times": 2}]


def test_the_error_is_where_kafka_puts_it(cluster, client, topic):
    """Of a partition, of a topic, of the whole request; and only of the API that was named."""
    cluster.requests.fail(1, Api.METADATA, ErrorCode.leader_not_available)
    cluster.requests.fail(1, "FIND_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
    (row,) = client.ask(Api.METADATA, metadata(topic)).topics
    assert row.error_code == ErrorCode.leader_not_available
    assert client.produce(topic, batch("a")).error_code == ErrorCode.none
    assert [each["api"] for each in faults(cluster)] == ["FIND_COORDINATOR"]
    cluster.requests.fail(1, "Fetch", "NOT_LEADER_OR_FOLLOWER")
    answer = client.fetch(topic, 0)
    assert answer.error_code == ErrorCode.not_leader_or_follower
    assert client.fetch(topic, 0).error_code == ErrorCode.none


def test_with_acks_0_an_error_closes_the_connection(cluster, client, topic):
    cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS")
    client.post(Api.PRODUCE, produce(topic, batch("a"), acks=0))
    assert client.hung_up()


def test_it_is_taken_back_by_none_of_them_and_by_heal(cluster, client, topic):
    before = now(cluster)
    for take_back in (
        lambda: cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS", times=0),
        cluster.heal,
        cluster.mend,
    ):
        cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS", times=99)
        take_back()
        assert faults(cluster) == []
        assert client.produce(topic, batch("a")).error_code == ErrorCode.none
    assert heard(cluster, before, "requests.healed") == [{"broker": 1}] * 2


def test_clients_try_again_after_an_error_that_passes(cluster, client, topic):
    """Ours, and a stock one; one that does not pass is told the application."""
    stock = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    with making(cluster.bootstrap) as make:
        ours = make()
        for producer in (ours, stock):
            told = Told()
            cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS", times=2)
            producer.produce(topic, b"again", partition=0, on_delivery=told)
            assert producer.flush(ANSWER_S) == 0
            assert told.errors == [None] and faults(cluster) == []
        cluster.requests.fail(1, "Produce", "INVALID_RECORD")
        told = Told()
        ours.produce(topic, b"refused", partition=0, on_delivery=told)
        assert ours.flush(ANSWER_S) == 0
    assert [each and each.code() for each in told.errors] == [int(ErrorCode.invalid_record)]
    assert isinstance(told.errors[0], KafkaError)
    assert values(client, topic) == [b"again", b"again"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda it: it.requests.fail(1, "Produced", "NOT_ENOUGH_REPLICAS"), "write its name as"),
        (lambda it: it.requests.fail(1, "AlterIsr", "NOT_ENOUGH_REPLICAS"), "no API 'AlterIsr'"),
        (lambda it: it.requests.fail(1, "Produce", "TOO_BAD"), "no error of Kafka's"),
        (lambda it: it.requests.fail(1, "Produce", "NONE"), "no error of Kafka's"),
        (lambda it: it.requests.fail(1, "Produce", "NOT_COORDINATOR", times=-1), "times is a"),
        (lambda it: it.requests.fail(7, "Produce", "NOT_COORDINATOR"), "there is no broker 7"),
        (lambda it: it.requests.drop_next_answer(1, "Produced"), "write its name as Kafka does"),
        (lambda it: it.requests.drop_next_answer(7), "there is no broker 7"),
        (lambda it: it.requests.slow_coordinator(1, -5), "ms is a number from 0"),
        (lambda it: it.requests.slow_coordinator(7, 5), "there is no broker 7"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(cluster, ask, says):
    before = now(cluster)
    with pytest.raises(ApiException, match=says) as caught:
        ask(cluster)
    assert "\n" not in caught.value.message
    assert cluster.events(before) == []


def test_a_broker_that_does_not_run_is_to_be_started_first(cluster):
    cluster.pause(1)
    with pytest.raises(ApiException, match=r"broker 1 is paused: first call cluster.resume\(1\)"):
        cluster.requests.fail(1, "Produce", "NOT_ENOUGH_REPLICAS")
    cluster.resume(1)
    until(lambda: cluster.state().brokers[1].answers)


# -- an answer that is lost after the work --------------------------------------------------------


@pytest.mark.parametrize(("idempotent", "stored"), [(True, 1), (False, 2)])
def test_our_producer_sends_again_what_is_stored_already(
    cluster, client, topic, idempotent, stored
):
    told, before = Told(), now(cluster)
    with making(cluster.bootstrap) as make:
        producer = make(enable_idempotence=idempotent, retries=5)
        producer.produce(topic, b"first", partition=0)
        assert producer.flush(ANSWER_S) == 0
        cluster.requests.drop_next_answer(1, "Produce")
        assert faults(cluster) == [{"fault": "drop", "api": "PRODUCE", "times": 1}]
        producer.produce(topic, b"second", partition=0, on_delivery=told)
        assert producer.flush(ANSWER_S) == 0
    assert told.errors == [None]
    assert values(client, topic) == [b"first", *[b"second"] * stored]
    until(lambda: heard(cluster, before, "answer.dropped"))
    (dropped,) = heard(cluster, before, "answer.dropped")
    assert dropped["api"] == "PRODUCE"
    assert heard(cluster, before, "answer.dropping") == [{"broker": 1, "api": "PRODUCE"}]


# -- a slow coordinator ---------------------------------------------------------------------------


def took(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_slow_coordinator_is_late_and_nobody_else(cluster, client, topic):
    slow_ms = 3000
    committed = [confluent_kafka.TopicPartition(topic, 0, 0)]
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": f"slow-{topic}",
        "session.timeout.ms": 30_000,
    }
    with closing(confluent_kafka.Consumer(settings)) as consumer, Raw(cluster.bootstrap) as other:
        consumer.commit(offsets=committed, asynchronous=False)
        cluster.requests.slow_coordinator(1, slow_ms)
        assert faults(cluster) == [{"fault": "slow coordinator", "ms": slow_ms}]
        late = took(lambda: consumer.commit(offsets=committed, asynchronous=False))
        assert late >= slow_ms / 1000
        asked = took(lambda: other.produce(topic, batch("a")))
        assert asked < slow_ms / 1000
        cluster.requests.slow_coordinator(1, 0)
        assert faults(cluster) == []
        assert took(lambda: consumer.commit(offsets=committed, asynchronous=False)) < late


def test_a_slow_coordinator_delays_transactions_but_not_idempotent_producers(cluster, topic):
    slow_ms = 3000
    cluster.requests.slow_coordinator(1, slow_ms)
    with making(cluster.bootstrap) as make:
        plain = make(enable_idempotence=True)

        def write() -> None:
            plain.produce(topic, b"a", partition=0)
            assert plain.flush(ANSWER_S) == 0

        transactional = make(transactional_id=f"slow-{topic}")
        late = took(lambda: transactional.init_transactions(ANSWER_S))
        assert late >= slow_ms / 1000
        assert took(write) < slow_ms / 1000
