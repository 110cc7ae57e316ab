"""The plan for a new topic."""

from random import Random

import pytest

from engine.errors import ApiException, ErrorCode
from tests.unit.broker.alone import broker


def test_counts_and_configuration_come_from_the_broker_where_nothing_is_said():
    one = broker(brokers=(1, 2, 3), num_partitions=6, default_replication_factor=2)
    made = one.creation.plan("orders", {"retention.ms": "1000"})
    assert sorted(made.assignment) == [0, 1, 2, 3, 4, 5]
    assert made.replication == 2
    assert (made.config.retention_ms, made.config.segment_bytes) == (1000, 1 << 30)


def test_preferred_leaders_are_spread_evenly():
    made = broker(brokers=(1, 2, 3)).creation.plan("orders", {}, partitions=6, replication=3)
    leaders = [replicas[0] for replicas in made.assignment.values()]
    assert sorted(leaders) == [1, 1, 2, 2, 3, 3]


def test_the_random_numbers_are_those_of_the_environment():
    """A simulated run, whose environment has a seed, places replicas as it did before."""

    def placed(seed):
        one = broker(brokers=range(1, 10), random=Random(seed))
        return one.creation.plan("orders", {}, partitions=20, replication=3).assignment

    assert placed(1) == placed(1)
    assert len({str(placed(seed)) for seed in range(20)}) > 10


def test_replicas_by_hand():
    made = broker(brokers=(1, 2)).creation.plan("orders", {}, by_hand={0: [2, 1], 1: [1, 2]})
    assert made.assignment == {0: [2, 1], 1: [1, 2]}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"partitions": 0}, ErrorCode.invalid_partitions),
        ({"replication": 3}, ErrorCode.invalid_replication_factor),
        ({"by_hand": {0: [3]}}, ErrorCode.invalid_replica_assignment),
        ({"by_hand": {0: [1]}, "partitions": 1}, ErrorCode.invalid_request),
    ],
)
def test_what_cannot_be(options, code):
    with pytest.raises(ApiException) as refused:
        broker(brokers=(1, 2)).creation.plan("orders", {}, **options)
    assert refused.value.code == code


def test_with_no_broker_alive_there_is_no_plan():
    with pytest.raises(ApiException) as refused:
        broker(brokers=()).creation.plan("orders", {})
    assert refused.value.code == ErrorCode.invalid_replication_factor


@pytest.mark.parametrize(
    ("name", "partitions", "replication", "policy"),
    [
        ("orders", 2, 1, ("delete",)),
        ("__consumer_offsets", 50, 3, ("compact",)),
        ("__transaction_state", 50, 3, ("compact",)),
    ],
)
def test_a_topic_that_nobody_asked_for(name, partitions, replication, policy):
    made = broker(brokers=(1, 2, 3), num_partitions=2).creation.automatic(name)
    assert (len(made.assignment), made.replication) == (partitions, replication)
    assert made.config.cleanup_policy == policy
