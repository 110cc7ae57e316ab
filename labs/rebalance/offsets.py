"""How far a group has come: what a commit writes, and where.

group id ── Java's hash ──> partition n of __consumer_offsets     its leader coordinates
                                │
            broker-1/__consumer_offsets-n/*.log
                                │  key    (group, topic, partition)
                                └  value  next offset, leader epoch, metadata, time
"""

from dataclasses import dataclass
from types import SimpleNamespace as Message

from lab import until
from table import Table

from engine import Cluster, TopicPartition
from engine.coordinator.groups import partition_of
from engine.coordinator.records import OffsetKey
from engine.wire.apis import Api
from rebalance import stand, wire
from rebalance.kept import PARTITIONS, Entry, commits, configure, log, znodes, zookeeper
from rebalance.sharing import Cases
from rebalance.team import Reader, Team, at_work

# -- one commit ------------------------------------------------------------------------------


@dataclass
class Commit:
    """Ten records are read, and committed."""

    group: str
    topic: str
    entries: list[Entry]
    partition: int  # of __consumer_offsets, in which they are
    heir: int  # where a consumer of another name goes on
    position: int  # of the first, when it had read more and not committed it

    def __repr__(self) -> str:
        key, value = self.entries[-1].key, self.entries[-1].value
        rows = [
            ("key", "group", key.group),
            ("", "topic", key.topic),
            ("", "partition", key.partition),
            ("value", "offset", value.offset),
            ("", "leader epoch", value.leader_epoch),
            ("", "metadata", value.metadata or "-"),
            ("", "committed at", "(a time)"),
        ]
        return repr(Table(("", "field", "what the record says"), rows))

    def verdicts(self) -> Cases:
        key, value = self.entries[-1].key, self.entries[-1].value
        return {
            "C107": {
                "ten records are read, and what is committed is 10, the next to read": value.offset
                == 10,
                "whoever comes after begins there": self.heir == 10,
            },
            "C108": {
                "a consumer knows a position of its own, ahead of what is committed": self.position
                > value.offset,
                "what is committed belongs to that consumer, and another one begins anew": self.heir
                == 0,
            },
            "C112": {
                "the key is group, topic and partition": key
                == OffsetKey(self.group, self.topic, 0),
                "the value has the offset": value.offset == 10,
            },
        }


def commit(cluster: Cluster) -> Commit:
    topic = stand.topic(cluster, 1)
    with Team(cluster, topic) as team:
        team.add("first")
        team.settle()
        stand.fill(cluster, topic, 1, 10)
        team.await_read(10)
        team.commit()
        stand.fill(cluster, topic, 1, 5)
        team.await_read(15)
        place = [TopicPartition(topic, 0)]
        position = team.readers["first"].consumer.position(place)[0].offset
        team.leave("first")
        team.add("second")
        until("a record", lambda: team.readers["second"].read)
        heir = team.readers["second"].read[0].offset
    found = commits(cluster, team.group)
    where = partition_of(team.group, PARTITIONS)
    return Commit(team.group, topic, found, where, heir, position)


@dataclass
class Twice:
    """A hundred records for two; one of them goes without having committed what it read."""

    together: int  # records that both have read, before
    again: int  # that were read once more, after

    def __repr__(self) -> str:
        rows = [("while both are there", self.together), ("after one has gone", self.again)]
        return repr(Table(("", "records that were read twice"), rows))

    def verdicts(self) -> Cases:
        return {
            "C109": {
                "while nobody comes or goes, no record is read twice": self.together == 0,
                "a reader goes before it commits, and no record is read twice": self.again == 0,
            }
        }


def twice(cluster: Cluster) -> Twice:
    with at_work(cluster, 50) as team:
        one, two = (_read(team.readers[name]) for name in "ab")
        gone = team.leave("b")
        team.settle()
        lost = _read(gone)
        until("what was b's", lambda: lost <= _read(team.readers["a"]))
        return Twice(len(one & two), len(_read(team.readers["a"]) & lost))


def _read(reader: Reader) -> set[tuple[int, int]]:
    return {(it.partition, it.offset) for it in reader.read}


# -- by itself, or when it is told to --------------------------------------------------------


@dataclass
class Habits:
    """Two readers: one is to commit by itself, the other only when it is told to."""

    by_itself: int  # records of commits
    untold: int
    told: int  # after commit()

    def __repr__(self) -> str:
        rows = [
            ("enable.auto.commit=true", self.by_itself > 1),
            ("enable.auto.commit=false", self.untold > 0),
            ("... and commit() is called", self.told > 0),
        ]
        return repr(Table(("", "has it committed?"), rows))

    def verdicts(self) -> Cases:
        return {
            "C111": {
                "with enable.auto.commit, by itself and again and again": self.by_itself > 1,
                "without it, by itself": self.untold > 0,
            }
        }


def habits(cluster: Cluster) -> Habits:
    topic = stand.topic(cluster, 1)
    with Team(cluster, topic) as one, Team(cluster, topic) as two:
        one.add("a", enable_auto_commit="true", auto_commit_interval_ms="100")
        two.add("b")
        one.settle()
        two.settle()

        def more() -> bool:
            stand.fill(cluster, topic, 1, 1)
            return len(commits(cluster, one.group)) > 1

        until("commits", more)
        two.await_read(len(one.read))
        untold = len(commits(cluster, two.group))
        two.commit()
        return Habits(len(commits(cluster, one.group)), untold, len(commits(cluster, two.group)))


