"""Two worlds, one script, one seed: a follower that is cut by its HW, and one that asks by epoch.

    before KIP-101   a follower of a new leader epoch cuts its log to its own high watermark
    since then       it asks: "where did the epoch of my last record end with you?"

The first is Kafka's own behaviour below inter.broker.protocol.version 0.11, and the engine's too.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from table import Table

from engine.replication.partition import Role
from engine.sim.trace import Trace
from replication.world import Sim

OLD, NEW = "by HW", "by epoch"
VERSIONS = {OLD: "0.10.2", NEW: "2.8"}


class Both(NamedTuple):
    table: Table
    logs: dict[str, dict[int, list[str]]]  # by way and by broker, in the end
    cut: dict[str, list[int]]  # by way: the offsets to which logs were cut
    acknowledged: dict[str, list[str]]

    def __repr__(self) -> str:
        return repr(self.table)

    def lost(self, way: str) -> list[str]:
        """Acknowledged, and not with the leader."""
        return [it for it in self.acknowledged[way] if it not in self.logs[way][3]]

    def differ(self, way: str) -> bool:
        """Two replicas have different records at one offset."""
        logs = list(self.logs[way].values())
        return any(len({each[n] for each in logs if n < len(each)}) > 1 for n in range(9))


Step = tuple[str, list[Callable[[Sim], object]]]  # what is told, and what is done for it


def lost() -> Both:
    """A committed record, and the leader dies while its follower has cut it off. 2 leads at first;
    every message from 2 to 3 takes a second; 4 dies first, and 2 last."""
    steps: list[Step] = [
        ("a and b are on all replicas", [_settled]),
        (
            "4 dies, c is sent",
            [lambda sim: sim.world.kill(4), lambda sim: sim.send("c"), lambda sim: sim.run(4000)],
        ),
        ("4 is out of the ISR: c is acknowledged", [_without_4]),
        (
            "2 dies, 3 leads",
            [lambda sim: sim.world.kill(2), lambda sim: sim.until(lambda: sim.leader == 3)],
        ),
    ]
    return _side_by_side([2, 3, 4], steps, min_insync_replicas="2")


def split() -> Both:
    """3 loses its power, and with it what was not on its disk, and leads all the same: for it was
    in sync. 2 comes back with a record that 3 has no more."""
    steps: list[Step] = [
        ("a is on the disks", [lambda sim: sim.store("a"), lambda sim: sim.run(70_000)]),
        ("b is in memory", [lambda sim: sim.store("b"), lambda sim: sim.run(6000)]),
        (
            "2 is killed, 3 loses its power",
            [lambda sim: sim.world.kill(2), lambda sim: sim.world.power_cut(3)],
        ),
        (
            "3 is back, and leads",
            [
                lambda sim: sim.run(20_000),
                lambda sim: sim.world.start(3),
                lambda sim: sim.run(1000),
            ],
        ),
        ("it takes c and d", [lambda sim: sim.store("cd", acks=1), lambda sim: sim.run(1000)]),
        ("2 is back, and follows", [lambda sim: sim.world.start(2), lambda sim: sim.run(2000)]),
    ]
    return _side_by_side([2, 3], steps, flush_ms="60000")


def _settled(sim: Sim) -> None:
    sim.world.slow(2, 3, 1000)
    sim.store("ab")
    sim.run(4000)


def _without_4(sim: Sim) -> None:
    """And a moment longer: too short for 3 to fetch anything anew."""
    sim.until(lambda: sim.isr == (2, 3))
    sim.run(1600)


def _side_by_side(replicas: list[int], steps: list[Step], **topic: str) -> Both:
    sims = {way: Sim(4, inter_broker_protocol_version=version) for way, version in VERSIONS.items()}
    rows = []
    for sim in sims.values():
        sim.topic("orders", replicas, **topic)
    for what, do in steps:
        for sim, act in product(sims.values(), do):
            act(sim)
        rows.append((what, *(_logs(sim, replicas) for sim in sims.values())))
    logs = {way: {it: sim.values(it) for it in replicas} for way, sim in sims.items()}
    cut = {
        way: [it[2]["end_offset"] for it in sim.told("log.truncated")] for way, sim in sims.items()
    }
    known = {way: sim.acknowledged for way, sim in sims.items()}
    return Both(Table("what happens, " + ", ".join(VERSIONS), rows), logs, cut, known)


def _logs(sim: Sim, replicas: list[int]) -> str:
    return " ".join(f"{it}:{''.join(sim.values(it))}{_mark(sim, it)}" for it in replicas)


def _mark(sim: Sim, broker: int) -> str:
    life = sim.world[broker].life
    if life is None:
        return "†"
    roles = [it.role for it in life.replicas.partitions.values() if it.id.topic == "orders"]
    return "*" if roles == [Role.LEADER] else ""


class Storm(NamedTuple):
    seed: int
    old: str  # which promise was broken, by HW
    new: str  # ... by epoch


def storms(seeds: range = range(1, 3), seconds: float = 10) -> list[Storm]:
    """Random faults, the same for both ways, judged by the promises a cluster makes."""
    return [
        Storm(
            seed,
            _broken(Trace.of(seed, seconds, defect="cut-to-high-watermark")),
            _broken(Trace.of(seed, seconds)),
        )
        for seed in seeds
    ]


def _broken(trace: Trace) -> str:
    return str(trace.violation).split(" does not hold")[0] if trace.violation else ""
