"""What `acks` and `min.insync.replicas` buy, and what they cost.

crash          really: a leader dies with what nobody had copied, for acks 0, 1 and all
pace           in simulated time: how long a record takes when one follower is slow
copies         ... and with one, two or three replicas
survivors      ... and which acknowledged records outlive two disasters
"""

from contextlib import closing
from random import Random
from typing import Any, NamedTuple

from lab import until
from table import Table

from engine import Cluster
from engine.cluster.stream import Happened
from engine.model import TopicPartition
from replication import real
from replication.world import ORDERS, Sim

LEVELS = ("0", "1", "all")
RECORDS = 100
TRIES = 5


class Crash(NamedTuple):
    table: Table
    leader: int  # who died
    lost: dict[str, int]  # by acks: acknowledged, and gone
    uncopied: int  # how many records only the dead leader had, per topic, when it died
    truncated: list[Happened]  # what it cut off when it came back

    def __repr__(self) -> str:
        return repr(self.table)


def crash(cluster: Cluster) -> Crash:
    """Cut the leader of three topics from its followers, write to each, and kill it."""
    for _ in range(TRIES):  # a machine that stops for seconds lets the leader drop its followers
        real.mend(cluster)
        leader = next(it for it in cluster.brokers if it != real.controller(cluster))
        replicas = [leader, *real.others(cluster, leader)]
        topics = {acks: real.topic(cluster, replicas, name=f"acks-{acks}") for acks in LEVELS}
        for follower in real.others(cluster, leader):
            cluster.cut(leader, follower)
        stored, producers = _write(cluster, topics)
        uncopied = cluster.state().partitions[topics["1"]].replicas[leader].log_end
        cluster.kill(leader)
        if all(len(real.isr(cluster, each)) == 3 for each in topics.values()):
            break
        for producer in producers.values():
            producer.close(0)
    return _count(cluster, leader, topics, stored, producers, uncopied)


