"""Rules of replicas: what is committed, who may join the ISR, where to cut, whom a broker obeys."""

from collections.abc import Mapping
from typing import Protocol

from engine.broker.rules import Rules
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import MetadataDelta, PartitionChange
from engine.model import NO_EPOCH, TopicPartition
from engine.replication.follower_partition import FollowerPartition, agreement
from engine.replication.log_read import ANY_EPOCH
from engine.replication.logs import PartitionLog
from engine.replication.partition import IsrState, Partition, Proposal
from engine.replication.replica_manager import ReplicaManager
from proof.challenges import drawn_cases
from proof.challenges.challenge import Challenge
from proof.challenges.drawn_cases import drawn
from proof.challenges.guard import RuleGuard
from proof.challenges.storm_trial import StormTrial
from proof.storms.defects import PartitionsWith


class HighWatermarkRule(Protocol):
    def high_watermark(
        self,
        end: int,
        ends: Mapping[int, int],
        isr: frozenset[int],
        joining: frozenset[int],
        old: int,
    ) -> int:
        """Up to which offset are records committed?

        `end`: the leader's own log end. `ends`: the log end of each follower, as it is known.
        `isr`: the followers that are in sync, as ZooKeeper has it. `joining`: those that are being
        added, or have caught up and soon will be. `old`: what was returned last.
        """


def put_high_watermark(guard: RuleGuard) -> Rules:
    class RuledMarks(Partition):
        __slots__ = ()

        def advance(self, now: int) -> bool:
            followers = self.followers.values()
            ends = {it.id: it.end for it in followers}
            isr = frozenset(self.isr) & ends.keys()
            soon = (it.id for it in followers if now - it.caught_up <= self.max_lag_ms)
            joining = ((self.counted & ends.keys()) | frozenset(soon)) - isr
            before = self.high_watermark
            arguments = self.end, ends, isr, joining, before
            self.high_watermark = guard.call("high_watermark", int, *arguments)
            return self.high_watermark > before

    class RuledMarksManager(PartitionsWith):
        partition = RuledMarks

    return Rules(RuledMarksManager)


class JoinRule(Protocol):
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        """May this follower join the ISR?

        `end`: its log end. `high_watermark`: of the leader. `epoch_start`: the leader's log end
        when its epoch began.
        """


def put_join(guard: RuleGuard) -> Rules:
    class RuledJoins(Partition):
        __slots__ = ()

        def expand(self, replica: int) -> Proposal | None:
            if self.isr_state is not IsrState.SETTLED or replica in self.isr:
                return None
            end = self.followers[replica].end
            if not guard.call("may_join", bool, end, self.high_watermark, self.epoch_start):
                return None
            return self._propose((*self.isr, replica))

    class RuledJoinsManager(PartitionsWith):
        partition = RuledJoins

    return Rules(RuledJoinsManager)


class TruncateRule(Protocol):
    def cut(
        self,
        epochs: tuple[tuple[int, int], ...],
        log_end: int,
        high_watermark: int,
        epoch: int,
        end: int,
    ) -> int:
        """At which offset does a follower cut its log, before it copies from a new leader?

        `epochs`: of this log: each leader epoch and its first offset, the oldest first. `log_end`:
        of this log. `high_watermark`: as this follower knows it. The leader has answered that in
        its log `epoch` is the newest one up to this log's last, and that it ended at `end`.
        """


def put_truncate(guard: RuleGuard) -> Rules:
    class RuledFollower(FollowerPartition):
        def _truncate_to_epoch(self, epoch: int, end: int, now: int) -> bool:
            log, mark = self.log, self.partition.high_watermark
            _, met = agreement(log.epochs, log.end_offset, epoch, end)
            arguments = tuple(log.epochs.entries), log.end_offset, mark, epoch, end
            offset = guard.call("cut", int, *arguments)
            self._truncate(max(log.start_offset, min(offset, log.end_offset)), now)
            self._agreed = log.end_offset
            return met

    class RuledFollowersManager(ReplicaManager):
        following = RuledFollower

    return Rules(RuledFollowersManager)


