"""Who reads what: one group shares a topic, another group reads all of it once more.

orders   0 1 2 3          group one   a: 0 1   b: 2 3         each partition has one owner
                          group two   c: 0 1 2 3              and here another one
"""

from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from lab import until
from table import Table

from engine import Cluster, TopicPartition
from rebalance import stand
from rebalance.team import Generation, Reader, Team

Cases: TypeAlias = dict[str, dict[str, bool]]
Shares: TypeAlias = dict[str, list[int]]

WORK = 0.004  # seconds for a record: work that waits for somebody else, a database perhaps
BACKLOG, PARALLEL = 40, 6  # records in each of so many partitions


@dataclass
class Backlog:
    """The same records, worked off by groups of several sizes."""

    seconds: dict[int, float]  # by the number of members
    shares: dict[int, list[int]]  # how many records each of them read

    def __repr__(self) -> str:
        rows = [(size, sorted(counts)) for size, counts in self.shares.items()]
        return repr(Table(("members", "records that each of them read"), rows))

    def verdicts(self) -> Cases:
        alone, most = self.seconds[1], self.seconds[PARALLEL]
        return {
            "C100": {
                "each of six members reads a sixth": len(set(self.shares[PARALLEL])) == 1
                and sum(self.shares[PARALLEL]) == sum(self.shares[1]),
                "six are done in less than half the time of one": most < alone / 2,
            }
        }


def backlog(cluster: Cluster, sizes: tuple[int, ...] = (1, 2, 3, 6)) -> Backlog:
    """How long a group takes: from the first record to the last, when all have their shares."""
    seconds, shares = {}, {}
    for size in sizes:
        topic = stand.topic(cluster, PARALLEL)
        with Team(cluster, topic) as team:
            team.add(*"abcdef"[:size], work=WORK)
            team.settle()
            stand.fill(cluster, topic, PARALLEL, BACKLOG)
            team.await_read(PARALLEL * BACKLOG)
            readers = team.readers.values()
            first = min(reader.read[0].at for reader in readers)
            until("all to be worked off", partial(_all_idle, list(readers)))
            seconds[size] = max(reader.done for reader in readers) - first
            shares[size] = [len(reader.read) for reader in readers]
    return Backlog(seconds, shares)


def _all_idle(readers: list[Reader]) -> bool:
    return all(reader.done > reader.read[-1].at for reader in readers)


@dataclass
class Comings:
    """A group of one to six on four partitions: everybody comes, and all but one go again."""

    group: str
    steps: list[tuple[str, Shares]]
    generations: list[Generation]
    other: Shares  # of a second group, all the while
    idle: dict[str, int] = field(default_factory=dict)  # what those without a partition read
    heirs: list[str] = field(default_factory=list)  # who was idle, and is not when a member goes

    def __repr__(self) -> str:
        return repr(Table(("", "who reads which partitions"), self.steps))

    def verdicts(self) -> Cases:
        owners = [it for each in self.generations for it in each.owners.values()]
        alone = self.steps[0][1]["a"]
        return {
            "C102": {
                "in no generation has a partition two owners": all(len(it) == 1 for it in owners),
                "one consumer may have several partitions": len(alone) > 1,
            },
            "C103": {
                "whoever is one too many has no partition": bool(self.idle),
                "and reads nothing": not any(self.idle.values()),
                "but takes over when another one goes": bool(self.heirs),
            },
            "C101": {
                "two with one group id share the partitions": sorted(
                    it for share in self.steps[1][1].values() for it in share
                )
                == alone,
                "one with another group id has all of them": self.other["z"] == alone,
            },
            "C129": {
                "each coming and each going makes a new generation": [
                    each.number for each in self.generations
                ]
                == list(range(1, len(self.steps) + 1)),
                "and each generation shares out all partitions": all(
                    len(each.owners) == len(alone) for each in self.generations
                ),
            },
        }


def comings(cluster: Cluster, partitions: int = 4) -> Comings:
    topic = stand.topic(cluster, partitions)
    steps: list[tuple[str, Shares]] = []
    with Team(cluster, topic) as team, Team(cluster, topic) as others:
        others.add("z")
        for name in "abcdef":
            team.add(name)
            steps.append((f"{name} comes", team.settle()))
        idle = [name for name, share in steps[-1][1].items() if not share]
        stand.fill(cluster, topic, partitions, 10)
        team.await_read(partitions * 10)
        read = {name: len(team.readers[name].read) for name in idle}
        for name in "abcde":
            team.leave(name)
            steps.append((f"{name} goes", team.settle()))
        after = steps[6][1]  # when the first has gone
        heirs = [name for name in idle if after[name]]
        return Comings(team.group, steps, team.generations(), others.settle(), read, heirs)


@dataclass
class Neighbours:
    """Two groups on one topic; one of them loses a member, and is put back to the beginning."""

    before: dict[str, Shares]
    after: dict[str, Shares]
    read: dict[str, int]  # records, by group
    total: int  # records there are
    committed: dict[str, list[int]]  # of the one that was left alone: before, and at the end

    def __repr__(self) -> str:
        rows = [(name, self.before[name], self.after[name]) for name in self.before]
        return repr(Table(("group", "before b goes", "afterwards"), rows))

    def verdicts(self) -> Cases:
        one, two = self.before
        lost = set(self.before[one]["b"])
        return {
            "C128": {
                "another group gets what the member had": any(
                    set(share) & lost - set(self.before[two][name])
                    for name, share in self.after[two].items()
                ),
                "another group notices at all": self.before[two] != self.after[two],
            },
            "C106": {
                "both groups read every record": set(self.read.values()) == {self.total},
                "one goes back to the beginning, the other's offsets stay": self.committed["before"]
                == self.committed["after"]
                == [self.total // 4] * 4,
            },
        }


def neighbours(cluster: Cluster) -> Neighbours:
    topic = stand.topic(cluster, 4)
    with Team(cluster, topic) as one, Team(cluster, topic) as two:
        one.add("a", "b")
        two.add("c", "d")
        before = {"one": one.settle(), "two": two.settle()}
        stand.fill(cluster, topic, 4, 25)
        one.await_read(100)
        two.await_read(100)
        one.commit()
        two.commit()
        read = {"one": len(one.read), "two": len(two.read)}
        committed = [_committed(two)]
        one.leave("b")
        after = {"one": one.settle(), "two": two.settle()}
        places = [TopicPartition(topic, number, 0) for number in range(4)]
        one.readers["a"].consumer.commit(offsets=places, asynchronous=False)
        committed.append(_committed(two))
    found = dict(zip(("before", "after"), committed, strict=True))
    return Neighbours(before, after, read, 100, found)


def _committed(team: Team) -> list[int]:
    consumer = next(iter(team.readers.values())).consumer
    places = [TopicPartition(team.topics[0], number) for number in range(4)]
    return [it.offset for it in consumer.committed(places)]
