"""A read of one partition: the request of a reader, its result, and the replica to read from.

A consumer may name its rack, and the leader may redirect it to a replica there (KIP-392): to the
one with the most records, if it has the requested offset. No consumer sees uncommitted records from
any replica; a follower gets the high watermark one fetch later.

A consumer with isolation.level=read_committed reads up to the last stable offset (LSO), and gets a
list of the aborted transactions before it:

    offset       0               LSO                       HW                    log end
                 | transactions  | first record of a       | not on every replica |
                 | that have     | transaction that is     | in sync              |
                 | ended         | open, or whose end is   |                      |
                 |               | not below the HW        |                      |
"""

from typing import NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH, Racks
from engine.replication.logs import PartitionLog
from engine.replication.partition import Partition
from engine.storage.aborted import Aborted
from engine.storage.segment import Slice

ANY_EPOCH = -1
NO_REPLICA = -1
READ_COMMITTED = 1  # an isolation level; the other is 0


class FetchRange(NamedTuple):
    """The request of a reader for one partition."""

    offset: int
    max_bytes: int
    leader_epoch: int = ANY_EPOCH  # the newest one that the reader knows
    log_start: int = -1  # a follower's own
    last_epoch: int = NO_EPOCH  # of the record before `offset` in the reader's log


class LogReadResult(NamedTuple):
    """The result of a read of one partition."""

    records: Slice
    sealed: bool  # they end with a closed segment: another read returns more
    high_watermark: int
    last_stable: int  # every transaction before it has ended, and its end is committed
    log_start: int
    at_end: bool  # there is nothing more to read until the partition changes
    diverging: tuple[int, int] | None = None  # (epoch, end): the logs differ after it
    preferred: int = NO_REPLICA  # another replica to read from
    aborted: tuple[Aborted, ...] = ()  # transactions to skip, with read_committed


def last_stable(log: PartitionLog, partition: Partition) -> int:
    """The high watermark, or the first offset of the oldest transaction that has not ended."""
    unstable = log.producers.first_unstable(partition.high_watermark)
    if unstable is None:
        return partition.high_watermark
    return min(partition.high_watermark, max(unstable, log.start_offset))


def divergence(log: PartitionLog, wanted: FetchRange) -> tuple[int, int] | None:
    """Where the reader's log and this one begin to differ, if the request has a last epoch."""
    if wanted.last_epoch == NO_EPOCH:
        return None
    epoch, end = log.epochs.end_of(wanted.last_epoch, log.end_offset)
    if epoch == NO_EPOCH or wanted.offset < log.start_offset:
        raise ApiException(
            ErrorCode.offset_out_of_range,
            f"{log.partition} does not reach back to offset {wanted.offset}, "
            f"epoch {wanted.last_epoch}",
        )
    return (epoch, end) if epoch < wanted.last_epoch or end < wanted.offset else None


def preferred(partition: Partition, offset: int, rack: str, racks: Racks) -> int:
    """The replica in the reader's rack that it should read from; -1: this one, the leader."""
    if not rack or racks.get(partition.broker_id) == rack:
        return NO_REPLICA
    near = [
        (each.end, each.caught_up, each.id)
        for each in partition.followers.values()
        if racks.get(each.id) == rack and each.log_start <= offset <= each.end
    ]
    return max(near)[2] if near else NO_REPLICA


def read_log(
    partition: Partition,
    log: PartitionLog,
    wanted: FetchRange,
    limit: int,
    max_bytes: int,
    at_least_one: bool,
    nearer: int = NO_REPLICA,
) -> LogReadResult:
    """The records up to a limit; none if the logs differ, or if `nearer` is to be read from."""
    diverging, offset = divergence(log, wanted), wanted.offset
    elsewhere = diverging is not None or nearer != NO_REPLICA
    if elsewhere:
        offset, max_bytes, at_least_one = log.end_offset, 0, False
    records = log.read(offset, max_bytes, limit=limit, at_least_one=at_least_one)
    return LogReadResult(
        records,
        records.file is not log.active.file,
        partition.high_watermark,
        last_stable(log, partition),
        log.start_offset,
        not elsewhere and offset >= limit,
        diverging,
        nearer,
    )
