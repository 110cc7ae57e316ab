"""The end of a transaction reaches every partition, wherever that is led by now."""

import asyncio
from types import SimpleNamespace

import pytest

from engine.broker import txn_marker_sender
from engine.broker.events import broker_of
from engine.broker.metadata import AliveBroker, Metadata, PartitionInfo, TopicInfo
from engine.broker.txn_marker_sender import TxnMarkerSender
from engine.coordinator.effects import TransactionalProducer, TxnMarkers
from engine.errors import ErrorCode
from engine.model import TopicPartition

ORDERS = [TopicPartition("orders", number) for number in range(3)]
MARK = TxnMarkers("till", 7, 5, TransactionalProducer(4000, 2), True, tuple(ORDERS))
NOT_HERE = ErrorCode.not_leader_or_follower


class Cluster:
    """Brokers that answer as they are told, and the metadata that one of them has."""

    def __init__(self, leaders):
        self.metadata = Metadata("cluster", 1)
        self.metadata.brokers = {n: AliveBroker(n, "127.0.0.1", 9000 + n) for n in (1, 2)}
        self.metadata.topics["orders"] = TopicInfo("orders", None)
        self.lead(leaders)
        self.asked = []  # (broker, partitions)
        self.answers = {}  # broker -> what comes of the next requests: codes, or an exception
        self.marked = []
        self.leads = True
        self.sender = TxnMarkerSender(
            1, 30.0, self.metadata, self.connect, lambda markers: self.leads, self.note
        )

    def connect(self, host, port, number, me, timeout):
        assert broker_of(SimpleNamespace(markers=()), me) == 1
        return SimpleNamespace(ask=lambda api, request: self.ask(number, request))

    def note(self, mark, partitions):
        assert mark is MARK
        self.marked += partitions

    def lead(self, leaders):
        partitions = self.metadata.topics["orders"].partitions
        partitions.clear()
        for number, leader in leaders.items():
            partitions[number] = PartitionInfo(leader, 5, (1, 2), (1, 2))
        self.metadata.changed()

    async def ask(self, broker, request):
        (marker,) = request.markers
        (topic,) = marker.topics
        assert (marker.producer_id, marker.producer_epoch) == MARK.producer
        assert (marker.transaction_result, marker.coordinator_epoch) == (True, 5)
        self.asked.append((broker, topic.partition_indexes))
        answers = self.answers.get(broker)
        outcome = answers.pop(0) if answers else {}
        if callable(outcome):
            outcome = await outcome()
        if isinstance(outcome, Exception):
            raise outcome
        rows = [
            SimpleNamespace(partition_index=n, error_code=outcome.get(n, ErrorCode.none))
            for n in topic.partition_indexes
        ]
        topics = [SimpleNamespace(name="orders", partitions=rows)]
        return SimpleNamespace(markers=[SimpleNamespace(topics=topics)])


@pytest.fixture
def carry_out(monkeypatch):
    def carry_out(cluster):
        monkeypatch.setattr(txn_marker_sender, "RETRY_S", 0)
        asyncio.run(asyncio.wait_for(cluster.sender.send(MARK), 20))
        return cluster

    return carry_out


def test_each_leader_is_told_once_of_all_that_it_leads(carry_out):
    cluster = carry_out(Cluster({0: 1, 1: 2, 2: 1}))
    assert sorted(cluster.asked) == [(1, (0, 2)), (2, (1,))]
    assert cluster.marked == ORDERS


@pytest.mark.parametrize("trouble", [ConnectionError("gone"), {0: NOT_HERE, 2: NOT_HERE}])
def test_what_was_not_done_is_told_again(carry_out, trouble):
    cluster = Cluster({0: 1, 1: 2, 2: 1})
    cluster.answers[1] = [trouble]
    carry_out(cluster)
    assert sorted(cluster.asked) == [(1, (0, 2)), (1, (0, 2)), (2, (1,))]
    assert cluster.marked == [ORDERS[1], ORDERS[0], ORDERS[2]]


def test_a_partition_that_moves_is_followed_while_its_old_leader_hangs(carry_out):
    cluster = Cluster({0: 1, 1: 1, 2: 1})

    async def hangs():
        cluster.lead({0: 2, 1: 2, 2: 2})
        await asyncio.Event().wait()

    cluster.answers[1] = [hangs]
    carry_out(cluster)
    assert cluster.asked == [(1, (0, 1, 2)), (2, (0, 1, 2))]
    assert cluster.marked == ORDERS


def test_one_that_nobody_leads_is_waited_for_and_one_that_is_deleted_is_done_with(carry_out):
    cluster = Cluster({0: -1, 1: 2})

    async def elected():
        cluster.lead({0: 1, 1: 2})
        return {}

    cluster.answers[2] = [elected]
    carry_out(cluster)
    assert cluster.asked == [(2, (1,)), (1, (0,))]
    assert cluster.marked == [ORDERS[1], ORDERS[2], ORDERS[0]]


@pytest.mark.parametrize(
    "code", [ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced]
)
def test_who_was_replaced_leaves_it_to_others(carry_out, code):
    cluster = Cluster({0: 1, 1: 1, 2: 1})
    cluster.answers[1] = [{1: code}]
    carry_out(cluster)
    assert (len(cluster.asked), cluster.marked) == (1, [])


def test_nothing_is_told_any_more_when_another_broker_coordinates(carry_out):
    cluster = Cluster({0: 1, 1: 1, 2: 1})

    async def unseated():
        cluster.leads = False
        return {}

    cluster.answers[1] = [unseated]
    carry_out(cluster)
    assert (len(cluster.asked), cluster.marked) == (1, [])
