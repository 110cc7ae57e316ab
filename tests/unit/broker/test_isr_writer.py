"""ISR changes on their way to ZooKeeper: written, refused, or lost and written all the same."""

import asyncio

import pytest

from engine.broker.zookeeper import isr_writer
from engine.broker.zookeeper.isr_writer import IsrWriter
from engine.errors import MetadataUnavailable
from engine.model import TopicPartition
from engine.replication.partition import Proposal
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import Create, Get, Reason, Refused, Set, Stat, ZnodeData

ORDERS = TopicPartition("orders", 0)
PATH = znodes.state_path(ORDERS)
PROPOSAL = Proposal(ORDERS, 1, 5, (1, 2), 7, 3)  # broker 1 in epoch 5; controller's 7, version 3
STATE = znodes.LeaderAndIsr(1, 5, (1, 2), 7).encode()


class Replicas:
    def __init__(self, *proposals):
        self.proposals = list(proposals)
        self.work_changed = []
        self.answered = []

    def isr_answered(self, proposal, version):
        self.answered.append((proposal, version))

    def isr_overtaken(self, proposal, version):
        self.propose(proposal._replace(version=version))

    def propose(self, proposal):
        self.proposals.append(proposal)
        for stir in self.work_changed:
            stir()


class Zookeeper:
    """The state's node, and the notes to the controller."""

    def __init__(self, data=b"{}", version=3, losses=()):
        self.data, self.version = data, version
        self.losses = list(losses)  # for each Set: "before" or "after" it is done
        self.notes = []
        self.noted = asyncio.Event()

    async def ask(self, asks, changed=None):
        return [self._answer(ask) for ask in asks]

    def _answer(self, ask):
        match ask:
            case Set(path, data, version):
                assert path == PATH
                loss = self.losses.pop(0) if self.losses else None
                if loss == "before":
                    raise MetadataUnavailable
                if version != self.version:
                    return Refused(Reason.BAD_VERSION, path)
                self.data, self.version = data, self.version + 1
                if loss == "after":
                    raise MetadataUnavailable
                return self.version
            case Get(path):
                return ZnodeData(self.data, Stat(self.version, 1))
            case Create(path, data, _, True):
                assert path == znodes.ISR_CHANGE
                self.notes.append(znodes.decode_partitions(data))
        return None


async def sync(zookeeper, told=lambda kind, **facts: None):
    replicas = Replicas(PROPOSAL)
    task = asyncio.create_task(IsrWriter(replicas, zookeeper, Decoder(told)).run())
    for stir in replicas.work_changed:
        stir()
    while not replicas.answered:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return replicas.answered


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(isr_writer, "RETRY_S", 0)
    monkeypatch.setattr(isr_writer, "REREAD_S", 0)


def test_a_change_is_written_and_the_controller_told():
    zookeeper = Zookeeper()
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, 4)]
    assert zookeeper.data == STATE
    assert zookeeper.notes == [{ORDERS}]


def test_a_refused_change_is_given_up():
    others = znodes.LeaderAndIsr(2, 6, (2,), 7).encode()
    zookeeper = Zookeeper(others, version=4)
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, None)]
    assert zookeeper.data == others
    assert zookeeper.notes == []


def test_who_decides_nothing_only_delays_a_change():
    """Same leader, same epoch: no controller has written that."""
    zookeeper = Zookeeper(znodes.LeaderAndIsr(1, 5, (1, 2, 3), 6).encode(), version=8)
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL._replace(version=8), 9)]
    assert zookeeper.data == STATE


def test_a_state_that_nobody_can_read_is_waited_for():
    zookeeper, told = Zookeeper(b"nonsense", version=8), []

    def tell(kind, **facts):
        told.append((kind, facts["path"]))
        zookeeper.data = znodes.LeaderAndIsr(2, 6, (2,), 7).encode()  # somebody mends it

    assert asyncio.run(sync(zookeeper, tell)) == [(PROPOSAL, None)]
    assert told == [("znode.unreadable", PATH)]


@pytest.mark.parametrize("losses", [["before"], ["after"], ["before", "before", "after"]])
def test_a_lost_answer_is_asked_for_again(losses):
    zookeeper = Zookeeper(losses=losses)
    assert asyncio.run(sync(zookeeper)) == [(PROPOSAL, 4)]
    assert (zookeeper.data, zookeeper.version) == (STATE, 4)
    assert zookeeper.notes == [{ORDERS}]
