"""Deleting topics, with everything that can be in the way."""

import pytest

from engine.controller.events import AlterReassignments
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.stop_replica import StopReplicaRequest
from engine.wire.messages.update_metadata import LEADER_DURING_DELETE, UpdateMetadataRequest
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Set
from engine.zookeeper.znodes import ReplicaAssignment, Topic
from tests.unit.controller.cluster import ID, Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[2, 3], [3, 2]])
    return cluster


def left(cluster):
    return [path for path in cluster.zookeeper.tree if path.endswith("/t") or "/t/" in path]


def test_nothing_is_left(cluster):
    cluster.delete("t")
    assert left(cluster) == []
    assert all(machine.logs == set() for machine in cluster.machines.values())
    assert cluster.happened("topic.deleted") == [{"topic": "t"}]
    cluster.check()
    cluster.create("t", [[3, 2]])
    assert cluster.lead() == {T0: (3, (3, 2))}
    cluster.check()


def test_clients_hear_first_then_replicas_stop_then_delete(cluster):
    before = len(cluster.sent)
    cluster.delete("t")
    story = []
    for request in cluster.sent[before:]:
        for topic in request.message.topic_states:
            for each in topic.partition_states:
                match request.message:
                    case UpdateMetadataRequest():
                        assert each.leader == LEADER_DURING_DELETE
                        story.append("told")
                    case StopReplicaRequest():
                        assert each.leader_epoch == -2
                        story.append("delete" if each.delete_partition else "stop")
                    case LeaderAndIsrRequest():
                        story.append("lead")
    assert list(dict.fromkeys(story)) == ["told", "stop", "delete"]
    assert story.count("delete") == 4
    assert story.count("told") == 6


def test_the_nodes_stay_until_every_replica_has_confirmed(cluster):
    cluster.losing = {3}
    cluster.delete("t")
    assert cluster.machines[2].logs == set()
    assert cluster.get(znodes.topic_path("t")) is not None
    cluster.deliver_late()
    assert left(cluster) == []


def test_the_request_is_the_last_to_go(cluster):
    order = []
    cluster.before = lambda broker, ask: order.append(str(ask)) if "Delete" in str(ask) else None
    cluster.delete("t")
    gone = [each for each in order if "path='/" in each]
    assert znodes.deleted_topic_path("t") in gone[-1]
    assert znodes.config_path("topics", "t") in gone[-2]
    assert f"path='{znodes.topic_path('t')}'" in gone[-3]


def test_a_broker_that_is_down_is_waited_for(cluster):
    cluster.kill(3)
    cluster.run()
    cluster.delete("t")
    assert cluster.machines[2].logs == set()
    assert left(cluster) != []
    assert cluster.controller.snapshot()["deleting"] == ["t"]
    cluster.start(3)
    cluster.run()
    assert left(cluster) == []
    assert cluster.machines[3].logs == set()


def test_a_broker_that_goes_down_in_the_middle_is_waited_for(cluster):
    cluster.losing = {3}
    cluster.delete("t")
    cluster.kill(3)
    cluster.run()
    cluster.losing = set()
    assert left(cluster) != []
    cluster.start(3)
    cluster.run()
    assert left(cluster) == []
    assert cluster.machines[3].logs == set()


def test_a_replica_that_cannot_be_deleted_is_tried_again_when_its_broker_returns(cluster):
    cluster.machines[3].undeletable = {T1}
    cluster.delete("t")
    assert left(cluster) != []
    states = [each["replica_states"] for each in cluster.controller.snapshot()["partitions"]]
    assert [each[2] for each in states] == ["deletion successful"] * 2
    cluster.machines[3].undeletable = set()
    cluster.bounce(3)
    cluster.run()
    assert left(cluster) == []
    assert cluster.machines[3].logs == set()


def test_while_it_is_deleted_nobody_is_elected_for_it(cluster):
    cluster.losing = {3}
    cluster.delete("t")
    cluster.kill(2)
    cluster.run()
    assert cluster.happened("leader.elected")[2:] == []


def test_nor_by_the_next_controller(cluster):
    cluster.losing = {3}
    cluster.delete("t")
    assert cluster.state(T0).isr == (3,)
    cluster.kill(1)
    cluster.run()
    assert cluster.controller.broker_id == 2
    assert cluster.happened("leader.elected")[2:] == []
    cluster.deliver_late()
    assert left(cluster) == []


def test_partitions_added_meanwhile_are_taken_back(cluster):
    cluster.losing = {3}
    cluster.delete("t")
    grown = {
        0: ReplicaAssignment((2, 3)),
        1: ReplicaAssignment((3, 2)),
        2: ReplicaAssignment((2, 3)),
    }
    cluster.put(Set(znodes.topic_path("t"), Topic(ID, grown).encode()))
    cluster.run()
    assert Topic.decode(cluster.get(znodes.topic_path("t"))).partitions.keys() == {0, 1}
    cluster.deliver_late()
    assert left(cluster) == []


def test_a_topic_that_moves_is_not_deleted_before_it_has_arrived(cluster):
    cluster.ask(AlterReassignments({T0: (1, 2)}))
    cluster.delete("t")
    assert cluster.machines[3].logs == {T0, T1}
    cluster.bounce(3)  # which is no reason to go on with it
    cluster.run()
    assert left(cluster) != []
    cluster.catch_up()
    assert left(cluster) == []
    assert all(machine.logs == set() for machine in cluster.machines.values())


def test_while_it_waits_for_a_move_it_has_its_leaders(cluster):
    """Else a move could wait for a leader that nobody elects, and the deletion for the move."""
    cluster.ask(AlterReassignments({T0: (1, 2)}))
    cluster.delete("t")
    cluster.kill(2)
    cluster.run()
    assert cluster.lead() == {T0: (3, (3,)), T1: (3, (3,))}
    cluster.start(2)
    cluster.run()
    cluster.catch_up()
    assert left(cluster) == []


def test_a_request_for_a_topic_that_is_not_there_is_cleared_away(cluster):
    cluster.delete("u")
    assert cluster.get(znodes.deleted_topic_path("u")) is None
    assert cluster.partitions() == [T0, T1]


def test_where_topics_may_not_be_deleted_only_the_request_goes():
    cluster = Cluster(1, 2, delete_topic_enable="false")
    cluster.create("t", [[1, 2]])
    cluster.delete("t")
    assert cluster.get(znodes.deleted_topic_path("t")) is None
    assert cluster.lead() == {T0: (1, (1, 2))}
    cluster.put(Create(znodes.deleted_topic_path("t")))
    cluster.kill(1)
    cluster.run()
    assert cluster.get(znodes.deleted_topic_path("t")) is None
    assert cluster.lead() == {T0: (2, (2,))}
