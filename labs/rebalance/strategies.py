"""Who gets which partitions: the strategies on one example, and on one row of comings and goings.

An assignor is a pure function, so that all of this needs no cluster; `real` lets a group on the
brokers do the same, and compares.

    plan("range", members, {"orders": 10})        {"a": [0, 1, 2, 3], "b": [4, 5, 6], ...}
    journey("sticky", ["+a", "+b", "-a"])          what moved in each step
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go  # type: ignore[import-untyped]
from table import Table

from engine import Cluster
from engine.client.assignors import ASSIGNORS, Member
from engine.model import TopicPartition
from rebalance import stand
from rebalance.sharing import Cases, Shares
from rebalance.team import Team, moved

TOPIC = "orders"
KAFKAS = tuple(name for name, each in ASSIGNORS.items() if each.alias)  # that its client has
TEN = {TOPIC: 10}
THREE = ("a", "b", "c")


def plan(
    strategy: str,
    members: Iterable[str],
    counts: Mapping[str, int] | None = None,
    had: Mapping[str, Sequence[int]] | None = None,
) -> Shares:
    """Of one topic, or of all of `counts`, each named by its number; `had`: by each, before."""
    counts = counts or TEN
    had = had or {}
    everyone = [
        Member(
            name,
            tuple(counts),
            tuple(TopicPartition(TOPIC, it) for it in had.get(name, ())),
            None,
            1,
        )
        for name in members
    ]
    found = ASSIGNORS[strategy].assign(everyone, counts)
    return {name: sorted(it.partition for it in found[name]) for name in sorted(found)}


def settled(
    strategy: str, members: Sequence[str], had: Shares, counts: Mapping[str, int]
) -> Shares:
    """The plan, and for cooperative-sticky what its second round makes of it."""
    first = plan(strategy, members, counts, had)
    return plan(strategy, members, counts, first) if strategy == "cooperative-sticky" else first


@dataclass
class Example:
    """Ten partitions and three consumers, by each strategy, as the formula and a group say."""

    plans: dict[str, Shares]
    real: dict[str, Shares]  # of a group on the brokers
    later: Shares  # of the sticky group, when c has gone

    def __repr__(self) -> str:
        rows = [(name, *shares.values()) for name, shares in self.plans.items()]
        return repr(Table(("strategy", *THREE), rows))

    def verdicts(self) -> Cases:
        dealt = {"a": [0, 3, 6, 9], "b": [1, 4, 7], "c": [2, 5, 8]}
        runs = {"a": [0, 1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]}
        two = ASSIGNORS["range"].assign(
            [Member(name, ("bills", TOPIC)) for name in THREE], {"bills": 10, TOPIC: 10}
        )
        return {
            "C147": {
                "0 to 3, 4 to 6 and 7 to 9": self.plans["range"] == self.real["range"] == runs,
                "the same once more for a second topic": len(two["a"]) == 8 and len(two["b"]) == 6,
            },
            "C148": {
                "0 3 6 9, 1 4 7 and 2 5 8": self.plans["roundrobin"]
                == self.real["roundrobin"]
                == dealt
            },
            "C149": {
                "without a past sticky deals as round robin does": self.plans["sticky"]
                == self.real["sticky"]
                == self.plans["roundrobin"],
                "and not as range does": self.plans["sticky"] != self.plans["range"],
                "c goes: its 2 to a, its 5 and 8 to b": self.later
                == {"a": [0, 2, 3, 6, 9], "b": [1, 4, 5, 7, 8]},
            },
            "C145": {
                f"{name} is there": name in ASSIGNORS for name in ("range", "roundrobin", "sticky")
            }
            | {"these three are all that Kafka's client has": len(self.plans) == 3},
        }


def example(cluster: Cluster) -> Example:
    """The group knows nothing of the past: its topic comes when all three are there."""
    real = {}
    for strategy in KAFKAS:
        topic = stand.fresh("orders")
        with Team(cluster, topic, partition_assignment_strategy=strategy) as team:
            team.add(*THREE, allow_auto_create_topics="false")
            team.settle()
            stand.topic(cluster, 10, topic)
            real[strategy] = team.settle()
            if strategy == "sticky":
                team.leave("c")
                later = team.settle()
    return Example({strategy: plan(strategy, THREE) for strategy in KAFKAS}, real, later)


# -- comings and goings ----------------------------------------------------------------------

STEPS = ("+a", "+b", "+c", "-b", "+d", "-a", "+b")


@dataclass
class Journey:
    """One row of comings and goings, by each strategy: the partitions that changed hands."""

    moves: dict[str, list[int]]  # by strategy: how many, in each step

    def __repr__(self) -> str:
        rows = [(name, *counts, sum(counts)) for name, counts in self.moves.items()]
        return repr(Table(("strategy", *STEPS[1:], "all"), rows))

    def figure(self) -> go.Figure:
        figure = go.Figure()
        deeds = {"+": "comes", "-": "goes"}  # numbered, as b comes twice
        steps = [f"{n}. {it[1:]} {deeds[it[0]]}" for n, it in enumerate(STEPS[1:], 1)]
        for name, counts in self.moves.items():
            figure.add_bar(name=name, x=steps, y=counts)
        figure.update_layout(
            template="simple_white",
            barmode="group",
            height=300,
            margin={"t": 30},
            yaxis_title="partitions that moved",
        )
        return figure


def journey(count: int = 10) -> Journey:
    moves = {}
    for strategy in KAFKAS:
        members: list[str] = []
        had: Shares = {}
        moves[strategy] = counts = list[int]()
        for step in STEPS:
            name = step[1:]
            members = [*members, name] if step[0] == "+" else [it for it in members if it != name]
            kept = {it: had.get(it, []) for it in members}
            now = settled(strategy, members, kept, {TOPIC: count})
            counts.append(len(moved(had, now)))
            had = now
        del counts[0]
    return Journey(moves)


# -- what sticky promises --------------------------------------------------------------------


@dataclass
class Sticky:
    """What it does with a past."""

    third: Shares  # two have five each, and a third comes
    after_range: Shares  # range's layout, and c has gone
    from_the_start: Shares  # sticky's own layout, and c has gone

    def __repr__(self) -> str:
        rows = [
            ("a and b have five each, c comes", self.third),
            ("after range's 0-3, 4-6, 7-9: c goes", self.after_range),
            ("after sticky's own 0 3 6 9, 1 4 7, 2 5 8: c goes", self.from_the_start),
        ]
        return repr(Table(("", "sticky makes of it"), rows))

    def verdicts(self) -> Cases:
        before = {"a": [0, 1, 2, 3, 4], "b": [5, 6, 7, 8, 9], "c": []}
        sizes = [len(share) for share in self.third.values()]
        said = {"a": [0, 1, 2, 3, 7], "b": [4, 5, 6, 8, 9]}
        return {
            "C150": {
                "the shares are even, though partitions have to move for it": max(sizes)
                - min(sizes)
                <= 1,
                "none moves between the two who were there": all(
                    set(self.third[name]) <= set(before[name]) for name in "ab"
                ),
            },
            "C151": {
                "after range's layout it is as the example says": self.after_range == said,
                "a group that is sticky from the start ends like that": self.from_the_start == said,
            },
        }


def sticky() -> Sticky:
    halves = {"a": [0, 1, 2, 3, 4], "b": [5, 6, 7, 8, 9]}
    ranged, own = plan("range", THREE), plan("sticky", THREE)
    return Sticky(
        plan("sticky", THREE, had=halves),
        plan("sticky", "ab", had=ranged),
        plan("sticky", "ab", had=own),
    )


@dataclass
class Hashed:
    """A hundred partitions, ten members, one of whom goes: also by consistent hashing."""

    moved: dict[str, int]
    spread: dict[str, int]  # from the smallest share to the largest, afterwards

    def __repr__(self) -> str:
        rows = [(name, self.moved[name], self.spread[name]) for name in self.moved]
        return repr(Table(("strategy", "moved", "largest less smallest share"), rows))

    def verdicts(self) -> Cases:
        few, hashed = self.moved["sticky"], self.moved["consistent-hash"]
        return {
            "C139": {
                "all members join anew, and range moves far more than it must": self.moved["range"]
                > 2 * few,
                "consistent hashing moves less than sticky does, at the same evenness": hashed < few
                and self.spread["consistent-hash"] <= self.spread["sticky"],
            }
        }


def hashed() -> Hashed:
    names = [f"m{number}" for number in range(10)]
    counts = {TOPIC: 100}
    moves, spread = {}, {}
    for strategy in ("range", "roundrobin", "sticky", "consistent-hash"):
        before = plan(strategy, names, counts)
        rest = [name for name in names if name != "m4"]
        after = plan(strategy, rest, counts, {name: before[name] for name in rest})
        moves[strategy] = len(moved(before, after))
        sizes = [len(share) for share in after.values()]
        spread[strategy] = max(sizes) - min(sizes)
    return Hashed(moves, spread)


@dataclass
class Ideal:
    """Two topics of three partitions, and a consumer for each partition."""

    sizes: dict[str, list[int]]  # how much each of the six has

    def __repr__(self) -> str:
        return repr(Table(("strategy", "partitions of each consumer"), self.sizes.items()))

    def verdicts(self) -> Cases:
        return {
            "C104": {
                "with round robin each of six has one of the six partitions": set(
                    self.sizes["roundrobin"]
                )
                == {1},
                "with range, too": set(self.sizes["range"]) == {1},
            }
        }


def ideal() -> Ideal:
    members = [Member(name, ("bills", "orders")) for name in "abcdef"]
    counts = {"bills": 3, "orders": 3}
    return Ideal(
        {
            strategy: [len(it) for it in ASSIGNORS[strategy].assign(members, counts).values()]
            for strategy in ("range", "roundrobin")
        }
    )
