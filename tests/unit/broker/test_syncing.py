"""ISR changes on their way to ZooKeeper: written, refused, or lost and written all the same."""

import asyncio

import pytest
from kazoo.exceptions import ConnectionLoss

from engine.broker import syncing
from engine.broker.syncing import Syncing
from engine.controller import znodes
from engine.controller.asks import Create, Get, Node, Reason, Refused, Set, Stat
from engine.model import TopicPartition
from engine.replication.partition import Proposal

ORDERS = TopicPartition("orders", 0)
PATH = znodes.state_path(ORDERS)
PROPOSAL = Proposal(ORDERS, 1, 5, (1, 2), 7, 3)  # broker 1 in epoch 5; controller's 7, version 3
STATE = znodes.PartitionState(1, 5, (1, 2), 7).encode()


class Replicas:
    def __init__(self, *proposals):
        self.proposals = list(proposals)
        self.stirred = []
        self.answered = []

    def isr_answered(self, proposal, version):
        self.answered.append((proposal, version))


class Zookeeper:
    """The state's node, and the notes to the controller."""

    def __init__(self, data=b"{}", version=3, losses=()):
        self.data, self.version = data, version
        self.losses = list(losses)  # for each Set: "before" or "after" it is done
        self.notes = []
        self.noted = asyncio.Event()

    async def answer(self, asks, changed=None):
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask):
        match ask:
            case Set(path, data, version):
                assert path == PATH
                loss = self.losses.pop(0) if self.losses else None
                if loss == "before":
                    raise ConnectionLoss
                if version != self.version:
                    return Refused(Reason.BAD_VERSION, path)
                self.data, self.version = data, self.version + 1
                if loss == "after":
                    raise ConnectionLoss
                return self.version
            case Get(path):
                return Node(self.data, Stat(self.version, 1))
            case Create(path, data, _, True):
                assert path == znodes.ISR_CHANGE
                self.notes.append(znodes.decode_partitions(data))
        return None


async def sync(zookeeper):
    replicas = Replicas(PROPOSAL)
    task = asyncio.create_task(Syncing(replicas, zookeeper).run())
    for stir in replicas.stirred:
        stir()
    while not replicas.answered:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return replicas.answered


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(syncing, "PAUSE", 0)


def test_a_change_is_written_and_the_controller_told():
    zookeeper = Zookeeper()
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, 4)]
    assert zookeeper.data == STATE
    assert zookeeper.notes == [{ORDERS}]


def test_a_refused_change_is_given_up():
    others = znodes.PartitionState(2, 6, (2,), 7).encode()
    zookeeper = Zookeeper(others, version=4)
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, None)]
    assert zookeeper.data == others
    assert zookeeper.notes == []


@pytest.mark.parametrize("losses", [["before"], ["after"], ["before", "before", "after"]])
def test_a_lost_answer_is_asked_for_again(losses):
    zookeeper = Zookeeper(losses=losses)
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, 4)]
    assert (zookeeper.data, zookeeper.version) == (STATE, 4)
    assert zookeeper.notes == [{ORDERS}]
