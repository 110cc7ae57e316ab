"""The invariants of transactions, as invariants.py has them for records.

    committed log of a partition    t0007.0   t0008.0   t0007.1   COMMIT, of 7's   ABORT, of 8's
                                    └──── 7 is committed ────────┘                 producer

What became of a transaction is read off the committed logs (transaction_log.py). What writers were
told, what readers got and what coordinators know is compared with it.
"""

from collections.abc import Iterator
from typing import Any, cast

from engine.model import TopicPartition
from engine.replication.log_read import last_stable
from engine.storage.control import ControlType
from proof.storms.observed_state import ObservedState
from proof.storms.transactions.transaction_log import TransactionLog
from proof.storms.transactions.workload import IDS, OFFSETS_OF_GROUPS
from proof.storms.transactions.writer import Outcome, group_of


def number_of(value: str) -> int:
    """The transaction that a record belongs to."""
    return int(value[1:].partition(".")[0])


def fenced_producers_change_nothing(observed: ObservedState) -> Iterator[str]:
    """After a record or marker of an epoch there is none of an earlier epoch of the producer."""
    for partition, log in _logs(observed):
        yield from (f"in {partition} {text}" for text in log.fenced)


def an_epoch_belongs_to_one_producer(observed: ObservedState) -> Iterator[str]:
    """A producer that begins gets an epoch that no other one has: so the others are fenced."""
    for number, writer in enumerate(observed.transaction_workload.everyone):
        if writer.producer is not None:
            owner = observed.memory.setdefault(("epoch of", writer.producer), number)
            if owner != number:
                yield f"{writer.producer} is two producers of {writer.id}"


def transactions_end_in_one_way(observed: ObservedState) -> Iterator[str]:
    """In all partitions alike, and as the writer was told."""
    transactions = observed.transaction_workload.transactions
    ends: dict[int, ControlType] = {}
    for partition, log in _logs(observed):
        for value, it in log.records:
            number = number_of(value)
            if it.end is None:
                continue
            if ends.setdefault(number, it.end) is not it.end:
                yield f"transaction {number}, {it.end.name} in {partition}, not so in another one"
            told = transactions[number].outcome
            if told is not Outcome.UNKNOWN and told is not OUTCOMES[it.end]:
                yield f"transaction {number} was told to be {told.value}: {it.end.name} in the log"


def readers_get_what_is_committed(observed: ObservedState) -> Iterator[str]:
    """Readers with isolation.level=read_committed get the records of committed transactions, all of
    them, once, in the order of the log."""
    for reader in observed.transaction_workload.readers:
        expected = observed.transaction_logs[reader.partition].committed
        found = [row.value for row in reader.rows]
        for place, (got, there) in enumerate(zip(found, expected, strict=False)):
            if got != there:
                yield f"record {place} of {reader.partition} is {there}, and {got} was read"


def the_last_stable_offset_waits(observed: ObservedState) -> Iterator[str]:
    """No leader's last stable offset is behind the first record of an open transaction."""
    for leader in observed.leaders:
        log = observed.transaction_logs.get(leader.partition.id)
        if log is None or not log.open:
            continue
        first = min(it.first_offset for it in log.open.values())
        if (stable := last_stable(cast(Any, leader.log), leader.partition)) > first:
            yield (
                f"a transaction is open from offset {first} of {leader.partition.id} on, and to "
                f"leader {leader.broker} all is stable below {stable}"
            )


def offsets_wait_for_the_marker(observed: ObservedState) -> Iterator[str]:
    """The offset of a group is never that of a transaction that was aborted."""
    aborted = {
        number_of(value)
        for _, log in _logs(observed)
        for value, it in log.records
        if it.end is ControlType.ABORT
    }
    for id, number in _stored_offsets(observed):
        if number in aborted:
            yield f"the group of {id} has the offset of transaction {number}, which was aborted"


# -- in the end ------------------------------------------------------------------------------


def every_transaction_has_ended(observed: ObservedState) -> Iterator[str]:
    if not observed.transaction_workload.is_idle:
        yield "a writer waits for the end of its transaction"
    for partition, log in _logs(observed):
        if log.open:
            yield f"{len(log.open)} transactions in {partition} are open"


def all_that_was_committed_is_there(observed: ObservedState) -> Iterator[str]:
    """Records of committed transactions in the logs and with the readers; and their offsets."""
    there = {value for _, log in _logs(observed) for value in log.committed}
    last: dict[str, int] = {}  # the newest transaction with offsets, by transactional id
    for it in observed.transaction_workload.transactions:
        missing = [value for _, value in it.records if value not in there]
        if it.outcome is Outcome.COMMITTED and missing:
            yield f"transaction {it.number} was committed, and {missing} is not there"
        if it.has_offsets and not missing:
            last[it.id] = it.number
    for reader in observed.transaction_workload.readers:
        expected = observed.transaction_logs[reader.partition].committed
        if len(reader.rows) != len(expected):
            yield f"{len(reader.rows)} of {len(expected)} committed records were read"
    for id, number in _stored_offsets(observed):
        if number != last.get(id):
            yield f"the group of {id} has offset {number}, and {last.get(id)} was committed"


OUTCOMES = {ControlType.COMMIT: Outcome.COMMITTED, ControlType.ABORT: Outcome.ABORTED}


def _logs(observed: ObservedState) -> Iterator[tuple[TopicPartition, TransactionLog]]:
    for partition, log in observed.transaction_logs.items():
        log.follow(observed.committed[partition])
        yield partition, log


def _stored_offsets(observed: ObservedState) -> Iterator[tuple[str, int]]:
    """Transactional ids, and the offset of their group, by its coordinator."""
    for leader in observed.leaders:
        if leader.partition.id != OFFSETS_OF_GROUPS:
            continue
        for id in IDS:
            group = leader.running.group(group_of(id))
            for value in group.offsets.stored.values() if group else ():
                yield id, value.offset


ALWAYS = (
    fenced_producers_change_nothing,
    an_epoch_belongs_to_one_producer,
    transactions_end_in_one_way,
    readers_get_what_is_committed,
    the_last_stable_offset_waits,
    offsets_wait_for_the_marker,
)
AT_REST = (every_transaction_has_ended, all_that_was_committed_is_there)
