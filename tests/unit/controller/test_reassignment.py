"""Partitions that move: there, half-way and back, and what may be asked for."""

import pytest

from engine.controller.events import AlterReassignments, ListReassignments
from engine.controller.reassignment import origin, target, toward
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Multi, Set
from engine.zookeeper.znodes import ReplicaAssignment
from tests.unit.controller.cluster import ID, Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster():
    cluster = Cluster(1, 2, 3, 4)
    cluster.create("t", [[2, 3], [3, 2]])
    return cluster


def move(cluster, **targets):
    moves = {TopicPartition("t", int(number[1:])): to for number, to in targets.items()}
    return cluster.ask(AlterReassignments(moves))


def code(outcomes, partition=T0):
    return outcomes[partition] and outcomes[partition].code


@pytest.mark.parametrize(
    ("before", "to", "after"),
    [
        (
            ReplicaAssignment((1, 2, 3)),
            (4, 5),
            ReplicaAssignment((4, 5, 1, 2, 3), (4, 5), (1, 2, 3)),
        ),
        (ReplicaAssignment((1, 2, 3)), (3, 1), ReplicaAssignment((3, 1, 2), (), (2,))),
        (ReplicaAssignment((1, 2)), (2, 1), ReplicaAssignment((2, 1))),
        (
            ReplicaAssignment((4, 1, 2), (4,), (1,)),
            (5, 2),
            ReplicaAssignment((5, 2, 1), (5,), (1,)),
        ),
        (ReplicaAssignment((4, 1, 2), (4,), (1,)), (1, 2), ReplicaAssignment((1, 2))),
    ],
)
def test_the_way_there(before, to, after):
    assert toward(before, to) == after
    assert target(after) == to
    assert set(origin(after)) == set(origin(before))


def test_add_catch_up_drop(cluster):
    assert move(cluster, p0=(4, 3)) == {T0: None}
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3, 2), (4,), (2,))
    assert cluster.lead()[T0] == (2, (2, 3))
    assert cluster.machines[4].roles[T0].is_new
    assert cluster.machines[2].roles[T0].adding_replicas == (4,)
    assert cluster.ask(ListReassignments(None)) == {T0: ReplicaAssignment((4, 3, 2), (4,), (2,))}
    cluster.check()
    cluster.catch_up()
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3))
    assert cluster.lead()[T0] == (4, (3, 4))  # 2 led, and had to go
    assert T0 not in cluster.machines[2].logs
    assert cluster.ask(ListReassignments(None)) == {}
    assert cluster.happened("reassignment.began") == [
        {"topic": "t", "partition": 0, "replicas": [4, 3, 2], "adding": [4], "removing": [2]}
    ]
    assert cluster.happened("reassignment.done")[0]["replicas"] == [4, 3]
    cluster.check()


def test_a_leader_that_stays_leads_on(cluster):
    move(cluster, p0=(4, 2))
    cluster.catch_up()
    assert cluster.lead()[T0] == (2, (2, 4))
    assert cluster.machines[2].roles[T0].replicas == (4, 2)
    cluster.check()


def test_another_order_needs_nobody_to_catch_up(cluster):
    move(cluster, p0=(3, 2))
    assert cluster.assigned(T0) == ReplicaAssignment((3, 2))
    assert cluster.lead()[T0] == (2, (2, 3))
    assert not [each for each in cluster.told(StopReplicaRequest) if each.topic_states]
    cluster.check()


def test_a_smaller_replication_factor(cluster):
    move(cluster, p0=(3,), p1=(3,))
    assert cluster.lead() == {T0: (3, (3,)), T1: (3, (3,))}
    assert cluster.machines[2].logs == set()
    cluster.check()


def test_until_all_have_caught_up_nobody_has_to_go(cluster):
    move(cluster, p0=(1, 4))
    cluster.change_isr(T0, 2, 3, 4)
    assert cluster.assigned(T0).adding == (1, 4)
    assert T0 in cluster.machines[2].logs
    cluster.change_isr(T0, 2, 3, 4, 1)
    assert cluster.assigned(T0) == ReplicaAssignment((1, 4))
    cluster.check()


