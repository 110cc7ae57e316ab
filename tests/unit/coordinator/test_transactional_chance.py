"""Whatever happens to commits, plain ones and those of transactions: the log has the last word.

Commits are sent, replicated and lost, transactions end, offsets and groups are deleted, the
coordinator moves. After each step what is shown is what the log says, by a rule that looks at the
log alone: of each partition the last commit that is behind no deletion and in no transaction that
was aborted or is open. And a broker that reads the log shows the same.
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest

from engine.coordinator.effects import Append, TransactionalProducer
from engine.coordinator.records import OffsetKey, decode_key, decode_value
from engine.errors import ErrorCode
from engine.storage.batch import NO_PRODUCER_ID
from tests.unit.coordinator.shell import GROUP, NONE, PARTITION, T0, U0, Shell
from tests.unit.coordinator.test_offsets import delete

PARTITIONS = (T0, U0)
PRODUCERS = (TransactionalProducer(7, 0), TransactionalProducer(8, 0))
LOST = ErrorCode.not_enough_replicas
LATE = ErrorCode.request_timed_out  # but it is there

STEPS = 50


class Entry:
    """One batch in the log, or a marker."""

    def __init__(self, append=None, writer=None, committed=None):
        self.append = append
        self.producer_id = writer.producer_id if writer else NO_PRODUCER_ID
        self.committed = committed  # of a marker
        self.heard = append is None or append.token is None  # what came of it
        self.is_sure = self.heard  # that it is replicated: a marker behind it is

    @property
    def rows(self):
        for record in self.append.records if self.append else ():
            key = decode_key(record.key)
            if isinstance(key, OffsetKey):
                value = None if record.value is None else decode_value(key, record.value)
                yield key.topic_partition, value


class Broker(Shell):
    def __init__(self, entries, ids):
        self.entries = []
        super().__init__(partitions=(), ids=ids)
        self.coordinator.load(PARTITION, 0)
        for each in entries:
            if each.append is None:
                self.do(self.ended(each))
            else:
                records = each.append.records
                self.coordinator.replay(PARTITION, records, self.now, each.producer_id)
        self.do(self.coordinator.loaded(PARTITION, self.now))
        self.entries = entries

    def ended(self, marker):
        return self.coordinator.ended(PARTITION, marker.producer_id, marker.committed, self.now)

    def do(self, effects):
        for each in effects:
            if isinstance(each, Append):
                self.entries.append(Entry(each, each.producer))
            else:
                self.replies[each.to].append(each.response)
                assert len(self.replies[each.to]) == 1

    @property
    def stored(self):
        return dict(self.group.offsets.stored) if self.group else {}

    @property
    def pending(self):
        return {each for each in PARTITIONS if self.group and self.group.offsets.is_pending(each)}


class World:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.broker = Broker([], None)
        self.count = 0

    def step(self):
        some = self.chance.sample(PARTITIONS, self.chance.randint(1, len(PARTITIONS)))
        producer = self.chance.choice(PRODUCERS)
        match self.chance.randrange(20):
            case 0 | 1 | 2:
                self.commit(some, None)
            case 3 | 4 | 5 | 6 | 7:
                self.commit(some, producer)
            case 8 | 9 | 10:
                self.end(producer, self.chance.random() < 0.7)
            case 11:
                self.delete(some[0])
            case 12 if self.chance.random() < 0.3:
                self.delete_group()
            case 13:
                self.move(self.chance.randint(0, 10))
            case _:
                self.hear(self.chance.random() < 0.8)

    @property
    def log(self):
        return self.broker.entries

    def commit(self, partitions, writer):
        self.count += 1
        offsets = dict.fromkeys(partitions, self.count)
        if writer is None:
            self.broker.commit(offsets)
        else:
            self.broker.commit_in(writer, offsets)

    def end(self, writer, committed):
        """The marker is replicated, and so is all before it, whether that was heard of or not."""
        marker = Entry(None, writer, committed)
        for each in self.log:
            each.is_sure = True
        self.log.append(marker)
        self.broker.do(self.broker.ended(marker))

    def hear(self, succeeds):
        """Of the oldest write that nobody has heard of."""
        entry = next((each for each in self.log if not each.heard), None)
        if entry is not None:
            entry.heard, code = True, self.outcome(entry, succeeds)
            if code == LOST:
                self.log.remove(entry)
            self.broker.do(
                self.broker.coordinator.written(entry.append.token, code, self.broker.now)
            )

    def outcome(self, entry, succeeds):
        if succeeds:
            return NONE
        if not entry.is_sure:
            return LOST
        return LATE if self.has_ended(entry) else NONE

    def delete(self, partition):
        delete(self.broker, partition)

    def delete_group(self):
        self.broker.ask(DeleteGroupsRequest(groups_names=(GROUP,)))

    def move(self, lost):
        """What was not sure to be replicated may be lost, from its end on."""
        old = self.broker
        old.do(old.coordinator.unload(PARTITION, old.now))
        sure = max((n for n, each in enumerate(self.log, 1) if each.is_sure), default=0)
        kept = self.log[: max(sure, len(self.log) - lost)]
        for each in kept:
            each.heard = each.is_sure = True
        self.broker = Broker(kept, old.ids)

    def check(self):
        known = [each for each in self.log if each.heard or self.has_ended(each)]
        stored, pending = verdict(known)
        assert self.broker.stored == stored
        assert pending <= self.broker.pending
        after = Broker(list(known), None)
        assert (after.stored, after.pending) == (stored, pending)

    def has_ended(self, entry):
        return end_of(entry, self.log) is not None


def verdict(log):
    """What the log says: the offsets that count, and the partitions that are pending."""
    stored, pending = {}, set()
    for partition in PARTITIONS:
        for entry in log:
            for value in [value for each, value in entry.rows if each == partition]:
                if value is None:
                    stored.pop(partition, None)
                    pending.discard(partition)
                elif entry.producer_id == NO_PRODUCER_ID or end_of(entry, log) is True:
                    stored[partition] = value
                elif end_of(entry, log) is None:
                    pending.add(partition)
    return stored, pending


def end_of(entry, log):
    """Of the transaction that a batch belongs to; None: it is open, or there is none."""
    behind = log[log.index(entry) :]
    mine = [each for each in behind if each.producer_id == entry.producer_id]
    return next((each.committed for each in mine if each.committed is not None), None)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_the_log_has_the_last_word(seed):
    world = World(seed)
    for _ in range(STEPS):
        world.step()
        world.check()
    while any(not each.heard for each in world.log):
        world.hear(True)
    world.check()
    assert world.broker.pending == verdict(world.log)[1]