class EpochRule(Protocol):
    def obey(self, epoch: int, known: int) -> bool:
        """A controller sends an order. Does this broker follow it?

        `epoch`: of the controller that sends. `known`: the newest one that was obeyed.
        """

    def serve(self, epoch: int, known: int) -> bool:
        """A follower asks the leader of a partition, in a leader epoch. Is it served?

        `epoch`: in which the follower believes. `known`: in which this broker leads.
        """


def put_epochs(guard: RuleGuard) -> Rules:
    class RuledEpochs(ReplicaManager):
        def check_controller(self, delta: MetadataDelta) -> None:
            epoch = delta.controller_epoch
            if epoch is None:
                return
            if not guard.call("obey", bool, epoch, self.controller_epoch):
                raise ApiException(ErrorCode.stale_controller_epoch, f"epoch {epoch} is over")
            self.controller_epoch = epoch

        def _change_role(self, change: PartitionChange) -> None:
            """The epoch of the controller's order is the rule's business alone."""
            if change.partition in self.partitions:
                self.partitions[change.partition].leader_epoch = NO_EPOCH
            super()._change_role(change)

        def find(
            self, topic_partition: TopicPartition, epoch: int = ANY_EPOCH, *, leads: bool = True
        ) -> tuple[Partition, PartitionLog]:
            partition, log = super().find(topic_partition, leads=leads)
            if epoch != ANY_EPOCH and not guard.call("serve", bool, epoch, partition.leader_epoch):
                raise ApiException(ErrorCode.fenced_leader_epoch, f"epoch {epoch} is over")
            return partition, log

    return Rules(RuledEpochs)


CHALLENGES = (
    Challenge(
        "high-watermark",
        "What is committed?",
        "high watermark",
        HighWatermarkRule,
        StormTrial(
            put_high_watermark, known=(70,), cases=drawn(drawn_cases.high_watermark, int, "record")
        ),
        naive="""class Mine:
    def high_watermark(self, end, ends, isr, joining, old):
        return max(old, min([end, *(ends[broker] for broker in isr)]))
""",
        hints=(
            "A committed record has to be in the log of whoever may be elected.",
            "Who may be elected a moment from now?",
            "Whoever is being added to the ISR counts as if it were in it already.",
        ),
        read="engine/replication/partition.py, advance",
    ),
    Challenge(
        "join-the-isr",
        "Who may join the ISR?",
        "ISR",
        JoinRule,
        StormTrial(put_join, known=(6, 35), cases=drawn(drawn_cases.join, bool, "record")),
        naive="""class Mine:
    def may_join(self, end, high_watermark, epoch_start):
        return True
""",
        hints=(
            "A member of the ISR may be elected at any moment. Which records must it have?",
            "All below the high watermark: they are committed.",
            "A new leader does not know yet how far its predecessor's mark was: what its own log "
            "had when its epoch began may have been committed.",
        ),
        read="engine/replication/partition.py, expand",
    ),
    Challenge(
        "truncate",
        "Where does a follower cut its log?",
        "leader epoch",
        TruncateRule,
        StormTrial(put_truncate, known=(8,), cases=drawn(drawn_cases.truncate, int, "record")),
        naive="""class Mine:
    def cut(self, epochs, log_end, high_watermark, epoch, end):
        return high_watermark
""",
        hints=(
            "The follower learns the high watermark late: a committed record may lie beyond it.",
            "Both logs are the same up to the end of the newest epoch that both have.",
            "Where did that epoch end in your own log? Cut at the smaller of both ends.",
        ),
        read="engine/replication/follower_partition.py, agreement",
    ),
    Challenge(
        "fence-by-epoch",
        "Whom does a broker obey?",
        "leader epoch",
        EpochRule,
        StormTrial(put_epochs, known=(20, 16, 116), cases=drawn(drawn_cases.fence, bool, "epoch")),
        naive="""class Mine:
    def obey(self, epoch, known):
        return True

    def serve(self, epoch, known):
        return True
""",
        hints=(
            "A controller that was paused does not know that another one was elected.",
            "An epoch is a number that only grows: an older one is of somebody who was replaced.",
            "A follower in a newer epoch knows more than this leader: do not serve it either.",
        ),
        read="engine/replication/replica_manager.py, check_controller and find",
    ),
)
