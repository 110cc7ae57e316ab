"""Transactions in a log against a list of what was written: what is stable, and what counts.

The model knows nothing of indexes and snapshots. For each question it goes through all batches.
"""

import os
import random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from engine.storage.aborted import Aborted
from engine.storage.batch import NO_PRODUCER_ID, Header, scan
from engine.storage.control import ControlType, find
from engine.storage.log import Log
from tests.search import examples
from tests.unit.storage.disk import NOW, Disk, batch, marker, stored, temporary_disk

CHANCE = st.integers(0, 2**32).map(random.Random)
CONFIG = {"segment_bytes": 700, "index_interval_bytes": 150, "segment_index_bytes": 480}
PRODUCERS = range(1, 5)


class Written(NamedTuple):
    first: int
    last: int
    producer: int = NO_PRODUCER_ID
    transactional: bool = False
    end: ControlType | None = None


class Transaction(NamedTuple):
    producer: int
    first: int
    marker: int | None = None  # where it ended
    end: ControlType | None = None
    stable: int = -1  # before it all had ended, when this one did


class Model:
    """What was written to the log, and how far it is replicated."""

    def __init__(self) -> None:
        self.written: list[Written] = []
        self.end = self.high_watermark = 0

    def add(self, count: int, *facts: Any) -> None:
        self.written.append(Written(self.end, self.end + count - 1, *facts))
        self.end += count

    def cut(self, offset: int) -> None:
        gone = [it for it in self.written if it.last >= offset]
        self.written = [it for it in self.written if it.last < offset]
        self.end = gone[0].first if gone else self.end
        self.high_watermark = min(self.high_watermark, self.end)

    def transactions(self) -> list[Transaction]:
        begun: dict[int, Transaction] = {}
        ended = []
        for it in self.written:
            if it.end is not None and it.producer in begun:
                one = begun.pop(it.producer)
                stable = min((other.first for other in begun.values()), default=it.last + 1)
                ended.append(one._replace(marker=it.last, end=it.end, stable=stable))
            elif it.end is None and it.transactional:
                begun.setdefault(it.producer, Transaction(it.producer, it.first))
        return [*ended, *begun.values()]

    def unstable(self) -> int | None:
        high = self.high_watermark
        firsts = [it.first for it in self.transactions() if it.marker is None or it.marker >= high]
        return min(firsts, default=None)

    def last_stable(self) -> int:
        unstable = self.unstable()
        return self.high_watermark if unstable is None else min(self.high_watermark, unstable)

    def aborted(self, start: int, limit: int) -> list[Aborted]:
        found = [
            Aborted(it.producer, it.first, it.marker, it.stable)
            for it in self.transactions()
            if it.end is ControlType.ABORT and it.marker is not None
            if it.first < limit and it.marker >= start and start < limit
        ]
        return sorted(found, key=lambda it: it.first_offset)

    def committed(self, start: int, end: int) -> list[int]:
        """First offsets of the batches that a reader of what is committed gets."""
        lost = [it for it in self.transactions() if it.end is ControlType.ABORT]
        return [
            it.first
            for it in self.written
            if it.end is None and start <= it.last < end
            if not any(
                it.producer == one.producer and one.first <= it.first < (one.marker or 0)
                for one in lost
            )
        ]