def test_the_isr_is_watched_where_no_note_says_so(cluster):
    move(cluster, p0=(4, 3))
    path = znodes.state_path(T0)
    cluster.put(Set(path, cluster.state(T0)._replace(isr=(2, 3, 4)).encode()))
    cluster.run()
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3))


def test_cancelled(cluster):
    move(cluster, p0=(1, 4))
    cluster.change_isr(T0, 2, 3, 4)
    assert move(cluster, p0=None) == {T0: None}
    assert cluster.assigned(T0) == ReplicaAssignment((2, 3))
    assert cluster.lead()[T0] == (2, (2, 3))
    assert cluster.machines[4].logs == cluster.machines[1].logs == set()
    cluster.check()


def test_another_target_on_the_way(cluster):
    move(cluster, p0=(1, 3))
    move(cluster, p0=(4, 3))
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3, 2), (4,), (2,))
    assert cluster.machines[1].logs == set()
    cluster.catch_up()
    assert cluster.lead()[T0] == (4, (3, 4))
    cluster.check()


def test_the_only_one_that_has_everything_keeps_it(cluster):
    """Cancelled, when only a replica that was to come is in the ISR: its log is not deleted."""
    move(cluster, p0=(4, 3))
    cluster.change_isr(T0, 4)
    path = znodes.state_path(T0)
    cluster.put(Set(path, cluster.state(T0)._replace(leader=4).encode()))
    move(cluster, p0=None)
    assert T0 in cluster.machines[4].logs
    assert cluster.lead()[T0] == (-1, (4,))


def test_a_broker_that_is_down_is_waited_for(cluster):
    move(cluster, p0=(4, 3))
    cluster.kill(4)
    cluster.run()
    cluster.catch_up()
    assert cluster.assigned(T0).adding == (4,)
    cluster.start(4)
    cluster.run()
    cluster.catch_up()
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3))
    cluster.check()


def test_partitions_added_at_the_same_time_are_not_lost(cluster):
    grown = {
        0: ReplicaAssignment((2, 3)),
        1: ReplicaAssignment((3, 2)),
        2: ReplicaAssignment((2, 3)),
    }
    raced = []

    def race(broker, ask):
        if not raced and "adding_replicas" in str(ask):
            raced.append(ask)
            cluster.put(Set(znodes.topic_path("t"), znodes.Topic(ID, grown).encode()))

    cluster.before = race
    move(cluster, p0=(4, 3))
    assert raced
    cluster.catch_up()
    assert cluster.lead()[TopicPartition("t", 2)] == (2, (2, 3))
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3))
    cluster.check()


def test_the_end_waits_until_the_topic_can_be_read(cluster):
    """Else the move would begin anew as soon as somebody repairs the topic's znode."""
    move(cluster, p0=(4, 3))
    path = znodes.topic_path("t")
    moving = cluster.get(path)
    cluster.put(Set(path, b"[]"))
    cluster.change_isr(T0, 2, 3, 4)
    assert T0 in cluster.ask(ListReassignments(None)) and not cluster.happened("reassignment.done")
    cluster.put(Set(path, moving))
    cluster.run()
    assert cluster.assigned(T0) == ReplicaAssignment((4, 3))
    assert cluster.ask(ListReassignments(None)) == {}
    assert len(cluster.happened("reassignment.done")) == 1
    cluster.check()


@pytest.mark.parametrize("stays", [False, True], ids=["the leader goes", "the leader stays"])
def test_no_leader_commits_without_a_replica_that_zookeeper_has_in_sync(cluster, stays):
    """One write changes the leader epoch and takes the old replicas out of the ISR."""
    written = []

    def note(broker, ask):
        for each in ask.writes if isinstance(ask, Multi) else ():
            if isinstance(each, Set) and each.path == znodes.state_path(T0):
                written.append(znodes.LeaderAndIsr.decode(each.data))

    move(cluster, p0=(4, 2) if stays else (4, 3))
    cluster.before = note
    cluster.catch_up()
    assert [(state.leader, set(state.isr)) for state in written] == [
        (2, {2, 4}) if stays else (4, {3, 4})
    ]
    cluster.check()


