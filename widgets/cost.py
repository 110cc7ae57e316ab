"""What a failover cost: how long nobody served, why so long, and what was lost.

    killed           session over       a new leader serves
      ├──── time-out ─────┼── election ─────┤
      └──────────── unavailable ────────────┘

All of it is read off the events and the states. What the old leader had and the new one has not
is lost; if it lay under the high watermark it had been committed, which a clean election never
loses. Once the old leader is back its truncation tells the exact offsets; until then the last
that was seen of both is compared.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.cluster.state import ClusterState
from engine.model import TopicPartition
from widgets.story import Outage, internal

SETTLED = 300  # ms after which a look has seen what an election made
WHY = (
    "A dead leader is noticed when its session with ZooKeeper runs out "
    "(zookeeper.session.timeout.ms). Then the controller takes a leader from the replicas in "
    "sync, and those have every committed record."
)


class Loss(NamedTuple):
    partition: TopicPartition
    first: int
    end: int  # the first that is not lost any more
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
        if old is None or outage.broker not in old.replicas:
            continue
        had = old.replicas[outage.broker]
        first, end = told.get(partition, (had.log_end, had.log_end))
        if partition not in told and new and new.leader in new.replicas and outage.ended:
            first = min(new.replicas[new.leader].log_end, end)
        if first < end:
            yield Loss(partition, first, end, max(min(had.high_watermark, end) - first, 0))


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
    return f"{words}. Lost: {'; '.join(lost) or 'nothing'}."


def latest(outages: list[Outage], now: int) -> Outage | None:
    """The last that had begun and that touched a topic of the learner's."""
    own = [
        each
        for each in outages
        if each.began <= now and any(not internal(it.topic) for it in each.partitions)
    ]
    return own[-1] if own else None


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.2f} s"
