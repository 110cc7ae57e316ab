"""The controller dies after its n-th question to ZooKeeper, for every n: the next one finishes.

Once with all that it has said until then heard, and once with nothing of it heard, for what it
said was still on its way. Brokers 1 and 2 are the controllers to be; 1 comes back.
"""

from itertools import count

import pytest

from engine.controller.events import AlterReassignments, ControlledShutdown, ElectLeaders
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Get, Multi, Set
from engine.zookeeper.znodes import ReplicaAssignment, Topic
from tests.unit.controller.cluster import ID, Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EVERY = frozenset({T0, T1})
both = pytest.mark.parametrize("heard", [True, False])


def deaths(heard, prepare, act, *, twice=False):
    """A cluster for each moment at which its controller may die while something is done."""
    for moment in count():
        cluster = prepare()
        assert cluster.controller.broker_id == 1
        if not heard:
            cluster.mute = {1}
        cluster.dies(1, after=moment)
        if twice:
            cluster.dies(2, after=moment)
        act(cluster)
        if 1 in cluster.controllers:
            assert moment > 2, "it has hardly done anything"
            return
        cluster.mute = set()
        for broker in (1, 2):
            if broker not in cluster.controllers:
                cluster.start(broker)
        cluster.run()
        assert cluster.controller.epoch > 1
        yield cluster


def empty():
    return Cluster(1, 2, 3, 4, 5)


def with_topic():
    cluster = empty()
    cluster.create("t", [[3, 4], [4, 3]])
    return cluster


@both
@pytest.mark.parametrize("twice", [False, True])
def test_creation(heard, twice):
    for cluster in deaths(heard, empty, lambda c: c.create("t", [[3, 4], [4, 3]]), twice=twice):
        assert cluster.lead() == {T0: (3, (3, 4)), T1: (4, (4, 3))}
        cluster.check()


@both
def test_partitions_added(heard):
    grown = Topic(
        ID,
        {0: ReplicaAssignment((3, 4)), 1: ReplicaAssignment((4, 3)), 2: ReplicaAssignment((5, 3))},
    )

    def grow(cluster):
        cluster.put(Set(znodes.topic_path("t"), grown.encode()))
        cluster.run()

    for cluster in deaths(heard, with_topic, grow):
        assert cluster.lead()[TopicPartition("t", 2)] == (5, (5, 3))
        cluster.check()


@both
@pytest.mark.parametrize("twice", [False, True])
def test_failover(heard, twice):
    def kill(cluster):
        cluster.kill(3)
        cluster.run()

    for cluster in deaths(heard, with_topic, kill, twice=twice):
        assert cluster.lead() == {T0: (4, (4,)), T1: (4, (4,))}
        cluster.check()


@both
def test_failover_when_it_has_replicas_itself(heard):
    def prepare():
        cluster = empty()
        cluster.create("t", [[3, 1, 4], [1, 3, 5]])
        return cluster

    def kill(cluster):
        cluster.kill(3)
        cluster.run()

    for cluster in deaths(heard, prepare, kill):
        cluster.catch_up()
        assert cluster.lead() == {T0: (4, (4, 1)), T1: (5, (5, 1))}
        cluster.check()


@both
def test_return(heard):
    def prepare():
        cluster = with_topic()
        cluster.kill(3)
        cluster.run()
        return cluster

    def start(cluster):
        cluster.start(3)
        cluster.run()

    for cluster in deaths(heard, prepare, start):
        cluster.catch_up()
        assert cluster.lead() == {T0: (4, (4, 3)), T1: (4, (4, 3))}
        cluster.check()


@both
@pytest.mark.parametrize("twice", [False, True])
def test_deletion(heard, twice):
    for cluster in deaths(heard, with_topic, lambda c: c.delete("t"), twice=twice):
        gone = [path for path in cluster.zookeeper.tree if path.endswith("/t") or "/t/" in path]
        assert gone == []
        assert all(machine.logs == set() for machine in cluster.machines.values())
        cluster.check()
        cluster.create("t", [[5, 3]])
        assert cluster.lead() == {T0: (5, (5, 3))}
        cluster.check()


def move(cluster):
    cluster.ask(AlterReassignments({T0: (5, 4), T1: (5, 3)}))
    cluster.catch_up()


