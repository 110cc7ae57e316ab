"""The quorum controller between its Raft and those who ask: what is answered, and when."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from engine.config.quorum import ControllerConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import EVERY_BROKER
from engine.metadata.image import MetadataImage
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import decode_record, encode_record
from engine.metadata.records.topics import RemoveTopicRecord
from engine.model import Callbacks
from engine.quorum_controller.result import ControllerResult
from engine.quorum_server.batch_accumulator import BatchAccumulator
from engine.quorum_server.controller_service import QuorumControllerService
from engine.quorum_server.gateway import QuorumGateway
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.snapshot_records import decode_snapshot
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.records import Record
from tests.limits import ANSWER_S
from tests.unit.quorum_controller.controlled import CLUSTER, asked

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=7)
OTHER = FeatureLevelRecord(name="other", feature_level=1)


class StubRaft:
    """A leader whose records are committed when a test says so."""

    def __init__(self, directory):
        self.log = directory.log
        self.leader_changed = Callbacks()
        self.snapshots, self.failure, self.time = [], None, 0
        identity = SimpleNamespace(node_id=101, cluster_id=CLUSTER)
        self.client = SimpleNamespace(
            is_leader=False, epoch=0, leader=None, log=self.log, identity=identity
        )

    def now(self):
        return self.time

    def append(self, batch):
        if not self.client.is_leader:
            raise ApiException(ErrorCode.not_controller)
        return self.log.append(batch, self.client.epoch, 0)

    def fail(self, error):
        self.failure = error

    def snapshot(self, id, data):
        self.snapshots.append((id, data))

    def lead(self, epoch):
        self.client.is_leader, self.client.epoch, self.client.leader = True, epoch, 101
        self.leader_changed()

    def follow(self, epoch, leader):
        self.client.is_leader, self.client.epoch, self.client.leader = False, epoch, leader
        self.leader_changed()

    def copy(self, *values):
        """Records of another leader."""
        rows = [Record(n, 0, None, encode_record(value)) for n, value in enumerate(values)]
        self.log.append(records.encode(rows), self.client.epoch, 0)


class Node:
    def __init__(self, folder, **config):
        self.directory = MetadataDirectory(folder, [101], 0)
        self.raft, self.events = StubRaft(self.directory), []
        report = lambda kind, **facts: self.events.append(kind)  # noqa: E731
        self.service = QuorumControllerService(
            *(self.raft, MetadataLoader(self.raft.log), ControllerConfig(**config)),
            *(lambda: [LEVEL], report),
        )

    def commit(self, offset=None):
        self.service.committed(self.raft.log.end.offset if offset is None else offset)

    async def lead(self, epoch=1):
        self.raft.lead(epoch)
        self.commit()
        await asyncio.sleep(0)
        assert self.service.is_active
        await asyncio.sleep(0)  # its first records are appended


@pytest.fixture
def run(tmp_path):
    """Runs a coroutine function with a node."""

    def run(test, **config):
        async def inside():
            node = Node(tmp_path, **config)
            try:
                async with asyncio.timeout(ANSWER_S):
                    return await test(node)
            finally:
                node.service.close()
                node.directory.close(0)

        return asyncio.run(inside())

    return run


def register(node, broker=1):
    return asyncio.create_task(
        node.service.write(lambda it, now: it.register_broker(asked(broker), now))
    )


def test_the_first_leader_writes_the_bootstrap_records_and_a_later_one_does_not(run):
    async def test(node):
        await node.lead()
        node.commit()
        end = node.raft.log.end.offset
        node.raft.follow(2, 102)
        await node.lead(3)
        assert node.service.loader.image.features == {"metadata.version": 7}
        assert (end, node.raft.log.end.offset) == (1, 1)
        assert node.events == ["controller.elected", "controller.resigned", "controller.elected"]

    run(test)


def test_a_leader_is_no_controller_before_it_has_read_its_log(run):
    async def test(node):
        node.raft.copy(LEVEL)
        node.raft.lead(2)
        await asyncio.sleep(0)
        assert not node.service.is_active
        with pytest.raises(ApiException, match="active controller is node 101"):
            await node.service.write(lambda it, now: ControllerResult([], None))
        node.commit()
        await asyncio.sleep(0)
        assert node.service.is_active

    run(test)


def test_a_response_is_given_when_its_records_are_committed(run):
    async def test(node):
        await node.lead()
        waiting = register(node)
        await asyncio.sleep(0)
        assert not waiting.done() and list(node.service.active.image.brokers) == [1]
        node.commit(node.raft.log.end.offset - 1)
        await asyncio.sleep(0)
        assert not waiting.done()
        node.commit()
        assert await waiting == 1

    run(test)


def test_a_response_without_records_waits_for_what_it_may_have_seen(run):
    async def test(node):
        await node.lead()
        register(node)
        await asyncio.sleep(0)
        seen = asyncio.create_task(
            node.service.write(lambda it, now: ControllerResult([], list(it.image.brokers)))
        )
        await asyncio.sleep(0)
        assert not seen.done()
        node.commit()
        assert await seen == [1]

    run(test)


def test_who_waits_for_a_lost_leadership_gets_not_controller_and_the_image_is_what_is_committed(
    run,
):
    async def test(node):
        await node.lead()
        node.commit()
        waiting = register(node)
        await asyncio.sleep(0)
        node.raft.follow(2, 102)
        with pytest.raises(ApiException) as error:
            await waiting
        assert error.value.code is ErrorCode.not_controller
        assert node.service.active is None and node.service.loader.image.brokers == {}
        node.raft.log.truncate(1, 0)  # its registration was copied by nobody
        node.raft.copy(OTHER)
        node.commit()
        await node.lead(3)
        assert node.service.active.image.brokers == {}
        assert node.service.active.image.features == {"metadata.version": 7, "other": 1}

    run(test)


def test_a_node_that_resigned_answers_nobody(run):
    async def test(node):
        await node.lead()
        node.commit()
        node.raft.client.is_leader = False  # the Raft knows of no other leader yet
        with pytest.raises(ApiException) as error:
            await node.service.write(lambda it, now: ControllerResult([], None))
        assert error.value.code is ErrorCode.not_controller

    run(test)


def test_a_decision_that_makes_no_sense_ends_the_process(run):
    async def test(node):
        await node.lead()
        senseless = RemoveTopicRecord(topic_id=UUID(int=5))
        with pytest.raises(ApiException, match="no topic with the id"):
            await node.service.write(lambda it, now: ControllerResult([senseless], None))
        assert node.raft.failure.code is ErrorCode.invalid_record
        assert node.service.active is None and node.raft.log.end.offset == 1

    run(test)


def batches(node):
    """The number of records in each batch of the log."""
    data = node.raft.log.read(0, 10**9)
    return [header.last_offset - header.base_offset + 1 for _, header in scan(data)]


def test_what_is_decided_in_one_turn_is_one_batch(run):
    async def test(node):
        await node.lead()
        waiting = [register(node, broker) for broker in range(5)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        node.commit()
        assert len(set(await asyncio.gather(*waiting))) == 5
        assert batches(node) == [1, 5]

    run(test)


def test_decisions_that_are_too_large_together_are_several_batches(run, monkeypatch):
    monkeypatch.setattr("engine.quorum_server.batch_accumulator.BATCH_MAX_BYTES", 260)

    async def test(node):
        await node.lead()
        waiting = [register(node, broker) for broker in range(5)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        node.commit()
        assert len(set(await asyncio.gather(*waiting))) == 5
        assert batches(node) == [1, 2, 2, 1]

    run(test)


def test_a_decision_that_is_too_large_for_a_batch_is_refused_and_the_controller_goes_on(
    run, monkeypatch
):
    monkeypatch.setattr("engine.quorum_server.batch_accumulator.BATCH_MAX_BYTES", 120)

    async def test(node):
        await node.lead()
        with pytest.raises(ApiException, match="exceeds the maximum allowed batch size") as error:
            await register(node)
        assert error.value.code is ErrorCode.record_list_too_large
        assert node.raft.failure is None and not node.service.active.image.brokers
        monkeypatch.undo()
        waiting = register(node)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        node.commit()
        assert await waiting >= 0

    run(test)


def test_no_batch_is_larger_than_the_log_takes(monkeypatch):
    """Each record has bytes around its value."""
    limit, made = 20_000, []
    monkeypatch.setattr("engine.quorum_server.batch_accumulator.BATCH_MAX_BYTES", limit)

    async def story():
        accumulator = BatchAccumulator(lambda base, batch: made.append((base, batch)), lambda: 0)
        for base in range(0, 30_000, 100):
            accumulator.add(base, [b"x"] * 100)
        await asyncio.sleep(0)

    asyncio.run(story())
    assert all(len(batch) <= limit for _, batch in made)
    headers = [header for _, batch in made for _, header in scan(batch)]
    assert sum(it.last_offset_delta + 1 for it in headers) == 30_000


def test_what_was_decided_and_not_appended_is_given_up_with_the_lead(run):
    async def test(node):
        await node.lead()
        waiting = register(node)
        await asyncio.sleep(0)
        node.raft.client.is_leader = False  # the Raft has resigned, and has not told yet
        with pytest.raises(ApiException, match="active controller"):
            await waiting
        assert batches(node) == [1] and node.raft.failure is None
        node.raft.lead(3)
        node.commit()
        await asyncio.sleep(0)
        assert node.service.is_active and not node.service.active.image.brokers

    run(test)


def test_two_who_add_to_a_configuration_at_once_lose_nothing(run):
    async def test(node):
        await node.lead()
        gateway = QuorumGateway(node.service, uuid4)

        async def add(key):
            values = dict(await gateway.config("brokers", EVERY_BROKER))
            await gateway.alter_config("brokers", EVERY_BROKER, {**values, key: "1"})

        register(node)
        await asyncio.sleep(0)
        both = [asyncio.create_task(add("a")), asyncio.create_task(add("b"))]
        await asyncio.sleep(0)
        while not all(task.done() for task in both):
            node.commit()
            await asyncio.sleep(0)
        image = node.service.loader.image
        assert image.configs == {("brokers", EVERY_BROKER): {"a": "1", "b": "1"}}

    run(test)


def test_a_snapshot_is_also_made_of_records_that_have_waited_for_long(run):
    async def test(node):
        await node.lead()
        node.commit()
        node.raft.time = 999
        node.commit()
        assert node.raft.snapshots == []
        node.raft.time = 1000
        node.commit()
        node.commit()  # nothing is new
        assert [id for id, _ in node.raft.snapshots] == [(1, 1)]

    run(test, metadata_log_max_snapshot_interval_ms=1000)


def test_a_snapshot_is_made_of_what_is_committed_when_the_log_is_long(run):
    async def test(node):
        await node.lead()
        node.commit()
        register(node)
        await asyncio.sleep(0)  # it is decided
        await asyncio.sleep(0)  # it is appended
        assert len(node.raft.snapshots) == 1  # of the first record
        node.commit()
        (_, (id, data)) = node.raft.snapshots
        assert id == (2, 1)
        image = MetadataImage()
        for record in decode_snapshot(data, Path("snapshot")).records:
            image.replay(decode_record(record.value, 0).record)
        assert image == node.service.loader.image and list(image.brokers) == [1]

    run(test, metadata_log_max_record_bytes_between_snapshots=1)
