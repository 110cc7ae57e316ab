"""A rate over the last eleven seconds."""

from engine.model import TopicPartition
from engine.replication.throttle import Throttle, is_listed


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
