"""What follows from a cut link: the figures are the brokers', and what was said comes true."""

import re
from dataclasses import replace

import pytest

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import FollowerState, LinkState
from engine.sim.picture import Picture
from engine.sim.simulation import Simulation
from tests.unit.widgets.cluster import START, Cluster, ensemble, partition
from widgets.link_faults import sentences
from widgets.moment import ViewMoment
from widgets.run_source import LiveRun

LIMIT = 12_000


class Simulated:
    """A simulation as a cluster that a view looks at."""

    def __init__(self, sim):
        self.sim, self.picture = sim, Picture(sim.world)

    def state(self):
        return self.picture.take()

    def events(self, after=0):
        found = enumerate(self.sim.world.events[after:], after + 1)
        return [
            ClusterEvent(it.event.kind, it.at, it.broker or None, it.event.data, number)
            for number, it in found
        ]


def told(source, run=None):
    run = run or LiveRun(source)
    run.poll()
    return sentences(ViewMoment(run, run.end, True))


def test_a_follower_leaves_the_isr_when_it_was_said():
    sim = Simulation(brokers=3, replica_lag_time_max_ms=LIMIT)
    sim.topic("orders", replicas=[1, 2, 3])
    sim.run(5)
    source = Simulated(sim)
    run = LiveRun(source)
    assert told(source, run) == []
    sim.cut(1, 3)
    sim.send("orders", "two teas", acks="all")
    sim.run(1)
    (said,) = told(source, run)
    seconds = re.fullmatch(
        r"Broker 3 leaves the ISR of orders-0 in (\d+) s or a little later\.", said
    )
    assert seconds
    promised = sim.world.clock.now + 1000 * int(seconds[1])
    sim.wait(lambda: 3 not in next(iter(source.state().partitions.values())).isr, 60)
    left = sim.world.clock.now
    assert promised - 1000 <= left <= promised + LIMIT // 2 + 1000  # checks: every half of it
    (said,) = told(source, run)
    assert re.fullmatch(r"Broker 3 left the ISR of orders-0 \d+\.\d s after the cut\.", said)
    sim.heal()
    assert told(source, run) == []


def test_without_new_records_a_follower_stays():
    sim = Simulation(brokers=3, replica_lag_time_max_ms=LIMIT)
    sim.topic("orders", replicas=[1, 2, 3])
    sim.run(5)
    source = Simulated(sim)
    run = LiveRun(source)
    sim.cut(1, 3)
    sim.run(40)
    assert told(source, run) == [
        "Broker 3 has all records of orders-0. It leaves the ISR 12 s after the next one."
    ]
    assert source.state().partitions.popitem()[1].isr == (1, 2, 3)


def lagging(behind_since, **facts):
    cluster = Cluster()
    cluster.change(1, **facts)
    state = partition(1, ends=(12, 12, 10), committed=10)
    followers = {2: FollowerState(12, -1), 3: FollowerState(10, behind_since)}
    cluster.set_partitions(orders_0=replace(state, followers=followers))
    run = LiveRun(cluster)
    cluster.now = replace(cluster.now, links=(LinkState("1", "3", True), LinkState("3", "1", True)))
    cluster.note("link.cut", one=1, other=3, both=True)
    cluster.pass_time(4000)
    return cluster, run


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (30_000, "in 27 s or a little later."),
        (4_000, "in 1 s or a little later."),
        (2_000, "when broker 1 checks next."),
        (0, "when it has lagged for too long."),
    ],
)
def test_the_time_counts_from_when_it_was_last_caught_up(limit, words):
    cluster, run = lagging(START + 500, max_lag_ms=limit)
    assert told(cluster, run)[0] == f"Broker 3 leaves the ISR of orders-0 {words}"


@pytest.mark.parametrize(
    ("timeout", "words"),
    [
        (6_000, "ends in at most 2 s."),
        (3_000, "is over: ZooKeeper is about to tell."),
        (0, "will end."),
    ],
)
def test_a_session_ends(timeout, words):
    cluster = Cluster()
    cluster.change(2, session_ms=timeout)
    run = LiveRun(cluster)
    cluster.cut(2, "zookeeper")
    cluster.pass_time(4000)
    assert told(cluster, run) == [f"The session of broker 2 {words}"]
    cluster.note("broker.down", 1, broker=2)
    cluster.pass_time(100)
    assert told(cluster, run) == ["The session of broker 2 ended 4.0 s after the cut."]


def test_a_broker_goes_to_another_server_of_an_ensemble():
    cluster = Cluster(zookeepers=ensemble())
    cluster.change(1, session_ms=6000)
    cluster.cut(1, "zookeeper-1")
    words = "Broker 1 goes to another server after 4 s without an answer, and keeps its session."
    assert told(cluster) == [words]
    for ends in ((1, "zookeeper-2"), ("zookeeper-1", "zookeeper-2")):  # it uses another one
        cluster.cut(*ends)
        assert told(cluster) == []


def test_it_says_how_long_ago_it_was_at_each_moment_of_the_past():
    cluster, run = lagging(START + 500, max_lag_ms=6_000)
    run.poll()
    cluster.pass_time(4000)
    cluster.note("isr.changed", 1, topic="orders", partition=0, was=[1, 2, 3], isr=[1, 2])
    state = cluster.now.partitions
    first = next(it for it in state if it.partition == 0 and it.topic == "orders")
    cluster.set_partitions(orders_0=replace(state[first], isr=(1, 2)))
    run.poll()
    moments = ViewMoment(run, run.end, False), ViewMoment(run, START + 4000, False)
    (after, *_), (before, *_) = map(sentences, moments)
    assert after == "Broker 3 left the ISR of orders-0 8.0 s after the cut."
    assert before == "Broker 3 leaves the ISR of orders-0 in 3 s or a little later."
