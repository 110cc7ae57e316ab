"""One partition as its leader sees it: who is in sync, and how far is committed.

    log end     the offset that the next record will get, for each replica
    committed   below the high watermark: on every in-sync replica, and visible to consumers

Invariant: the high watermark is the smallest log end among the in-sync replicas, and never goes
back while the leader's epoch lasts.
"""

from dataclasses import dataclass, field

from engine.model import TopicPartition

NO_LEADER = -1


@dataclass(slots=True)
class Partition:
    id: TopicPartition
    broker_id: int  # who is looking
    leader: int = NO_LEADER
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()  # the assignment: the preferred leader first
    isr: tuple[int, ...] = ()  # in sync: what is committed is on all of them
    high_watermark: int = 0
    ends: dict[int, int] = field(default_factory=dict)  # log end of each replica, as known here

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    def lead(
        self, epoch: int, replicas: tuple[int, ...], isr: tuple[int, ...], log_end: int, known: int
    ) -> None:
        """Become leader; `known` is the high watermark that was written down before."""
        self.leader, self.leader_epoch = self.broker_id, epoch
        self.replicas, self.isr = replicas, isr
        self.ends = dict.fromkeys(replicas, 0) | {self.broker_id: log_end}
        self.high_watermark = min(max(known, self.high_watermark), log_end)
        self._advance()

    def appended(self, log_end: int) -> bool:
        """The leader's own log has grown. Has the high watermark?"""
        self.ends[self.broker_id] = log_end
        return self._advance()

    def _advance(self) -> bool:
        committed = min(self.ends[replica] for replica in self.isr)
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        return True
