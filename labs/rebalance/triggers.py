"""What begins a rebalance: other members, other topics, other partitions. And what does not.

who notices              what it does then
──────────────────────   ──────────────────────────────────────────────────────────
the coordinator          a member came, left, or its session ended: all join again
a member                 it wants other topics: it joins again
the leader of the group  a topic has more partitions (metadata.max.age.ms): it joins again
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab import PATIENCE, until
from table import Table

from engine import Cluster, TopicPartition
from engine.client.admin.values import NewPartitions
from engine.wire.apis import Api
from rebalance import stand
from rebalance.kept import znodes
from rebalance.sharing import Cases
from rebalance.team import SETTINGS, Team
from rebalance.wire import Caught


@dataclass
class Causes:
    """Rebalances of one group, and what the coordinator says began each."""

    rows: list[tuple[str, int, str]]  # what was done, rebalances since then, the first reason
    interrupted: bool  # who reads one topic, by a change of the other

    def __repr__(self) -> str:
        rows = [(what, count > 0, reason) for what, count, reason in self.rows]
        return repr(Table(("what was done", "a rebalance", "the coordinator's reason"), rows))

    def verdicts(self) -> Cases:
        count = {what: number for what, number, _ in self.rows}
        return {
            "C132": {what: count[what] > 0 for what in ("a member comes", "a member goes")},
            "C133": {
                what: count[what] > 0
                for what in (
                    "a member wants another topic",
                    "a topic that fits a pattern appears",
                )
            },
            "C105": {
                "a change of one topic interrupts who reads another one": self.interrupted,
            },
        }


def causes(cluster: Cluster) -> Causes:
    first, second = stand.topic(cluster, 2), stand.topic(cluster, 2)
    rows: list[tuple[str, int, str]] = []
    with Team(cluster, first) as team:

        def did(what: str, team: Team, deed: Callable[[], object]) -> None:
            before = len(team.reasons())
            deed()
            until(what, lambda: len(team.reasons()) > before)
            team.settle()
            reasons = team.reasons()
            rows.append((what, len(reasons) - before, reasons[before]))

        team.add("a")
        team.settle()
        did("a member comes", team, lambda: team.add("b"))
        team.topics = [first, second]
        did("a member wants another topic", team, lambda: _subscribe(team, "b"))
        given_up = len(team.readers["a"].given_up)
        did("a topic gets more partitions", team, lambda: grow(cluster, second, 3))
        interrupted = len(team.readers["a"].given_up) > given_up
        did("a member goes", team, lambda: team.leave("a"))
    family = stand.fresh("bill")
    with Team(cluster, [f"^{family}-.*"]) as fans:
        fans.add("p")
        until("the fan", lambda: fans.state and fans.state.state == "Stable")
        fans.topics = [f"{family}-new"]
        did(
            "a topic that fits a pattern appears",
            fans,
            lambda: stand.topic(cluster, 1, f"{family}-new"),
        )
    return Causes(rows, interrupted)


def _subscribe(team: Team, name: str) -> None:
    team.readers[name].subscribe(list(team.topics))


def grow(cluster: Cluster, topic: str, count: int) -> None:
    """The topic has so many partitions from now on."""
    wish = NewPartitions(topic, count)
    cluster.admin.create_partitions([wish])[topic].result()
    until("the new partitions", lambda: len(stand.leaders(cluster.state(), topic)) == count)


@dataclass
class News:
    """A topic gets three more partitions; two groups read it."""

    noticed: bool  # by the one that asks for metadata every half second
    unnoticed: bool  # by the one that does so every ten minutes, at that time
    reason: str
    looked: list[str]  # nodes of ZooKeeper that a joining consumer has left or changed

    def __repr__(self) -> str:
        rows = [
            ("asks for metadata every half second", "yes" if self.noticed else "no"),
            ("asks every ten minutes", "no" if self.unnoticed else "yes"),
        ]
        return repr(Table(("group", "has rebalanced"), rows))

    def verdicts(self) -> Cases:
        return {
            "C134": {"the group begins a rebalance, and shares out the new ones": self.noticed},
            "C126": {
                "the coordinator begins it, whether or not a consumer has seen the change": (
                    not self.unnoticed
                ),
                "a consumer that joins leaves a trace in ZooKeeper": bool(self.looked),
            },
        }


def news(cluster: Cluster) -> News:
    topic = stand.topic(cluster, 3)
    with Team(cluster, topic) as quick, Team(cluster, topic) as late:
        quick.add("a")
        late.add("b", metadata_max_age_ms="600000")
        quick.settle()
        late.settle()
        before = znodes(cluster).keys()
        quick.add("c")
        quick.settle()
        looked = sorted(znodes(cluster).keys() - before)
        grow(cluster, topic, 6)
        shares = quick.settle()
        reason = quick.reasons()[-1]
        unnoticed = len(late.reasons()) == 1
    return News(sum(map(len, shares.values())) == 6, unnoticed, reason, looked)


@dataclass
class Assigned:
    """Two consumers with one group id, and the same partition: assign(), not subscribe()."""

    read: dict[str, int]
    joins: int  # JoinGroup requests

    def __repr__(self) -> str:
        return repr(Table(("consumer", "records read of ten"), self.read.items()))

    def verdicts(self) -> Cases:
        return {
            "C135": {
                "no JoinGroup is sent, when they come and when one goes": self.joins == 0,
                "both read all records of the partition": set(self.read.values()) == {10},
            }
        }


def assigned(cluster: Cluster) -> Assigned:
    topic, group = stand.topic(cluster, 1), stand.fresh("assigned")
    stand.fill(cluster, topic, 1, 10)
    read = {}
    with Caught(cluster, frames=False) as caught:
        consumers = {}
        for name in ("one", "two"):
            settings = {**SETTINGS, "group.id": group, "client.id": name}
            consumers[name] = cluster.consumer(settings)
            consumers[name].assign([TopicPartition(topic, 0, 0)])
        for name, consumer in consumers.items():
            read[name] = _count(consumer, 10)
            consumer.close()
    return Assigned(read, sum(it.client in read for it in caught.of(Api.JOIN_GROUP)))


def _count(consumer: object, wanted: int) -> int:
    count, deadline = 0, time.monotonic() + PATIENCE
    while count < wanted and time.monotonic() < deadline:
        count += len(consumer.consume(wanted - count, 1.0))  # type: ignore[attr-defined]
    return count
