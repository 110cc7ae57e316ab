"""A log against a list of batches: whatever is done to it, and however it is stopped."""

import random
from collections import deque
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.storage import retention
from engine.storage.batch import Header, scan
from engine.storage.log import Log
from engine.storage.producers import Producers
from engine.storage.segment import Segment
from tests.search import examples
from tests.unit.storage.disk import (
    NOW,
    Disk,
    Stored,
    batch,
    place,
    remembered,
    sequenced,
    stored,
    temporary_disk,
)

CHANCE = st.integers(0, 2**32).map(random.Random)
CONFIG = {"segment_bytes": 600, "index_interval_bytes": 120, "segment_index_bytes": 240}


class Model:
    """What a log must be: a list of batches (those that retention took, too), and its offsets."""

    def __init__(self) -> None:
        self.batches: list[Stored] = []
        self.start = self.end = 0
        self.epoch = 0
        self.sequences: dict[int, int] = {}

    def add(self, data: bytes) -> None:
        """A batch that has its place."""
        header = Header.parse(data)
        self.batches.append(Stored(header, data))
        self.end = header.next_offset

    def truncate(self, offset: int) -> None:
        if offset < self.end:
            first = next((it for it in self.batches if it.header.last_offset >= offset), None)
            self.end = min(offset, first.header.base_offset) if first else offset
            self.batches = [it for it in self.batches if it.header.last_offset < offset]
            self.start = min(self.start, self.end)

    def restart(self, active: Segment) -> None:
        """A gap at the end is in no file, but for the name of an empty one."""
        end = self.batches[-1].header.next_offset if self.batches else self.start
        self.end = max(end, self.start, active.base_offset)


def copied(chance: random.Random, start: int, epoch: int, count: int) -> bytes:
    """What a leader sends to a follower: several batches, gaps, maybe a new epoch on the way."""
    data = b""
    for _ in range(count):
        start += chance.choice([0, 0, 0, 1, 30])
        epoch += chance.choice([0, 0, 0, 1])
        made = place(batch(chance.randint(1, 4), chance.randint(0, 60)), start, epoch)
        data += made
        start = Header.parse(made).next_offset
    return data


@examples(12)
@given(CHANCE)
def test_reading_gives_what_a_list_gives(chance: random.Random) -> None:
    with temporary_disk(**CONFIG) as disk:
        log = disk.open()
        log.append_copied(copied(chance, 0, 0, 8), NOW)
        for _ in range(3):
            log.append_copied(copied(chance, log.end_offset, 5, chance.randint(1, 6)), NOW)
            log.append(batch(3), 9, NOW)
            log.roll(NOW)
        batches = stored(log)
        for offset in range(log.end_offset + 1):
            step = chance.choice([2, 5, 7])
            for limit in [None, *range(chance.randrange(step), log.end_offset + 2, step)]:
                size = chance.choice([0, 1, 60, 200, 1000, 10_000])
                reads_as_a_list(log, batches, offset, size, limit)


def reads_as_a_list(
    log: Log, batches: list[Stored], offset: int, size: int, limit: int | None
) -> None:
    end = log.end_offset if limit is None else min(limit, log.end_offset)
    visible = [it for it in batches if offset <= it.header.last_offset < end]
    if offset >= end:
        visible = []
    wanted = b"".join(it.data for it in visible)
    for at_least_one in (False, True):
        found = log.read(offset, size, limit=limit, at_least_one=at_least_one)
        data = found.read()
        assert len(data) == found.size
        assert wanted.startswith(data)
        first = visible[0].data if visible else b""
        if len(first) > size:  # whole or not at all
            assert data == (first if at_least_one else b"")
        else:
            assert len(data) <= size
            rest = wanted[len(data) : size]  # cut by the size, or by the end of a segment
            assert not rest or found.position + found.size == sum(
                segment.size for segment in log.segments if segment.file is found.file
            )


@examples(40)
@given(CHANCE, st.integers(1, 400))
def test_a_follower_becomes_its_leader(chance: random.Random, most: int) -> None:
    """In whatever pieces it fetches, torn batches at their ends, its batches are the same."""
    with temporary_disk(**CONFIG) as disk, temporary_disk(**CONFIG) as other:
        leader, follower = disk.open(), other.open()
        epoch = 0
        for number in range(30):
            epoch += chance.choice([0, 0, 1])
            made = sequenced(7, number, size=chance.randint(0, 300))
            leader.append(made, epoch, NOW)
        while follower.end_offset < leader.end_offset:
            read = leader.read(follower.end_offset, chance.randint(1, 5 * most))
            data = read.read()
            follower.append_copied(data, NOW)
            whole = list(scan(data))
            assert follower.end_offset == whole[-1][1].next_offset
        assert stored(follower) == stored(leader)
        assert follower.epochs.entries == leader.epochs.entries
        assert follower.producers.known == leader.producers.known


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.long), 1])
def test_truncate_at_every_offset(seed: int) -> None:
    chance = random.Random(seed)
    with temporary_disk(**CONFIG) as disk:
        log = disk.open()
        log.append_copied(copied(chance, 0, 0, 6), NOW)
        for _ in range(5):
            log.append_copied(copied(chance, log.end_offset, log.epochs.latest, 3), NOW)
        log.advance_start(3, NOW)
        disk.abandon()
        files = disk.files()
        for offset in range(log.end_offset + 3):
            model = Model()
            for it in stored(disk.open(start_offset=3)):
                model.add(it.data)
            model.start = 3
            assert disk.log is not None
            disk.log.truncate(offset, NOW)
            model.truncate(offset)
            agrees(disk.log, model)
            disk.log.append(batch(2), 99, NOW)
            model.add(place(batch(2), model.end, 99))
            agrees(disk.log, model)
            agrees(disk.kill(start_offset=model.start), model)
            disk.abandon()
            disk.write(files)


