"""One record at a time, or all that came before: what a restart does to either.

          150 records          SIGKILL            150 records more
cards ──> processor ─────────────x   processor ──────────────────> out
                        committed: 100 └─ goes on at 100: 50 are done again
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lab import until
from table import Table

from engine import Cluster
from streams import house, stand
from streams.crew import Crew
from streams.unbounded import Cases

HALF = 150
STEPS = {"greet": "map, Hello", "large": "filter, from 5", "count": "count"}
CLIENT = {  # what a consumer and a producer ask for
    *("API_VERSIONS", "METADATA", "FIND_COORDINATOR", "JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT"),
    *("LEAVE_GROUP", "OFFSET_FETCH", "LIST_OFFSETS", "FETCH", "OFFSET_COMMIT", "PRODUCE"),
    *("INIT_PRODUCER_ID", "OFFSET_FOR_LEADER_EPOCH"),
}
WORK = 0.02  # seconds for a record: work that waits for somebody else
BACKLOG = 120

Outputs = dict[tuple[str, int], list[str]]  # by step and the offset that it comes from


@dataclass
class Restarted:
    """The same input, once through, and once with a processor that was killed half-way."""

    whole: Outputs
    killed: Outputs

    def same(self, step: str) -> bool:
        """Each record gave the same, however often."""
        return self._of(self.whole, step) == self._of(self.killed, step)

    def again(self, step: str) -> int:
        """Records that were done twice."""
        return sum(len(it) > 1 for (name, _), it in self.killed.items() if name == step)

    def last(self) -> tuple[dict[str, int], dict[str, int]]:
        """The counts in the end, of either run."""
        return _last(self.whole), _last(self.killed)

    def _of(self, found: Outputs, step: str) -> dict[int, set[str]]:
        return {offset: set(it) for (name, offset), it in found.items() if name == step}

    def __repr__(self) -> str:
        rows = [(words, self.again(name), self.same(name)) for name, words in STEPS.items()]
        head = ("", "done twice", "the same as without a crash")
        return repr(Table(head, rows))

    def verdicts(self) -> Cases:
        redone = [set(it) for (name, _), it in self.killed.items() if name == "greet" and it[1:]]
        return {
            "C160": {
                "the same record gives the same greeting in another run": self.same("greet"),
                "and when it is done twice": bool(redone) and all(len(it) == 1 for it in redone),
            },
            "C161": {
                "after a restart map goes on as if nothing had happened": self.same("greet"),
                "so does filter": self.same("large"),
                "count does not: what it had counted is gone": not self.same("count")
                and self.last()[0] != self.last()[1],
            },
        }


def restarted(cluster: Cluster) -> Restarted:
    records = house.pairs(house.some_cards(2 * HALF))
    cards, whole, killed = (stand.topic(cluster, name) for name in ("cards", "whole", "killed"))
    stand.send(cluster, cards, records[:HALF])
    many: dict[str, Any] = {"source": cards, "steps": ",".join(STEPS)}
    with Crew(cluster) as crew:
        crew.start("once", target=whole, group=stand.fresh("once"), **many)
        group = stand.fresh("twice")
        crew.start("first", target=killed, group=group, **many)
        until("half of it", partial(_reached, cluster, killed, HALF))
        crew.kill("first")
        stand.send(cluster, cards, records[HALF:])
        crew.start("second", target=killed, group=group, **many)
        for target in (whole, killed):
            until("all of it", partial(_reached, cluster, target, 2 * HALF))
    return Restarted(_outputs(cluster, whole), _outputs(cluster, killed))


def _reached(cluster: Cluster, topic: str, number: int) -> bool:
    return ("count", number - 1) in _outputs(cluster, topic)


def _outputs(cluster: Cluster, topic: str) -> Outputs:
    found: Outputs = {}
    for it in stand.read(cluster, topic):
        found.setdefault((it.headers["step"], int(it.headers["from"])), []).append(
            f"{it.key}: {it.value}"
        )
    return found


def _last(outputs: Outputs) -> dict[str, int]:
    ends = [it[-1].split(": ") for (name, _), it in sorted(outputs.items()) if name == "count"]
    return {guest: int(count) for guest, count in ends}


# -- where it runs ---------------------------------------------------------------------------


@dataclass
class Where:
    """A processor, as the brokers see it."""

    brokers: list[int]  # process ids, before
    after: list[int]
    processor: int
    apis: set[str]  # what it asked them for
    later: set[str]  # and once it had stopped
    serve: bool  # brokers, afterwards

    def __repr__(self) -> str:
        rows = [
            ("runs in a broker's process", self.processor in self.brokers),
            ("asks for what a consumer and a producer ask for", self.apis <= CLIENT),
            ("asks for anything once it has stopped", bool(self.later)),
            ("brokers go on without it", self.serve and self.brokers == self.after),
        ]
        return repr(Table(("the processor", ""), rows))

    def verdicts(self) -> Cases:
        return {
            "C158": {
                "it is a process of its own": self.processor not in self.brokers,
                "brokers see a consumer and a producer, and nothing else": {"FETCH", "PRODUCE"}
                <= self.apis
                <= CLIENT,
                "when it ends only its requests are missing": not self.later
                and self.serve
                and self.brokers == self.after,
            }
        }


def where(cluster: Cluster) -> Where:
    cards, out = stand.topic(cluster, "cards"), stand.topic(cluster, "out")
    stand.send(cluster, cards, house.pairs(house.some_cards(100)))
    before, after = _pids(cluster), stand.last_event(cluster)
    cluster.trace(True)
    try:
        with Crew(cluster) as crew:
            crew.start("greeter", source=cards, target=out, steps="greet", group="greeters")
            stand.wait_for(cluster, out, 100)
            apis = until("its requests", lambda: _asked(cluster, "greeter", after))
            pid = crew.pid("greeter")
            crew.stop("greeter")
            apis |= _asked(cluster, "greeter", after)
            gone = stand.last_event(cluster)
            serve = stand.send(cluster, cards, [("Mei", "-3")]) == 1
            later = _asked(cluster, "greeter", gone)
    finally:
        cluster.trace(False)
    return Where(before, _pids(cluster), pid, apis, later, serve)


def _pids(cluster: Cluster) -> list[int]:
    return [cluster.child(each).pid for each in cluster.brokers]


def _asked(cluster: Cluster, client: str, after: int) -> set[str]:
    return {
        it.data["api"]
        for it in cluster.events(after)
        if it.kind == "request" and it.data["client"] == client
    }


# -- several of them -------------------------------------------------------------------------


class Shift(NamedTuple):
    """A backlog is worked off."""

    shares: dict[str, list[int]]  # partitions by instance
    done: dict[str, int]  # records by instance
    seconds: float  # from the first to the last


@dataclass
class Instances:
    """The same processor once, twice, and with one of the two killed."""

    one: Shift
    two: Shift
    killed: Shift

    def __repr__(self) -> str:
        shifts = {"one": self.one, "two": self.two, "one of them is killed": self.killed}
        rows = [(name, it.shares, sum(it.done.values())) for name, it in shifts.items()]
        return repr(Table(("instances", "who has which partitions", "records done"), rows))

    def verdicts(self) -> Cases:
        one, two, killed = self.one, self.two, self.killed
        return {
            "C159": {
                "alone it has all partitions": one.shares == {"a": [0, 1, 2, 3]},
                "two have two each": [len(it) for it in two.shares.values()] == [2, 2],
                "and each does half of the records": set(two.done.values()) == {BACKLOG // 2},
                "two take less than four fifths of the time": two.seconds < one.seconds * 0.8,
                "one is killed, and the other does all": killed.done == {"b": BACKLOG},
            }
        }


def instances(cluster: Cluster) -> Instances:
    with Crew(cluster) as crew:
        one = Bench(cluster, crew, "a").shift("a")
    with Crew(cluster) as crew:
        bench = Bench(cluster, crew, "a", "b")
        two = bench.shift("a", "b")
        crew.kill("a")
        return Instances(one, two, bench.shift("b"))


class Bench:
    """Instances of one processor, on four partitions."""

    def __init__(self, cluster: Cluster, crew: Crew, *names: str) -> None:
        self.cluster, self.group = cluster, stand.fresh("greeters")
        self.cards, self.out = stand.topic(cluster, "cards", 4), stand.topic(cluster, "out")
        facts: dict[str, Any] = {
            "source": self.cards,
            "target": self.out,
            "steps": "greet",
            "group": self.group,
        }
        for name in names:
            crew.start(name, work=WORK, batch=10, commit_every=20, **facts)
        self.sent = 0

    def shift(self, *names: str) -> Shift:
        """A backlog, once these have shared the partitions among them."""
        shares = until(f"shares for {' and '.join(names)}", lambda: self._shares(set(names)))
        before = len(stand.read(self.cluster, self.out))
        with self.cluster.producer() as producer:
            for number, (guest, amount) in enumerate(house.some_cards(BACKLOG)):
                producer.produce(self.cards, f"{amount:+}", guest, partition=number % 4)
        self.sent += BACKLOG
        until("the last commits", self._committed)  # or whoever comes after does some of it again
        new = stand.read(self.cluster, self.out)[before:]
        done = {name: sum(it.headers["by"] == name for it in new) for name in names}
        times = [it.at for it in new]
        return Shift(shares, done, (max(times) - min(times)) / 1000)

    def _committed(self) -> bool:
        group = self.cluster.state().groups.get(self.group)
        return group is not None and sum(group.offsets.values()) == self.sent

    def _shares(self, names: set[str]) -> dict[str, list[int]]:
        group = self.cluster.state().groups.get(self.group)
        if group is None or group.state != "Stable":
            return {}
        shares = {it.client: it.share or () for it in group.members.values()}
        if shares.keys() != names or sum(map(len, shares.values())) != 4:
            return {}
        return {name: sorted(int(it[-1]) for it in shares[name]) for name in sorted(shares)}
