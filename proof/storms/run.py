"""One run: a cluster, its clients, a storm, and the invariants, all from one seed.

    Run(seed=7).go()           raises Violation if an invariant does not hold

    |-- 2 s --|------------- seconds -------------|-- until AT_REST holds --|
      a topic    turns: clients, checks, storm       the faults are mended

The same seed makes the same run, to the last event. A fork changes it: from its time on, random
choices come from another seed. Everything before is the same.

Invariant: observation and checks do not change what happens next.
"""

from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import NamedTuple

from engine.config.broker import RACK_AWARE
from engine.model import TopicPartition
from engine.sim.world import START, World
from proof.storms.defects import SOUND, Defect
from proof.storms.group_workload import COORDINATED, MEMBERS, GroupWorkload
from proof.storms.invariants import ALWAYS, AT_REST, Violation, check
from proof.storms.observed_state import ObservedState
from proof.storms.storm import KINDS, Storm
from proof.storms.transactions.workload import TRANSACTIONAL_CLIENTS, TransactionWorkload
from proof.storms.workload import MACHINES, Workload

BEGIN = 2000  # ms
SECONDS = 25.0  # of a storm, by default
CALM = 60_000  # ms after the storm within which AT_REST must hold
TURN = 500  # ms between two turns after the storm
TURNS = (10, 50, 200, 500, 1000)  # and in a storm
BROKERS = (3, 3, 4)  # in one run of three there are more brokers than replicas: partitions can move
REPLICAS = 3
TOPIC = "orders"
PARTITIONS = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)]
CONFIG = {  # shorter times than the defaults, so that much happens in a short run
    "zookeeper.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "4000",
    "replica.socket.timeout.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "controlled.shutdown.retry.backoff.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
OF_KRAFT = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "6000",
}
OF_RACKS = {"replica.selector.class": RACK_AWARE}
SERVERS = 3  # of ZooKeeper, if there are several; or controllers
FETCHES = ("150", "1048576")  # bytes of a partition: a follower copies in small steps, or in one
CONFIG_OF_TOPICS = {"min_insync_replicas": "2", "flush_ms": "3000"}
WITH_GROUP = 3, 1  # one seed of three has a group: 1, 4, 7 ...
WITH_TRANSACTIONS = 3, 0  # one has transactions: 0, 3, 6 ...
ON_FETCH = 2, 0  # in every other one followers truncate by the responses to Fetch: 0, 2, 4 ...
OTHERS = 3, 2  # and in one nonsense is written to ZooKeeper: 2, 5, 8 ...
WITH_ENSEMBLE = 5, 3  # one of five has three servers of ZooKeeper: 3, 8, 13 ...
COMBINED = 4, 2  # without ZooKeeper, in one of four the brokers are the controllers: 2, 6, 10 ...
RACKS = "a", "b"  # of the brokers, in turn
IN_RACKS = 5, 4  # without ZooKeeper, in one of five; the readers are in the last: 4, 9, 14 ...
PATIENCE = 4000  # ms until a connection breaks


class Fork(NamedTuple):
    at: int  # ms since the world began
    seed: int