@both
@pytest.mark.parametrize("twice", [False, True])
def test_reassignment(heard, twice):
    for cluster in deaths(heard, with_topic, move, twice=twice):
        cluster.catch_up()
        begun = [each for each in EVERY if cluster.assigned(each).replicas[0] == 5]
        move(cluster)  # who has heard no answer asks again, and no harm is done
        assert len(begun) in (0, 2)
        assert cluster.assigned(T0) == ReplicaAssignment((5, 4))
        assert cluster.assigned(T1) == ReplicaAssignment((5, 3))
        assert cluster.lead()[T0][1] == (4, 5)
        assert cluster.machines[5].logs == EVERY
        if heard:  # else the two that had to go may never have been told, as in Kafka
            assert cluster.machines[3].logs == {T1} and cluster.machines[4].logs == {T0}
            cluster.check()


@both
def test_reassignment_the_old_way(heard):
    def write(cluster):
        moves = znodes.encode_reassignment({T0: (5, 4), T1: (5, 3)})
        cluster.put(Create(znodes.REASSIGN_PARTITIONS, moves))
        cluster.run()
        cluster.catch_up()

    for cluster in deaths(heard, with_topic, write):
        cluster.catch_up()
        assert cluster.get(znodes.REASSIGN_PARTITIONS) is None
        assert cluster.assigned(T0) == ReplicaAssignment((5, 4))
        assert cluster.assigned(T1) == ReplicaAssignment((5, 3))


@both
def test_cancelled_reassignment(heard):
    def cancel(cluster):
        cluster.ask(AlterReassignments({T0: None}))

    def prepared():
        cluster = with_topic()
        cluster.ask(AlterReassignments({T0: (1, 5)}))
        cluster.change_isr(T0, 3, 4, 5)
        return cluster

    for cluster in deaths(heard, prepared, cancel):
        cluster.ask(AlterReassignments({T0: None}))
        assert cluster.assigned(T0) == ReplicaAssignment((3, 4))
        assert set(cluster.state(T0).isr) == {3, 4}
        assert cluster.state(T0).leader == 3
        if heard:
            assert cluster.machines[5].logs == set()
            cluster.check()


@both
def test_elections_and_controlled_shutdown(heard):
    def prepare():
        cluster = with_topic()
        cluster.kill(3)
        cluster.run()
        cluster.start(3)
        cluster.run()
        cluster.catch_up()
        return cluster

    def act(cluster):
        cluster.ask(ElectLeaders(EVERY))
        if 1 in cluster.controllers:
            cluster.ask(ControlledShutdown(4, cluster.epochs[4]))

    for cluster in deaths(heard, prepare, act):
        cluster.ask(ElectLeaders(EVERY))
        assert cluster.ask(ControlledShutdown(4, cluster.epochs[4])) == set()
        cluster.kill(4)
        cluster.run()
        assert cluster.lead() == {T0: (3, (3,)), T1: (3, (3,))}
        cluster.check()


# -- connections that break after the question was heard -------------------------------------


def lose_every_answer(cluster):
    """Whoever drives the controller asks again, and so every write meets its own work."""

    def before(broker, ask):
        if isinstance(ask, Multi):
            cluster.zookeeper.answer(cluster.sessions[broker], ask)

    cluster.before = before


def test_answers_that_are_lost():
    cluster = empty()
    lose_every_answer(cluster)
    cluster.create("t", [[3, 4], [4, 3]])
    cluster.check()
    cluster.kill(3)
    cluster.run()
    assert cluster.lead() == {T0: (4, (4,)), T1: (4, (4,))}
    cluster.check()
    cluster.start(3)
    cluster.run()
    cluster.catch_up()
    cluster.check()
    move(cluster)
    assert cluster.assigned(T0) == ReplicaAssignment((5, 4))
    cluster.check()
    cluster.ask(ElectLeaders(EVERY))
    assert cluster.lead() == {T0: (5, (4, 5)), T1: (5, (3, 5))}
    cluster.check()
    assert cluster.ask(ControlledShutdown(5, cluster.epochs[5])) == set()
    cluster.kill(5)
    cluster.run()
    cluster.check()
    cluster.start(5)
    cluster.run()
    cluster.delete("t")
    assert cluster.zookeeper.answer(cluster.admin, Get(znodes.topic_path("t"))) is None
    cluster.check()


def test_a_follower_that_leaves_while_the_answer_is_lost():
    cluster = with_topic()
    lose_every_answer(cluster)
    cluster.kill(4)
    cluster.run()
    assert cluster.lead()[T0] == (3, (3,))
    cluster.check()
