"""Rules of delivery: repeated batches, generations, transactions."""

from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from engine.broker.rules import Rules
from engine.coordinator.group import COMPLETING, EMPTY, Group
from engine.coordinator.group_coordinator import GroupCoordinator
from engine.coordinator.group_metadata_manager import GroupMetadataManager
from engine.coordinator.transactions.metadata import ENDING, TransactionMetadata, TxnState
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.batch import Header
from engine.storage.files import Buffer
from engine.storage.log import Appended
from engine.storage.producers import BatchMetadata, Producers, ProducerStateEntry
from proof.challenges import drawn_cases
from proof.challenges.challenge import Challenge
from proof.challenges.drawn_cases import drawn
from proof.challenges.guard import RuleGuard
from proof.challenges.storm_trial import StormTrial
from proof.storms.defects import TransactionsWith

APPEND, REFUSE = -1, -2  # what a rule of sequences returns, besides the place of a batch
NO_DECISION = "there is no decision that some partitions may not have heard of"


class SequenceRule(Protocol):
    def place(self, first: int, last: int, newer: bool, stored: tuple[tuple[int, int], ...]) -> int:
        """A producer sends a batch with the sequence numbers `first` to `last`. What becomes of it?

        `stored`: the numbers of its last batches in this log, the oldest first; five at most.
        `newer`: its producer epoch is newer than theirs. Return -1 to append it, -2 to refuse it,
        or the place in `stored` of the batch that it repeats: that one's offset is answered again.
        """


def put_sequences(guard: RuleGuard) -> Rules:
    class RuledSequences(Producers):
        @staticmethod
        def _follow_on(header: Header, producer: ProducerStateEntry) -> BatchMetadata | None:
            stored = tuple((it.first_sequence, it.last_sequence) for it in producer.batches)
            newer = header.producer_epoch > producer.epoch
            numbers = header.base_sequence, header.last_sequence
            place = guard.call("place", int, *numbers, newer, stored)
            if not REFUSE <= place < len(stored):
                guard.refuse("place", place, "-1, -2 or a place in `stored`")
            if place == REFUSE:
                raise ApiException(ErrorCode.out_of_order_sequence_number, "by the rule")
            return None if place == APPEND else producer.batches[place]

    class RuledSequencesManager(ReplicaManager):
        def append(
            self,
            topic_partition: TopicPartition,
            batch: Buffer,
            *,
            to_all: bool,
            client: bool = True,
        ) -> Appended:
            if topic_partition in self.logs.directory_of:
                self.logs[topic_partition].producers.__class__ = RuledSequences
            return super().append(topic_partition, batch, to_all=to_all, client=client)

    return Rules(RuledSequencesManager)


class GenerationRule(Protocol):
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        """A consumer commits offsets. Are they taken?

        `generation`: of the consumer, -1 if it is in no group; then this group has members, as one
        without members takes any such commit. `current`: of the group. `member`: the group knows
        the consumer. `decided`: the group has the assignment of the current generation; False until
        the leader of the group has sent it.
        """


def put_generation(guard: RuleGuard) -> Rules:
    class RuledGroup(Group):
        def check_commit(self, request: Any, now: int) -> None:
            """The rule is not asked about a client in no group and a group without members."""
            generation, decided = request.generation_id, self.state is not COMPLETING
            if generation < 0 and self.state is EMPTY:
                super().check_commit(request, now)
                return
            with suppress(ApiException):  # the rule decides; a member's session is renewed
                super().check_commit(request, now)
            member = request.member_id in self.members
            if not guard.call("may_commit", bool, generation, self.generation, member, decided):
                raise ApiException(ErrorCode.illegal_generation, "by the rule")

    class RuledGroups(GroupMetadataManager):
        def _create(self, id: str, partition: int) -> Group:
            group = super()._create(id, partition)
            group.__class__ = RuledGroup
            return group

    class RuledGroupCoordinator(GroupCoordinator):
        def __init__(self, *its: Any) -> None:
            super().__init__(*its)
            self.groups.__class__ = RuledGroups

    return Rules(groups=RuledGroupCoordinator)


class StableRule(Protocol):
    def last_stable(
        self,
        high_watermark: int,
        open: tuple[int, ...],
        ended: tuple[tuple[int, int], ...],
    ) -> int:
        """Up to which offset does a consumer with isolation.level=read_committed read?

        `open`: the first offsets of the transactions that are open here. `ended`: of those that
        have ended lately: the first offset, and that of the marker in this log. What lies below
        `high_watermark` is replicated.
        """


