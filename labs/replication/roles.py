"""Leader and followers, as clients meet them, in the real cluster.

place        where the bytes of a partition lie, broker by broker
answers      what each replica says to a Produce, to a Fetch of version 10 and of version 11
pulling      who asks whom for records, and what becomes of a log whose broker sleeps
travels      whom a producer speaks to, from one address on
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lab import until
from table import Table

from engine import Cluster
from engine.controller import znodes
from engine.model import TopicPartition
from replication import asking, real

MESSAGES = 1000


def log(cluster: Cluster, broker: int, partition: TopicPartition) -> bytes:
    """The bytes of a replica, all its segments one after the other."""
    directory = cluster.directory(broker) / str(partition)
    return b"".join(each.read_bytes() for each in sorted(directory.glob("*.log")))


class Place(NamedTuple):
    table: Table
    assigned: tuple[tuple[int, ...], tuple[int, ...]]  # before and after a broker went
    isr: tuple[tuple[int, ...], tuple[int, ...]]
    same_bytes: bool
    leader: tuple[int, int]
    epoch: tuple[int, int]
    found: int  # records that are read with a broker down

    def __repr__(self) -> str:
        return repr(self.table)


def place(cluster: Cluster) -> Place:
    """A thousand records on three brokers; then the leader is killed, and all is read again."""
    real.mend(cluster)  # the cell may run again: then the last leader is still dead
    partition = real.topic(cluster)
    real.write(cluster, partition, (f"order {n}" for n in range(MESSAGES)))
    logs = {it: log(cluster, it, partition) for it in cluster.brokers}
    before, assigned = real.state(cluster, partition), real.assigned(cluster, partition)
    cluster.kill(before.leader)
    real.another(cluster, partition, before.leader)
    found = real.read(cluster, partition, MESSAGES)
    after = real.state(cluster, partition)
    rows = [("before", assigned, before.leader, sorted(before.isr), False)]
    still = real.assigned(cluster, partition)
    grown = after.leader_epoch > before.leader_epoch
    rows.append(("after", still, after.leader, sorted(after.isr), grown))
    return Place(
        Table("the kill, replicas, leader, ISR, a new leader epoch", rows),
        (assigned, still),
        (before.isr, after.isr),
        len(set(logs.values())) == 1 and bool(logs[before.leader]),
        (before.leader, after.leader),
        (before.leader_epoch, after.leader_epoch),
        len(found),
    )


class Machines(NamedTuple):
    table: Table
    processes: int
    hosts: int
    cluster_ids: int

    def __repr__(self) -> str:
        return repr(self.table)


def machines(cluster: Cluster) -> Machines:
    """What stands in /brokers/ids, and in each broker's own directory."""
    registered = {
        int(name): znodes.Broker.decode(real.get(cluster, znodes.broker_path(int(name))) or b"")
        for name in real.children(cluster, znodes.BROKER_IDS)
    }
    ids = {it: _cluster_id(cluster.directory(it)) for it in registered}
    rows = [
        (it, each.endpoints[0].host, cluster.directory(it).name) for it, each in registered.items()
    ]
    return Machines(
        Table("broker, host, directory", rows),
        len({cluster.state().brokers[it].pid for it in registered}),
        len({each.endpoints[0].host for each in registered.values()}),
        len(set(ids.values())),
    )


def _cluster_id(directory: Path) -> str:
    lines = (directory / "meta.properties").read_text().splitlines()
    return next(line for line in lines if line.startswith("cluster.id="))


class Answers(NamedTuple):
    table: Table
    takes: set[int]  # brokers that took a Produce
    serves: dict[int, set[int]]  # by version: brokers that answered a Fetch with the record
    leader: int
    grew: bool  # whether a Produce to a follower put anything in any log
    cut_off: bool  # a follower answers a Fetch 11 with no way to the leader

    def __repr__(self) -> str:
        return repr(self.table)


def answers(cluster: Cluster) -> Answers:
    partition = real.topic(cluster)
    leader = real.state(cluster, partition).leader
    real.write(cluster, partition, ["two teas"])
    followers = real.others(cluster, leader)
    until(
        "answers of both followers",
        lambda: all(asking.fetch(cluster, it, partition).values for it in followers),
    )
    rows, takes, serves, size = (
        [],
        set[int](),
        {10: set[int](), 11: set[int]()},
        len(log(cluster, leader, partition)),
    )
    for broker in followers:
        refused = asking.produce(cluster, broker, partition, "no tea")
        takes |= {broker} if refused.ok else set()
        rows.append((broker, "follower", refused.code.name))
    grew = any(len(log(cluster, it, partition)) != size for it in cluster.brokers)
    told = asking.produce(cluster, leader, partition, "one coffee")
    takes |= {leader} if told.ok else set()
    rows.insert(0, (leader, "leader", told.code.name))
    full = []
    for broker, role, code in rows:
        fetched = {version: asking.fetch(cluster, broker, partition, version) for version in serves}
        for version, answer in fetched.items():
            serves[version] |= {broker} if answer.ok and answer.values else set()
        full.append((broker, role, code, *(it.code.name for it in fetched.values())))
    cluster.cut(leader, followers[0])
    alone = asking.fetch(cluster, followers[0], partition, 11)
    cluster.heal()
    table = Table("broker, role, Produce, Fetch 10, Fetch 11", full)
    return Answers(table, takes, serves, leader, grew, alone.ok and bool(alone.values))


