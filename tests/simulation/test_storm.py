"""Two minutes in which everything goes wrong, and what has to be true afterwards.

Replication 3, min.insync.replicas=2, acks=all, idempotent, no unclean election: no record that was
acknowledged is lost, doubled or moved, all replicas are alike, and all are in sync again.
"""

from random import Random

import pytest

from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.sim.client import rows_of
from engine.sim.world import World

PARTITIONS = [TopicPartition("orders", number) for number in range(2)]
CONFIG = {"zookeeper.session.timeout.ms": "6000", "replica.lag.time.max.ms": "10000"}
BROKERS = (1, 2, 3)
ENDS = (*BROKERS, "zookeeper")


class Storm:
    def __init__(self, seed):
        self.world = World(seed, 3, delay=(1, 5), config=CONFIG)
        self.chance = Random(seed)
        self.paused = set()
        self.sent = []
        self.world.run(1000)
        self.world.create("orders", [[1, 2, 3], [2, 3, 1]], min_insync_replicas="2")
        self.world.run(1000)

    def blow(self, milliseconds):
        until = self.world.now + milliseconds
        while self.world.now < until:
            for _ in range(self.chance.randint(1, 3)):
                partition, value = self.chance.choice(PARTITIONS), f"{len(self.sent)}"
                self.sent.append(self.world.client.send(partition, value, patience=60_000))
            self.harm()
            self.mend()
            self.world.run(self.chance.choice([10, 100, 500, 1000]))

    def harm(self):
        world, broker = self.world, self.chance.choice(BROKERS)
        other = self.chance.choice([end for end in ENDS if end != broker])
        away = len(self.paused) + sum(not node.is_up for node in world.nodes.values())
        hit = world[broker].is_up and broker not in self.paused
        match self.chance.choices(
            ["kill", "pause", "stop", "cut", "slow", "nothing"], [6, 3, 2, 5, 2, 80]
        )[0]:
            case "kill" if hit and away < 2:
                world.kill(broker)
            case "pause" if hit and away < 2:
                world.pause(broker)
                self.paused.add(broker)
            case "stop" if hit and not away:
                world.stop(broker)
            case "cut":
                world.cut(broker, other, both=self.chance.random() < 0.7)
            case "slow":
                world.slow(broker, other, self.chance.choice([1, 50, 500, 2000]))

    def mend(self, likely=0.1):
        if self.chance.random() < likely:
            self.world.heal()
        for broker in sorted(self.paused):
            if self.chance.random() < likely:
                self.world.resume(broker)
                self.paused.discard(broker)
        for broker, node in self.world.nodes.items():
            if not node.is_up and self.chance.random() < likely:
                self.world.start(broker)

    def settle(self):
        """Everything is mended. Is all well in the end?"""
        for one in BROKERS:
            for other in BROKERS[one:]:
                self.world.slow(one, other, 1)
            self.world.slow(one, "zookeeper", 1)
        for _ in range(2):  # some had not stopped yet
            self.mend(1)
            self.world.run(40_000)
        return self.world.until(self.is_well, 60_000)

    def is_well(self):
        in_sync = all(set(self.world.isr(each)) == set(BROKERS) for each in PARTITIONS)
        return in_sync and all(each.done for each in self.sent)

    def rows(self, partition, broker):
        log = self.world[broker].log(partition)
        return [row for each in log.batches for row in rows_of(each.data)]


@pytest.mark.parametrize("seed", range(8))
def test_nothing_acknowledged_is_lost_doubled_or_moved(seed):
    storm = Storm(seed)
    storm.blow(120_000)
    assert storm.settle()
    for partition in PARTITIONS:
        rows, *others = [storm.rows(partition, broker) for broker in BROKERS]
        assert others == [rows, rows]
        acknowledged = {
            each.offset: each.value
            for each in storm.sent
            if each.partition == partition and each.code == ErrorCode.none
        }
        stored = {row.offset: row.value for row in rows}
        assert {offset: stored.get(offset) for offset in acknowledged} == acknowledged
        assert len({row.value for row in rows}) == len(rows)
    assert sum(each.code == ErrorCode.none for each in storm.sent) > 100
