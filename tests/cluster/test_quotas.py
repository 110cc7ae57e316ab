"""Quotas of users, on three brokers: each follows them, also one that starts later."""

import pytest
from confluent_kafka import Producer

from engine.quotas.entity import ClientQuotaEntity
from tests.limits import START_S
from tests.modes import MODES, made

ALICE = ClientQuotaEntity("alice")


def throttled(cluster, user, topic):
    """How long the brokers throttle a user who sends a megabyte to each of them, by broker."""
    seen = {}
    settings = {
        **cluster.settings(user),
        "partitioner": "random",
        "throttle_cb": lambda event: seen.update({event.broker_id: event.throttle_time}),
    }
    producer = Producer(settings)
    for partition in range(3):
        for _ in range(10):
            producer.produce(topic, b"x" * 100_000, partition=partition)
    assert producer.flush(START_S) == 0
    producer.poll(0.1)
    return seen


@pytest.mark.parametrize("mode", MODES)
def test_every_broker_follows_a_quota_and_its_removal(mode):
    users = {"alice": "a", "bob": "b"}
    config = {"quota.window.num": "2"}
    secured = {"security": "SASL_PLAINTEXT", "users": users}
    with made(3, mode, config=config, **secured) as cluster:
        cluster.topic("orders", partitions=3, replicas=1)
        quotas = {ALICE: {"producer_byte_rate": 500_000}}  # a whole number is one, too
        cluster.admin.alter_client_quotas(quotas)[ALICE].result()
        cluster.wait(
            "a quota on each broker", lambda: len(throttled(cluster, "alice", "orders")) == 3
        )
        assert throttled(cluster, "bob", "orders") == {}
        cluster.restart(2)
        cluster.wait("a quota after a start", lambda: 2 in throttled(cluster, "alice", "orders"))
        cluster.admin.alter_client_quotas({ALICE: {"producer_byte_rate": None}})[ALICE].result()
        cluster.wait("no quota any more", lambda: throttled(cluster, "alice", "orders") == {})