class Pulling(NamedTuple):
    table: Table
    to_leader: set[str]  # what followers asked of the leader
    to_followers: set[str]  # what the leader asked of followers, about the partition
    sizes: Table  # bytes of each log: before, while a follower slept, after
    sleeper: int

    def __repr__(self) -> str:
        return repr(self.table)


def pulling(cluster: Cluster) -> Pulling:
    """A hundred records, with every request traced; then some more while one follower sleeps."""
    controller = real.controller(cluster)
    leader = next(it for it in cluster.brokers if it != controller)
    partition = real.topic(cluster, [leader, *real.others(cluster, leader)])
    followers = real.others(cluster, leader)
    with traced(cluster) as seen:
        real.write(cluster, partition, (f"order {n}" for n in range(100)))
        end = len(log(cluster, leader, partition))
        until(
            "all three logs as long",
            lambda: all(len(log(cluster, it, partition)) == end for it in followers),
        )
    about = [it for it in seen if _is_about(it, partition)]
    role = {None: "the producer", leader: "the leader"} | dict.fromkeys(followers, "a follower")
    asks = {(role[it.data.get("asker")], it.data["api"], role[it.broker]) for it in about}
    to_leader = {
        it.data["api"] for it in about if it.broker == leader and it.data.get("asker") in followers
    }
    to_followers = {
        it.data["api"] for it in about if it.broker in followers and it.data.get("asker") == leader
    }
    table = Table("who, asks, whom", sorted(asks))
    sleeper = followers[-1]
    return Pulling(table, to_leader, to_followers, _asleep(cluster, partition, sleeper), sleeper)


def _is_about(event: Any, partition: TopicPartition) -> bool:
    rows = event.data.get("partitions", ())
    return any((it["topic"], it["partition"]) == partition for it in rows)


def _asleep(cluster: Cluster, partition: TopicPartition, sleeper: int) -> Table:
    def sizes() -> dict[int, int]:
        return {it: len(log(cluster, it, partition)) for it in cluster.brokers}

    before = sizes()
    cluster.pause(sleeper)
    real.write(cluster, partition, (f"more {n}" for n in range(100)), acks="1")
    full = max(sizes().values())
    until(
        "two logs as long",
        lambda: {size for it, size in sizes().items() if it != sleeper} == {full},
    )
    during = sizes()
    cluster.resume(sleeper)
    until("all three logs as long", lambda: set(sizes().values()) == {full})
    after = sizes()
    leader = real.state(cluster, partition).leader
    role = dict.fromkeys(cluster.brokers, "follower, awake") | {leader: "leader"}
    role |= {sleeper: "follower, asleep"}
    rows = [(role[it], during[it] > before[it], after[it] > before[it]) for it in role]
    return Table("log of the, grew meanwhile, has all in the end", sorted(rows))


@contextmanager
def traced(cluster: Cluster) -> Iterator[list[Any]]:
    """Every request to any broker, once the block is over."""
    seen: list[Any] = []
    cluster.trace()
    before = real.tail(cluster)
    yield seen
    seen += real.requests(cluster, before)
    cluster.trace(False)


# -- whom a client speaks to -----------------------------------------------------------------

_reached: list[tuple[Any, ...]] = []  # addresses that the client at work has connected to
_others: list[set[int]] = []  # while one is at work: threads that were there before it


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or not _others or threading.get_ident() in _others[-1]:
        return
    if isinstance(arguments[1], tuple):
        _reached.append(arguments[1])


sys.addaudithook(_heard)


class Travels(NamedTuple):
    table: Table
    first: str  # the first thing that the producer asked any broker about the topic
    leaders: set[int]
    served: set[int]  # brokers that had a Produce from it
    zookeeper: bool  # whether anything was sent there

    def __repr__(self) -> str:
        return repr(self.table)


def travels(cluster: Cluster) -> Travels:
    """A producer that knows one address writes to a topic with a leader on each broker."""
    partition = real.topic(cluster, [1, 2, 3], [2, 3, 1], [3, 1, 2], name="everywhere")
    door = cluster.bootstrap.split(",")[0]
    name = f"traveller-{partition.topic}"
    config = {"bootstrap.servers": door, "client.id": name, "acks": "all"}
    _reached.clear()
    _others.append({it.ident or 0 for it in threading.enumerate()} - {threading.get_ident()})
    with traced(cluster) as seen, closing(cluster.producer(config)) as producer:
        for number in range(3):
            producer.produce(partition.topic, f"order {number}", partition=number)
        producer.flush()
    _others.clear()
    ports = {state.port: number for number, state in cluster.state().brokers.items()}
    mine = [it for it in seen if it.data["client"] == name and it.data["api"] != "API_VERSIONS"]
    reached = {ports.get(address[1]) for address in _reached} - {None}
    rows = [(it, it in reached, _asked(mine, it)) for it in sorted(ports.values())]
    keeper = int(cluster.zookeeper.rpartition(":")[2])
    return Travels(
        Table("broker, connected to, asked for", rows),
        next(it.data["api"] for it in mine if it.broker == ports[int(door.rpartition(":")[2])]),
        {1, 2, 3},
        {it.broker for it in mine if it.data["api"] == "PRODUCE"},
        any(address[1] == keeper for address in _reached),
    )


def _asked(events: list[Any], broker: int) -> str:
    apis = {it.data["api"] for it in events if it.broker == broker}
    return "produce" if "PRODUCE" in apis else "-"
