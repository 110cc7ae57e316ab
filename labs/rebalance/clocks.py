"""Three clocks: how a group learns that somebody is gone.

    heartbeat.interval.ms    the client's own thread: I am here
    session.timeout.ms       the coordinator's: not heard of for so long, out       killed, frozen
    max.poll.interval.ms     the client's, over its application: it hangs, leave    hangs

The consumers here are processes of their own (widgets/group), so that a kill is a kill.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace as Message

from lab import until
from table import Table

from engine import Cluster
from engine.client.assignors.protocol import Subscription, encode_subscription
from engine.config.broker import BrokerConfig
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode
from engine.wire.apis import Api
from rebalance import stand, wire
from rebalance.sharing import Cases, Shares
from rebalance.team import Team
from rebalance.wire import Caught
from widgets.group.crew import Crew

SESSION = 3.0  # seconds
SETTINGS = {
    "session.timeout.ms": str(int(SESSION * 1000)),
    "heartbeat.interval.ms": "300",
    "enable.auto.commit": "false",
}


class Staff(Team):
    """A team of processes."""

    def __init__(self, cluster: Cluster, topic: str, strategy: str = "range") -> None:
        super().__init__(cluster, topic)
        self.strategy = strategy
        self.crew = Crew(cluster.bootstrap, self.group, SETTINGS)
        self.crew.subscribe([topic])

    def hire(self, count: int) -> list[str]:
        """So many more; c1, c2 ..."""
        return [self.crew.add(self.strategy, set()) for _ in range(count)]

    def share(self, *names: str) -> Shares:
        """When just these are in the group."""
        return self.settle(*names)

    def gone(self, name: str) -> tuple[int, str]:
        """When the coordinator noticed, ms since 1970, and what."""
        told = (it for it in self.told("member") if it["member"].startswith(f"{name}-"))
        return next(((it["at"], it["what"]) for it in told if it["what"] != "joined"), (0, ""))


@contextmanager
def staff(cluster: Cluster, topic: str, strategy: str = "range") -> Iterator[Staff]:
    found = Staff(cluster, topic, strategy)
    try:
        yield found
    finally:
        found.crew.close()


@dataclass
class Lost:
    """Three consumers: one is killed, another one frozen, first for a moment and then for long."""

    group: str
    steps: list[tuple[str, Shares]]
    noticed: dict[str, tuple[float, str]]  # seconds after the deed, and what the coordinator told
    states: list[str]  # of the group, when the frozen one was given up
    brief: int  # rebalances because of a short pause
    long: int  # and of one that outlasted the session

    def __repr__(self) -> str:
        return repr(Table(("", "who reads which partitions"), self.steps))

    def verdicts(self) -> Cases:
        shares = dict(self.steps)
        before, after = shares["three are there"], shares["c1 is killed"]
        back = shares["another one comes for it"]
        killed, frozen = self.noticed["killed"], self.noticed["frozen"]
        return {
            "C121": {
                "one that is frozen sends no heartbeat, and expires": frozen[1] == "expired",
                "and then the group begins a rebalance": "PreparingRebalance" in self.states,
            },
            "C130": {
                "what the killed one had goes to the others": set(before["c1"])
                <= {it for share in after.values() for it in share},
                "by itself, when its session is over": killed[1] == "expired",
            },
            "C131": {"whoever comes for it is given some partitions": bool(back["c4"])},
            "C140": {
                "whoever is silent is not given up at once": min(killed[0], frozen[0])
                >= SESSION / 2,
                "but when its session is over": {killed[1], frozen[1]} == {"expired"},
                "ten seconds are the default": ConsumerConfig(
                    bootstrap_servers=("any:1",)
                ).session_timeout_ms
                == 10_000,
                "brokers accept six seconds to half an hour": (
                    BrokerConfig.group_min_session_timeout_ms,
                    BrokerConfig.group_max_session_timeout_ms,
                )
                == (6_000, 1_800_000),
            },
            "C144": {
                "a pause that is shorter than the session brings a rebalance": self.brief > 0,
                "one that is longer does": self.long > 0,
            },
        }


def lost(cluster: Cluster) -> Lost:
    topic = stand.topic(cluster, 6)
    noticed: dict[str, tuple[float, str]] = {}
    with staff(cluster, topic) as team:
        team.hire(3)
        steps = [("three are there", team.share("c1", "c2", "c3"))]
        noticed["killed"] = _notice(team, "kill", "c1")
        steps.append(("c1 is killed", team.share("c2", "c3")))
        team.hire(1)
        steps.append(("another one comes for it", team.share("c2", "c3", "c4")))
        rounds = len(team.reasons())
        team.crew.freeze("c2")
        time.sleep(SESSION / 6)  # a short collection of garbage
        team.crew.thaw("c2")
        _hear(cluster, "c2")
        brief = len(team.reasons()) - rounds
        states = len(team.told("state"))
        noticed["frozen"] = _notice(team, "freeze", "c2")
        steps.append(("c2 is frozen for long", team.share("c3", "c4")))
        told = [it["now"] for it in team.told("state")[states:]]
        long = len(team.reasons()) - rounds - brief
        team.crew.thaw("c2")
        steps.append(("and goes on", team.share("c2", "c3", "c4")))
    return Lost(team.group, steps, noticed, told, brief, long)


def _notice(team: Staff, deed: str, name: str) -> tuple[float, str]:
    began = time.time()
    getattr(team.crew, deed)(name)
    until(f"{name} to be missed", lambda: team.gone(name)[0])
    at, what = team.gone(name)
    return at / 1000 - began, what


def _hear(cluster: Cluster, client: str) -> None:
    """Wait until its next heartbeat has come."""
    with Caught(cluster, frames=False) as caught:
        caught.wait(f"a heartbeat of {client}", lambda it: it.of(Api.HEARTBEAT, client=client))


# -- what the broker accepts -----------------------------------------------------------------


@dataclass
class Limits:
    """Sessions that were asked for, and what the coordinator said."""

    said: dict[int, str]

    def __repr__(self) -> str:
        return repr(Table(("session.timeout.ms", "the coordinator says"), self.said.items()))


def limits(cluster: Cluster, *sessions: int) -> Limits:
    """Of this cluster, which takes half a second at least."""
    group, said = stand.fresh("limits"), {}
    with wire.line(cluster, wire.coordinator(cluster, group)) as broker:
        for session in sessions:
            answer = broker.ask(Api.JOIN_GROUP, joining(group, session))
            said[session] = ErrorCode(answer.error_code).name
    return Limits(said)


def joining(group: str, session: int) -> Message:
    """JoinGroup, by hand."""
    subscription = encode_subscription(Subscription(("orders",)))
    return Message(
        group_id=group,
        session_timeout=timedelta(milliseconds=session),
        rebalance_timeout=timedelta(seconds=10),
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(Message(name="range", metadata=subscription),),
    )


# -- an application that hangs ---------------------------------------------------------------


@dataclass
class Hung:
    """A consumer that polls no more, while its heartbeats go on."""

    beats: int  # its heartbeats, while it hung
    left: int  # LeaveGroup requests of its own
    what: str  # that the coordinator told
    shares: Shares  # afterwards

    def __repr__(self) -> str:
        rows = [
            ("heartbeats while it hangs", "go on" if self.beats else "stop"),
            ("LeaveGroup, sent by its own client", "yes" if self.left else "no"),
            ("what the coordinator notes", self.what),
            ("who reads now", self.shares),
        ]
        return repr(Table(("a consumer hangs", ""), rows))

    def verdicts(self) -> Cases:
        return {
            "C143": {
                "it is out of the group, and others have its partitions": set(self.shares) == {"b"},
                "it is the broker that finds it too slow": self.what == "expired",
            }
        }


def hung(cluster: Cluster) -> Hung:
    topic = stand.topic(cluster, 2)
    with Team(cluster, topic) as team:
        team.add("a", max_poll_interval_ms="2000", session_timeout_ms="2000")
        team.add("b")
        team.settle()
        with Caught(cluster, frames=False) as caught:
            hanging = team.readers.pop("a")
            hanging.hangs.set()
            shares = team.settle()
        told = [it["what"] for it in team.told("member") if it["member"].startswith("a-")]
        team.readers["a"] = hanging
        hanging.hangs.clear()
    beats = len(caught.of(Api.HEARTBEAT, client="a"))
    return Hung(beats, len(caught.of(Api.LEAVE_GROUP, client="a")), told[1], shares)


# -- static members --------------------------------------------------------------------------


@dataclass
class Restarts:
    """Three consumers are started again, one after the other: nameless ones, and static ones."""

    rounds: dict[str, int]  # rebalances
    moved: dict[str, int]  # partitions that changed hands on the way

    def __repr__(self) -> str:
        rows = [(name, count, self.moved[name]) for name, count in self.rounds.items()]
        return repr(Table(("three restarts", "rebalances", "partitions that moved"), rows))


def restarts(cluster: Cluster) -> Restarts:
    kinds = {
        "range": ("range", False),
        "cooperative-sticky": ("cooperative-sticky", False),
        "range, group.instance.id": ("range", True),
    }
    rounds, moves = {}, {}
    for kind, (strategy, is_static) in kinds.items():
        topic = stand.topic(cluster, 6)
        with Team(cluster, topic, partition_assignment_strategy=strategy) as team:
            for name in "abc":
                _start(team, name, is_static)
                team.settle()
            known, seen = len(team.reasons()), len(team.generations())
            for name in "abc":
                team.leave(name)
                if not is_static:
                    team.settle()
                _start(team, name, is_static)
                until(f"{name} to have a share", team.readers[name].consumer.assignment)
                team.settle()
            rounds[kind] = len(team.reasons()) - known
            owners = [
                {it: who[0] for it, who in each.owners.items()} for each in team.generations()
            ]
        moves[kind] = _moves(owners[seen - 1 :])
    return Restarts(rounds, moves)


def _moves(owners: list[dict[str, str]]) -> int:
    """A partition that nobody has for a generation (cooperative) is still on its way."""
    last, count = dict(owners[0]), 0
    for now in owners[1:]:
        count += sum(last[it] != who for it, who in now.items())
        last |= now
    return count


def _start(team: Team, name: str, is_static: bool) -> None:
    if is_static:
        team.add(name, group_instance_id=name)
    else:
        team.add(name)
