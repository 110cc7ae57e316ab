"""The log in memory against the one on a disk: the same is done to both, and the same comes of it.

So what the simulator finds about replication holds for the real broker, whose logs are files.
"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.sim.disk
from engine.config import TopicConfig
from engine.errors import ApiException
from engine.model import TopicPartition
from engine.storage.aborted import Aborted
from engine.storage.batch import Header, scan
from engine.storage.control import ControlType
from tests.search import examples
from tests.unit.storage.disk import (
    NOW,
    ORDERS,
    Disk,
    batch,
    marker,
    place,
    remembered,
    sequenced,
    stored,
    temporary_disk,
)

CHANCE = st.integers(0, 2**32).map(random.Random)


class Both:
    """Whatever is asked of it, it asks both logs, and they must agree."""

    def __init__(self, disk: Disk) -> None:
        self.disk, self.memory = disk, engine.sim.disk.Disk()
        self.events = []
        self.memory.emit = self.events.append
        self.real = disk.open()
        self.copy = self.memory.create(ORDERS, TopicConfig(), NOW)

    def do(self, name, *args, **more):
        outcomes = []
        for log in (self.real, self.copy):
            try:
                outcomes.append(getattr(log, name)(*args, **more))
            except ApiException as error:
                outcomes.append((error.code, error.message))
        assert outcomes[0] == outcomes[1]
        return outcomes[0]

    def kill(self):
        start = self.real.start_offset
        self.real = self.disk.kill(start_offset=start)
        self.memory.checkpoint()
        self.memory.load(lambda topic: TopicConfig(), NOW)

    def check(self, chance):
        real, copy = self.real, self.copy
        assert (real.start_offset, real.end_offset) == (copy.start_offset, copy.end_offset)
        assert real.epochs.entries == copy.epochs.entries
        assert remembered(real) == remembered(copy)
        assert [it.data for it in stored(real)] == [it.data for it in copy.batches]
        assert real.producers.open == copy.producers.open
        for _ in range(4):
            offset, limit = (chance.randint(0, real.end_offset + 1) for _ in range(2))
            assert self.read(real, offset, limit) == self.read(copy, offset, limit)
            assert real.aborted(offset, limit) == copy.aborted(offset, limit)

    @staticmethod
    def read(log, offset, limit):
        try:
            data = log.read(offset, 10_000, limit=limit).read()
            while limit > offset < log.end_offset and data:  # a file may end before
                *_, (_, last) = scan(data)
                found = log.read(last.next_offset, 10_000, limit=limit).read()
                if not found:
                    break
                data += found
            return data
        except ApiException as error:
            return error.message


def copied(chance, start, epoch):
    """What a leader sends: some batches, perhaps with a gap before one, perhaps of a new epoch."""
    data = b""
    for _ in range(chance.randint(1, 3)):
        start += chance.choice([0, 0, 0, 5])
        epoch += chance.choice([0, 0, 1])
        made = place(batch(chance.randint(1, 4), chance.randint(0, 60)), start, epoch)
        data, start = data + made, Header.parse(made).next_offset
    return data


STEPS = ["append", "numbered", "copy", "cut", "start", "kill", "transact"]


def step(both, chance, epoch):
    end = both.real.end_offset
    match chance.choice([*STEPS, "append", "copy", "transact", "transact"]):
        case "transact":
            producer, kind = chance.choice([3, 4]), ControlType(chance.randrange(2))
            written = batch(producer_id=producer, producer_epoch=0, transactional=True)
            ended = marker(producer, kind, coordinator=chance.choice([0, 0, 0, 1]))
            both.do("append", chance.choice([written, ended]), epoch, NOW, client=False)
        case "append":
            both.do("append", batch(chance.randint(1, 5)), epoch, NOW)
        case "numbered":
            both.do("append", sequenced(chance.choice([7, 8]), chance.randint(0, 3)), epoch, NOW)
        case "copy":
            early = chance.random() < 0.1 and end > 0
            start = end - 1 if early else end
            both.do(
                "append_copied", copied(chance, start, max(epoch, both.real.epochs.latest)), NOW
            )
        case "cut":
            both.do("truncate", max(both.real.start_offset, end - chance.randint(0, 9)), NOW)
        case "start":
            both.do("advance_start", chance.randint(both.real.start_offset, end), NOW)
        case "kill":
            both.kill()


@examples(60)
@given(CHANCE)
def test_both_logs_do_the_same(chance):
    with temporary_disk() as disk:
        both, epoch = Both(disk), 0
        for _ in range(20):
            epoch = max(epoch + chance.choice([0, 0, 0, 1]), both.real.epochs.latest)
            step(both, chance, epoch)
            both.check(chance)


def test_what_is_cut_is_told_alike():
    with temporary_disk() as disk:
        both = Both(disk)
        for _ in range(3):
            both.do("append", batch(2), 0, NOW)
        disk.events.clear()
        both.do("truncate", 3, NOW)
        both.do("restart_at", 10, NOW)
        assert both.events == disk.events != []


def test_a_read_reaches_as_far_as_its_last_batch():
    log = engine.sim.disk.Disk().create(ORDERS, TopicConfig(), NOW)
    for count in (2, 1, 3):
        log.append(batch(count), 0, NOW)
    size = [len(it.data) for it in log.batches]
    assert [log.reach(0, log.read(0, it)) for it in (1, sum(size[:2]), sum(size))] == [2, 3, 6]
    assert log.reach(3, log.read(3, sum(size))) == 6


def test_ends_that_are_not_replicated_are_known_after_a_kill():
    memory = engine.sim.disk.Disk()
    log = memory.create(ORDERS, TopicConfig(), NOW)
    written = batch(producer_id=3, producer_epoch=0, transactional=True)
    log.append(written, 0, NOW, client=False)
    log.append(marker(3, ControlType.ABORT), 0, NOW, client=False)
    memory.load(lambda topic: TopicConfig(), NOW)
    assert log.aborted(0, 2) == (Aborted(3, 0, 1, 2),)
    assert (log.producers.first_unstable(1), log.producers.first_unstable(2)) == (0, None)


def test_a_time_is_found_alike():
    with temporary_disk() as disk:
        both = Both(disk)
        for at in (NOW, NOW + 50, NOW + 20):
            both.do("append", batch(2, at=at), 0, NOW)
        found = [both.do("offset_for_time", NOW + ms) for ms in (0, 10, 50, 51)]
        assert found == [(0, NOW, 0), (2, NOW + 50, 0), (2, NOW + 50, 0), None]


@pytest.mark.parametrize(("flushed_every", "left"), [(1, 3), (2, 2), (9, 0)])
def test_the_power_takes_what_was_not_flushed(flushed_every, left):
    memory = engine.sim.disk.Disk()
    config = TopicConfig(flush_messages=flushed_every)
    partition = TopicPartition("orders", 0)
    log = memory.create(partition, config, NOW)
    for epoch in range(3):
        log.append(sequenced(7, epoch), epoch, NOW)
    memory.power_cut()
    memory.load(lambda topic: config, NOW)
    assert log.end_offset == len(log.batches) == len(log.epochs.entries) == left
    assert [producer.last_sequence for producer in log.producers.known.values()] == [left - 1] * (
        left > 0
    )


def test_an_epoch_in_which_nothing_was_written_goes_with_the_power():
    memory = engine.sim.disk.Disk()
    log = memory.create(TopicPartition("orders", 0), TopicConfig(), NOW)
    log.append(batch(1), 0, NOW)
    log.flush(NOW)
    log.epochs.assign(5, 1)
    memory.power_cut()
    memory.load(lambda topic: TopicConfig(), NOW)
    assert log.epochs.entries == [(0, 0)]


def test_a_kill_takes_nothing_but_what_was_not_checkpointed():
    memory = engine.sim.disk.Disk()
    partition = TopicPartition("orders", 0)
    log = memory.create(partition, TopicConfig(), NOW)
    for _ in range(4):
        log.append(batch(1), 0, NOW)
    log.advance_start(1, NOW)
    memory.checkpoint({partition: 3})
    log.advance_start(2, NOW)
    memory.load(lambda topic: TopicConfig(), NOW)
    assert (log.start_offset, log.end_offset) == (1, 4)
    assert memory.high_watermarks == {partition: 3}
