"""A coordinator's partitions: loading, appends that wait for replicas, and a change of leader."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.broker import coordinator_service
from engine.broker.coordinator_service import CoordinatorService, TransactionService
from engine.broker.coordinator_topic import OFFSETS, OFFSETS_TOPIC
from engine.broker.metadata import TopicInfo
from engine.coordinator.effects import Append, Reply
from engine.coordinator.transactions.coordinator import TransactionCoordinator
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import placed
from engine.storage.records import Record, encode
from tests.unit.coordinator.shell import config

NUMBER, SINCE, TIMEOUT = 7, 3, 5000
PARTITION = TopicPartition(OFFSETS, NUMBER)


class Broker:
    """Its replicas, metadata, coordinator and event loop. They record the calls; the test sets the
    time and fires the timer."""

    def __init__(self):
        self.milliseconds, self.events, self.notes, self.alarm = 0, [], [], None
        self.set_by, self.next = 0, None  # of the wall clock; the coordinator's next deadline
        self.chunks, self.high_watermark, self.end = {}, 0, 0
        self.partitions, self.changed, self.spawned, self.to_all = {}, [], [], []
        self.topics = {OFFSETS: TopicInfo(OFFSETS, None)}
        services = SimpleNamespace(
            config=config(offsets_commit_timeout_ms=TIMEOUT),
            metadata=self,
            replicas=self,
            emit=self.events.append,
            spawn=self.spawn,
        )
        self.service = CoordinatorService(services, OFFSETS_TOPIC, self)

    def lead(self, since):
        """None: another broker does."""
        self.partitions[PARTITION] = SimpleNamespace(
            is_leader=since is not None, leader_since=since
        )
        self.change()

    def change(self):
        """The role or the high watermark has changed."""
        self.soon = []
        for listener in self.changed:
            listener(PARTITION)
            listener(PARTITION)
        (callback,) = self.soon
        callback()

    def reports(self):
        return [(event.kind, event.data.get("records")) for event in self.events]

    async def until(self, holds, deadline):
        assert holds()

    # -- replicas --------------------------------------------------------------------------

    def now(self):
        return self.milliseconds + self.set_by

    def replay(self, *args):
        if args[0] != PARTITION:  # the coordinator's
            number, records, _now, _producer = args
            self.notes.append(("replay", number, [record.offset for record in records]))
            return None
        _, offset, _ = args
        chunk = self.chunks[offset]
        if isinstance(chunk, ApiException):
            raise chunk
        return chunk

    def append(self, partition, batch, *, to_all, client):
        assert (partition, client) == (PARTITION, False)
        self.to_all.append(to_all)
        self.end += 1
        return SimpleNamespace(last_offset=self.end - 1)

    def is_committed(self, partition, offset, since):
        assert (partition, since) == (PARTITION, SINCE)
        return offset < self.high_watermark

    # -- coordinator -----------------------------------------------------------------------

    def load(self, number, since):
        self.notes.append(("load", number, since))

    def loaded(self, number, now):
        self.notes.append(("loaded", number))
        return []

    def unload(self, number, now):
        self.notes.append(("unload", number))
        return []

    def written(self, token, error, now):
        self.notes.append(("written", token, error))
        return [Reply(token, error)]

    def tick(self, now):
        return []

    def due(self):
        return self.next

    def move_deadlines(self, milliseconds):
        if self.next is not None:
            self.next += milliseconds

    def set_partition_count(self, count):
        assert count == 0  # as the metadata says

    # -- event loop ------------------------------------------------------------------------

    def time(self):
        return self.milliseconds / 1000

    def call_soon(self, callback):
        self.soon.append(callback)

    def call_at(self, due, callback):
        assert self.alarm is None
        self.alarm = (due, callback)
        return SimpleNamespace(cancel=self.cancel)

    def cancel(self):
        self.alarm = None

    def fire(self):
        _, callback = self.alarm
        callback()

    def spawn(self, loading):
        self.loading = loading
        self.spawned.append(loading)

    def load_chunk(self):
        """Returns whether there is more to load."""
        try:
            self.loading.send(None)
        except StopIteration:
            return False
        return True


def batch(offset, count=1):
    records = [Record(n, 0, b"key", b"value") for n in range(count)]
    return b"".join(placed(encode(records), offset, SINCE))


@pytest.fixture
def broker(monkeypatch):
    broker = Broker()
    monkeypatch.setattr(coordinator_service.asyncio, "get_running_loop", lambda: broker)
    yield broker
    for loading in broker.spawned:
        loading.close()


def append(broker, token):
    """A token of None: no result is awaited."""
    broker.service._waiting[token] = SimpleNamespace(
        done=lambda: False, set_result=lambda response: broker.notes.append(("respond", token))
    )
    broker.service._carry_out([Append(NUMBER, (Record(0, 0, b"key", b"value"),), token)])


def test_a_leader_loads_the_log_in_chunks(broker):
    broker.chunks = {0: batch(0, 2) + batch(2), 3: batch(3), 4: b""}
    broker.lead(SINCE)
    assert broker.notes == [("load", NUMBER, SINCE)]
    assert broker.load_chunk()
    assert broker.notes[1:] == [("replay", NUMBER, [0, 1]), ("replay", NUMBER, [2])]
    assert broker.load_chunk()
    assert not broker.load_chunk()  # the end is read and loaded in one go
    assert broker.notes[3:] == [("replay", NUMBER, [3]), ("loaded", NUMBER)]
    assert broker.reports() == [("group.loaded", 4)]


def test_the_number_of_partitions_is_that_which_the_topic_had_at_first(broker):
    """Groups stay where they are when partitions are added. A topic made anew is another one."""
    topics = broker.topics
    known = topics.pop(OFFSETS)

    def count(partitions):
        topics[OFFSETS] = replace(known, partitions=dict.fromkeys(range(partitions)))
        return broker.service.partition_count

    assert broker.service.partition_count == 50
    assert [count(number) for number in (49, 50, 60)] == [49, 50, 50]
    del topics[OFFSETS]
    assert broker.service.partition_count == 50
    assert [count(number) for number in (60, 70)] == [60, 60]


@pytest.mark.parametrize("since", [None, SINCE + 1])
def test_loading_ends_when_the_leader_changes(broker, since):
    broker.chunks = {0: batch(0), 1: batch(1)}
    broker.lead(SINCE)
    former = broker.loading
    assert broker.load_chunk()
    broker.lead(since)
    with pytest.raises(StopIteration):
        former.send(None)
    assert ("loaded", NUMBER) not in broker.notes
    assert broker.reports() == [("group.unloaded", None)]
    assert broker.service._leads(NUMBER, SINCE + 1) == (since is not None)


def test_of_a_damaged_log_the_records_before_the_damage_count(broker):
    broker.chunks = {0: batch(0), 1: ApiException(ErrorCode.corrupt_message, "damaged")}
    broker.lead(SINCE)
    while broker.load_chunk():
        pass
    assert broker.notes[1:] == [("replay", NUMBER, [0]), ("loaded", NUMBER)]
    assert broker.reports() == [("group.unreadable", None), ("group.loaded", 1)]


@pytest.mark.parametrize(
    "code", [ErrorCode.not_leader_or_follower, ErrorCode.unknown_topic_or_partition]
)
def test_a_leader_that_is_replaced_while_it_reads_is_not_told_of_a_damaged_log(broker, code):
    """The replica manager knows it first: the log is whole, and another broker reads it now."""
    broker.chunks = {0: batch(0), 1: ApiException(code, "another broker leads it")}
    broker.lead(SINCE)
    while broker.load_chunk():
        pass
    assert ("loaded", NUMBER) not in broker.notes
    assert broker.reports() == []


def test_appends_are_reported_in_order_once_they_are_replicated(broker):
    broker.lead(SINCE)
    append(broker, 1)
    append(broker, 2)
    append(broker, None)  # nobody waits for it
    assert broker.notes == [("load", NUMBER, SINCE)]
    assert broker.alarm[0] == TIMEOUT / 1000
    broker.high_watermark = 2
    broker.change()
    done = [note for note in broker.notes if note[0] == "written"]
    assert done == [("written", 1, ErrorCode.none), ("written", 2, ErrorCode.none)]
    assert broker.notes[-2:] == [("respond", 1), ("respond", 2)]
    assert broker.alarm is None


def test_an_append_that_is_not_replicated_times_out(broker):
    broker.lead(SINCE)
    append(broker, 1)
    broker.milliseconds = TIMEOUT - 1
    broker.fire()
    assert broker.notes[1:] == []
    broker.milliseconds = TIMEOUT
    broker.fire()
    assert broker.notes[1:] == [("written", 1, ErrorCode.request_timed_out), ("respond", 1)]


def test_no_append_of_a_former_leader_is_reported_after_the_partition_was_loaded_anew(broker):
    broker.lead(SINCE)
    append(broker, 1)
    broker.lead(SINCE + 1)
    broker.high_watermark = 1
    broker.change()
    broker.milliseconds = TIMEOUT
    broker.service._on_deadline()
    assert broker.notes == [
        ("load", NUMBER, SINCE),
        ("unload", NUMBER),
        ("load", NUMBER, SINCE + 1),
    ]


def test_two_producers_wait_for_a_producer_id_at_once(monkeypatch):
    numbers = iter([7, 8])

    class ProducerIds:
        async def next(self):
            await asyncio.sleep(0)  # ZooKeeper is asked, and the other request is served
            return next(numbers)

    async def answered(self, request, *who):
        return "has one"  # a known transactional id, so the new one is left for others

    monkeypatch.setattr(CoordinatorService, "handle", answered)
    service = object.__new__(TransactionService)
    service.coordinator = TransactionCoordinator(config(), None, None, None)
    service._producer_ids = ProducerIds()
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout=timedelta(seconds=1))

    async def both():
        asked = [service.handle(request, 4, name, "here") for name in ("one", "other")]
        return await asyncio.gather(*asked)

    assert asyncio.run(both()) == ["has one", "has one"]


def test_tombstones_are_written_whatever_min_insync_replicas_says(broker):
    """As by Kafka: nobody waits for them, so nobody would hear that they were refused."""
    broker.lead(SINCE)
    for token in (1, None):
        append(broker, token)
    assert broker.to_all == [True, False]


def test_without_a_producer_id_only_who_needs_one_is_refused(monkeypatch):
    class ProducerIds:
        async def next(self):
            raise ApiException(ErrorCode.coordinator_load_in_progress, "no producer ids now")

    async def answered(self, request, *who):
        return "has one"

    monkeypatch.setattr(CoordinatorService, "handle", answered)
    service = object.__new__(TransactionService)
    service.coordinator = TransactionCoordinator(config(), None, None, None)
    service._producer_ids = ProducerIds()
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout=timedelta(seconds=1))
    assert asyncio.run(service.handle(request, 4, "one", "here")) == "has one"
    with pytest.raises(ApiException) as refused:
        service.coordinator.transactions.new_producer_id()
    assert refused.value.code is ErrorCode.coordinator_load_in_progress


@pytest.mark.parametrize("hours", [-1, 1])
def test_deadlines_are_moved_with_a_clock_that_is_set(broker, hours):
    """Forward: no session ends at once. Back: none lasts an hour longer."""
    broker.lead(SINCE)
    broker.next = broker.now() + 3000
    append(broker, None)
    assert broker.alarm[0] == 3.0
    broker.milliseconds, broker.set_by = 1000, hours * 3_600_000
    append(broker, None)
    assert broker.next == broker.now() + 2000
    assert broker.alarm[0] == 3.0