# -- in ZooKeeper? ---------------------------------------------------------------------------


@dataclass
class Places:
    """A hundred commits, and what ZooKeeper knows of them."""

    kept: int  # of them, in __consumer_offsets
    changed: list[str]  # nodes of ZooKeeper that are new, or were written
    heeded: bool  # an offset that was written to ZooKeeper the old way

    def __repr__(self) -> str:
        rows = [
            ("records in __consumer_offsets", self.kept),
            ("nodes of ZooKeeper changed", len(self.changed)),
            ("an offset in ZooKeeper heeded", self.heeded),
        ]
        return repr(Table(("a hundred commits", ""), rows))

    def verdicts(self) -> Cases:
        inside, outside = self.kept == 100, any("/consumers" in it for it in self.changed)
        return {
            "C110": {
                "a commit writes to __consumer_offsets": inside,
                "a commit writes below /consumers in ZooKeeper": outside,
                "a consumer heeds an offset that stands below /consumers": self.heeded,
            },
            "C283": {
                "a hundred commits are a hundred records of a topic": inside,
                "and change nothing in ZooKeeper": not self.changed,
            },
        }


def places(cluster: Cluster) -> Places:
    topic, group = stand.topic(cluster, 1), stand.fresh("old")
    stand.fill(cluster, topic, 1, 10)
    with wire.line(cluster, wire.coordinator(cluster, group)) as broker:
        before = znodes(cluster)
        for number in range(100):
            broker.send(Api.OFFSET_COMMIT, wire.committing(group, topic, number))
        for _ in range(100):
            wire.committed(broker)
        after = znodes(cluster)
    kept = len(commits(cluster, group))
    heir = stand.fresh("heir")
    with zookeeper(cluster) as keeper:
        keeper.create(f"/consumers/{heir}/offsets/{topic}/0", b"7", makepath=True)
    with Team(cluster, topic, heir) as team:
        team.add("a")
        until("a record", lambda: team.readers["a"].read)
        heeded = team.readers["a"].read[0].offset == 7
    changed = [path for path, zxid in after.items() if before.get(path) != zxid]
    return Places(kept, changed, heeded)


# -- which partition, and who leads it -------------------------------------------------------


@dataclass
class Homes:
    """Two groups that the articles name, and where their records are."""

    rows: list[tuple[str, int, list[int]]]  # group, by the formula, found in the logs

    def __repr__(self) -> str:
        return repr(Table(("group", "hash % 50", "its records are in"), self.rows))

    def verdicts(self) -> Cases:
        return {
            "C116": {
                f"the records of {name} are where the formula says, and nowhere else": found
                == [formula]
                for name, formula, found in self.rows
            },
        }


def homes(cluster: Cluster, *groups: str) -> Homes:
    topic = stand.topic(cluster, 1)
    for group in groups:
        with wire.line(cluster, wire.coordinator(cluster, group)) as broker:
            wire.commit(broker, group, topic, 1)
    rows = []
    for group in groups:
        found = [
            n for n in range(PARTITIONS) if any(it.key.group == group for it in log(cluster, n))
        ]
        rows.append((group, partition_of(group, PARTITIONS), found))
    return Homes(rows)


# -- compaction ------------------------------------------------------------------------------


@dataclass
class Cleaned:
    """Two hundred commits for one partition, in small segments, and the cleaner at work."""

    written: int
    left: int
    newest: int
    tombstone: bool  # after the group was deleted

    def __repr__(self) -> str:
        rows = [
            ("commits written", self.written),
            ("fewer than half are left", self.left < self.written / 2),
            ("the newest of them", self.newest),
            ("a tombstone, once the group is deleted", self.tombstone),
        ]
        return repr(Table(("the cleaner at work", ""), rows))

    def verdicts(self) -> Cases:
        return {
            "C113": {
                "of the old commits most are gone": self.left < self.written / 2,
                "the newest is kept": self.newest == self.written - 1,
                "a deleted group leaves a tombstone": self.tombstone,
            }
        }


def cleaned(cluster: Cluster, count: int = 200) -> Cleaned:
    topic, group = stand.topic(cluster, 1), stand.fresh("busy")
    home = wire.coordinator(cluster, group)
    small = {"segment.bytes": "2000", "min.cleanable.dirty.ratio": "0.01"}
    usual = {"segment.bytes": "104857600", "min.cleanable.dirty.ratio": "0.5"}
    configure(cluster, small)
    try:
        with wire.line(cluster, home) as broker:
            for number in range(count):
                wire.commit(broker, group, topic, number)
            until("the cleaner", lambda: len(commits(cluster, group)) < count / 2)
            left = commits(cluster, group)
            broker.ask(Api.DELETE_GROUPS, Message(groups_names=(group,)))
        found = until("a tombstone", lambda: [it for it in commits(cluster, group) if not it.value])
    finally:
        configure(cluster, usual)
    return Cleaned(count, len(left), left[-1].value.offset, bool(found))
