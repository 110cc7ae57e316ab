"""Elections that somebody asks for, and those that restore the balance."""

import pytest

from engine.controller.events import AlterReassignments, ElectLeaders, Rebalance
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create
from tests.unit.controller.cluster import Cluster

T0, T1, T2, T3 = (TopicPartition("t", number) for number in range(4))


@pytest.fixture
def cluster():
    """Broker 2 was down, and leads nothing now."""
    cluster = Cluster(1, 2, 3, leader_imbalance_per_broker_percentage=50)
    cluster.create("t", [[2, 3], [2, 3], [2, 3], [3, 2]])
    cluster.kill(2)
    cluster.run()
    cluster.start(2)
    cluster.run()
    assert {leader for leader, _ in cluster.lead().values()} == {3}
    return cluster


def codes(outcomes):
    return {partition: error and error.code for partition, error in outcomes.items()}


def test_back_to_the_preferred_leader(cluster):
    cluster.change_isr(T0, 3, 2)
    unknown = TopicPartition("u", 0)
    outcomes = cluster.ask(ElectLeaders(frozenset({T0, T1, T3, unknown})))
    assert codes(outcomes) == {
        T0: None,
        T1: ErrorCode.preferred_leader_not_available,
        T3: ErrorCode.election_not_needed,
        unknown: ErrorCode.unknown_topic_or_partition,
    }
    assert cluster.lead()[T0] == (2, (3, 2))
    assert cluster.lead()[T1] == (3, (3,))
    assert cluster.happened("leader.elected")[-1]["reason"] == "preferred"
    cluster.check()


def test_all_of_them(cluster):
    cluster.catch_up()
    outcomes = cluster.ask(ElectLeaders(None))
    assert codes(outcomes) == {T0: None, T1: None, T2: None, T3: ErrorCode.election_not_needed}
    assert [leader for leader, _ in cluster.lead().values()] == [2, 2, 2, 3]


def test_unclean_by_order(cluster):
    cluster.kill(3)
    cluster.run()
    assert cluster.lead()[T0] == (-1, (3,))
    assert codes(cluster.ask(ElectLeaders(frozenset({T0})))) == {
        T0: ErrorCode.preferred_leader_not_available
    }
    assert codes(cluster.ask(ElectLeaders(frozenset({T0}), unclean=True))) == {T0: None}
    assert cluster.lead()[T0] == (2, (2,))
    assert cluster.happened("leader.elected")[-1]["clean"] is False
    assert cluster.lead()[T1] == (-1, (3,))


def test_unclean_is_not_needed_where_there_is_a_leader_nor_possible_without_a_broker(cluster):
    cluster.create("u", [[1]])
    cluster.create("v", [[2]])
    cluster.kill(2)
    cluster.run()
    u, v = TopicPartition("u", 0), TopicPartition("v", 0)
    assert codes(cluster.ask(ElectLeaders(frozenset({u, v}), unclean=True))) == {
        u: ErrorCode.election_not_needed,
        v: ErrorCode.eligible_leaders_not_available,
    }


def test_not_for_a_topic_that_is_deleted(cluster):
    cluster.losing = {2}
    cluster.delete("t")
    assert codes(cluster.ask(ElectLeaders(frozenset({T0})))) == {
        T0: ErrorCode.invalid_topic_exception
    }


def test_the_old_way(cluster):
    cluster.change_isr(T0, 3, 2)
    for _ in range(2):  # it is watched again
        request = znodes.encode_partitions([T0, T1, TopicPartition("u", 0)])
        cluster.put(Create(znodes.PREFERRED_ELECTION, request))
        cluster.run()
        assert cluster.get(znodes.PREFERRED_ELECTION) is None
    assert cluster.lead()[T0] == (2, (3, 2))
    assert cluster.lead()[T1] == (3, (3,))


def test_balance_is_restored_above_the_limit(cluster):
    cluster.change_isr(T0, 3, 2)
    cluster.change_isr(T1, 3, 2)
    cluster.ask(Rebalance())
    assert [leader for leader, _ in cluster.lead().values()] == [2, 2, 3, 3]  # 2 is not in sync
    cluster.change_isr(T2, 3, 2)
    cluster.ask(Rebalance())  # a third is led elsewhere: less than a half
    assert cluster.lead()[T2] == (3, (3, 2))


def test_balance_waits_for_moves(cluster):
    cluster.catch_up()
    cluster.ask(AlterReassignments({T3: (1, 2)}))
    cluster.ask(Rebalance())
    assert cluster.lead()[T0] == (3, (3, 2))
    cluster.catch_up()
    cluster.ask(Rebalance())
    assert cluster.lead()[T0] == (2, (3, 2))