class World:
    """A log, its model beside it, and a follower that copies it."""

    def __init__(self, chance: random.Random, disk: Disk) -> None:
        self.chance, self.disk, self.model = chance, disk, Model()
        self.log: Log = disk.open()

    def step(self) -> None:
        known = [self.write] * 10 + [self.end] * 6 + [self.replicate] * 5 + [self.roll, self.flush]
        self.chance.choice([*known, self.truncate, self.restart, self.kill, self.damage])()

    def write(self) -> None:
        producer, count = self.chance.choice(PRODUCERS), self.chance.randint(1, 3)
        of_a_transaction = self.chance.random() < 0.8
        fields: dict[str, Any] = {"producer_id": producer, "producer_epoch": 0}
        if not of_a_transaction:
            producer, fields = NO_PRODUCER_ID, {}
        made = batch(count, transactional=of_a_transaction, **fields)
        self.log.append(made, 0, NOW, client=False)
        self.model.add(count, producer, of_a_transaction)

    def end(self) -> None:
        producer, kind = self.chance.choice(PRODUCERS), ControlType(self.chance.randrange(2))
        self.log.append(marker(producer, kind), 0, NOW, client=False)
        self.model.add(1, producer, True, kind)

    def replicate(self) -> None:
        model = self.model
        ends = [it.last + 1 for it in model.written if it.last >= model.high_watermark]
        model.high_watermark = self.chance.choice([model.high_watermark, *ends])

    def roll(self) -> None:
        self.log.roll(NOW)

    def flush(self) -> None:
        self.log.flush(NOW)

    def truncate(self) -> None:
        """As a follower that must agree with a new leader."""
        offset = self.chance.randint(self.model.high_watermark, self.model.end)
        self.log.truncate(offset, NOW)
        self.model.cut(offset)

    def restart(self) -> None:
        self.log = self.disk.restart(high_watermark=self.model.high_watermark)

    def kill(self) -> None:
        """Of what was not flushed, part is lost, and the indexes of those segments are noise."""
        log = self.log
        if log.active.size and self.chance.random() < 0.5:
            last = stored(log)[-1]
            if last.header.base_offset >= log.recovery_point:
                cut = self.chance.randint(1, last.header.size)
                os.truncate(log.active.path, log.active.size - cut)
                self.model.cut(last.header.last_offset)
        for segment in log.segments_from(log.recovery_point):
            if self.chance.random() < 0.3:
                segment.aborted.path.write_bytes(self.chance.randbytes(34 * 2))
        how = {"high_watermark": self.model.high_watermark, "recovery_point": log.recovery_point}
        self.log = self.disk.kill(**how)

    def damage(self) -> None:
        """An index is torn, though the broker stopped in good order."""
        segment = self.chance.choice(self.log.segments)
        path = segment.aborted.path
        self.log.close(NOW)
        path.write_bytes(path.read_bytes()[:-1] if path.exists() else b"?")
        self.log = self.disk.kill(clean=True, high_watermark=self.model.high_watermark)
        rebuilt = [fact["file"] for fact in self.disk.told("index.rebuilt")]
        assert rebuilt == [str(path.with_suffix(".log"))]

    # -- what must hold ------------------------------------------------------------------

    def check(self) -> None:
        log, model, chance = self.log, self.model, self.chance
        assert log.end_offset == model.end
        assert log.producers.first_unstable(model.high_watermark) == model.unstable()
        for _ in range(4):
            start = chance.randint(0, model.end)
            limit = chance.randint(start, model.end)
            assert list(log.aborted(start, limit)) == model.aborted(start, limit)
        stable = model.last_stable()
        for _ in range(3):
            start = chance.randint(0, stable)
            self.reads(start, stable, chance.choice([1, 150, 400, 10_000]))

    def reads(self, start: int, stable: int, size: int) -> None:
        log = self.log
        found = log.read(start, size, limit=stable)
        if not found.size:
            assert start == stable
            return
        reach = min(stable, log.reach(start, found))
        data = found.read()
        end = max(header.next_offset for _, header in scan(data))
        assert end <= reach
        seen = shown(data, [(it.first_offset, it.producer_id) for it in log.aborted(start, reach)])
        assert seen == self.model.committed(start, end)

    def check_follower(self) -> None:
        with temporary_disk(**CONFIG) as other:
            follower = other.open()
            while follower.end_offset < self.log.end_offset:
                read = self.log.read(follower.end_offset, self.chance.randint(1, 2000))
                follower.append_copied(read.read(), NOW)
            end, high = follower.end_offset, self.model.high_watermark
            assert follower.aborted(0, end) == self.log.aborted(0, end)
            assert follower.producers.first_unstable(high) == self.model.unstable()
            assert follower.producers.open == self.log.producers.open


def shown(data: bytes, aborted: list[tuple[int, int]]) -> list[int]:
    """First offsets of the batches that are left if one goes by the list, as consumers do."""
    coming, within, left = sorted(aborted), set[int](), []
    for position, header in scan(data):
        while coming and coming[0][0] <= header.last_offset:
            within.add(coming.pop(0)[1])
        said = find(data, header, position)
        if said is not None and said.type is ControlType.ABORT:
            within.discard(header.producer_id)
        elif said is None and not _is_out(header, within):
            left.append(header.base_offset)
    return left


def _is_out(header: Header, within: set[int]) -> bool:
    return header.is_transactional and header.producer_id in within


@examples(60)
@given(CHANCE)
def test_whatever_happens_the_log_tells_what_a_list_tells(chance: random.Random) -> None:
    with temporary_disk(**CONFIG) as disk:
        world = World(chance, disk)
        for _ in range(60):
            world.step()
            world.check()
        world.check_follower()
