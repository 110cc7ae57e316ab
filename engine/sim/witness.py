"""What an onlooker knows of a simulated cluster who sees everything at once.

    events ──────────┐
    ZooKeeper ───────┤
    disks, roles ────┼──> Witness.look() ──> facts, which the invariants (invariants.py) judge
    what clients saw ┘

Nothing of it is taken from anybody's word: a broker's belief counts as a belief, and what stands on
the disks and in ZooKeeper as the truth.

    committed[P]   the records of P that some replica has ever taken for committed, as it had them
                   then; whatever any replica has at these offsets later is measured by them
    crowned        the brokers that lead by ZooKeeper's own word, and know it
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.controller import znodes
from engine.controller.znodes import PartitionState
from engine.coordinator.records import GroupValue
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.partition import Partition
from engine.sim.client import Delivery
from engine.sim.crowd import Crowd
from engine.sim.disk import Log, Stored
from engine.sim.node import Life
from engine.sim.workload import Workload
from engine.sim.world import Happened, World


class Replica(NamedTuple):
    """One that is up, as its broker sees it."""

    broker: int
    life: Life
    role: Partition
    log: Log


class Acknowledged(NamedTuple):
    offset: int
    value: bytes
    delivery: Delivery


class Witness:
    def __init__(
        self,
        world: World,
        partitions: Sequence[TopicPartition],
        workload: Workload,
        crowd: Crowd,
    ) -> None:
        self.world = world
        self.partitions = partitions
        self.workload = workload
        self.crowd = crowd
        self.news: Sequence[Happened] = ()  # events since the last look
        self.states: dict[TopicPartition, PartitionState] = {}  # as ZooKeeper has them
        self.replicas: list[Replica] = []
        self.crowned: list[Replica] = []
        self.committed: dict[TopicPartition, list[Stored]] = {each: [] for each in partitions}
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {
            each: [] for each in partitions
        }
        self.generation = GroupValue()  # of the group, as its committed log has it
        self.memory: dict[object, int] = {}  # what an invariant wants to compare with later
        self._told = 0
        self._open: list[Delivery] = []
        self._sent = 0
        self._dark: set[tuple[int, TopicPartition]] = set()  # lost their memory while in the ISR
        self._topics: dict[bytes, znodes.Topic] = {}  # decoded: the newest only
        self._decoded: dict[bytes, PartitionState] = {}

    def look(self) -> None:
        self.news = self.world.events[self._told :]
        self._told = len(self.world.events)
        self._look_at_zookeeper()
        self._look_at_brokers()
        self._look_at_producers()

    def trusted(self, partition: TopicPartition) -> Iterator[tuple[int, Log]]:
        """Whom a clean election may choose, and its log. Not one that has lost its power, as long
        as nobody has noticed; nor one that is in the ISR and no replica any more: it was being let
        in when a reassignment took it away, and the leader puts it out again at its next look."""
        for broker in self.states[partition].isr:
            log = self.world[broker].log(partition)
            chosen = broker in self.assigned(partition) and (broker, partition) not in self._dark
            if log is not None and chosen:
                yield broker, log

    def assigned(self, partition: TopicPartition) -> set[int]:
        """Its replicas, as ZooKeeper has them."""
        data = self.world.zookeeper.tree[znodes.topic_path(partition.topic)].data
        if data not in self._topics:
            self._topics = {data: znodes.Topic.decode(data)}
        return set(self._topics[data].partitions[partition.partition].replicas)

    def _look_at_zookeeper(self) -> None:
        for partition in self.partitions:
            node = self.world.zookeeper.tree.get(znodes.state_path(partition))
            if node is not None:
                if node.data not in self._decoded:
                    self._decoded[node.data] = PartitionState.decode(node.data)
                self.states[partition] = self._decoded[node.data]
        for each in self.news:
            if each.event.kind == "broker.lost-power":
                broker = each.event.data["broker"]
                self._dark |= {(broker, partition) for partition in self.partitions}
        self._dark = {
            (broker, partition)
            for broker, partition in self._dark
            if broker in self.states[partition].isr
        }

    def _look_at_brokers(self) -> None:
        self.replicas, self.crowned = [], []
        for broker, node in self.world.nodes.items():
            if node.life is None:
                continue
            for partition, role in node.life.replicas.partitions.items():
                log = node.log(partition)
                if log is None or partition not in self.states:
                    continue
                replica = Replica(broker, node.life, role, log)
                self.replicas.append(replica)
                state = self.states[partition]
                epochs_agree = role.leader_epoch == state.leader_epoch
                if role.is_leader and epochs_agree and broker == state.leader:
                    self.crowned.append(replica)

    def _look_at_producers(self) -> None:
        sent = self.workload.sent
        self._open += sent[self._sent :]
        self._sent = len(sent)
        still_open = []
        for each in self._open:
            if not each.done:
                still_open.append(each)
            elif each.code == ErrorCode.none and each.acks == -1:
                fact = Acknowledged(each.offset, each.value.encode(), each)
                self.acknowledged[each.partition].append(fact)
        self._open = still_open
