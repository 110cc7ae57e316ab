"""Who leads next, and who says so.

order        really: which replica follows, if the ISR is out of order
appointed    in simulated time: every message between the death of a leader and the next one
lengths      ... and whether the place in the ISR or the longest log makes a leader
allowed      the rule itself, asked directly: may an outsider win while a member lives?
three        the three kinds of election, and who decides each
"""

from random import Random
from typing import Any, NamedTuple

from lab import PATIENCE, until
from table import Table

from engine import Cluster
from engine.client.admin.values import NewTopic
from engine.client.values import KafkaException
from engine.controller.election import elect
from replication import real
from replication.world import Message, Sim, talk

DECISIONS = ("LeaderAndIsr ", "set orders-", "create /controller")


class Order(NamedTuple):
    assigned: tuple[int, ...]
    isr: tuple[int, ...]  # when the leader died
    leader: int  # the next one

    def __repr__(self) -> str:
        return repr(Table("replicas, ISR when 1 dies, next leader", [tuple(self)]))


def order(cluster: Cluster) -> Order:
    """Replicas 1, 2, 3. Broker 2 goes and comes back, and is the last in the ISR. Then 1 dies."""
    partition = real.topic(cluster, [1, 2, 3])
    real.write(cluster, partition, "abc")
    while real.isr(cluster, partition) != (1, 3, 2):  # a busy machine may have moved another one
        cluster.stop_broker(2)
        cluster.restart(2)
        until("three in the ISR", lambda: len(real.isr(cluster, partition)) == 3)
    assigned, isr = real.assigned(cluster, partition), real.isr(cluster, partition)
    cluster.kill(1)
    return Order(assigned, isr, real.another(cluster, partition, 1))


class Appointed(NamedTuple):
    messages: list[Message]  # from the leader's death until the next one is told
    controller: str
    followers: tuple[str, ...]

    def __repr__(self) -> str:
        return repr(talk(self.messages, self.messages[0].at))

    def by(self, who: str, *words: str) -> list[Message]:
        return [it for it in self.messages if it.source == who and it.text.startswith(words)]


def appointed() -> Appointed:
    """Broker 1 is the controller and has no replica; 2 leads, and dies."""
    sim = Sim(4)
    sim.topic("orders", [2, 3, 4])
    sim.store("abc")
    sim.run(1000)
    sim.world.kill(2)
    sim.until(lambda: sim.leader == 3)
    sim.run(20)
    gone = [it for it in sim.messages() if it.says("changed: /brokers/ids")][-1]
    return Appointed(sim.messages(gone.at, routine=True), "1", ("3", "4"))


class Length(NamedTuple):
    isr: tuple[int, ...]
    ends: dict[int, int]  # of those that are alive
    leader: int

    @property
    def longest(self) -> int:
        return max(self.ends.values())


def lengths(runs: int = 20) -> list[Length]:
    """Followers at various distances, an ISR in any order, a crash while records are on the way."""
    return [_length(seed) for seed in range(runs)]


def _length(seed: int) -> Length:
    sim, random = Sim(5, seed, zookeeper_session_timeout_ms="3000"), Random(seed)
    sim.topic("orders", [1, 2, 3, 4])
    for broker in random.sample((2, 3, 4), 3):  # the last to come back is the last in the ISR
        _bounce(sim, broker)
    for broker in (2, 3, 4):
        sim.world.slow(1, broker, random.choice((1, 20, 60)))
    for number in range(20):
        sim.send(str(number), acks=1)
        sim.run(10)
    isr = sim.isr
    sim.world.kill(1)
    sim.run(200)  # what was on its way arrives
    ends = {broker: sim.end(broker) for broker in (2, 3, 4)}
    sim.until(lambda: sim.leader not in (1, -1))
    return Length(isr, ends, sim.leader)


def _bounce(sim: Sim, broker: int) -> None:
    sim.world.stop(broker)
    sim.until(lambda: not sim.world[broker].is_up and broker not in sim.isr)
    sim.world.start(broker)
    sim.until(lambda: broker in sim.isr)


def accepted(cluster: Cluster, setting: str) -> bool:
    """Whether a topic may be created with a setting of that name."""
    wanted = NewTopic("named", 1, 1, config={setting: "true"})
    try:
        cluster.admin.create_topics([wanted], validate_only=True)["named"].result(PATIENCE)
    except KafkaException:
        return False
    return True


def outsider_wins() -> list[str]:
    """Every ISR and every set of live brokers of three, with unclean elections allowed: where
    would somebody outside the ISR lead although a member is alive?"""
    sets = [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    return [
        f"ISR {isr}, alive {live}"
        for isr in sets
        for live in sets
        if set(isr) & set(live) and elect((1, 2, 3), isr, live, unclean=True).leader not in isr
    ]


class Three(NamedTuple):
    table: Table
    decided: dict[str, str]  # by what is elected: who decides

    def __repr__(self) -> str:
        return repr(self.table)


def three(cluster: Cluster) -> Three:
    """The first two in simulated time, by who writes it down; the third in the real cluster."""
    sim = Sim(4)
    sim.topic("orders", [2, 3, 4])
    sim.world.kill(2)
    sim.until(lambda: sim.leader == 3)
    (partition,) = {it.source for it in sim.messages(1000) if it.says("set orders-0 leader=3")}
    sim.world.kill(1)
    sim.until(lambda: sim.world.controller not in (None, 1))
    tried = sorted({it.source for it in sim.messages(1000) if it.says("create /controller")})
    won = sim.world.controller
    moved = group_leader_moves(cluster)
    decided = {"controller": "zookeeper", "partition": partition, "group": "coordinator" * moved}
    rows = [
        (
            "the controller",
            "1",
            won,
            f"ZooKeeper: brokers {' and '.join(tried)} tried, one was first",
        ),
        ("a partition's leader", "2", 3, f"broker {partition}, the controller, and nobody else"),
        ("a group's leader", "a member", "the other", "the broker that coordinates the group"),
    ]
    return Three(Table("of what, dead, next, who decided", rows), decided)


def group_leader_moves(cluster: Cluster) -> bool:
    """A group of two loses its leader. Did its coordinator make the other one leader?"""
    partition = real.topic(cluster, [1, 2, 3], name="tables")
    name = f"waiters-{partition.topic}"
    members = {
        each: cluster.consumer({"group.id": name, "client.id": each})
        for each in ("first", "second")
    }
    for member in members.values():
        member.subscribe([partition.topic])

    def settled(count: int) -> Any:
        for member in members.values():
            member.poll(0.05)
        group = cluster.state().groups.get(name)
        stable = group and group.state == "Stable" and len(group.members) == count
        return group if stable else None

    group = until("a group of two", lambda: settled(2))
    former = group.members[group.leader].client
    members.pop(former).close()
    group = until("a group of one", lambda: settled(1))
    (latter,) = members
    members[latter].close()
    return bool(group.members[group.leader].client == latter)
