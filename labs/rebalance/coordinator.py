"""Who looks after a group: the broker that leads its partition of __consumer_offsets.

a consumer   FindCoordinator ──> any broker        "broker 3 leads partition 49"
             JoinGroup, SyncGroup, Heartbeat, OffsetCommit ──> broker 3
             Fetch ──> whoever leads the partitions that it reads
"""

from dataclasses import dataclass

from lab import until
from table import Table

from engine import Cluster
from engine.coordinator.groups import partition_of
from engine.errors import ErrorCode
from engine.wire.apis import Api
from rebalance import stand, wire
from rebalance.kept import PARTITIONS
from rebalance.sharing import Cases
from rebalance.stand import OFFSETS
from rebalance.team import Team, at_work
from rebalance.wire import Asked, Caught

LEADERS = (Api.LIST_OFFSETS, Api.FETCH)
COORDINATED = (
    *(Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_FETCH),
    *(Api.OFFSET_COMMIT, Api.HEARTBEAT, Api.LEAVE_GROUP),
)


@dataclass
class Found:
    """Fifty groups: whom brokers name, and who leads their partitions."""

    named: dict[str, int]
    leaders: dict[str, int]  # of the groups' partitions
    others: dict[str, set[int]]  # whom all the brokers name

    def __repr__(self) -> str:
        rows = [
            (
                group,
                partition_of(group, PARTITIONS),
                len(self.others[group]) == 1,
                self.named[group] == self.leaders[group],
            )
            for group in list(self.named)[:5]
        ]
        head = ("group", "partition", "all brokers name the same one", "it leads the partition")
        return repr(Table(head, rows))

    def verdicts(self) -> Cases:
        return {
            "C118": {
                "each of the three brokers coordinates some of fifty groups": set(
                    self.named.values()
                )
                == {1, 2, 3},
            },
        }


def found(cluster: Cluster, count: int = 50) -> Found:
    groups = [f"group-{number:02}" for number in range(count)]
    named: dict[str, set[int]] = {group: set() for group in groups}
    for asked in cluster.brokers:
        with wire.line(cluster, asked) as broker:
            for group in groups:
                named[group].add(wire.named(broker, group))
    leaders = stand.leaders(cluster.state(), OFFSETS)
    of_groups = {group: leaders[partition_of(group, PARTITIONS)] for group in groups}
    return Found({group: min(it) for group, it in named.items()}, of_groups, named)


@dataclass
class Fallen:
    """The coordinator of a group at work is killed."""

    before: tuple[int, int, int]  # named, leader of the partition, generation
    after: tuple[int, int, int]
    joined_again: int  # JoinGroup requests that the successor has had

    def __repr__(self) -> str:
        rows = [
            ("the one named leads the partition", self.before[0] == self.before[1],
             self.after[0] == self.after[1]),
            ("the generation is the same", "", self.before[2] == self.after[2]),
            ("rebalances because of it", "", self.joined_again),
        ]  # fmt: skip
        return repr(Table(("", "before", "after the kill"), rows))

    def verdicts(self) -> Cases:
        return {
            "C117": {
                "the one that brokers name leads the group's partition": self.before[0]
                == self.before[1],
                "when it is dead, they name its successor in that": self.after[0] == self.after[1]
                and self.after[0] != self.before[0],
            }
        }


def fallen(cluster: Cluster) -> Fallen:
    with at_work(cluster, 5) as team:
        number = partition_of(team.group, PARTITIONS)
        before = _who(cluster, team, number)
        rounds = len(team.reasons())
        cluster.kill(before[0])
        asked = next(each for each in cluster.brokers if each != before[0])
        until(
            "a successor",
            lambda: (
                wire.coordinator(cluster, team.group, asked) != before[0]
                and stand.leaders(cluster.state(), OFFSETS).get(number, before[0]) != before[0]
            ),
        )
        until("the group to be known there", lambda: _known(team, before[0]))
        team.commit()
        after = _who(cluster, team, number, asked)
        again = len(team.reasons()) - rounds
    stand.cluster()  # makes it whole
    return Fallen(before, after, again)


def _known(team: Team, fallen: int) -> bool:
    state = team.state
    return state is not None and state.coordinator != fallen and state.state == "Stable"


def _who(cluster: Cluster, team: Team, number: int, asked: int = 0) -> tuple[int, int, int]:
    state = cluster.state()
    named = wire.coordinator(cluster, team.group, asked)
    return named, stand.leaders(state, OFFSETS)[number], state.groups[team.group].generation


# -- what it is asked ------------------------------------------------------------------------


