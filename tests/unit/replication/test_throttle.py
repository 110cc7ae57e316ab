"""A rate over the last eleven seconds, and who is held to it."""

from itertools import pairwise

import pytest

from engine.model import TopicPartition
from engine.replication.throttle import Throttle, is_listed
from tests.unit.replication.cluster import ORDERS, batch


def test_a_burst_is_paid_for():
    throttle = Throttle()
    assert not throttle.exceeds(1000, 0)
    throttle.record(5000, 0)
    assert throttle.exceeds(1000, 0)
    assert throttle.exceeds(1000, 4999)
    assert not throttle.exceeds(1000, 5000)


def test_below_the_rate_nothing_is_held():
    throttle = Throttle()
    for second in range(60):
        throttle.record(1000, second * 1000)
        throttle.record(900, second * 1000 + 900)
        if second:
            assert not throttle.exceeds(2000, second * 1000 + 950)


def test_what_is_long_ago_is_forgotten():
    throttle = Throttle()
    throttle.record(10**9, 0)
    assert throttle.exceeds(1000, 10_999)
    assert not throttle.exceeds(1000, 11_000)
    throttle.record(1, 11_000)
    assert not throttle.exceeds(1000, 11_000)


def test_which_replicas():
    partition = TopicPartition("orders", 7)
    assert is_listed(("*",), partition, 1)
    assert is_listed(("3:1", "7:1"), partition, 1)
    assert not is_listed(("7:2", "1:7"), partition, 1)
    assert not is_listed((), partition, 1)


def fill(cluster, count=10):
    for _ in range(count):
        cluster[1].replicas.append(ORDERS, batch("v" * 1000), to_all=False)


def progress(cluster, seconds):
    """The follower's log end after each second."""
    ends = []
    for _ in range(seconds):
        for _ in range(10):
            cluster.fetch(3)
            cluster.now += 100
        ends.append(cluster[3].log.end_offset)
    return ends


def start(build, key, listed, isr=(1,)):
    side = key.partition(".")[0]
    cluster = build(
        settings={key: "2500", "replica.fetch.max.bytes": "1000"},
        **{f"{side}_replication_throttled_replicas": listed},
    )
    cluster.elect(1, isr=isr)
    fill(cluster)
    return cluster


@pytest.mark.parametrize(
    ("key", "listed"),
    [
        ("leader.replication.throttled.rate", ("0:1",)),
        ("follower.replication.throttled.rate", ("0:3",)),
        ("follower.replication.throttled.rate", ("*",)),
    ],
)
def test_a_follower_out_of_sync_is_held_to_the_rate(build, key, listed):
    cluster = start(build, key, listed)
    ends = progress(cluster, 5)
    assert ends[0] <= 3
    assert ends[-1] == 10
    assert all(after - before <= 3 for before, after in pairwise(ends))


@pytest.mark.parametrize(
    ("key", "listed"),
    [
        ("leader.replication.throttled.rate", ("0:3",)),  # another leader's
        ("follower.replication.throttled.rate", ("0:2",)),
        ("leader.replication.throttled.rate", ()),
    ],
)
def test_others_are_not(build, key, listed):
    assert progress(start(build, key, listed), 1) == [10]


def test_a_leader_never_holds_back_the_isr(build):
    cluster = start(build, "leader.replication.throttled.rate", ("*",), isr=(1, 2, 3))
    assert progress(cluster, 1) == [10]


def test_who_has_caught_up_is_not_held(build):
    """It waits at the leader as always, though it has just taken more than its share."""
    cluster = start(build, "follower.replication.throttled.rate", ("*",))
    while cluster[3].log.end_offset < 10:
        cluster.fetch(3)
        cluster.now += 100
    assert cluster[3].replicas._policy.throttle.exceeds(2500, cluster.now)
    assert cluster[3].replicas.fetchers[1].next(cluster.now) is not None


def test_it_can_be_changed_while_it_runs(build):
    cluster = start(build, "follower.replication.throttled.rate", ("*",))
    assert progress(cluster, 1)[-1] < 5
    for broker in cluster.all.values():
        faster = broker.config.parse(
            {"follower.replication.throttled.rate": "1000000"}, broker.config
        )
        broker.replicas.reconfigure(lambda topic: cluster.topic, faster)
    assert progress(cluster, 1) == [10]
