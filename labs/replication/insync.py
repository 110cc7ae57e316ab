"""Who is in sync, who says so, and for how long.

sleep       really: a follower is paused under load, leaves the ISR, and comes back
heir        really: with one out of the ISR the leader dies; where does the next come from?
departures  in simulated time: when exactly does a silent follower leave, over many beginnings
links       ... which of a follower's two links keeps it in, and who takes it out
waiting     ... what a producer waits for while one follower is silent
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

import plotly.graph_objects as go  # type: ignore[import-untyped]
from lab import until
from table import Table

from engine import Cluster
from engine.model import TopicPartition
from replication import real
from replication.world import ORDERS, Sim

LIMIT = 4000  # ms, replica.lag.time.max.ms in simulated time


class Sleep(NamedTuple):
    partition: TopicPartition
    sleeper: int
    isr: list[tuple[int, ...]]  # before, while it slept, after
    limits: float  # how many lag limits it took until it was out
    recording: Path  # of all that happened

    def __repr__(self) -> str:
        times = ("before", "while it slept", "afterwards")
        return repr(Table("when, ISR", zip(times, self.isr, strict=True)))


def sleep(cluster: Cluster, partition: TopicPartition) -> Sleep:
    """SIGSTOP for a follower, while records keep coming; then SIGCONT."""
    leader = real.state(cluster, partition).leader
    sleeper = real.others(cluster, leader)[-1]
    before, recording = real.isr(cluster, partition), cluster.data / f"{partition}.jsonl.gz"
    recorder = cluster.record(recording)
    real.write(cluster, partition, ["first"])
    cluster.pause(sleeper)
    began = time.monotonic()
    real.write(cluster, partition, ["while it sleeps"], acks="1")
    until("the sleeper out of the ISR", lambda: sleeper not in real.isr(cluster, partition))
    took, during = time.monotonic() - began, real.isr(cluster, partition)
    real.write(cluster, partition, ["without it"])
    cluster.resume(sleeper)
    until("the sleeper in the ISR again", lambda: sleeper in real.isr(cluster, partition))
    after = real.isr(cluster, partition)
    recorder.stop()
    isr = [tuple(sorted(it)) for it in (before, during, after)]
    return Sleep(partition, sleeper, isr, took / real.LAG, recording)


class Heir(NamedTuple):
    isr: tuple[int, ...]  # when the leader died
    outside: int  # the replica that was not in it, and alive
    leader: int  # the next one
    kept: bool  # it has all that was acknowledged

    def __repr__(self) -> str:
        row = (self.outside in self.isr, self.leader == self.outside, self.kept)
        head = "first heir in the ISR, first heir leads next, all that was acknowledged is there"
        return repr(Table(head, [row]))


def heir(cluster: Cluster) -> Heir:
    """The first heir in the list of replicas is cut off from the leader, and leaves the ISR."""
    isr: tuple[int, ...] = ()
    while len(isr) != 2:  # a machine that stops for seconds may put both followers out
        real.mend(cluster)
        controller = real.controller(cluster)
        leader, outside = [it for it in cluster.brokers if it != controller]
        partition = real.topic(cluster, [leader, outside, controller])
        real.write(cluster, partition, ["a"])
        cluster.cut(leader, outside)
        stored = real.write(cluster, partition, ["b", "c"])  # acks=all: waits until it is out
        isr = real.isr(cluster, partition)
    cluster.kill(leader)
    following = real.another(cluster, partition, leader)
    cluster.heal()
    return Heir(isr, outside, following, len(real.read(cluster, partition, 3)) == 1 + len(stored))


# -- in simulated time -----------------------------------------------------------------------


class Departures(NamedTuple):
    limits: list[float]  # in lag limits: from the last record it had to its leaving the ISR
    back: list[int]  # ms from the end of its silence until it is in again
    idle: bool  # it stays if nothing is written

    def __repr__(self) -> str:
        first, last = min(self.limits), max(self.limits)
        return f"It left {first:.2f} to {last:.2f} lag limits after it last had everything."

    def figure(self) -> Any:
        """Each run as a dot."""
        chart = go.Figure(
            go.Scatter(
                x=self.limits,
                y=list(range(1, len(self.limits) + 1)),
                mode="markers",
                name="out of the ISR",
            )
        )
        for limit in (1, 1.5):
            chart.add_vline(x=limit, line_dash="dot")
        chart.update_layout(
            title="When a silent follower leaves the ISR",
            xaxis_title="lag limits since it had all",
            yaxis_title="run",
            xaxis_range=[0, 2],
            height=320,
            width=760,
            template="plotly_white",
        )
        return chart


def departures(runs: int = 16) -> Departures:
    """The silence begins at another moment of the leader's round each time."""
    out, back = [], []
    for run in range(runs):
        sim = _loaded(run)
        sim.run(1000 + run * LIMIT // 2 // runs)
        sim.world.cut(1, 3)
        _load(sim, member=False)
        known = sim.world[1].running.replicas.partitions[ORDERS].followers[3]
        out.append((sim.world.clock.now - known.caught_up) / LIMIT)
        sim.world.heal()
        began = sim.now
        _load(sim, member=True)
        back.append(sim.now - began)
    sim = _loaded(0)
    sim.run(1000)
    sim.world.cut(1, 3)
    sim.run(10 * LIMIT)
    return Departures(out, back, 3 in sim.isr)


def _loaded(seed: int) -> Sim:
    sim = Sim(4, seed, replica_lag_time_max_ms=str(LIMIT), zookeeper_session_timeout_ms="40000")
    sim.topic("orders", [1, 2, 3])
    sim.store("a")
    return sim


def _load(sim: Sim, *, member: bool) -> None:
    """A record every 20 ms, until broker 3 is in sync, or is not."""
    for number in range(5000):
        if (3 in sim.isr) is member:
            return
        sim.send(str(number), acks=1)
        sim.run(20)
    raise AssertionError("it never happened")


class Links(NamedTuple):
    table: Table
    by: list[str]  # who took it out: leader, controller
    returned: list[bool]  # whether it was back before its link was whole again
    short: bool  # a break for half the limit does no harm

    def __repr__(self) -> str:
        return repr(self.table)


def links() -> Links:
    """Broker 4 is the controller, and 1 leads. First 3 loses the way to 1, then to ZooKeeper."""
    rows, by, returned = [], [], []
    for other in (1, "zookeeper"):
        sim = _four()
        sim.world.cut(3, other)
        began = sim.now
        _load(sim, member=False)
        out = next(
            it for it in sim.messages(began) if it.says("set orders-0") and "3" not in it.text[-3:]
        )
        who = "leader" if out.source == "1" else "controller" if out.source == "4" else "?"
        gone = sim.now
        for number in range(200):
            sim.send(f"x{number}", acks=1)
            sim.run(50)
        by.append(who)
        returned.append(3 in sim.isr)
        sim.world.heal()
        _load(sim, member=True)
        rows.append(
            (f"to {'the leader' if other == 1 else 'ZooKeeper'}", who, gone > began, returned[-1])
        )
    sim = _four()
    sim.world.cut(3, 1)
    for number in range(LIMIT // 2 // 50):
        sim.send(str(number), acks=1)
        sim.run(50)
    sim.world.heal()
    sim.run(5000)
    short = not [it for it in sim.told("isr.changed") if 3 not in it[2]["isr"]]
    head = "the cut link of broker 3, who takes it out, it goes, back before the link is"
    return Links(Table(head, rows), by, returned, short)


def _four() -> Sim:
    sim = Sim([4], replica_lag_time_max_ms=str(LIMIT), zookeeper_session_timeout_ms="6000")
    for broker in (1, 2, 3):
        sim.world.add(broker)
    sim.run(200)
    sim.topic("orders", [1, 2, 3])
    sim.store("a")
    sim.run(1000)
    return sim


class Waiting(NamedTuple):
    table: Table
    first: int  # ms: the record that is sent when the follower has just fallen silent
    out: int  # ms from then until it has left the ISR
    later: int  # ms: the next one
    one: int  # ms: with acks=1, at once

    def __repr__(self) -> str:
        return repr(self.table)


def waiting(least: int = 1) -> Waiting:
    """acks=all, and one of three replicas stops fetching."""
    sim = _loaded(0)
    sim.run(1100)
    sim.world.cut(1, 3)
    began = sim.now
    one = _took(sim, acks=1)
    first = _took(sim)
    out = sim.now - began
    later = _took(sim)
    rows = [
        ("acks=1, when it falls silent", "1 2 3", one),
        ("acks=all, when it falls silent", "1 2 3", first),
        ("acks=all, when it has left", sim.isr, later),
    ]
    return Waiting(Table("the record, ISR, ms", rows), first, out, later, one)


def _took(sim: Sim, acks: int = -1) -> int:
    (sent,) = sim.store(["x"], acks)
    return (sent.done_at or 0) - sent.sent_at
