"""How far the replicas of the metadata log are, as their leader sees it: for DescribeQuorum.

    last fetch       when its last Fetch came
    last caught up   the last time at which it had all that the leader had

A Fetch from the leader's log end says that the replica has everything now. One from where the
leader's log ended at the Fetch before says that it had everything then.
"""

from dataclasses import dataclass

FORGET_OBSERVER_MS = 300_000  # an observer that has not fetched for so long


@dataclass(slots=True)
class ReplicaProgress:
    """One replica; -1: not known."""

    log_end: int = -1
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end: int = -1  # of the leader's log, at the last Fetch


class QuorumProgress:
    """All replicas that fetch from this leader, in one epoch."""

    def __init__(self) -> None:
        self._epoch = -1
        self._replicas: dict[int, ReplicaProgress] = {}

    def fetched(self, epoch: int, replica: int, offset: int, leader_end: int, now: int) -> None:
        if epoch != self._epoch:
            self._epoch = epoch
            self._replicas.clear()
        progress = self._replicas.setdefault(replica, ReplicaProgress())
        if offset >= leader_end:
            progress.last_caught_up_ms = now
        elif offset >= progress.leader_end > -1:
            progress.last_caught_up_ms = progress.last_fetch_ms
        progress.log_end, progress.last_fetch_ms, progress.leader_end = offset, now, leader_end

    def of(self, epoch: int, replica: int) -> ReplicaProgress:
        """Of a replica that has not fetched in the epoch, nothing is known."""
        known = self._replicas.get(replica) if epoch == self._epoch else None
        return known or ReplicaProgress()

    def others(self, epoch: int, voters: frozenset[int], now: int) -> list[int]:
        """The observers: all that fetch and do not vote."""
        if epoch != self._epoch:
            return []
        return sorted(
            replica
            for replica, progress in self._replicas.items()
            if replica not in voters | {-1} and now - progress.last_fetch_ms < FORGET_OBSERVER_MS
        )
