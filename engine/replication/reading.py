"""What a reader asks of one partition, what it gets, and from which replica it had best read.

A consumer names the rack that it stands in, and the leader may send it to a replica there
(KIP-392): to the one that is furthest, if it has what the consumer wants. What is not committed
no consumer sees, wherever it reads; a follower knows the high watermark one fetch later.

A consumer with isolation.level=read_committed stops before whatever is not decided yet, and is told
which of the transactions before that were aborted:

    offset       0              LSO                        HW                    log end
                 | all decided  | first of a transaction   | not on every replica |
                 | and seen     | that is open, or whose   | in sync              |
                 |              | end is not below the HW  |                      |
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine.errors import ErrorCode, KafkaError
from engine.replication.logs import Log
from engine.replication.partition import Partition
from engine.storage.aborted import Aborted
from engine.storage.batch import NO_EPOCH
from engine.storage.segment import Slice

ANY_EPOCH = -1
NO_REPLICA = -1
READ_COMMITTED = 1  # an isolation level; the other is 0


class Wanted(NamedTuple):
    """What a reader asks of one partition."""

    offset: int
    max_bytes: int
    leader_epoch: int = ANY_EPOCH  # as the reader believes
    log_start: int = -1  # a follower's own
    last_epoch: int = NO_EPOCH  # of the record before `offset`, as the reader has it


class Read(NamedTuple):
    """What a reader gets of one partition."""

    records: Slice
    sealed: bool  # they end with their segment: more come from the next one, by another read
    high_watermark: int
    last_stable: int  # before it, every transaction has ended for good
    log_start: int
    at_end: bool  # there is nothing more to read until something changes
    diverging: tuple[int, int] | None = None  # the reader's last epoch ended otherwise: here
    preferred: int = NO_REPLICA  # another replica to read from
    aborted: tuple[Aborted, ...] = ()  # transactions to be passed over, for a read committed


def last_stable(log: Log, role: Partition) -> int:
    """The high watermark, or where the oldest transaction begins that is not decided for good."""
    unstable = log.producers.first_unstable(role.high_watermark)
    if unstable is None:
        return role.high_watermark
    return min(role.high_watermark, max(unstable, log.start_offset))


def divergence(log: Log, wanted: Wanted) -> tuple[int, int] | None:
    """Where the reader's records cease to be ours, if the reader gave the epoch of its last one."""
    if wanted.last_epoch == NO_EPOCH:
        return None
    epoch, end = log.epochs.end_of(wanted.last_epoch, log.end_offset)
    if epoch == NO_EPOCH or wanted.offset < log.start_offset:
        raise KafkaError(
            ErrorCode.offset_out_of_range,
            f"{log.partition} does not reach back to offset {wanted.offset}, "
            f"epoch {wanted.last_epoch}",
        )
    return (epoch, end) if epoch < wanted.last_epoch or end < wanted.offset else None


def preferred(role: Partition, offset: int, rack: str, racks: Mapping[int, str | None]) -> int:
    """The replica in the reader's rack that it should read from; -1: this one, the leader."""
    if not rack or racks.get(role.broker_id) == rack:
        return NO_REPLICA
    near = [
        (each.end, each.caught_up, each.id)
        for each in role.followers.values()
        if racks.get(each.id) == rack and each.log_start <= offset <= each.end
    ]
    return max(near)[2] if near else NO_REPLICA
