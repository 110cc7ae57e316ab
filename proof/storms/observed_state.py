"""The state of the whole simulated cluster, as the invariants need it (invariants.py).

    events ──────────────┐
    ZooKeeper, or quorum ┤
    disks, roles ────────┼──> ObservedState.observe() ──> invariants
    results of clients ──┘

The disks and the metadata (of ZooKeeper, or of the quorum) count as the truth. What a broker knows
may be out of date.

    committed[P]   the records of P below the high watermark of some replica at any time, as that
                   replica had them; later contents of all replicas are compared with them
    leaders        the replicas that are leaders by the metadata, and know it
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.coordinator.records import GroupValue
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.replication.partition import Partition
from engine.sim.client import Delivery
from engine.sim.disk import MemoryLog, Stored
from engine.sim.metadata import KnownState
from engine.sim.node import RunningBroker
from engine.sim.world import Happened, World
from proof.storms.group_workload import GroupWorkload
from proof.storms.replayed_image import ReplayedImage
from proof.storms.transactions.transaction_log import TransactionLog
from proof.storms.transactions.workload import TransactionWorkload
from proof.storms.workload import Workload


class ObservedReplica(NamedTuple):
    """A replica on a broker that is up, with the broker's view of it."""

    broker: int
    running: RunningBroker
    partition: Partition
    log: MemoryLog


class Acknowledged(NamedTuple):
    offset: int
    value: bytes
    delivery: Delivery


class ObservedState:
    def __init__(
        self,
        world: World,
        partitions: Sequence[TopicPartition],
        workload: Workload,
        group_workload: GroupWorkload,
        transaction_workload: TransactionWorkload,
    ) -> None:
        self.world = world
        self.partitions = partitions
        self.workload = workload
        self.group_workload = group_workload
        self.transaction_workload = transaction_workload
        self.transaction_logs = {
            each.partition: TransactionLog() for each in transaction_workload.readers
        }
        self.news: Sequence[Happened] = ()  # events since the last observation
        self.states: dict[TopicPartition, KnownState] = {}  # in ZooKeeper, or in the quorum
        self.replicas: list[ObservedReplica] = []
        self.leaders: list[ObservedReplica] = []
        self.committed: dict[TopicPartition, list[Stored]] = {each: [] for each in partitions}
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {
            each: [] for each in partitions
        }
        self.generation = GroupValue()  # of the group, by its committed log
        self.deletions = 0  # of the group
        self.memory: dict[object, int] = {}  # values that an invariant compares with later
        self.replayed = ReplayedImage()  # without ZooKeeper
        self._seen = 0  # how many events
        self._open: list[Delivery] = []
        self._sent = 0
        # Replicas that have lost power while they were in the ISR.
        self._without_power: set[tuple[int, TopicPartition]] = set()
        self._assigned: dict[TopicPartition, set[int]] = {}  # the newest that can be read

    def observe(self) -> None:
        self.news = self.world.events[self._seen :]
        self._seen = len(self.world.events)
        self._observe_metadata()
        self._observe_brokers()
        self._observe_producers()

    def electable(self, partition: TopicPartition) -> Iterator[tuple[int, MemoryLog]]:
        """The brokers that a clean election may choose, with their logs. Left out are a broker that
        has lost its power and is still in the ISR, and one in the ISR that is no replica any more:
        it joined the ISR while a reassignment removed it, and the leader removes it soon."""
        for broker in self.states[partition].isr:
            log = self.world[broker].log(partition)
            chosen = (
                broker in self.assigned(partition)
                and (broker, partition) not in self._without_power
            )
            if log is not None and chosen:
                yield broker, log

    def assigned(self, partition: TopicPartition) -> set[int]:
        """Its replicas, by the metadata; none, if nonsense was written there before it was read."""
        if replicas := self.world.replicas(partition):
            self._assigned[partition] = {*replicas}
        return self._assigned.get(partition, set())

    def _observe_metadata(self) -> None:
        for partition in self.partitions:
            state = self.world.state(partition)
            if state is not None:
                self.states[partition] = state
        for each in self.news:
            if each.event.kind == "broker.lost-power":
                broker = each.event.data["broker"]
                self._without_power |= {(broker, partition) for partition in self.partitions}
        self._without_power = {
            (broker, partition)
            for broker, partition in self._without_power
            if broker in self.states[partition].isr
        }

    def _observe_brokers(self) -> None:
        self.replicas, self.leaders = [], []
        for broker, node in self.world.nodes.items():
            if node.current is None or node.broker is None:
                continue
            for topic_partition, partition in node.current.broker.replicas.partitions.items():
                log = node.log(topic_partition)
                if log is None or topic_partition not in self.states:
                    continue
                replica = ObservedReplica(broker, node.current, partition, log)
                self.replicas.append(replica)
                state = self.states[topic_partition]
                epochs_agree = partition.leader_epoch == state.leader_epoch
                if partition.is_leader and epochs_agree and broker == state.leader:
                    self.leaders.append(replica)

    def _observe_producers(self) -> None:
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
