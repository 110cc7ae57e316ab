"""Brokers with a known defect, to test whether the simulator finds it.

    Run(seed=7, defect=DEFECTS["join-unchecked"])

A check that has never failed proves nothing. Each defect leaves out one check of the engine, and
the storm has to find the consequence. The defects exist only here: the simulator uses a subclass
instead of the engine's class. The last ones are no defects of our code, but settings of Kafka, and
storms in which Kafka with ZooKeeper cannot keep its promise.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from engine.broker.rules import KAFKAS, Rules
from engine.coordinator.effects import OnWritten
from engine.coordinator.group import Group
from engine.coordinator.group_coordinator import GroupCoordinator
from engine.coordinator.group_metadata_manager import GroupMetadataManager
from engine.coordinator.offsets import Commit, GroupOffsets
from engine.coordinator.transactions.coordinator import TransactionCoordinator
from engine.coordinator.transactions.metadata import TransactionMetadata, TxnState
from engine.coordinator.transactions.transaction import Transaction
from engine.metadata.delta import MetadataDelta, PartitionChange
from engine.model import NO_EPOCH, TopicPartition
from engine.replication.log_read import ANY_EPOCH
from engine.replication.logs import PartitionLog
from engine.replication.partition import IsrState, Partition, Proposal
from engine.replication.replica_manager import ReplicaManager
from engine.sim.quorum.controller_node import NodeBuilt, unchanged
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.files import Buffer
from engine.storage.log import Appended
from engine.storage.producers import Producers


class Power(Enum):
    """When the power may fail; see storm.py."""

    CAREFUL = "while others are in sync, and for longer than a session"
    ANYTIME = "also that of the last replica in sync"
    BRIEFLY = "and is back before anybody has noticed"


class Defect(NamedTuple):
    """What differs from sound brokers."""

    rules: Rules = KAFKAS
    config: Mapping[str, str] = {}  # of every broker
    power: Power = Power.CAREFUL
    in_transactions: bool = False  # only runs with transactions can show it
    repeats: bool = False  # requests of transactions come a second time, later
    built: NodeBuilt = unchanged  # what is changed in each node of a quorum


class PartitionsWith(ReplicaManager):
    """All partitions are of the class `partition`, which has a defect."""

    partition: type[Partition]

    def _create(
        self, topic_partition: TopicPartition, topic_id: UUID | None
    ) -> tuple[Partition, PartitionLog]:
        partition, log = super()._create(topic_partition, topic_id)
        partition.__class__ = self.partition
        return partition, log


class JoinsUnchecked(Partition):
    __slots__ = ()

    def expand(self, replica: int) -> Proposal | None:
        if self.isr_state is not IsrState.SETTLED or replica in self.isr:
            return None
        return self._propose((*self.isr, replica))


class JoinUnchecked(PartitionsWith):
    partition = JoinsUnchecked


class CountsTheWritten(Partition):
    __slots__ = ()

    def _settle(self, state: IsrState, proposal: Proposal | None) -> None:
        super()._settle(state, proposal)
        self.counted = frozenset(self.isr)


class ProposalUncounted(PartitionsWith):
    partition = CountsTheWritten


class CommitsAtOnce(Partition):
    __slots__ = ()

    def advance(self, now: int) -> bool:
        moved, self.high_watermark = self.end > self.high_watermark, self.end
        return moved


class CommitUnreplicated(PartitionsWith):
    partition = CommitsAtOnce


class Unfenced(ReplicaManager):
    def check_controller(self, delta: MetadataDelta) -> None:
        if delta.controller_epoch is not None:
            self.controller_epoch = delta.controller_epoch

    def find(
        self, topic_partition: TopicPartition, epoch: int = ANY_EPOCH, *, leads: bool = True
    ) -> tuple[Partition, PartitionLog]:
        return super().find(topic_partition, leads=leads)

    def _change_role(self, change: PartitionChange) -> None:
        if change.partition in self.partitions:
            self.partitions[change.partition].leader_epoch = NO_EPOCH
        super()._change_role(change)


class SequenceUnchecked(ReplicaManager):
    def append(
        self, topic_partition: TopicPartition, batch: Buffer, *, to_all: bool, client: bool = True
    ) -> Appended:
        if topic_partition in self.logs.directory_of:
            self.logs[topic_partition].producers.known.clear()
        return super().append(topic_partition, batch, to_all=to_all, client=client)


class TakesAnyCommit(Group):
    def check_commit(self, request: Any, now: int) -> None:
        """Accept every member and every generation."""


class GroupsUnchecked(GroupMetadataManager):
    def _create(self, id: str, partition: int) -> Group:
        group = super()._create(id, partition)
        group.__class__ = TakesAnyCommit
        return group


class GenerationUnchecked(GroupCoordinator):
    def __init__(self, *its: Any) -> None:
        super().__init__(*its)
        self.groups.__class__ = GroupsUnchecked


class AlwaysStable(Producers):
    def first_unstable(self, high_watermark: int) -> int | None:
        super().first_unstable(high_watermark)
        return None


class ReadsTheUnstable(ReplicaManager):
    def _create(
        self, topic_partition: TopicPartition, topic_id: UUID | None
    ) -> tuple[Partition, PartitionLog]:
        partition, log = super()._create(topic_partition, topic_id)
        log.producers.__class__ = AlwaysStable
        return partition, log


class StoresAtOnce(GroupOffsets):
    def begin(self, commit: Commit, producer_id: int = NO_PRODUCER_ID) -> int:
        return super().begin(commit)


class GroupsWithoutTransactions(GroupMetadataManager):
    def _create(self, id: str, partition: int) -> Group:
        group = super()._create(id, partition)
        group.offsets.__class__ = StoresAtOnce
        return group


class OffsetsAtOnce(GroupCoordinator):
    def __init__(self, *its: Any) -> None:
        super().__init__(*its)
        self.groups.__class__ = GroupsWithoutTransactions


class TransactionsWith(TransactionCoordinator):
    """All transactions are of the class `transaction`, which has a defect."""

    transaction: type[Transaction]

    def __init__(self, *its: Any) -> None:
        super().__init__(*its)
        create = self.transactions._create

        def careless(id: str, partition: int, metadata: TransactionMetadata) -> Transaction:
            made = create(id, partition, metadata)
            made.__class__ = self.transaction
            return made

        self.transactions._create = careless  # type: ignore[method-assign]


class ForgetsMarkers(Transaction):
    def start(self, now: int) -> None:
        """The markers of the coordinator before may not have been written."""


class MarkersForgotten(TransactionsWith):
    transaction = ForgetsMarkers


class ForgetsAborts(Transaction):
    def start(self, now: int) -> None:
        if self.metadata.state is TxnState.PREPARE_ABORT:
            self.metadata = replace(self.metadata, state=TxnState.PREPARE_COMMIT)
        super().start(now)


class AbortsForgotten(TransactionsWith):
    transaction = ForgetsAborts


class KeepsItsEpoch(Transaction):
    def change(self, to: TransactionMetadata, now: int, then: OnWritten, **how: Any) -> None:
        if to.state is TxnState.EMPTY and self.producer.epoch != NO_EPOCH:
            to = replace(to, producer=self.producer)
        super().change(to, now, then, **how)


class EpochKept(TransactionsWith):
    transaction = KeepsItsEpoch


SOUND = Defect()  # nothing is wrong

DEFECTS: Mapping[str, Defect] = {
    # A record counts as committed as soon as the leader has it.
    "commit-unreplicated": Defect(Rules(CommitUnreplicated)),
    # The leader adds any follower to the ISR, also one that lacks records.
    "join-unchecked": Defect(Rules(JoinUnchecked)),
    # A replica that a proposal adds to the ISR counts only when the write is confirmed.
    "proposal-uncounted": Defect(Rules(ProposalUncounted)),
    # A batch that is sent twice is stored twice.
    "sequence-unchecked": Defect(Rules(SequenceUnchecked)),
    # Requests of an older epoch are accepted.
    "unfenced": Defect(Rules(Unfenced)),
    # A follower is truncated to its high watermark, as before KIP-101.
    "cut-to-high-watermark": Defect(config={"inter.broker.protocol.version": "0.10.2"}),
    # A replica that is not in sync may become leader.
    "elect-anybody": Defect(config={"unclean.leader.election.enable": "true"}),
    # A group accepts commits of earlier generations.
    "generation-unchecked": Defect(Rules(groups=GenerationUnchecked)),
    # A commit is acknowledged as soon as the coordinator has it.
    "commit-at-once": Defect(config={"offsets.commit.required.acks": "1"}),
    # The records of a transaction count as stable before its end.
    "unstable-read": Defect(Rules(ReadsTheUnstable), in_transactions=True),
    # The offsets of a transaction count before its end.
    "offsets-at-once": Defect(Rules(groups=OffsetsAtOnce), in_transactions=True),
    # A new coordinator does not end the transactions whose end was decided.
    "markers-forgotten": Defect(Rules(transactions=MarkersForgotten), in_transactions=True),
    # A new coordinator commits the transactions that were to be aborted.
    "abort-forgotten": Defect(Rules(transactions=AbortsForgotten), in_transactions=True),
    # A producer gets the epoch of the one before it.
    "epoch-kept": Defect(Rules(transactions=EpochKept), in_transactions=True),
    # The last replica in sync may lose its power, and what it had not flushed.
    "last-replica-standing": Defect(power=Power.ANYTIME),
    # A broker that lost its power is back before its session is over.
    "back-too-soon": Defect(power=Power.BRIEFLY),
    # A request of a transaction comes a second time, in a later transaction.
    "late-request": Defect(repeats=True, in_transactions=True),
}
