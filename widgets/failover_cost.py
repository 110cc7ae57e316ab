"""The cost of a failover: the time without a leader, its parts, and the lost records.

    killed           session over       a new leader serves
      ├──── time-out ─────┼── election ─────┤
      └──────────── unavailable ────────────┘

All of it comes from the events and the states. Records of the old leader that the new one does not
have are lost; those below the high watermark were committed, and a clean election never loses them.
When the old leader is back, its truncation shows the exact offsets. Until then the last known
states of both are compared, and the text says that this may not be all.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.cluster.state import ClusterState, PartitionState
from engine.model import TopicPartition
from widgets.story import Outage, internal

SETTLED = 300  # ms after an election until its result is in the observed state
WHY = (
    "A dead leader is noticed when its session runs out (zookeeper.session.timeout.ms, or without "
    "ZooKeeper broker.session.timeout.ms). Then the controller takes a leader from the replicas in "
    "sync, and those have every committed record. When a broker comes back, its log is cut back to "
    "the leader's: what only it had was never committed, unless the election was unclean."
)
COMMITTED = "nothing committed"  # what a log is cut back by later may be lost, but is not committed


class Loss(NamedTuple):
    partition: TopicPartition
    first: int
    end: int  # the first offset that is not lost
    committed: int  # how many of them had been

    def __str__(self) -> str:
        count = self.end - self.first
        records = "1 record" if count == 1 else f"{count} records"
        if self.committed:
            return f"{records} of {self.partition} from {self.first}, {self.committed} COMMITTED"
        return f"{records} of {self.partition} from {self.first}, never committed"


def losses(outage: Outage, at: Callable[[int], ClusterState]) -> Iterator[Loss]:
    before = at(outage.began)
    after = at((outage.ended or outage.began) + SETTLED)
    told = {partition: (first, end) for partition, first, end in outage.cut}
    for partition in outage.partitions:
        old = before.partitions.get(partition)
        new = after.partitions.get(partition)
        had = old.replicas.get(outage.broker) if old else None
        if partition not in told and had is None:  # nobody has looked at it before
            continue
        log_end, mark = (had.log_end, had.high_watermark) if had else (0, 0)
        first, end = told.get(partition, (log_end, log_end))
        if partition not in told and new and new.leader in new.replicas and outage.ended:
            first = min(new.replicas[new.leader].log_end, end)
        if first < end:
            yield Loss(partition, first, end, max(min(mark, end) - first, 0))


def sentence(outage: Outage, at: Callable[[int], ClusterState], now: int) -> str:
    many = [partition for partition in outage.partitions if not internal(partition.topic)]
    whom = str(many[0]) if len(many) == 1 else f"{len(many)} partitions"
    if outage.ended is None or outage.ended > now:
        waited = f"{whom}: no leader for {_seconds(now - outage.began)} now"
        if outage.expired is None or outage.expired > now:
            return f"{waited}. The session of broker {outage.broker} has not run out yet."
        return f"{waited}. The session is over, and no replica in sync could take over."
    words = f"{whom} unavailable for {_seconds(outage.ended - outage.began)}"
    if outage.expired is not None:
        words += f", of which {_seconds(outage.expired - outage.began)} is the session time-out"
    lost = [str(loss) for loss in losses(outage, at) if not internal(loss.partition.topic)]
    return f"{words}. Lost: {'; '.join(lost) or _as_far_as_known(outage, many, at, now)}."


def _as_far_as_known(
    outage: Outage, partitions: list[TopicPartition], at: Callable[[int], ClusterState], now: int
) -> str:
    """Only the old leader knows what it had alone: it may have grown after the last look at it."""
    before, after = at(outage.began).partitions, at(now).partitions
    if all(_is_back(outage.broker, after.get(each)) for each in partitions):
        return COMMITTED
    back = f"when broker {outage.broker} is back"
    if all(_was_clean(before.get(each), after.get(each)) for each in partitions):
        return f"{COMMITTED}; what it had alone shows {back}"
    return f"not known; it shows {back}"


def _is_back(broker: int, partition: PartitionState | None) -> bool:
    """Whether the old leader follows the new one, and so has cut off what it had alone."""
    found = partition.replicas.get(broker) if partition else None
    return bool(
        partition and found and found.answers and found.leader_epoch >= partition.leader_epoch
    )


def _was_clean(before: PartitionState | None, after: PartitionState | None) -> bool:
    """Whether a replica in sync has become the leader: it has every committed record."""
    return bool(before and after and after.leader in before.isr)


def latest(outages: list[Outage], now: int) -> Outage | None:
    """The last outage so far that affected one of the learner's topics."""
    own = [
        each
        for each in outages
        if each.began <= now and any(not internal(it.topic) for it in each.partitions)
    ]
    return own[-1] if own else None


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.2f} s"
