"""The controller: how it comes into office, what it hears, what it says, and when it is over.

    ZooKeeper ──"changed"──> controller ──reads──> ZooKeeper
                                 │──writes who leads──> ZooKeeper
                                 └──LeaderAndIsr, UpdateMetadata──> brokers

All of it in simulated time, where every message is seen. What becomes of a controller that dies or
sleeps is tried in the real cluster, by office.py.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from table import Table

from engine.controller import znodes
from engine.controller.asks import Children, Exists, Get, Set
from engine.model import TopicPartition
from engine.sim.world import World
from replication.world import Message, Sim

ORDERS_TO_BROKERS = ("LeaderAndIsr ", "UpdateMetadata", "StopReplica ")


def race(runs: int = 10) -> Table:
    """Three brokers start at once, on a network of uneven speed: who is the controller?"""
    rows = []
    for seed in range(runs):
        tries: list[tuple[int, str]] = []
        world = World(seed, [], delay=(1, 8))
        world.network.carried.append(_tries(tries))
        for broker in (1, 2, 3):
            world.add(broker)
        world.run(1000)
        asked, before = [who for _, who in sorted(tries)], len(tries)
        world.add(4)  # too late
        world.run(1000)
        rows.append((seed, asked, world.controller, len(tries) > before))
    return Table("run, create /controller arrives from, controller, 4 tried too", rows)


def _tries(tries: list[tuple[int, str]]) -> Callable[..., None]:
    def carried(source: str, target: str, what: Any, arrives: int) -> None:
        for ask in getattr(what, "asks", ()):
            if any(
                getattr(it, "path", "") == znodes.CONTROLLER for it in getattr(ask, "writes", ())
            ):
                tries.append((arrives, source.removeprefix("broker-")))

    return carried


class Reaction(NamedTuple):
    """What one change in the cluster sets off."""

    change: str
    heard: dict[str, set[str]]  # by path: whom ZooKeeper told that it has changed
    wrote: list[str]  # what the controller wrote
    said: Counter[tuple[str, str]]  # by kind and by receiver: the controller's requests
    senders: set[str]  # who sent such requests at all

    @property
    def row(self) -> tuple[Any, ...]:
        kinds = sorted({kind for kind, _ in self.said})
        to = {kind: [who for it, who in sorted(self.said) if it == kind] for kind in kinds}
        said = ", ".join(f"{kind} to {' '.join(to[kind])}" for kind in kinds)
        return self.change, sorted(self.heard), said


class Duties(NamedTuple):
    reactions: list[Reaction]
    same_metadata: list[bool]  # after each change: do all brokers tell clients the same?
    controller: str

    def __repr__(self) -> str:
        return repr(
            Table(
                "change, ZooKeeper tells of, the controller says", [it.row for it in self.reactions]
            )
        )

    @property
    def hearers(self) -> dict[str, set[str]]:
        """By path: who was told by ZooKeeper."""
        found: dict[str, set[str]] = {}
        for reaction in self.reactions:
            for path, who in reaction.heard.items():
                found.setdefault(path, set()).update(who)
        return found


def duties() -> Duties:
    """A topic is created, grows, loses a leader; a broker comes; a topic goes. 1 is controller."""
    sim = Sim(4)

    def grow() -> None:
        node = znodes.Topic.decode(sim.world.get(znodes.topic_path("orders")) or b"")
        more = dict(node.partitions) | {n: znodes.Replicas((3, 4)) for n in (2, 3)}
        sim.world.ask(Set(znodes.topic_path("orders"), node._replace(partitions=more).encode()))

    changes: list[tuple[str, Callable[[], Any]]] = [
        ("a topic is created", lambda: sim.world.create("orders", [[2, 3, 4], [3, 4, 2]])),
        ("it gets two more partitions", grow),
        ("the leader of orders-0 dies", lambda: sim.world.kill(2)),
        ("broker 5 joins", lambda: sim.world.add(5)),
        ("the topic is deleted", lambda: sim.world.delete("orders")),
    ]
    found, same = [], []
    for change, do in changes:
        began = sim.now
        do()
        sim.run(25_000)
        found.append(_reaction(change, sim.messages(began, routine=True)))
        live = [node.running.metadata for node in sim.world.nodes.values() if node.is_up]
        tells = [(it.topics, sorted(it.brokers), it.controller) for it in live]
        same.append(all(each == tells[0] for each in tells))
    return Duties(found, same, "1")


def _reaction(change: str, messages: list[Message]) -> Reaction:
    heard: dict[str, set[str]] = {}
    wrote, said, senders = [], Counter[tuple[str, str]](), set()
    for each in messages:
        if each.source == "zookeeper" and each.says("changed: "):
            heard.setdefault(each.text.removeprefix("changed: "), set()).add(each.target)
        if each.target == "zookeeper" and each.source == "1" and not each.routine:
            wrote.append(each.text)
        name = each.text.split(" ")[0]
        if name in {"LeaderAndIsr", "UpdateMetadata", "StopReplica"}:
            said[name, each.target] += 1
            senders.add(each.source)
    return Reaction(change, heard, wrote, said, senders)


class Takeover(NamedTuple):
    partitions: int
    reads: Counter[str]  # by what the path is about, before it first speaks to a broker
    agrees: bool  # what it tells the brokers is what stands in ZooKeeper

    @property
    def total(self) -> int:
        return sum(self.reads.values())


KINDS = (
    (znodes.BROKER_IDS, "brokers"),
    ("/state", "who leads, who is in sync"),
    (znodes.TOPICS, "topics and their replicas"),
    ("/admin", "wishes of administrators"),
    (znodes.CONTROLLER, "the office itself"),
)


def takeover(partitions: int) -> Takeover:
    """The controller dies; what does the next one read before it says anything?"""
    sim = Sim(4, zookeeper_session_timeout_ms="3000")
    sim.topic("orders", *[[2, 3, 4]] * partitions)
    began = sim.now
    sim.world.kill(1)
    sim.until(lambda: sim.world.controller not in (None, 1))
    new = str(sim.world.controller)
    sim.until(lambda: any(it.source == new for it in _orders(sim, began)))
    spoke = next(it.at for it in _orders(sim, began) if it.source == new)
    sim.run(1000)
    asks = [
        ask
        for it in sim.messages(began, routine=True)
        if it.source == new and it.target == "zookeeper" and it.at <= spoke
        for ask in it.what.asks
        if isinstance(ask, Get | Exists | Children)
    ]
    known = sim.world[int(new)].running.metadata.topics["orders"].partitions
    written = {n: sim.world.state(TopicPartition("orders", n)) for n in range(partitions)}
    told = {n: (it.leader, tuple(it.isr)) for n, it in known.items()}
    agrees = told == {n: (it.leader, it.isr) for n, it in written.items() if it}
    return Takeover(partitions, Counter(map(_kind, asks)), agrees)


def _orders(sim: Sim, since: int) -> list[Message]:
    return [
        it for it in sim.messages(since, routine=True) if it.text.startswith(ORDERS_TO_BROKERS[:2])
    ]


def _kind(ask: Any) -> str:
    return next((kind for part, kind in KINDS if part in ask.path), "the rest")


def reads(seen: list[Takeover]) -> Table:
    """How often each of them asked, by what it was about."""
    kinds = sorted(set().union(*(it.reads for it in seen)))
    rows = [(kind, *(it.reads[kind] for it in seen)) for kind in kinds]
    counts = ", ".join(f"with {it.partitions} partitions" for it in seen)
    return Table(f"it reads about, {counts}", rows)


class Failures(NamedTuple):
    table: Table
    bystander: int  # new leaders after the death of a broker that led nothing
    leader: int  # ... that led five partitions
    led: int  # how many it led
    told: bool  # in both cases every broker that is left was told


def failures() -> Failures:
    """Broker 4 leads nothing, broker 2 leads five partitions. First 4 dies, then 2."""
    sim = Sim(4, zookeeper_session_timeout_ms="3000")
    sim.topic("orders", *[[2, 3, 4]] * 5, *[[3, 2, 4]] * 3)
    rows, elected, told = [], [], True
    for broker in (4, 2):
        led = sum(it == broker for it in _leaders(sim))
        began, before = sim.now, _leaders(sim)
        sim.world.kill(broker)
        sim.run(10_000)
        after = _leaders(sim)
        elected.append(sum(a != b for a, b in zip(before, after, strict=True)))
        heard = {it.target for it in sim.messages(began, routine=True) if it.says("UpdateMetadata")}
        heard &= {str(it) for it in sim.world.nodes if sim.world[it].is_up}
        told &= len(heard) == sum(node.is_up for node in sim.world.nodes.values())
        rows.append((broker, led, elected[-1], sorted(heard)))
    table = Table("dead, had led, new leaders, brokers that were told", rows)
    return Failures(table, elected[0], elected[1], 5, told)


def _leaders(sim: Sim) -> list[int]:
    return [sim.world.leader(TopicPartition("orders", n)) for n in range(8)]


class Headless(NamedTuple):
    """The controller is gone, and its session not yet over."""

    leader_serves: bool  # a partition whose leader lives takes records
    orphan_waits: bool  # one whose leader dies in that time gets no other
    order: list[str]  # what happens first, second, third when there is a new one
    orphan_led: bool  # and in the end that partition has a leader again

    def __repr__(self) -> str:
        rows = [
            ("a partition whose leader lives takes records", self.leader_serves),
            ("one whose leader dies waits", self.orphan_waits),
            *((f"{place}. {what}", "-") for place, what in enumerate(self.order, 1)),
            ("and that one is led again", self.orphan_led),
        ]
        return repr(Table("without a controller, so", rows))


def headless() -> Headless:
    sim = Sim(4, zookeeper_session_timeout_ms="6000")
    sim.topic("orders", [2, 3, 4], [3, 4, 2])
    sim.world.kill(1)
    sim.run(1000)
    sim.world.kill(3)
    began = sim.now
    (sent,) = sim.store("a", acks=1)
    sim.run(1000)
    waits = sim.world.leader(TopicPartition("orders", 1)) == 3
    sim.until(lambda: sim.world.leader(TopicPartition("orders", 1)) == 4)
    words = ("create /controller", "set orders-1 leader=4", "LeaderAndIsr orders-0")
    times = {word: min(_said(sim, began, word), default=0) for word in words}
    decided = sim.told("controller.elected", began)[0]
    order = sorted(times, key=lambda word: times[word])
    led = decided[1] != 1 and sim.world.leader(TopicPartition("orders", 1)) == 4
    return Headless(not sent.code, waits, order, led)


def _said(sim: Sim, since: int, word: str) -> list[int]:
    return [it.at for it in sim.messages(since) if word in it.text]


def news() -> list[Message]:
    """The leader, broker 2, drops a follower from the ISR: how does everybody learn of it?"""
    sim = Sim(4, replica_lag_time_max_ms="3000")
    sim.topic("orders", [2, 3, 4])
    sim.store("a")
    sim.world.cut(2, 4)
    sim.send("b")
    sim.until(lambda: sim.isr == (2, 3))
    began = sim.now - 3
    sim.run(3000)  # notes are gathered for a moment before they are passed on
    words = ("set orders-0", "create /isr", "changed: /isr", "UpdateMetadata")
    return [
        it
        for it in sim.messages(began, routine=True)
        if it.text.startswith(words) and not it.says("UpdateMetadataResponse")
    ]
