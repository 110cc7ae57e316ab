"""What is wrong with a history of random transactions: the anomalies that Jepsen looks for.

    lost-write           a committed value that nobody has read, below one that somebody has read
    unseen               the same above it: it is missing at the end
    inconsistent-offsets one offset has two values
    duplicate            one value at two offsets
    G1a                  somebody has read a value of a transaction that was aborted
    precommitted-read    a transaction has read a value of its own
    half                 of a transaction some values are there in the end, and others are not
    nonmonotonic-poll    a consumer goes back: between two transactions; int-: within one
    poll-skip            a consumer leaves a record out: between two transactions; int-: within one
    nonmonotonic-send    values of one producer are in another order than it has sent them
    G1c                  transactions that have read each other's values, in a circle

Each check is a function from a history and the final reading to findings. The order of a partition
is the order of offsets of its committed values; markers and aborted values leave gaps between them.

As with Jepsen, a consumer that subscribes may go back and leave out between two transactions, since
others of its group read in between. And circles are of write-read edges alone, since Kafka promises
no order of writes between transactions (G0).

A transaction that was aborted has no place in the order of polls, since its consumer goes back
afterwards. What it has read is evidence all the same.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from proof.chaos.history import ReadRecord
from proof.chaos.judge import ChaosFinding, FindingKind
from proof.chaos.operations import (
    ASSIGN,
    SUBSCRIBE,
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    PolledValue,
)

NAMED = 5  # values in the text of a finding
FAILED, OK = OperationType.FAIL, OperationType.OK


class Evidence(NamedTuple):
    """A history with its indexes."""

    history: OperationHistory
    final: list[PolledValue]  # what is committed in the end, partition by partition
    writers: Mapping[int, ClientOperation]  # by value
    places: Mapping[int, set[tuple[int, int]]]  # by value: partitions and offsets where it was seen
    read: set[int]  # values that somebody has read, at the end or before
    orders: Mapping[int, list[int]]  # by partition: the offsets of values that were read, in order


def find(history: OperationHistory, final: Sequence[ReadRecord]) -> list[ChaosFinding]:
    evidence = gather(history, [PolledValue(it[0], it[1], int(it.value)) for it in final])
    return [finding for check in CHECKS for finding in check(evidence)]


def gather(history: OperationHistory, final: list[PolledValue]) -> Evidence:
    done = history.completed()
    writers = {sent.value: operation for operation in done for sent in operation.sent}
    read = [*final, *(record for operation in done for record in operation.read)]
    acknowledged = [
        PolledValue(sent.partition, sent.offset, sent.value)
        for operation in done
        if operation.type is OK
        for sent in operation.sent
        if sent.offset is not None
    ]
    places = defaultdict[int, set[tuple[int, int]]](set)
    for partition, offset, value in [*read, *acknowledged]:
        places[value].add((partition, offset))
    orders = defaultdict[int, set[int]](set)
    for partition, offset, _ in read:
        orders[partition].add(offset)
    return Evidence(
        history,
        final,
        writers,
        places,
        {record.value for record in read},
        {partition: sorted(offsets) for partition, offsets in orders.items()},
    )


# -- values ------------------------------------------------------------------------------------


def lost_writes(evidence: Evidence) -> Iterator[ChaosFinding]:
    for operation in evidence.history.completed():
        for sent in operation.sent if operation.type is OK else ():
            if sent.value not in evidence.read:
                ends = evidence.orders.get(sent.partition, [])
                is_passed = sent.offset is not None and ends and sent.offset < ends[-1]
                kind = FindingKind.LOST_WRITE if is_passed else FindingKind.UNSEEN
                text = f"{sent.value} of {operation}, at offset {sent.offset}, was read by nobody"
                yield ChaosFinding(kind, text, sent.partition)


def inconsistent_offsets(evidence: Evidence) -> Iterator[ChaosFinding]:
    values = defaultdict[tuple[int, int], set[int]](set)
    for value, places in evidence.places.items():
        for place in places:
            values[place].add(value)
    for (partition, offset), found in values.items():
        if len(found) > 1:
            text = f"offset {offset} of partition {partition} has the values {_listed(found)}"
            yield ChaosFinding(FindingKind.INCONSISTENT_OFFSETS, text, partition)


def duplicates(evidence: Evidence) -> Iterator[ChaosFinding]:
    for value, places in evidence.places.items():
        if len(places) > 1:
            where = ", ".join(f"{offset} of {partition}" for partition, offset in sorted(places))
            yield ChaosFinding(FindingKind.DUPLICATE, f"{value} is at the offsets {where}")


def aborted_reads(evidence: Evidence) -> Iterator[ChaosFinding]:
    for value in sorted(evidence.read):
        writer = evidence.writers.get(value)
        if writer is None:
            yield ChaosFinding(FindingKind.PHANTOM, f"{value} was read, and nobody has sent it")
        elif writer.type is FAILED:
            yield ChaosFinding(FindingKind.ABORTED_READ, f"{value} was read, of {writer}")


def precommitted_reads(evidence: Evidence) -> Iterator[ChaosFinding]:
    for operation in evidence.history.completed():
        own = {sent.value for sent in operation.sent} & {it.value for it in operation.read}
        if own:
            text = f"{operation} has read its own {_listed(own)}"
            yield ChaosFinding(FindingKind.PRECOMMITTED_READ, text)


def halves(evidence: Evidence) -> Iterator[ChaosFinding]:
    """Transactions of which only a part is there, also those whose end nobody knows."""
    there = {record.value for record in evidence.final}
    for operation in evidence.history.completed():
        values = {sent.value for sent in operation.sent}
        if values & there and values - there:
            text = (
                f"of {operation} {_listed(values & there)} is there, not {_listed(values - there)}"
            )
            yield ChaosFinding(FindingKind.HALF, text)


# -- the order in which a consumer gets them, and in which a producer has sent them ---------------


def polls_in_order(evidence: Evidence) -> Iterator[ChaosFinding]:
    last = defaultdict[int, dict[int, int]](dict)  # by process and partition: the offset
    subscribed = set[int]()
    for operation in evidence.history.operations:
        before = last[operation.process]
        if operation.type is OK and operation.what == TXN:
            if operation.process in subscribed:
                before.clear()
            yield from _poll_order(evidence, operation, before)
        elif operation.type is OK and operation.what in (ASSIGN, SUBSCRIBE):
            before.clear()
            subscribed.discard(operation.process)
            if operation.what == SUBSCRIBE:
                subscribed.add(operation.process)


def _poll_order(
    evidence: Evidence, operation: ClientOperation, last: dict[int, int]
) -> Iterator[ChaosFinding]:
    """`last`: where the consumer was in each partition; it is brought up to date."""
    within = set[int]()  # partitions of which this transaction has read
    for partition, offset, value in operation.read:
        if partition in last:
            inside = partition in within
            where = f"{operation} was at offset {last[partition]} of partition {partition}, then"
            passed = _between(evidence.orders[partition], last[partition], offset)
            if offset <= last[partition]:
                kind = (
                    FindingKind.INT_NONMONOTONIC_POLL if inside else FindingKind.NONMONOTONIC_POLL
                )
                yield ChaosFinding(kind, f"{where} at {offset} ({value})", partition)
            elif passed:
                kind = FindingKind.INT_POLL_SKIP if inside else FindingKind.POLL_SKIP
                text = f"{where} at {offset} ({value}), without {_listed(passed)} between them"
                yield ChaosFinding(kind, text, partition)
        last[partition] = offset
        within.add(partition)


def _between(offsets: Sequence[int], one: int, other: int) -> list[int]:
    low, high = bisect_right(offsets, one), bisect_left(offsets, other)
    return list(offsets[low:high])


def sends_in_order(evidence: Evidence) -> Iterator[ChaosFinding]:
    last = dict[tuple[int, int], tuple[int, int]]()  # by process and partition: offset and value
    for operation in evidence.history.completed():
        for partition, value, offset in operation.sent if operation.type is OK else ():
            if offset is None:
                continue
            key = operation.process, partition
            before, earlier = last.get(key, (-1, -1))
            if offset <= before:
                text = f"{value} of {operation} is at offset {offset}, behind {earlier} at {before}"
                yield ChaosFinding(FindingKind.NONMONOTONIC_SEND, text, partition)
            last[key] = offset, value


# -- circles -----------------------------------------------------------------------------------


def cycles(evidence: Evidence) -> Iterator[ChaosFinding]:
    """Transaction A has read of B, which has read of A, perhaps by others between them."""
    done = [it for it in evidence.history.completed() if it.type is not FAILED]
    numbers = {id(operation): number for number, operation in enumerate(done)}
    edges = list[set[int]]()  # from who has written to who has read
    edges += (set() for _ in done)
    for number, operation in enumerate(done):
        for record in operation.read:
            writer = evidence.writers.get(record.value)
            if writer is not None and writer is not operation and writer.type is not FAILED:
                edges[numbers[id(writer)]].add(number)
    for component in strongly_connected(edges):
        if len(component) > 1:
            names = "; ".join(str(done[number]) for number in sorted(component)[:NAMED])
            text = f"{len(component)} transactions have read each other's values: {names}"
            yield ChaosFinding(FindingKind.CYCLE, text)


def strongly_connected(edges: Sequence[set[int]]) -> Iterator[list[int]]:
    """Tarjan's algorithm, with a stack of its own: histories are longer than Python's may be."""
    index, low = dict[int, int](), dict[int, int]()
    stack, on_stack = list[int](), set[int]()
    for root in range(len(edges)):
        work = [] if root in index else [(root, iter(sorted(edges[root])))]
        while work:
            node, following = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            other = next(following, None)
            if other is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    component, stack[at:] = stack[at:], []
                    on_stack.difference_update(component)
                    yield component
            elif other not in index:
                work.append((other, iter(sorted(edges[other]))))
            elif other in on_stack:
                low[node] = min(low[node], index[other])


CHECKS = (
    lost_writes,
    inconsistent_offsets,
    duplicates,
    aborted_reads,
    precommitted_reads,
    halves,
    polls_in_order,
    sends_in_order,
    cycles,
)


def _listed(values: Sequence[int] | set[int]) -> str:
    found = sorted(values)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(map(str, found[:NAMED])) + more