def agrees(log: Log, model: Model) -> None:
    # A log starts with a segment: what lies before its first one cannot be read.
    start = max(model.start, log.segments[0].base_offset)
    assert (log.start_offset, log.end_offset) == (start, model.end)
    visible = [it for it in model.batches if it.header.last_offset >= start]
    assert [it for it in stored(log) if it.header.last_offset >= start] == visible
    for header, _ in visible:
        assert log.epochs.at(max(header.base_offset, start)) == header.leader_epoch
    begins = {start, log.end_offset, *(header.base_offset for header, _ in visible)}
    assert begins.issuperset(offset for _, offset in log.epochs.entries)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(log.epochs.entries))


class Life:
    """A log and its model through the same random days."""

    def __init__(self, disk: Disk, chance: random.Random) -> None:
        self.disk, self.chance, self.model = disk, chance, Model()
        self.log = disk.open(**CONFIG)

    def append(self) -> None:
        data = batch(self.chance.randint(1, 3), self.chance.randint(0, 150))
        self.log.append(data, self.model.epoch, NOW)
        self.model.add(place(data, self.model.end, self.model.epoch))

    def append_sequenced(self) -> None:
        producer, count = self.chance.randint(1, 3), self.chance.randint(1, 3)
        sequence = self.model.sequences.get(producer, 2**31 - 5)
        data = sequenced(producer, sequence, count)
        try:
            stored_at = self.log.append(data, self.model.epoch, NOW)
        except ApiException:  # what it follows was cut away: the producer goes back to what is left
            expected = (self.log.producers.known[producer].last_sequence + 1) % 2**31
            assert expected != sequence
            self.model.sequences[producer] = expected
            return
        assert not stored_at.duplicate
        self.model.sequences[producer] = (sequence + count) % 2**31
        self.model.add(place(data, self.model.end, self.model.epoch))

    def append_copied(self) -> None:
        data = copied(self.chance, self.log.end_offset, self.model.epoch, self.chance.randint(1, 4))
        self.log.append_copied(data + data[: self.chance.randint(0, 60)], NOW)
        for position, header in scan(data):
            self.model.add(data[position : position + header.size])
            self.model.epoch = header.leader_epoch

    def lead(self) -> None:
        self.model.epoch += 1

    def truncate(self) -> None:
        offset = self.chance.randint(max(self.log.end_offset - 20, 0), self.log.end_offset)
        if offset > self.log.start_offset:
            self.log.truncate(offset, NOW)
            self.model.truncate(offset)

    def delete_records(self) -> None:
        offset = self.chance.randint(self.log.start_offset, self.log.end_offset)
        self.log.advance_start(offset, NOW)
        retention.enforce(self.log, NOW, offset)
        self.model.start = self.log.start_offset

    def flush(self) -> None:
        self.log.flush(NOW)

    def sweep(self) -> None:
        self.log.sweep(NOW + 60_000)

    def stop(self) -> None:
        before = remembered(self.log)
        self.disk.events.clear()
        self.log = self.disk.restart()
        self.is_as(before)

    def crash(self) -> None:
        before = remembered(self.log)
        self.log = self.disk.kill(
            start_offset=self.log.start_offset, recovery_point=self.log.recovery_point
        )
        self.is_as(before)

    def is_as(self, before: dict[int, Any]) -> None:
        self.model.restart(self.log.active)
        assert "log.cut" not in self.disk.kinds()
        if "log.truncated" not in self.disk.kinds():  # what is left lay before the log's start
            assert remembered(self.log) == before

    def check(self) -> None:
        agrees(self.log, self.model)
        replayed: dict[int, Any] = replay(stored(self.log))
        for number, producer in replayed.items():
            known = self.log.producers.known[number]
            seen = deque(known.batches)
            assert [*producer.batches][-len(seen) :] == [*seen][-len(producer.batches) :]


def replay(batches: list[Stored]) -> dict[int, Any]:
    producers = Producers()
    for header, _ in batches:
        producers.apply(header)
    return producers.known


@examples(80)
@given(CHANCE)
def test_a_life_of_a_log(chance: random.Random) -> None:
    with temporary_disk() as disk:
        life = Life(disk, chance)
        days = [life.append, life.append_sequenced, life.append_copied] * 3
        days += [life.lead, life.truncate, life.delete_records, life.flush, life.sweep]
        days += [life.stop, life.crash]
        for _ in range(40):
            chance.choice(days)()
            life.check()
