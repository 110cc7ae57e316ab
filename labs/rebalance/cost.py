"""What a rebalance costs: two groups on one stream, one eager and one cooperative.

    eager         a ━━━━━┥ all given up ┝━━━━━     everyone stops, until the slowest is ready
    cooperative   a ━━━━━━━━━━━━━━━━━━━━━━━━━━     only what moves stops
                  b ━━━━┥ what moves ┝━━━━━━━━

Records come to each partition all the time. Each group has two members, one of whom takes two
seconds to give something up (as if it had to finish some work); then a third one joins.
"""

import threading
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Self

import plotly.graph_objects as go  # type: ignore[import-untyped]
from lab import until
from table import Table

from engine import Cluster
from rebalance import stand
from rebalance.sharing import Cases
from rebalance.team import Team
from widgets.palette import LIGHT

PARTITIONS = 6
PACE = 0.02  # seconds between two records of a partition
SLOW = 2.0  # seconds that one member needs to give something up
AROUND = 0.5  # seconds before and after, in the picture

COLOURS = {
    "eager": LIGHT["vermilion"],
    "cooperative": LIGHT["blue"],
    "bystander": LIGHT["green"],
}

Reads = dict[int, list[float]]  # by partition: when a record of it was read


class Stream:
    """Records to every partition, all the time."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._producer = cluster.producer({"linger.ms": "0"})
        self._topic = topic
        self._ends = threading.Event()
        self.sent: list[float] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        while not self._ends.wait(PACE):
            for partition in range(PARTITIONS):
                self._producer.produce(self._topic, value="x", partition=partition)
            self.sent.append(time.monotonic())


@dataclass
class Gaps:
    """What each group read while its third member joined."""

    began: float  # when the third one was started
    ended: float
    reads: dict[str, Reads]  # by group
    stays: dict[str, list[int]]  # partitions that a keeps, who is the quick one
    given_up: dict[str, list[int]]  # by group: how much each of the two gave up
    sent: list[float]

    def gap(self, group: str) -> float:
        """The longest silence of what a keeps."""
        found = [
            b - a
            for number in self.stays[group]
            for a, b in pairwise(self.reads[group][number])
            if b >= self.began and a <= self.ended
        ]
        return max(found)

    def __repr__(self) -> str:
        rows = []
        for group in ("eager", "cooperative"):
            long = "two seconds" if self.gap(group) >= SLOW * 0.9 else "less than that"
            rows.append((group, sum(self.given_up[group]), len(self.stays[group]), long))
        head = ("group", "partitions given up", "a keeps", "and reads nothing of it for")
        return repr(Table(head, rows))

    def figure(self) -> go.Figure:
        figure = go.Figure()
        for group, reads in self.reads.items():
            points = [(at, number) for number, times in reads.items() for at in times]
            seen = [it for it in points if self.began - AROUND < it[0] < self.ended + AROUND]
            figure.add_scatter(
                x=[at - self.began for at, _ in seen],
                y=[f"{group} {number}" for _, number in seen],
                mode="markers",
                marker={"size": 5, "color": COLOURS[group]},
                name=group,
            )
        figure.add_vline(x=0, line_dash="dot")
        figure.update_layout(
            template="simple_white",
            height=440,
            margin={"t": 30},
            xaxis_title="seconds since the third consumer was started; each dot: records were read",
        )
        return figure

    def verdicts(self) -> Cases:
        whole = max(b - a for a, b in pairwise(self.sent))
        calm = max(b - a for times in self.reads["bystander"].values() for a, b in pairwise(times))
        return {
            "C136": {
                "with range everybody gives everything up": sum(self.given_up["eager"])
                == PARTITIONS,
                "and whoever is quick waits for the slowest": self.gap("eager") >= SLOW * 0.9,
                "with cooperative-sticky everybody gives everything up": sum(
                    self.given_up["cooperative"]
                )
                == PARTITIONS,
                "and whoever is quick waits for the slowest there, too": self.gap("cooperative")
                >= SLOW * 0.9,
            },
            "C137": {
                "the group that rebalances reads nothing for a while": self.gap("eager")
                >= SLOW * 0.9,
                "another group stops as long": calm >= SLOW * 0.9,
                "the producer stops as long": whole >= SLOW * 0.9,
            },
        }


STRATEGIES = {"eager": "range", "cooperative": "cooperative-sticky", "bystander": "range"}


def gaps(cluster: Cluster) -> Gaps:
    topic = stand.topic(cluster, PARTITIONS)
    teams = {
        name: Team(cluster, topic, partition_assignment_strategy=strategy)
        for name, strategy in STRATEGIES.items()
    }
    try:
        with Stream(cluster, topic) as stream:
            return _measured(teams, stream)
    finally:
        for team in teams.values():
            team.__exit__()


def _measured(teams: dict[str, Team], stream: Stream) -> Gaps:
    disturbed = {name: team for name, team in teams.items() if name != "bystander"}
    teams["bystander"].add("z")
    for team in disturbed.values():
        team.add("a")
        team.settle()
        team.add("b", slow=SLOW)
    before = {name: team.settle() for name, team in teams.items()}
    for name, team in teams.items():
        until(f"{name} to read all", partial(_reads_all, team))
    known = {
        name: {it: len(reader.given_up) for it, reader in team.readers.items()}
        for name, team in disturbed.items()
    }
    began = time.monotonic()
    for team in disturbed.values():
        team.add("c")
    after = {name: team.settle() for name, team in teams.items()}
    ended = time.monotonic()
    for name, team in teams.items():
        until(f"{name} to read on", partial(_has_read, team, ended))
    reads = {name: _reads(team) for name, team in teams.items()}
    stays = {name: sorted({*before[name]["a"]} & {*after[name]["a"]}) for name in disturbed}
    given_up = {
        name: [sum(team.readers[it].given_up[count:]) for it, count in known[name].items()]
        for name, team in disturbed.items()
    }
    return Gaps(began, ended, reads, stays, given_up, list(stream.sent))


def _reads_all(team: Team) -> bool:
    return len({partition for partition, _ in team.read}) == PARTITIONS


def _has_read(team: Team, since: float) -> bool:
    """Something of every partition, after that time."""
    return all(times[-1] > since for times in _reads(team).values())


def _reads(team: Team) -> Reads:
    found: Reads = {number: [] for number in range(PARTITIONS)}
    for reader in team.readers.values():
        for it in list(reader.read):
            found[it.partition].append(it.at)
    return {number: sorted(set(times)) for number, times in found.items()}