# -- what may be asked for -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ((), "Empty replica list specified in partition reassignment."),
        ((4, 4), "Duplicate replica ids in partition reassignment replica list: [4, 4]"),
        ((4, -1), "Invalid broker id in replica list: [4, -1]"),
        (
            (9, 2),
            "Replica assignment has brokers that are not alive. Replica list: [9], "
            "live broker list: [1, 2, 3, 4]",
        ),
    ],
)
def test_assignments_that_cannot_be(cluster, to, text):
    outcomes = move(cluster, p0=to, p1=(4, 2))
    assert code(outcomes) is ErrorCode.invalid_replica_assignment
    assert outcomes[T0].message == text
    assert outcomes[T1] is None
    assert cluster.assigned(T0) == ReplicaAssignment((2, 3))


def test_nothing_to_cancel_and_nothing_to_move(cluster):
    assert code(move(cluster, p0=None)) is ErrorCode.no_reassignment_in_progress
    nowhere = TopicPartition("t", 7)
    outcomes = cluster.ask(AlterReassignments({nowhere: (1, 2)}))
    assert code(outcomes, nowhere) is ErrorCode.unknown_topic_or_partition
    cluster.losing = {2}
    cluster.delete("t")
    assert code(move(cluster, p0=(4, 3))) is ErrorCode.unknown_topic_or_partition


def test_only_what_is_asked_about_is_listed(cluster):
    move(cluster, p0=(4, 3), p1=(4, 2))
    assert cluster.ask(ListReassignments(frozenset({T1}))).keys() == {T1}
    assert cluster.ask(ListReassignments(frozenset({TopicPartition("u", 0)}))) == {}


# -- /admin/reassign_partitions --------------------------------------------------------------


def listed(cluster):
    data = cluster.get(znodes.REASSIGN_PARTITIONS)
    return data and znodes.decode_reassignment(data)


def write(cluster, moves):
    cluster.put(Create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(moves)))
    cluster.run()


def test_the_old_way(cluster):
    write(cluster, {T0: (4, 3), T1: (3, 4), TopicPartition("u", 0): (1,)})
    assert listed(cluster) == {T0: (4, 3), T1: (3, 4)}
    cluster.change_isr(T0, 2, 3, 4)
    assert listed(cluster) == {T1: (3, 4)}
    cluster.change_isr(T1, 3, 2, 4)
    assert listed(cluster) is None
    assert cluster.lead() == {T0: (4, (3, 4)), T1: (3, (3, 4))}
    cluster.check()
    write(cluster, {T0: (2, 3)})  # it is watched again
    cluster.catch_up()
    assert cluster.assigned(T0) == ReplicaAssignment((2, 3))


def test_the_newer_request_counts(cluster):
    write(cluster, {T0: (4, 3), T1: (3, 4)})
    move(cluster, p0=(1, 3))
    assert listed(cluster) == {T1: (3, 4)}
    assert cluster.assigned(T0).adding == (1,)


@pytest.mark.parametrize("data", [b"", b"move!", b'{"partitions": [{"topic": "t"}]}', b"[]"])
def test_a_request_that_nobody_can_read_harms_nobody(cluster, data):
    cluster.put(Create(znodes.REASSIGN_PARTITIONS, data))
    cluster.run()
    assert cluster.controller.active
    assert cluster.ask(ListReassignments(None)) == {}


def test_a_partition_is_not_moved_to_nowhere(cluster):
    write(cluster, {T0: ()})
    assert cluster.assigned(T0) == ReplicaAssignment((2, 3))
    assert listed(cluster) is None
