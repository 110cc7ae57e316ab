"""ISR changes on their way to the controller, without ZooKeeper."""

import asyncio
from types import SimpleNamespace
from uuid import UUID

import pytest

from engine.broker.kraft import alter_partition
from engine.broker.kraft.alter_partition import AlterPartitionManager
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.metadata import Metadata, TopicInfo
from engine.errors import ErrorCode
from engine.model import Callbacks, TopicPartition
from engine.replication.partition import Proposal
from tests.limits import ANSWER_S
from tests.unit.broker.kraft.quorum import FakeQuorum

ORDERS, ID = TopicPartition("orders", 2), UUID(int=5)
FIRST = Proposal(ORDERS, 3, 9, (3, 1), -1, 12)  # broker 3 in leader epoch 9, partition epoch 12


class Leader:
    """Broker 3, which leads orders-2."""

    def __init__(self):
        self.broker_id, self.broker_epoch = 3, 300
        self.proposals, self.work_changed = [FIRST], Callbacks()
        self.answered, self.withdrawn = [], []
        self.settled = asyncio.Event()
        self.partitions = {ORDERS: SimpleNamespace(waits_for=lambda proposal: self.open)}
        self.open = True

    def isr_answered(self, proposal, version):
        self.answered.append((proposal, version))
        self.settled.set()

    def isr_withdrawn(self, proposal):
        self.withdrawn.append(proposal)
        self.settled.set()


def row(error=ErrorCode.none, leader_epoch=9, partition_epoch=13):
    values = {"leader_epoch": leader_epoch, "partition_epoch": partition_epoch}
    partition = SimpleNamespace(partition_index=2, error_code=error, **values)
    return (SimpleNamespace(topic_id=ID, partitions=(partition,)),)


def told(*answers):
    """The leader after these answers of the controller; and the requests."""

    async def story():
        quorum, leader = FakeQuorum(), Leader()
        metadata = Metadata(topics={"orders": TopicInfo("orders", ID)}, topic_names={ID: "orders"})
        for answer in answers:
            quorum.answer(101, **{"error_code": ErrorCode.none, "topics": ()} | answer)
        channel = ControllerChannel(quorum, "broker-3", 5.0)
        running = asyncio.create_task(AlterPartitionManager(leader, metadata, channel).run())
        leader.work_changed()
        async with asyncio.timeout(ANSWER_S):
            await leader.settled.wait()
        running.cancel()
        return leader, [message for *_, message in quorum.asked]

    return asyncio.run(story())


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(alter_partition, "RESEND_S", 0.0)


def test_an_accepted_isr_has_the_new_partition_epoch():
    leader, (request,) = told({"topics": row()})
    assert leader.answered == [(FIRST, 13)]
    assert (request.broker_id, request.broker_epoch, request.topics[0].topic_id) == (3, 300, ID)
    (asked,) = request.topics[0].partitions
    assert (asked.new_isr, asked.leader_epoch, asked.partition_epoch) == ((3, 1), 9, 12)


def test_a_stale_partition_epoch_is_given_up():
    leader, _ = told({"topics": row(ErrorCode.invalid_update_version)})
    assert leader.answered == [(FIRST, None)]


def test_an_ineligible_replica_is_withdrawn():
    leader, _ = told({"topics": row(ErrorCode.ineligible_replica)})
    assert (leader.withdrawn, leader.answered) == ([FIRST], [])


def test_a_refused_request_is_sent_again():
    leader, requests = told({"error_code": ErrorCode.stale_broker_epoch}, {"topics": row()})
    assert (len(requests), leader.answered) == (2, [(FIRST, 13)])
