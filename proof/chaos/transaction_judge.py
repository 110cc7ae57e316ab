"""Judges what a cluster did to transactions: all or nothing, each record once.

    lost        a record was read from the source, and a side has no copy; or a transaction was
                committed, and nothing of it is there
    doubled     a side has two copies of a record
    half        some values of a transaction are there, others are not
    dirty       a transaction was aborted, and a value of it is read as committed
    phantom     a value that no transaction was to write, or at another partition
    reordered   a copy stands before that of an earlier record
    apart       the group's offset is not where the copies end
    unstable    a reader of what is committed saw a record that is not there now, or twice
    error       a copier got an error that it should not get
    blind       nothing was committed

`compare` is pure: it takes a history, the records of the source, what is committed of the sink, and
the offsets of the group. It is called when the group has read everything.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from proof.chaos.history import ReadRecord
from proof.chaos.judge import ChaosFinding, ChaosVerdict, FindingKind
from proof.chaos.transaction_history import (
    SIDES,
    CopiedRecord,
    TransactionEnd,
    TransactionHistory,
)


def compare(
    history: TransactionHistory,
    inputs: Sequence[ReadRecord],
    outputs: Sequence[ReadRecord],
    offsets: Mapping[int, int],
) -> ChaosVerdict:
    """`outputs`: partition by partition, in the order of the offsets; `offsets`: the group's."""
    findings = [
        *_values(history, outputs),
        *_transactions(history, outputs),
        *_copies(inputs, outputs, offsets),
        *_in_order(outputs),
        *_offsets(inputs, outputs, offsets),
        *_readers(history, outputs),
        *(ChaosFinding(FindingKind.ERROR, error) for error in history.errors),
    ]
    ends = Counter(each.end for each in history.transactions.values())
    counts = ", ".join(f"{ends[end]} {end.value}" for end in TransactionEnd)
    seen = sum(map(len, history.seen.values()))
    evidence = (
        f"{len(history.transactions)} transactions ({counts}) of {history.lives} copiers, "
        f"{len(inputs)} records read, {len(outputs)} written, {seen} seen on the way"
    )
    if not ends[TransactionEnd.COMMITTED]:
        findings.append(ChaosFinding(FindingKind.BLIND, "nothing was committed"))
    return ChaosVerdict(tuple(findings), evidence)


def _about(kind: FindingKind, text: str, read: ReadRecord) -> ChaosFinding:
    return ChaosFinding(kind, text, read.partition)


def _values(history: TransactionHistory, outputs: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """Each value was to be written, to that partition, by a transaction that was not aborted."""
    for read in outputs:
        copy = CopiedRecord.parse(read.value)
        where = f"{read.value[:60]!r} at offset {read.offset} of partition {read.partition}"
        made = copy and history.transactions.get((copy.copier, copy.number))
        if not copy or not made or read.value not in made.values:
            yield _about(FindingKind.PHANTOM, f"{where} was never written", read)
        elif read.partition != (copy.partition + copy.side) % history.partitions:
            yield _about(FindingKind.PHANTOM, f"{where} was never written there", read)
        elif made.end is TransactionEnd.ABORTED:
            yield _about(FindingKind.DIRTY, f"{where}: {made} was aborted", read)


def _transactions(
    history: TransactionHistory, outputs: Sequence[ReadRecord]
) -> Iterator[ChaosFinding]:
    """All values of a transaction are there, or none; all, if its commit was acknowledged."""
    there = {read.value for read in outputs}
    for made in history.transactions.values():
        kept = made.values & there
        if kept and kept != made.values:
            text = f"of {made}, which is {made.end.value}, {len(kept)} of {len(made.values)} values"
            yield ChaosFinding(FindingKind.HALF, f"{text} are there")
        elif made.values and not kept and made.end is TransactionEnd.COMMITTED:
            yield ChaosFinding(FindingKind.LOST, f"{made} was committed, and nothing is there")


def _copies(
    inputs: Sequence[ReadRecord], outputs: Sequence[ReadRecord], offsets: Mapping[int, int]
) -> Iterator[ChaosFinding]:
    """Each record of the source has one copy on each side; none yet, if the group did not come to
    it in time (that is an error of its own)."""
    places = defaultdict[tuple[int, int, int], list[ReadRecord]](list)
    for read in outputs:
        if copy := CopiedRecord.parse(read.value):
            places[copy.partition, copy.offset, copy.side].append(read)
    for record in inputs:
        for side in range(SIDES):
            found = places[record.partition, record.offset, side]
            what = f"the record at offset {record.offset} of partition {record.partition}"
            if not found and record.offset < offsets.get(record.partition, 0):
                yield _about(FindingKind.LOST, f"{what} has no copy on side {side}", record)
            elif len(found) > 1:
                names = ", ".join(f"{it.value.decode()} at offset {it.offset}" for it in found)
                text = f"{what} has {len(found)} copies on side {side}: {names}"
                yield _about(FindingKind.DOUBLED, text, record)


def _in_order(outputs: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """The copies of a partition, on one side, have its order."""
    last: dict[tuple[int, int, int], int] = {}
    known = set[tuple[int, int, int]]()
    for read in outputs:
        copy = CopiedRecord.parse(read.value)
        if copy and copy[2:] not in known:  # a second copy is always out of order
            known.add(copy[2:])
            key = read.partition, copy.partition, copy.side
            if copy.offset < last.get(key, -1):
                text = f"the copy of offset {copy.offset} stands behind that of {last[key]}"
                yield _about(FindingKind.REORDERED, f"{text} in partition {read.partition}", read)
            last[key] = max(copy.offset, last.get(key, -1))


def _offsets(
    inputs: Sequence[ReadRecord], outputs: Sequence[ReadRecord], offsets: Mapping[int, int]
) -> Iterator[ChaosFinding]:
    """The group has read as far as there are copies."""
    ends = dict.fromkeys({read.partition for read in inputs}, 0)
    for read in outputs:
        if (copy := CopiedRecord.parse(read.value)) and copy.partition in ends:
            ends[copy.partition] = max(ends[copy.partition], copy.offset + 1)
    for partition, end in sorted(ends.items()):
        if offsets.get(partition, 0) != end:
            text = f"the group's offset of partition {partition} is {offsets.get(partition, 0)}"
            yield ChaosFinding(FindingKind.APART, f"{text}, and the copies end at {end}", partition)


def _readers(history: TransactionHistory, outputs: Sequence[ReadRecord]) -> Iterator[ChaosFinding]:
    """What a reader of committed records has seen is there, and came once."""
    there = {(read.partition, read.offset): read.value for read in outputs}
    for name, seen in history.seen.items():
        last: dict[int, int] = {}
        for read in seen:
            where = f"{name} saw {read.value[:60]!r} at offset {read.offset}"
            if read.offset <= last.get(read.partition, -1):
                yield _about(FindingKind.UNSTABLE, f"{where} again", read)
            elif there.get((read.partition, read.offset)) != read.value:
                yield _about(FindingKind.UNSTABLE, f"{where}, which is not committed now", read)
            last[read.partition] = max(read.offset, last.get(read.partition, -1))
