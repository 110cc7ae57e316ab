"""The two tables: what is legal is done, and what is not legal changes nothing at all."""

from itertools import product

import pytest

from engine.controller import partition_state_machine, replica_state_machine
from engine.controller.context import PartitionAndReplica
from engine.model import TopicPartition
from tests.unit.controller.cluster import Cluster

T0 = TopicPartition("t", 0)
R = PartitionAndReplica(T0, 2)

P = partition_state_machine.ControllerPartitionState
PARTITION_MOVES = {
    (P.NON_EXISTENT, P.NEW),
    (P.NEW, P.ONLINE),
    (P.ONLINE, P.ONLINE),
    (P.OFFLINE, P.ONLINE),
    (P.NEW, P.OFFLINE),
    (P.ONLINE, P.OFFLINE),
    (P.OFFLINE, P.OFFLINE),
    (P.OFFLINE, P.NON_EXISTENT),
}
S = replica_state_machine.ControllerReplicaState
LIVING = (S.NEW, S.ONLINE, S.OFFLINE, S.INELIGIBLE)
REPLICA_MOVES = {
    (S.NON_EXISTENT, S.NEW),
    *((state, S.ONLINE) for state in LIVING),
    *((state, S.OFFLINE) for state in LIVING),
    (S.OFFLINE, S.STARTED),
    (S.STARTED, S.SUCCESSFUL),
    (S.OFFLINE, S.INELIGIBLE),
    (S.STARTED, S.INELIGIBLE),
    (S.SUCCESSFUL, S.NON_EXISTENT),
}


@pytest.fixture
def cluster():
    cluster = Cluster(1, 2, 3)
    cluster.create("t", [[1, 2, 3]])
    return cluster


def through(cluster, work):
    """See a part of the controller's work through."""
    answers = None
    while True:
        try:
            asks = work.send(answers)
        except StopIteration as end:
            return end.value
        answers = [cluster.answer(1, ask) for ask in asks]


@pytest.mark.parametrize(("before", "to"), list(product(P, P)))
def test_partition_table(cluster, before, to):
    machine = cluster.controller._active.partitions
    machine.states[T0] = before
    was = cluster.state(T0)
    if to is P.ONLINE:
        through(cluster, machine.bring_online([T0]))
    else:
        machine.mark([T0], to)
    if (before, to) in PARTITION_MOVES:
        assert machine.state(T0) is to
    else:
        assert machine.state(T0) is before
        assert cluster.state(T0) == was
        assert cluster.controller.outbox == []


@pytest.mark.parametrize(("before", "to"), list(product(S, S)))
def test_replica_table(cluster, before, to):
    machine = cluster.controller._active.replicas
    machine.states[R] = before
    was = cluster.state(T0)
    through(cluster, machine.move([R], to))
    if (before, to) in REPLICA_MOVES:
        assert machine.state(R) is to
    else:
        assert machine.state(R) is before
        assert cluster.state(T0) == was
        assert cluster.controller.outbox == []


def test_the_last_of_an_isr_stays_in_it(cluster):
    machine = cluster.controller._active.replicas
    every = [PartitionAndReplica(T0, broker) for broker in (1, 2, 3)]
    through(cluster, machine.move(every, S.OFFLINE))
    assert (cluster.state(T0).leader, cluster.state(T0).isr) == (-1, (3,))