def _write(
    cluster: Cluster, topics: dict[str, TopicPartition]
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """RECORDS to each topic; those that are acknowledged are added as that is heard."""
    stored: dict[str, list[str]] = {acks: [] for acks in topics}
    producers = {}
    for acks, topic in topics.items():
        producers[acks] = cluster.producer({"acks": acks, "linger.ms": 0})

        def heard(error: Any, message: Any, told: list[str] = stored[acks]) -> None:
            if error is None:
                told.append(message.value().decode())

        for number in range(RECORDS):
            producers[acks].produce(topic.topic, f"record {number}", partition=0, on_delivery=heard)
    for acks in ("0", "1"):
        producers[acks].flush()
    until("an answer to acks=all", lambda: producers["all"].poll(0) or True)
    return stored, producers


def _count(
    cluster: Cluster,
    leader: int,
    topics: dict[str, TopicPartition],
    stored: dict[str, list[str]],
    producers: dict[str, Any],
    uncopied: int,
) -> Crash:
    before, heard = real.tail(cluster), {acks: len(it) for acks, it in stored.items()}
    cluster.heal()
    for topic in topics.values():
        real.another(cluster, topic, leader)
    for producer in producers.values():
        with closing(producer):
            producer.flush()
    found = {acks: real.read(cluster, topic, RECORDS) for acks, topic in topics.items()}
    cluster.restart(leader)
    real.mend(cluster)
    events = [it for it in cluster.events(before) if it.kind == "log.truncated"]
    lost = {acks: len(set(it) - set(found[acks])) for acks, it in stored.items()}
    rows = [(acks, heard[acks], len(stored[acks]), len(found[acks]), lost[acks]) for acks in LEVELS]
    head = "acks, acknowledged before the crash, in the end, found, acknowledged and lost"
    return Crash(Table(head, rows), leader, lost, uncopied, events)


# -- in simulated time -----------------------------------------------------------------------


class Pace(NamedTuple):
    table: Table
    near: int  # ms per record: both followers near
    slow: int  # one of them 200 ms away, in the ISR
    left: int  # it is cut off, and has left the ISR

    def __repr__(self) -> str:
        return repr(self.table)


def pace(records: int = 10, far: int = 200) -> Pace:
    """Records one after the other with acks=all: how long does each take?"""
    sim = Sim(replica_lag_time_max_ms="4000")
    sim.topic("orders", [1, 2, 3])
    rows = [("both followers near", *_each(sim, records))]
    sim.world.slow(1, 3, far)
    sim.run(5 * far)
    rows.append((f"one of them {far} ms away", *_each(sim, records)))
    sim.world.cut(1, 3)
    sim.store(["the one that waits"])
    rows.append(("that one cut off, and out of the ISR", *_each(sim, records)))
    table = Table("the cluster, ISR, ms per record", rows)
    return Pace(table, *table.column("ms per record"))


def _each(sim: Sim, records: int) -> tuple[Any, ...]:
    sim.store(["warm"])
    members, began = sim.isr, sim.now
    for number in range(records):
        sim.store([str(number)])
    return members, (sim.now - began) // records


def copies(records: int = 20, far: int = 50) -> Table:
    """One, two, three replicas: what lies on all disks, and how long the producer waits."""
    rows = []
    for factor in (1, 2, 3):
        waits, bytes_stored = [], 0
        for acks in (1, -1):
            sim = Sim()
            sim.topic("orders", [1, 2, 3][:factor])
            for follower in range(2, factor + 1):
                sim.world.slow(1, follower, far)
            sim.run(1000)
            sent = sim.store([f"order {n:03}" for n in range(records)], acks)
            waits.append(sum((it.done_at or 0) - it.sent_at for it in sent[:1]))
            sim.run(10 * far)
            logs = [sim.world[it].log(ORDERS) for it in range(1, factor + 1)]
            bytes_stored = sum(len(each.data) for log in logs if log for each in log.batches)
        rows.append((factor, bytes_stored, *waits))
    return Table("replicas, bytes on all disks, ms with acks=1, ms with acks=all", rows)


def least() -> Table:
    """How many are in sync, and how many must be: is a record with acks=all taken?"""
    rows = []
    for alive in (3, 2, 1):
        codes = []
        for wanted in (1, 2, 3):
            sim = Sim(4, zookeeper_session_timeout_ms="3000")
            sim.topic("orders", [1, 2, 3], min_insync_replicas=str(wanted))
            for follower in range(alive + 1, 4):
                sim.world.stop(follower)
            sim.shrink(alive)
            sent = [sim.send("x", patience=500), sim.send("y", acks=1, patience=500)]
            sim.settle(sent)
            codes.append(sent[0].code.name)
            assert not sent[1].code, "acks=1 never asks how many are in sync"
        rows.append((alive, *codes))
    return Table("in sync, min.insync 1, min.insync 2, min.insync 3", rows)


class Fate(NamedTuple):
    acknowledged: int
    lost: int


SETTINGS = (("1", 1), ("all", 1), ("all", 2))  # acks, min.insync.replicas


def leader_killed(acks: str, least: int, seed: int) -> Fate:
    """A producer writes; at some moment the leader dies, with what it had not passed on yet."""
    sim, random = _written(seed, least), Random(seed)
    sim.world.slow(1, 2, 10)
    sim.world.slow(1, 3, 10)
    sent = []
    for number in range(random.randrange(30, 60)):
        sent.append(sim.send(f"r{number}", -1 if acks == "all" else 1))
        sim.run(random.randrange(10))
    known = [it for it in sent if it.done and not it.code]
    sim.world.kill(1)
    sim.until(lambda: sim.leader not in (1, -1))
    sim.run(1000)
    kept = set(sim.values(sim.leader))
    return Fate(len(known), sum(it.value not in kept for it in known))


def left_alone(acks: str, least: int, seed: int) -> Fate:
    """Both followers die; the leader goes on as far as it may; then its disk is gone for good,
    and an administrator takes what there is."""
    sim, random = _written(seed, least), Random(seed)
    for follower in (2, 3):
        sim.world.kill(follower)
    sim.until(lambda: sim.isr == (1,))
    alone = [f"alone {number}" for number in range(random.randrange(5, 20))]
    sent = [sim.send(each, -1 if acks == "all" else 1, patience=500) for each in alone]
    sim.until(lambda: all(it.done for it in sent))
    known = [it for it in sent if not it.code]
    sim.world.kill(1)
    sim.until(lambda: sim.leader == -1)
    for follower in (2, 3):
        sim.world.start(follower)
    sim.world.configure("orders", unclean_leader_election_enable="true")
    sim.until(lambda: sim.leader in (2, 3))
    kept = set(sim.values(sim.leader))
    return Fate(len(known), sum(it.value not in kept for it in known))


def _written(seed: int, least: int) -> Sim:
    """A few records on all three replicas; brokers 4 and 5 only see to the rest."""
    sim = Sim(5, seed, zookeeper_session_timeout_ms="3000")
    sim.topic("orders", [1, 2, 3], min_insync_replicas=str(least))
    sim.store("abc")
    sim.run(1000)
    return sim


def survivors(runs: int = 10) -> Table:
    """Both disasters, at different moments, under three settings: what was lost of what."""
    rows = []
    for acks, least in SETTINGS:
        one = [leader_killed(acks, least, seed) for seed in range(runs)]
        two = [left_alone(acks, least, seed) for seed in range(runs)]
        known = [sum(it.acknowledged for it in each) for each in (one, two)]
        lost = [sum(it.lost for it in each) for each in (one, two)]
        rows.append((acks, least, known[0], lost[0], known[1], lost[1]))
    head = "acks, min.insync, leader killed: acknowledged, lost, left alone: acknowledged, lost too"
    return Table(head, rows)
