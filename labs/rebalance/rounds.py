"""One rebalance on the wire: what members ask, what they are answered, and who decides.

a   JoinGroup(topics) ──┐                              SyncGroup(all shares) ──┐
b   JoinGroup(topics) ──┤  coordinator waits for all   SyncGroup()           ──┤
c   JoinGroup(topics) ──┘                              SyncGroup()           ──┘
    a <── you lead; members a, b, c                    a <── your share
    b <── a leads                                      b <── your share
"""

from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from table import Table

from engine import Cluster
from engine.client.assignors import ASSIGNORS
from engine.client.assignors.protocol import decode_assignment
from engine.cluster.recording import Recording
from engine.errors import ErrorCode
from engine.wire.apis import Api
from rebalance import stand
from rebalance.sharing import Cases
from rebalance.team import Team
from rebalance.wire import Asked, Caught
from widgets.group.history import name_of


@dataclass
class Round:
    """Three members join one after the other; then the first of them goes."""

    joins: list[Asked]  # of the last generation with all three; each with its answer
    syncs: list[Asked]
    beats: list[Asked]
    leaders: list[str]  # of each generation
    recording: Recording  # all that was said

    def __repr__(self) -> str:
        rows: list[tuple[object, ...]] = []
        for it in sorted(self.joins, key=lambda it: it.client):
            members = " ".join(sorted(name_of(each.member_id) for each in it.response.members))
            leads = name_of(it.response.leader)
            listed = f"; members {members}" if members else ""
            rows.append((it.client, "JoinGroup", "its topics", f"{leads} leads{listed}"))
        for it in sorted(self.syncs, key=lambda it: it.client):
            shares = sorted(name_of(each.member_id) for each in it.request.assignments)
            brings = f"the shares of {', '.join(shares)}" if shares else "nothing"
            numbers = " ".join(str(each.partition) for each in share(it.response))
            rows.append((it.client, "SyncGroup", brings, f"partitions {numbers}"))
        return repr(Table(("who", "asks", "and brings", "is answered"), rows))

    def verdicts(self) -> Cases:
        first, later = self.leaders[0], self.leaders[-1]
        listed = [it.client for it in self.joins if it.response.members]
        planned = [it.client for it in self.syncs if it.request.assignments]
        shares = {it.client: share(it.response) for it in self.syncs}
        return {
            "C123": {
                "whoever joined first leads": first == "a",
                "only the leader is sent the list of members": listed == ["a"],
                "and it is a member that works out the plan": planned == ["a"],
                "when the leader goes, another member leads": later in "bc",
            },
            "C124": {
                "only the leader's SyncGroup brings shares": planned == ["a"],
                "all of them get theirs from SyncGroup": len(shares) == 3
                and len({it for each in shares.values() for it in each}) == 6,
            },
            "C127": {
                "one broker keeps the members, and all ask only it": len(
                    {it.broker for it in [*self.joins, *self.syncs, *self.beats]}
                )
                == 1,
                "that broker works out who reads what": not planned,
            },
            "C142": {
                "the answer to a heartbeat has room for a plan": any(
                    "assign" in name or "partition" in name for name in self.answer_to_a_heartbeat
                ),
                "members know their shares after a heartbeat, without SyncGroup": not self.syncs,
            },
        }

    @property
    def coordinator(self) -> int:
        return self.joins[0].broker

    @property
    def answer_to_a_heartbeat(self) -> list[str]:
        """Its fields."""
        return [each.name for each in fields(self.beats[0].response)]


def share(response: Any) -> list[Any]:
    """What a SyncGroup answer has."""
    return list(decode_assignment(response.assignment).partitions)


def joined(cluster: Cluster) -> Round:
    topic, before = stand.topic(cluster, 6), stand.last_event(cluster)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rounds.jsonl"
        with cluster.record(path), Caught(cluster) as caught, Team(cluster, topic) as team:
            for name in "abc":
                team.add(name)
                team.settle()
            last = team.generations()[-1].number
            team.leave("a")
            team.settle()
            leaders = [each.leader for each in team.generations()]
        loaded = Recording.load(path)
        recording = Recording(list(loaded), loaded.events(before))  # it begins with all there was
    joins = [it for it in caught.of(Api.JOIN_GROUP) if it.response.generation_id == last]
    syncs = [it for it in caught.of(Api.SYNC_GROUP) if it.request.generation_id == last]
    beats = caught.of(Api.HEARTBEAT)
    good = [it for it in syncs if it.response.error_code == ErrorCode.none]
    return Round(joins, good, beats, leaders, recording)


@dataclass
class Offers:
    """The strategies that a consumer names when it joins."""

    named: dict[str, list[str]]  # by what partition.assignment.strategy says

    def __repr__(self) -> str:
        rows = [(said, ", ".join(names)) for said, names in self.named.items()]
        return repr(Table(("partition.assignment.strategy", "named in JoinGroup"), rows))

    def verdicts(self) -> Cases:
        given = {said: names for said, names in self.named.items() if said != DEFAULT}
        return {
            "C146": {
                "a consumer that is told nothing names range alone": self.named[DEFAULT]
                == ["range"],
                "one that is told a strategy names that": all(
                    names == [said] for said, names in given.items()
                ),
            }
        }


DEFAULT = "(not set)"


def offers(cluster: Cluster) -> Offers:
    topic, named = stand.topic(cluster, 1), {}
    for strategy in (DEFAULT, *(name for name in ASSIGNORS if name != "consistent-hash")):
        settings = {} if strategy == DEFAULT else {"partition.assignment.strategy": strategy}
        with Caught(cluster) as caught, Team(cluster, topic, **settings) as team:
            team.add("a")
            team.settle()
        named[strategy] = [it.name for it in caught.of(Api.JOIN_GROUP)[-1].request.protocols]
    return Offers(named)


@dataclass
class Beats:
    """Two members: one is to send heartbeats often, the other four times as rarely."""

    often: int
    rarely: int

    def __repr__(self) -> str:
        return repr(
            Table(
                ("heartbeat.interval.ms", "heartbeats"),
                [("100", "many"), ("400", "fewer than half as many" if self.fits else "as many")],
            )
        )

    @property
    def fits(self) -> bool:
        return self.often > 2 * self.rarely > 0

    def verdicts(self) -> Cases:
        return {"C141": {"with a fourth of the interval, more than twice as many": self.fits}}


def beats(cluster: Cluster) -> Beats:
    topic = stand.topic(cluster, 1)
    with Team(cluster, topic) as one, Team(cluster, topic) as two:
        one.add("often", heartbeat_interval_ms="100")
        two.add("rarely", heartbeat_interval_ms="400")
        one.settle()
        two.settle()
        with Caught(cluster, frames=False) as caught:
            caught.wait(
                "four heartbeats", lambda it: len(it.of(Api.HEARTBEAT, client="rarely")) >= 4
            )
    often = len(caught.of(Api.HEARTBEAT, client="often"))
    return Beats(often, len(caught.of(Api.HEARTBEAT, client="rarely")))
