"""A second, smaller cluster on the same ZooKeeper: how commits spread over machines.

    zookeeper/                 the lab's cluster
    zookeeper/machines/        this one: a broker, then two; __consumer_offsets in seven partitions

It is there only while `machines` runs.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial

from lab import until
from table import Table

from engine import Cluster, TopicPartition
from engine.client.connection import Connection
from engine.errors import ErrorCode
from rebalance import stand, wire
from rebalance.kept import PARTITIONS
from rebalance.sharing import Cases
from rebalance.stand import OFFSETS

FEW = 7  # partitions of __consumer_offsets there
GROUPS = 30


@dataclass
class Machines:
    usual: int  # partitions of __consumer_offsets in the lab's cluster,
    few: int  # and in the small one
    taken: dict[str, dict[int, int]]  # commits that each broker took

    def __repr__(self) -> str:
        return repr(Table(("", "commits taken by each broker"), self.taken.items()))

    def verdicts(self) -> Cases:
        alone, added, moved = self.taken.values()
        return {
            "C114": {
                "without a word about it there are 50 partitions": self.usual == PARTITIONS,
                "with offsets.topic.num.partitions=7 there are 7": self.few == FEW,
            },
            "C115": {
                "a broker that is added takes some of the commits": len(added) > len(alone),
                "it does once partitions are moved to it": len(moved) > len(added)
                and sum(moved.values()) == GROUPS,
            },
        }


def machines(cluster: Cluster) -> Machines:
    usual = len(stand.leaders(cluster.state(), OFFSETS))
    if not usual:
        wire.coordinator(cluster, "anybody")  # whoever asks first makes the topic
        usual = until("50 leaders", lambda: len(stand.leaders(cluster.state(), OFFSETS)))
    place = f"{cluster.zookeeper}/{stand.fresh('machines')}"
    config = {"offsets.topic.num.partitions": str(FEW)}
    with Cluster(1, zookeeper=place, config=config) as small:
        topic = stand.topic(small, 1)
        taken = {"one broker": commits(small, topic)}
        few = len(stand.leaders(small.state(), OFFSETS))
        new = small.add_broker()
        taken["a second one is added"] = commits(small, topic)
        move(small, new, range(FEW // 2))
        taken["three partitions are moved to it"] = commits(small, topic)
    return Machines(usual, few, taken)


def commits(cluster: Cluster, topic: str) -> dict[int, int]:
    """One of each group; how many of them each broker takes."""
    taken: Counter[int] = Counter()
    for number in range(GROUPS):
        group = f"group-{number}"
        home = wire.coordinator(cluster, group)
        with wire.line(cluster, home) as broker:
            until("a commit", partial(_taken, broker, group, topic))
        taken[home] += 1
    return dict(sorted(taken.items()))


def _taken(broker: Connection, group: str, topic: str) -> bool:
    return wire.commit(broker, group, topic, 1) == ErrorCode.none


def move(cluster: Cluster, to: int, partitions: range) -> None:
    """Partitions of __consumer_offsets, to another broker."""
    places = {TopicPartition(OFFSETS, number): [to] for number in partitions}
    for done in cluster.admin.alter_partition_reassignments(places).values():
        done.result()

    def moved() -> bool:
        now = stand.leaders(cluster.state(), OFFSETS)
        return all(now.get(number) == to for number in partitions)

    until("the partitions to be moved", moved)