def put_stable(guard: RuleGuard) -> Rules:
    class RuledStable(Producers):
        def first_unstable(self, high_watermark: int) -> int | None:
            opened = tuple(self.open.values())
            ended = tuple((it.first_offset, it.last_offset) for it in self.unreplicated)
            super().first_unstable(high_watermark)
            stable: int = guard.call("last_stable", int, high_watermark, opened, ended)
            return stable if stable < high_watermark else None

    class RuledStableManager(ReplicaManager):
        def _create(self, *its: Any) -> Any:
            partition, log = super()._create(*its)
            log.producers.__class__ = RuledStable
            return partition, log

    return Rules(RuledStableManager)


class ResumeRule(Protocol):
    def resume(self, state: str) -> str:
        """A broker becomes coordinator of a transaction, and reads its last state from the log.

        `state`: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort.
        Return "commit" or "abort" to write these markers to all partitions, or "wait".
        """


def put_resume(guard: RuleGuard) -> Rules:
    class RuledTransaction(Transaction):
        def start(self, now: int) -> None:
            found = guard.call("resume", str, self.metadata.state.value)
            if found not in ("commit", "abort", "wait"):
                guard.refuse("resume", found, '"commit", "abort" or "wait"')
            if found == "wait":
                return
            if self.metadata.state not in ENDING:
                guard.reject("resume", found, f"in {self.metadata.state.value} {NO_DECISION}")
            self.metadata = ended_as(self.metadata, commits=found == "commit")
            self.send_markers(now)

    class RuledTransactionCoordinator(TransactionsWith):
        transaction = RuledTransaction

    return Rules(transactions=RuledTransactionCoordinator)


def ended_as(metadata: TransactionMetadata, *, commits: bool) -> TransactionMetadata:
    """A decided transaction, with this decision."""
    state = TxnState.PREPARE_COMMIT if commits else TxnState.PREPARE_ABORT
    return replace(metadata, state=state)


CHALLENGES = (
    Challenge(
        "remember-batches",
        "Is this batch new?",
        "idempotence",
        SequenceRule,
        StormTrial(put_sequences, known=(2, 35), cases=drawn(drawn_cases.sequences, int, "batch")),
        naive="""class Mine:
    def place(self, first, last, newer, stored):
        return -1
""",
        hints=(
            "A producer that gets no answer sends the same batch again, with the same numbers.",
            "If the numbers are those of a stored batch, answer with that one's offset.",
            "A batch that is neither a repetition nor the next one leaves a gap: refuse it. A "
            "newer epoch begins at 0.",
        ),
        read="engine/storage/producers.py, check",
    ),
    Challenge(
        "fence-a-generation",
        "May this consumer commit?",
        "generation",
        GenerationRule,
        StormTrial(
            put_generation,
            known=(10, 52, 64),
            with_groups=True,
            cases=drawn(drawn_cases.generation, bool, "generation"),
        ),
        naive="""class Mine:
    def may_commit(self, generation, current, member, decided):
        return True
""",
        hints=(
            "A consumer that was away for too long does not know that its partitions have gone.",
            "Each rebalance begins a new generation. Which one may commit?",
            "Only members of the current generation may, and not before the assignment is decided.",
        ),
        read="engine/coordinator/group.py, check_commit",
    ),
    Challenge(
        "last-stable-offset",
        "How far may read_committed read?",
        "transaction",
        StableRule,
        StormTrial(
            put_stable,
            in_transactions=True,
            cases=drawn(drawn_cases.stable, int, "transaction"),
        ),
        naive="""class Mine:
    def last_stable(self, high_watermark, open, ended):
        return high_watermark
""",
        hints=(
            "Nobody knows yet whether the records of an open transaction count.",
            "Stop at the first record of the oldest open transaction.",
            "A marker that is not replicated may be lost with the leader: until the high watermark "
            "is beyond it, the transaction counts as open.",
        ),
        read="engine/storage/producers.py, first_unstable",
    ),
    Challenge(
        "two-phases",
        "What does a new transaction coordinator do?",
        "transaction",
        ResumeRule,
        StormTrial(put_resume, known=(5, 39, 28), in_transactions=True),
        naive="""class Mine:
    def resume(self, state):
        return "wait"
""",
        hints=(
            "The old coordinator may have died between its decision and the markers.",
            "What was decided has to be done: some partitions may have their marker already.",
            "PrepareCommit is committed, PrepareAbort is aborted; everything else waits.",
        ),
        read="engine/coordinator/transactions/transaction.py, start",
    ),
)
