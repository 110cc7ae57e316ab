"""Five brokers, two of them dead: what still works? In simulated time, for every pair of two."""

from itertools import combinations
from typing import NamedTuple

from table import Table

from engine.model import TopicPartition
from replication.world import Sim

BROKERS = (1, 2, 3, 4, 5)
CASES = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2))  # replicas, min.insync.replicas


class Row(NamedTuple):
    factor: int
    least: int
    headless: int  # partitions without a leader, over all pairs
    refused: int  # writes with acks=all that were refused or not answered, over all pairs
    asked: int  # how many there were


class Five(NamedTuple):
    rows: list[Row]

    def __repr__(self) -> str:
        head = "replicas, min.insync, without leader, writes refused, of"
        return repr(Table(head, self.rows))

    def refused(self, factor: int, least: int) -> int:
        return next(it.refused for it in self.rows if it[:2] == (factor, least))


def five(*, at_once: bool = True) -> Five:
    """Each topic has five partitions, one with each broker as its first replica."""
    found = {case: [0, 0, 0] for case in CASES}
    for dead in combinations(BROKERS, 2):
        for case, numbers in _two_die(dead, at_once).items():
            found[case] = [a + b for a, b in zip(found[case], numbers, strict=True)]
    return Five([Row(*case, *numbers) for case, numbers in found.items()])


def _two_die(dead: tuple[int, ...], at_once: bool) -> dict[tuple[int, int], list[int]]:
    sim = Sim(5, zookeeper_session_timeout_ms="3000", replica_lag_time_max_ms="4000")
    for factor, least in CASES:
        turns = [[(first + n) % 5 + 1 for n in range(factor)] for first in range(5)]
        sim.topic(f"t{factor}{least}", *turns, min_insync_replicas=str(least))
    sim.run(1000)
    for broker in dead:
        sim.world.kill(broker)
        if not at_once:
            sim.run(8000)
    sim.run(8000)
    found = {}
    for case in CASES:
        parts = [TopicPartition(f"t{case[0]}{case[1]}", n) for n in range(5)]
        headless = sum(sim.world.leader(it) == -1 for it in parts)
        sent = [sim.world.client.send(it, "x", patience=300) for it in parts]
        sim.settle(sent)
        found[case] = [headless, sum(bool(it.code) for it in sent), len(sent)]
    return found
