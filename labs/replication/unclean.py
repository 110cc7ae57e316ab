"""All replicas are gone, and one comes back: wait for the right one, or take what there is?

choices    really: two topics in the same disaster, one of each choice
read_back  in simulated time: is what a consumer has read still there after a crash?
"""

from random import Random
from typing import NamedTuple

from lab import until
from table import Table

from engine import Cluster
from engine.model import TopicPartition
from replication import real
from replication.world import Sim

MISSED = 1000  # records that the lagging replica never sees
WAITS, TAKES = "false", "true"  # unclean.leader.election.enable


class Choice(NamedTuple):
    leader: int  # while only the lagging replica is back
    kept: int  # records in the end, of 10 + MISSED
    cut: int  # how many the old members of the ISR cut off when they came back


class Choices(NamedTuple):
    table: Table
    lagging: int
    waits: Choice
    takes: Choice
    outside: bool  # the lagging one was outside the ISR of both

    def __repr__(self) -> str:
        return repr(self.table)


def choices(cluster: Cluster) -> Choices:
    lagging, *members = sorted(cluster.brokers, key=lambda it: -it)
    topics = {
        allowed: real.topic(
            cluster,
            [*members, lagging],
            name=f"unclean-{allowed}",
            unclean_leader_election_enable=allowed,
        )
        for allowed in (WAITS, TAKES)
    }
    for topic in topics.values():
        real.write(cluster, topic, (f"early {n}" for n in range(10)))
    cluster.stop_broker(lagging)
    for topic in topics.values():
        real.out(cluster, topic, lagging)
        real.write(cluster, topic, (f"late {n}" for n in range(MISSED)))
    outside = all(lagging not in real.isr(cluster, it) for it in topics.values())
    for member in members:
        cluster.kill(member)
    cluster.restart(lagging, wait=False)
    until("the unclean leader", lambda: real.state(cluster, topics[TAKES]).leader == lagging)
    until("no leader", lambda: real.state(cluster, topics[WAITS]).leader == -1)
    leaders = {allowed: real.state(cluster, it).leader for allowed, it in topics.items()}
    mark = real.tail(cluster)
    real.mend(cluster)
    found = {
        allowed: Choice(leaders[allowed], _kept(cluster, it), _cut(cluster, it, mark))
        for allowed, it in topics.items()
    }
    rows = [
        (allowed, "nobody" if it.leader < 0 else it.leader, it.kept, it.cut)
        for allowed, it in found.items()
    ]
    head = "unclean allowed, leads while only the lagging one is back, records in the end, cut off"
    return Choices(Table(head, rows), lagging, found[WAITS], found[TAKES], outside)


def _kept(cluster: Cluster, partition: TopicPartition) -> int:
    return len(real.read(cluster, partition, 10 + MISSED))


def _cut(cluster: Cluster, partition: TopicPartition, mark: int) -> int:
    """By the member that cut off most."""
    events = [it for it in cluster.events(mark) if it.kind == "log.truncated"]
    mine = [it for it in events if (it.data["topic"], it.data["partition"]) == partition]
    return max((it.data["was"] - it.data["end_offset"] for it in mine), default=0)


class ReadBack(NamedTuple):
    read: int  # what a consumer had seen
    same: bool  # and finds again at the same offsets with the next leader
    clean: bool


def read_back(runs: int = 20) -> list[ReadBack]:
    return [_clean(seed) for seed in range(runs)]


def _clean(seed: int) -> ReadBack:
    """The leader dies at any moment, with records on the way."""
    sim, random = Sim(4, seed, zookeeper_session_timeout_ms="3000"), Random(seed)
    sim.topic("orders", [2, 3, 4])
    for follower in (3, 4):
        sim.world.slow(2, follower, random.choice((1, 5, 20)))
    for number in range(random.randrange(5, 40)):
        sim.send(str(number), acks=1)
        sim.run(random.randrange(8))
    seen = sim.seen(2)
    sim.world.kill(2)
    sim.until(lambda: sim.leader in (3, 4))
    sim.run(1000)
    return ReadBack(len(seen), sim.seen(sim.leader)[: len(seen)] == seen, True)


def read_back_uncleanly() -> ReadBack:
    """The same, but the next leader is one from outside the ISR."""
    sim = Sim(4, zookeeper_session_timeout_ms="3000")
    sim.topic("orders", [2, 3], unclean_leader_election_enable="true")
    sim.store("ab")
    sim.world.kill(3)
    sim.until(lambda: sim.isr == (2,))
    sim.store("cd")
    seen = sim.seen(2)
    sim.world.kill(2)
    sim.world.start(3)
    sim.until(lambda: sim.leader == 3)
    sim.run(100)
    clean = bool(sim.told("leader.elected")[-1][2]["clean"])
    return ReadBack(len(seen), sim.seen(3)[: len(seen)] == seen, clean)
