"""AlterIsr at the controller: who may change an ISR, from which version, and who hears of it."""

import pytest

from engine.controller.context import Leadership
from engine.controller.events import AlterIsr, AlterReassignments, IsrChange
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import CheckVersion, Multi, Set
from tests.unit.controller.cluster import Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster():
    """Broker 2 leads T0 and broker 3 T1; broker 1 is the controller."""
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 3, 1], [3, 2]])
    return cluster


def alter(cluster, changes, broker=2, epoch=None):
    wanted = {each: IsrChange(*change) for each, change in changes.items()}
    life = cluster.epochs[broker] if epoch is None else epoch
    return cluster.ask(AlterIsr(broker, life, wanted))


def code(outcome):
    return outcome.code if isinstance(outcome, ApiException) else outcome


def test_a_leader_shrinks_and_expands_its_isr(cluster):
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert outcome == {T0: Leadership(znodes.LeaderAndIsr(2, 0, (2, 1), 1), 1)}
    assert cluster.state(T0).isr == (2, 1)
    cluster.check()  # every broker has it in its metadata
    assert alter(cluster, {T0: (0, (2, 1, 3), 1)})[T0].version == 2
    cluster.check()


def test_every_broker_hears_of_it_once_and_of_nothing_else(cluster):
    before = len(cluster.sent)
    alter(cluster, {T0: (0, (2, 1), 0)})
    sent = cluster.sent[before:]
    assert [each.broker for each in sent] == [1, 2, 3]
    for each in sent:
        assert isinstance(each.message, UpdateMetadataRequest)
        ((topic, (state,)),) = [
            (t.topic_name, t.partition_states) for t in each.message.topic_states
        ]
        assert (topic, state.partition_index, state.isr, state.zk_version) == ("t", 0, (2, 1), 1)


def test_the_same_request_once_more_is_answered_with_what_is_written(cluster):
    first = alter(cluster, {T0: (0, (2, 1), 0)})
    assert alter(cluster, {T0: (0, (2, 1), 0)}) == first
    assert cluster.zookeeper.tree[znodes.state_path(T0)].version == 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ((-1, (2, 1), 0), ErrorCode.fenced_leader_epoch),
        ((1, (2, 1), 0), ErrorCode.not_controller),
        ((0, (2, 1), 7), ErrorCode.invalid_update_version),
        ((0, (2, 1), -1), ErrorCode.invalid_update_version),
        ((0, (), 0), ErrorCode.invalid_request),
        ((0, (3, 1), 0), ErrorCode.invalid_request),
        ((0, (2, 1, 1), 0), ErrorCode.invalid_request),
        ((0, (2, -1), 0), ErrorCode.invalid_request),
    ],
)
def test_what_is_refused_changes_nothing(cluster, change, error):
    before = cluster.get(znodes.state_path(T0))
    outcome = alter(cluster, {T0: change})
    assert code(outcome[T0]) == error
    assert cluster.get(znodes.state_path(T0)) == before
    cluster.check()


def test_a_partition_that_is_not_known_and_one_that_another_broker_leads(cluster):
    nowhere = TopicPartition("nowhere", 0)
    wanted = {nowhere: (0, (2,), 0), T1: (0, (2, 3), 0), T0: (0, (2,), 0)}
    outcome = alter(cluster, wanted)
    assert code(outcome[nowhere]) == ErrorCode.unknown_topic_or_partition
    assert code(outcome[T1]) == ErrorCode.invalid_request
    assert outcome[T0].state.isr == (2,)
    assert cluster.state(T1).isr == (3, 2)


def test_a_leader_of_an_earlier_epoch_is_fenced(cluster):
    cluster.kill(2)
    cluster.run()
    cluster.start(2)
    cluster.run()
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert code(outcome[T0]) == ErrorCode.fenced_leader_epoch


@pytest.mark.parametrize("epoch", [-1, 0, 10**6])
def test_only_this_session_of_a_broker_counts(cluster, epoch):
    outcome = alter(cluster, {T0: (0, (2, 1), 0)}, epoch=epoch)
    assert code(outcome) == ErrorCode.stale_broker_epoch
    outcome = alter(cluster, {T0: (0, (2, 1), 0)}, broker=9, epoch=1)
    assert code(outcome) == ErrorCode.stale_broker_epoch


def test_who_is_not_the_controller_says_so(cluster):
    event = AlterIsr(2, cluster.epochs[2], {T0: IsrChange(0, (2, 1), 0)})
    assert code(cluster.ask(event, broker=3)) == ErrorCode.not_controller


def test_a_controller_that_was_superseded_writes_nothing(cluster):
    cluster.put(Set(znodes.CONTROLLER_EPOCH, b"2"))
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert code(outcome) == ErrorCode.not_controller
    assert cluster.state(T0).isr == (2, 3, 1)


def test_a_state_that_another_program_has_written_is_written_over(cluster):
    """Nobody has elected a leader, so the leader still knows who is in sync."""
    cluster.put(Set(znodes.state_path(T0), cluster.state(T0)._replace(isr=(2, 9)).encode()))
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert (outcome[T0].state.isr, outcome[T0].version) == ((2, 1), 2)
    cluster.check()


def test_not_if_that_program_names_another_leader(cluster):
    other = cluster.state(T0)._replace(leader=3, leader_epoch=4)
    cluster.put(Set(znodes.state_path(T0), other.encode()))
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert code(outcome[T0]) == ErrorCode.invalid_update_version
    assert cluster.state(T0) == other


def test_a_state_that_cannot_be_read_is_refused_until_it_is_repaired(cluster):
    path = znodes.state_path(T0)
    cluster.put(Set(path, b"nonsense"))
    assert code(alter(cluster, {T0: (0, (2, 1), 0)})[T0]) == ErrorCode.invalid_update_version
    cluster.put(Set(path, znodes.LeaderAndIsr(2, 0, (2, 3), 1).encode()))
    cluster.run()
    assert cluster.machines[2].roles[T0].leader_epoch == 1  # a new epoch: the leader hears of it
    cluster.check()


def test_a_write_whose_answer_was_lost_is_recognised(cluster):
    """The broker sends it again: the second one is refused, and the state is ours."""

    def twice(broker, ask):
        if isinstance(ask, Multi) and Set in map(type, ask.writes):
            cluster.before = lambda broker, ask: None
            session = cluster.sessions[broker]
            cluster.zookeeper.answer(session, ask)

    cluster.before = twice
    outcome = alter(cluster, {T0: (0, (2, 1), 0)})
    assert (outcome[T0].state.isr, outcome[T0].version) == ((2, 1), 1)


def test_every_write_checks_that_the_controller_is_still_the_same(cluster):
    cluster.asked.clear()
    alter(cluster, {T0: (0, (2, 1), 0)})
    (written,) = [ask for _, ask in cluster.asked if isinstance(ask, Multi)]
    assert written.writes[0] == CheckVersion(znodes.CONTROLLER_EPOCH, 1)


def test_a_move_goes_on_when_the_new_replica_is_in_sync(cluster):
    cluster.start(4)
    cluster.run()
    assert cluster.ask(AlterReassignments({T1: (3, 4)})) == {T1: None}
    state = cluster.state(T1)
    version = cluster.zookeeper.tree[znodes.state_path(T1)].version
    change = (state.leader_epoch, (3, 2, 4), version)
    outcome = alter(cluster, {T1: change}, broker=3)
    assert outcome[T1].state.isr == (3, 2, 4)
    assert cluster.assigned(T1) == znodes.ReplicaAssignment((3, 4))
    assert cluster.lead()[T1] == (3, (3, 4))
    cluster.check()