class Run:
    def __init__(
        self,
        seed: int,
        seconds: float = SECONDS,
        *,
        defect: Defect = SOUND,
        forks: Sequence[Fork] = (),
        kinds: Collection[str] = KINDS,  # of faults that may happen
        most: int | None = None,  # faults; None: as many as come
        kraft: bool = False,  # without ZooKeeper
        controllers: int | None = None,  # 0: the brokers are; None: by the seed, 3 or 0
    ) -> None:
        self.seed, self.is_well = seed, False
        self._chance = Random(seed)
        is_sound = defect is SOUND
        several = kraft or (is_sound and _is_one_of(WITH_ENSEMBLE, seed))
        servers = Random(seed) if several else None
        in_racks = kraft and is_sound and _is_one_of(IN_RACKS, seed)
        self._rack = RACKS[-1] if in_racks else ""  # of the readers
        if kraft and controllers is None:
            controllers = 0 if is_sound and _is_one_of(COMBINED, seed) else SERVERS
        self.world = self._made(defect, SERVERS if servers else 1, controllers)
        self.end = BEGIN + round(seconds * 1000)  # of the storm: ms since the world began
        writes = defect.in_transactions or (is_sound and _is_one_of(WITH_TRANSACTIONS, seed))
        writers = TRANSACTIONAL_CLIENTS if writes else ()
        members = MEMBERS if _is_one_of(WITH_GROUP, seed) and not writes else ()
        self.workload = Workload(self.world, PARTITIONS, self._chance, self._rack)
        self.group_workload = GroupWorkload(self.world, TOPIC, members, self._chance)
        self.transaction_workload = TransactionWorkload(
            self.world, PARTITIONS[0], writers, self._chance
        )
        coordinated = [COORDINATED] if members else []
        self._partitions = [*PARTITIONS, *coordinated, *self.transaction_workload.partitions]
        workloads = self.workload, self.group_workload, self.transaction_workload
        self.observed = ObservedState(self.world, self._partitions, *workloads)
        clients = [*MACHINES, *members, *writers]
        nonsense = is_sound and not kraft and _is_one_of(OTHERS, seed)
        others, repeats = (Random(seed) if it else None for it in (nonsense, defect.repeats))
        self.storm = Storm(
            *(self.world, self._partitions, clients, self._chance),
            defect.power,
            *(others, servers, repeats),
            kinds,
            most,
        )
        clock = self.world.clock
        for at, other in forks:
            clock.at(START + at, self._fork, other)
        clock.after(BEGIN // 2, self._create)
        clock.after(BEGIN, self._turn)

    def _made(self, defect: Defect, zookeepers: int, controllers: int | None) -> World:
        config = CONFIG | {"replica.fetch.max.bytes": self._chance.choice(FETCHES)}
        brokers = self._chance.choice(BROKERS)
        if controllers is not None:
            config |= OF_KRAFT
        elif defect is SOUND and _is_one_of(ON_FETCH, self.seed):
            config["inter.broker.protocol.version"] = "2.7-IV1"
        config |= {**defect.config, **(OF_RACKS if self._rack else {})}
        racks = {id: RACKS[id % len(RACKS)] for id in range(1, brokers + 1) if self._rack}
        return World(
            self.seed,
            brokers,
            delay=(1, 5),
            config=config,
            each={id: {"broker.rack": rack} for id, rack in racks.items()},
            patience=PATIENCE,
            zookeepers=zookeepers,
            controllers=controllers,
            rules=defect.rules,
            built=defect.built,
        )

    def go(self) -> None:
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        """Yields after each action, until the end."""
        clock = self.world.clock
        while not self.is_well and clock.now < START + self.end + CALM:
            clock.step()
            yield
        check(self.observed, AT_REST)

    def abandon(self) -> None:
        """Kill what is up, after an error in a node: unfinished tasks are nobody's concern."""
        for node in self.world.nodes.values():
            if node.is_up:
                node.kill()

    def _create(self) -> None:
        brokers = [*self.world.nodes]
        turns = [(brokers[each:] + brokers[:each])[:REPLICAS] for each in range(len(PARTITIONS))]
        self.world.create(TOPIC, turns, **CONFIG_OF_TOPICS)
        if self.group_workload.machines:
            self.world.create(COORDINATED.topic, turns[-1:], **CONFIG_OF_TOPICS)
        for each in self.transaction_workload.partitions:
            if each.partition == 0:
                count = sum(it.topic == each.topic for it in self.transaction_workload.partitions)
                self.world.create(each.topic, turns[:count], **CONFIG_OF_TOPICS)

    def _fork(self, seed: int) -> None:
        self.world.random.seed(seed)
        self._chance.seed(seed)

    def _turn(self) -> None:
        """Observe, check, and only then do something new."""
        self.observed.observe()
        check(self.observed, ALWAYS)
        if self.world.now < self.end:
            self.workload.send()
            self.group_workload.turn()
            self.transaction_workload.turn()
            self.storm.turn()
            self.world.clock.after(self._chance.choice(TURNS), self._turn)
        else:
            self.storm.is_over = True
            self.is_well = self._is_well()
            self.workload.read()
            if not self.is_well:
                self.group_workload.turn(is_calm=True)
                self.transaction_workload.turn(is_calm=True)
            self.storm.turn()
            self.world.clock.after(TURN, self._turn)

    def _is_well(self) -> bool:
        try:
            check(self.observed, AT_REST)
        except Violation:
            return False
        return True


def _is_one_of(share: tuple[int, int], seed: int) -> bool:
    every, first = share
    return seed % every == first
