"""The exercises of 02_replication. Each is judged by the cluster, or by running the code.

another_leader, quiet_leaver    done in the real cluster, however it is done
settings                        a producer's and a topic's, tried in two disasters
leader, high_watermark, ended   code that is put beside the engine's own, and in its place
"""

from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

from engine import Cluster, Simulation
from engine.broker.rules import Rules
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from engine.controller.election import elect
from engine.model import TopicPartition
from engine.replication.partition import Follower, Partition
from engine.sim.disk import Remembered
from proof.storms.defects import Defect, PartitionsWith
from proof.storms.invariants import Violation
from proof.storms.run import Run
from widgets import Check, Trial
from widgets.exercise import Code, agrees_with

SEEDS, SECONDS = (1, 2, 8), 6.0  # the storms, and how long each lasts
OFTEN = 5  # how often a disaster strikes
LEVELS = "all", "1", "0", "-1"  # of acks
# Events which tell that a broker's session is over; without ZooKeeper, the broker is fenced then.
ENDED = {"broker.down", "broker.fenced", "broker.killed", "broker.stopped", "broker.died"}
# With ZooKeeper the controller is a broker, whose session has ended, too.
CONTROLLER_ENDED = {"controller.elected", "controller.resigned"}


def another_leader(cluster: Cluster, topic: str) -> Check:
    place = TopicPartition(topic, 0)
    first = cluster.state().partitions[place].assignment[0]

    def led(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        found = state.partitions[place]
        if found.leader in (-1, first):
            return f"{topic} is led by {'nobody' if found.leader < 0 else f'broker {first}'}"
        members = " and ".join(f"broker {each}" for each in sorted(found.isr))
        if len(found.isr) < 3:
            return f"in sync is only {members}"
        return f"broker {first} is stopping" if _stops(first, topic, events) else ""

    return Check(
        f"Somebody else than broker {first} leads {topic}, and all three replicas are in sync",
        cluster,
        led,
        hint="A leader that goes is replaced. One that comes back follows, and is let in again.",
    )


def quiet_leaver(cluster: Cluster, topic: str) -> Check:
    began = max((it.number for it in cluster.events()), default=0)

    def left(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        new = [it for it in events if it.number > began]
        ended = ENDED if state.controllers else ENDED | CONTROLLER_ENDED
        if any(it.kind in ended for it in new):
            return "a broker's session has ended on the way; run this cell and begin anew"
        mine = [it for it in new if it.kind == "isr.changed" and _about(it, topic)]
        small = [at for at, it in enumerate(mine) if len(it.data["isr"]) < 3]
        if not small:
            return "no replica has left the ISR yet"
        back = any(len(it.data["isr"]) == 3 for it in mine[small[0] :])
        return "" if back else "one has left, and is not back"

    return Check(
        f"A replica of {topic} leaves the ISR and comes back, and no session ends",
        cluster,
        left,
        hint="Nobody lags where nothing is written: write a record. Cut the follower off from its "
        "leader only; its way to ZooKeeper, or to the controllers, must stay.",
    )


def _stops(broker: int, topic: str, events: Sequence[ClusterEvent]) -> bool:
    """Whether it has handed its leadership over to stop, and was not started again: it may be in
    sync for a moment more."""
    for event in reversed(events):
        if event.kind == "broker.started" and event.data["broker"] == broker:
            return False
        if event.kind == "leader.elected" and _about(event, topic):
            return bool(event.data["reason"] == "shutdown")
    return False


def _about(event: ClusterEvent, topic: str) -> bool:
    return bool(event.data["topic"] == topic)


def settings() -> Trial:
    return Trial(
        "Settings with which no acknowledged record is lost, and one broker may be down",
        _survives,
        hint="What did the table of the two disasters say? And what if too many must be in sync?",
    )


def _survives(code: Code) -> str:
    """`code` returns {"acks": ..., "min.insync.replicas": ...}."""
    try:
        chosen = code()
        level, least = str(chosen["acks"]), int(chosen["min.insync.replicas"])
    except Exception as error:  # the learner's, and told
        return f"it raises {type(error).__name__}: {error}"
    if level not in LEVELS or least < 1:
        return f"acks is one of {', '.join(LEVELS)}, and min.insync.replicas is 1 or more"
    if level in ("all", "-1") and least > 2:
        return "with one of three brokers down nothing could be written"
    disasters = {
        "when the leader is killed": _leader_killed,
        "when the leader is left alone, and then gone for good": _left_alone,
    }
    for when, disaster in disasters.items():
        lost = sum(_lost_in(disaster, level, least, seed) for seed in range(OFTEN))
        if lost:
            return f"{when} {lost} acknowledged records are lost"
    return ""


def _lost_in(
    disaster: Callable[[Simulation, Random, str], None], level: str, least: int, seed: int
) -> int:
    """How many acknowledged records the next leader does not have."""
    sim = Simulation(brokers=5, seed=seed, zookeeper_session_timeout_ms=3000)
    sim.topic("orders", replicas=[1, 2, 3], min_insync_replicas=least)
    sim.store("orders", "abc")
    sim.run(1)
    disaster(sim, Random(seed), level)
    known = [it.value for it in sim.sent if it.acknowledged]
    sim.wait(lambda: sim.leader("orders") in (2, 3))
    sim.run(1)
    return len(set(known) - set(sim.read("orders")))


def _leader_killed(sim: Simulation, random: Random, level: str) -> None:
    sim.slow(1, [2, 3], ms=10)
    for number in range(random.randrange(30, 60)):
        sim.send("orders", f"r{number}", acks=level)
        sim.run(ms=random.randrange(10))
    sim.kill(1)


def _left_alone(sim: Simulation, random: Random, level: str) -> None:
    for follower in (2, 3):
        sim.kill(follower)
    sim.wait(lambda: sim.isr("orders") == (1,))
    alone = [f"alone {number}" for number in range(random.randrange(5, 20))]
    sim.store("orders", alone, acks=level, timeout_ms=500)
    sim.kill(1)
    sim.wait(lambda: sim.leader("orders") == -1)
    for follower in (2, 3):
        sim.start(follower)
    sim.world.configure("orders", unclean_leader_election_enable="true")


def leader() -> Trial:
    some = [(), (1,), (2,), (3,), (3, 1), (2, 3), (3, 2, 1)]
    orders = [(1, 2, 3), (3, 1, 2)]
    examples = list(product(orders, some, some, (False, True)))
    return Trial(
        "leader(replicas, isr, live, unclean): who leads next? -1: nobody",
        agrees_with(_leader, examples),
        hint="Go through the replicas in their order. Who may lead, and who if nobody else can?",
    )


def _leader(replicas: Any, isr: Any, live: Any, unclean: bool) -> int:
    return elect(replicas, isr, live, unclean=unclean).leader


def high_watermark() -> Trial:
    return Trial(
        "high_watermark(end, known, counted, old): the HW rule, in the place of the engine's",
        _rules,
        hint="The smallest of how many ends? And what may a high watermark never do?",
    )


def _rules(code: Code) -> str:
    return agrees_with(_mark, _marks())(code) or _in_a_storm(code)


def _marks() -> list[tuple[Any, ...]]:
    random = Random(7)
    found: list[tuple[Any, ...]] = [
        (5, {}, (), 3),
        (9, {2: 9, 3: 4}, (2,), 5),
        (9, {2: 6, 3: 4}, (2, 3), 5),
    ]
    for _ in range(200):
        known = {broker: random.randrange(12) for broker in (2, 3)}
        counted = tuple(it for it in known if random.random() < 0.7)
        found.append((random.randrange(6, 12), known, counted, random.randrange(7)))
    return found


def _mark(end: int, known: dict[int, int], counted: tuple[int, ...], old: int) -> int:
    """By the engine: nobody is let in only because it keeps up."""
    partition = Partition(TopicPartition("orders", 0), 1, counted=frozenset({1, *counted}))
    partition.followers = {it: Follower(it, known_end) for it, known_end in known.items()}
    partition.end, partition.high_watermark = end, old
    partition.advance(partition.max_lag_ms + 1)
    return partition.high_watermark


def _in_a_storm(code: Code) -> str:
    """A cluster whose leaders go by the learner's rule, and everything that can go wrong."""

    class Yours(Partition):
        __slots__ = ()

        def advance(self, now: int) -> bool:
            counted = tuple(
                it.id
                for it in self.followers.values()
                if it.id in self.counted or now - it.caught_up <= self.max_lag_ms
            )
            known = {it.id: it.end for it in self.followers.values()}
            before = self.high_watermark
            self.high_watermark = code(self.end, known, counted, before)
            return self.high_watermark > before

    class Led(PartitionsWith):
        partition = Yours

    for seed in SEEDS:
        run = Run(seed, SECONDS, defect=Defect(Rules(Led)))
        try:
            run.go()
        except Violation as violation:
            return f"in storm {seed} a promise is broken: {violation.text}"
        except Exception as error:  # the learner's, and told
            run.abandon()
            return f"in storm {seed} it raises {type(error).__name__}: {error}"
    return ""


def ended() -> Trial:
    return Trial(
        "ended(epochs, log_end, epoch): where did that leader epoch end, by this log?",
        agrees_with(_ended, _questions()),
        hint="An epoch ends where the next younger one begins. And the youngest?",
    )


def _questions() -> list[tuple[Any, ...]]:
    """Never about an epoch that is younger than all that are known."""
    logs: list[tuple[tuple[tuple[int, int], ...], int]] = [
        (((0, 0),), 7),
        (((0, 0), (2, 10)), 15),
        (((1, 0), (3, 4), (7, 9)), 9),
        (((2, 5), (5, 8), (6, 20)), 31),
    ]
    return [(epochs, end, it) for epochs, end in logs for it in range(epochs[-1][0] + 1)]


def _ended(epochs: Sequence[tuple[int, int]], log_end: int, epoch: int) -> int:
    known = Remembered()
    known.entries = list(epochs)
    return known.end_of(epoch, log_end)[1]