@dataclass
class Start:
    """Every request of a consumer that starts, reads and commits."""

    asked: list[Asked]
    coordinator: int
    leaders: dict[int, int]  # of the partitions it reads
    elsewhere: ErrorCode  # what another broker says to a commit,
    here: ErrorCode  # and what the coordinator says

    def __repr__(self) -> str:
        asked = {it.api: it.broker for it in self.asked}
        rows = [(api.name, "any broker") for api in (Api.METADATA, Api.FIND_COORDINATOR)]
        for api in (it for it in COORDINATED if it in asked and it is not Api.HEARTBEAT):
            here = asked[api] == self.coordinator
            rows.append((api.name, "the coordinator" if here else "another broker"))
        rows[5:5] = [(api.name, "the leaders of its partitions") for api in LEADERS if api in asked]
        return repr(Table(("request", "goes to"), rows))

    def first(self, api: Api) -> int:
        return next(place for place, it in enumerate(self.asked) if it.api is api)

    def verdicts(self) -> Cases:
        to = {it.broker for it in self.asked if it.api in COORDINATED}
        fetched = [(it.broker, row["partition"]) for it in self.asked for row in it.rows]
        named = [it.response.node_id for it in self.asked if it.api is Api.FIND_COORDINATOR]
        synced = self.first(Api.SYNC_GROUP)
        return {
            "C120": {
                "all that concerns the group goes to its coordinator": to == {self.coordinator},
                "there a commit is taken": self.here == ErrorCode.none,
                "another broker refuses it: NOT_COORDINATOR": self.elsewhere
                == ErrorCode.not_coordinator,
            },
            "C122": {
                "FindCoordinator comes before JoinGroup": self.first(Api.FIND_COORDINATOR)
                < self.first(Api.JOIN_GROUP),
                "JoinGroup goes to the broker that was named": named[-1] == self.coordinator,
            },
            "C125": {
                "nothing is fetched before SyncGroup is answered": self.first(Api.FETCH) > synced,
                "each partition is fetched from its leader": all(
                    self.leaders[number] == broker for broker, number in fetched
                )
                and {number for _, number in fetched} == self.leaders.keys(),
            },
        }


def start(cluster: Cluster) -> Start:
    topic, group = stand.topic(cluster, 3), stand.fresh("starting")
    stand.fill(cluster, topic, 3, 5)
    home = wire.coordinator(cluster, group)
    with Caught(cluster) as caught, Team(cluster, topic, group) as team:
        team.add("starter")
        team.settle()
        team.await_read(15)
        team.commit()
        caught.wait("a fetch of every partition", lambda it: len(_fetched(it)) == 3)
    mine = [it for it in caught.requests if it.client == "starter"]
    other = next(each for each in cluster.brokers if each != home)
    said = []
    for broker in (other, home):
        with wire.line(cluster, broker) as connection:
            said.append(wire.commit(connection, group, topic, 1))
    return Start(mine, home, stand.leaders(cluster.state(), topic), *said)


def _fetched(caught: Caught) -> set[int]:
    return {row["partition"] for it in caught.of(Api.FETCH, client="starter") for row in it.rows}


@dataclass
class Calm:
    """A group in which nobody comes or goes, and its coordinator."""

    heartbeats: int
    commits: int
    joins: int
    generations: tuple[int, int]  # before and after

    def __repr__(self) -> str:
        rows = [
            ("heartbeats answered", "many" if self.heartbeats >= 10 else self.heartbeats),
            ("commits written", self.commits),
            ("members that joined", self.joins),
            ("generation", "the same" if len(set(self.generations)) == 1 else "another"),
        ]
        return repr(Table(("while nobody comes or goes", ""), rows))

    def verdicts(self) -> Cases:
        works = self.heartbeats + self.commits > 0
        return {
            "C119": {
                "a coordinator works only while there is a rebalance": not works,
                "what it does brings a new generation": self.joins > 0
                or self.generations[0] != self.generations[1],
            }
        }


def calm(cluster: Cluster) -> Calm:
    with at_work(cluster, 5) as team:
        before = until("the group", lambda: team.state).generation  # type: ignore[union-attr]
        with Caught(cluster, frames=False) as caught:
            team.commit()
            caught.wait("ten heartbeats", lambda it: len(_of(it, Api.HEARTBEAT)) >= 10)
        after = until("the group", lambda: team.state).generation  # type: ignore[union-attr]
    beats, commits, joins = (
        len(_of(caught, api)) for api in (Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.JOIN_GROUP)
    )
    return Calm(beats, commits, joins, (before, after))


def _of(caught: Caught, api: Api) -> list[Asked]:
    return [it for it in caught.of(api) if it.client in ("a", "b")]
