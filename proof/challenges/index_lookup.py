"""The sparse index: which entry does a read begin at?

    entries   0: offset 4   1: offset 9   2: offset 17   3: offset 21
    wanted    offset 12 ──> entry 1: from its position on, the batches are read one by one

The rule stands in the offset index of a real segment, in a temporary directory. The segment then
locates offsets with it: the right batch must be found, with few reads of the index, and without
reading more of the log than the index allows.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from engine.storage import records
from engine.storage.index import OffsetIndex
from engine.storage.records import Record
from engine.storage.segment import Segment
from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

NOW = 1_000_000
SPARE_READS = 1  # of entries, beyond those of a binary search
FEW_READS = 8  # that cost nothing
SIZE = 90  # batches of a log
ROOM = 4096  # bytes of an index
FAR = 368_769_000  # the base offset of a segment of a long log
LOOKUPS = 16  # of one log


class LookupRule(Protocol):
    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        """At which entry of the index does a read of the offset `wanted` begin?

        The index has `count` entries; their offsets grow. `read(slot)` returns the offset of the
        entry at this slot, 0 to `count - 1`. Return the slot of the last entry whose offset is not
        above `wanted`, or -1 if there is none. Each `read` may cost a page from the disk.
        """


class IndexedLog(NamedTuple):
    """Batches of a segment, an index entry for each but the first, and offsets to look up."""

    base: int
    batches: Sequence[tuple[int, int]]  # first and last offset
    wanted: Sequence[int]
    damage: int | None = None  # of the index: a seed

    @property
    def size(self) -> int:
        return len(self.batches)

    def __str__(self) -> str:
        entries = (f"{slot}: offset {last}" for slot, (_, last) in enumerate(self.batches[1:]))
        harm = "" if self.damage is None else ", and damaged"
        return f"The index has the entries {', '.join(entries) or 'none'}{harm}."


def put_lookup(guard: RuleGuard, reads: list[int]) -> type[OffsetIndex]:
    class RuledIndex(OffsetIndex):
        def _search(self, key: int, probes: list[int] | None = None) -> int:
            def read(slot: int) -> int:
                if not 0 <= slot < self.count:
                    raise IndexError(f"there is no entry {slot}, the index has {self.count}")
                reads.append(slot)
                return self[slot][0]

            del reads[:]
            slot: int = guard.call("slot", int, key + self.base_offset, self.count, read)
            if not -1 <= slot < self.count:
                guard.refuse("slot", slot, f"a number from -1 to {self.count - 1}")
            return slot

    return RuledIndex


def check_lookup(guard: RuleGuard, case: IndexedLog) -> None:
    reads: list[int] = []
    index = put_lookup(guard, reads)

    class RuledSegment(Segment):
        @cached_property
        def offsets(self) -> OffsetIndex:
            return index(self._beside(".index"), self.base_offset, self.index_size)

    with TemporaryDirectory() as directory:
        segment = RuledSegment(
            Path(directory), case.base, now=NOW, index_interval=0, index_size=ROOM
        )
        try:
            _fill(segment, case)
            for wanted in case.wanted:
                _look_up(segment, case, wanted, reads)
        finally:
            segment.close()


def _fill(segment: Segment, case: IndexedLog) -> None:
    for first, last in case.batches:
        data = records.encode(
            [Record(each, NOW) for each in range(first, last + 1)], base_offset=first
        )
        segment.append([data], len(data), last, (NOW, last))
    if case.damage is not None:
        chance = Random(case.damage)
        offsets = segment.offsets
        for slot in range(offsets.count):
            offsets._map[slot * 8 : slot * 8 + 8] = chance.randbytes(8)  # type: ignore[index]


def _look_up(segment: Segment, case: IndexedLog, wanted: int, reads: list[int]) -> None:
    entries = [last for _, last in case.batches[1:]]
    found = segment.locate(wanted)
    batch = found and (found.header.base_offset, found.header.last_offset)
    right = next((each for each in case.batches if each[1] >= wanted), None)
    if batch != right:
        raise PromiseBroken(
            f"whoever reads from offset {wanted} gets {_batch(batch)}, and not {_batch(right)}."
        )
    most = max(FEW_READS, len(entries).bit_length() + SPARE_READS)
    if (count := len(set(reads))) > most:  # a second look at an entry costs no page
        raise PromiseBroken(
            f"it read {count} of {len(entries)} entries to find offset {wanted}: "
            f"{most} are enough if each read halves what is left."
        )
    if found is None or case.damage is not None:
        return
    slot = bisect_right(entries, wanted) - 1
    start = case.batches[slot + 1] if slot >= 0 else case.batches[0]
    passed = sum(start[0] <= first < found.header.base_offset for first, _ in case.batches)
    skipped = sum(
        header.size
        for _, header in segment.headers()
        if start[0] <= header.base_offset < found.header.base_offset
    )
    if found.skipped > skipped:
        raise PromiseBroken(
            f"for offset {wanted} it read {found.skipped} bytes of the log in vain: from entry "
            f"{slot} on there are only {passed} batches to pass, {skipped} bytes."
        )


def _batch(batch: tuple[int, int] | None) -> str:
    return "nothing" if batch is None else f"the batch {batch[0]} to {batch[1]}"


# -- cases -----------------------------------------------------------------------------------


def _drawn(chance: Random, size: int, *, base: int = 0, gaps: bool = False) -> IndexedLog:
    batches, at = [], base
    for _ in range(chance.randint(max(1, size * 3 // 4), size)):
        at += chance.randint(0, 5) if gaps else 0
        last = at + (chance.randint(0, 6) if gaps else 0)
        batches.append((at, last))
        at = last + 1
    inside = [chance.randint(base, at) for _ in range(LOOKUPS - 2)]
    return IndexedLog(base, batches, [base, *inside, at - 1])


def _small(chance: Random, size: int) -> IndexedLog:
    return _drawn(chance, min(size, FEW_READS))


def _gaps(chance: Random, size: int) -> IndexedLog:
    return _drawn(chance, size, gaps=True)


def _everything(chance: Random, size: int) -> IndexedLog:
    case = _drawn(chance, size, base=FAR, gaps=True)
    return case._replace(damage=chance.randrange(1 << 30) if chance.random() < 0.3 else None)


CHALLENGE = Challenge(
    "index-lookup",
    "Where does a read begin?",
    "sparse index",
    LookupRule,
    CaseTrial(
        check_lookup,
        "batch",
        (
            CaseStage("small logs", _small),
            CaseStage("many sizes", _drawn),
            CaseStage("gaps", _gaps),
            CaseStage("everything", _everything),
        ),
        size=SIZE,
    ),
    naive="""class Mine:
    def slot(self, wanted, count, read):
        slot = -1
        while slot + 1 < count and read(slot + 1) <= wanted:
            slot += 1
        return slot
""",
    hints=(
        "The offsets grow from slot to slot. What does one read in the middle tell?",
        "Each read decides which half cannot have the answer.",
        "Keep two bounds: entries below `low` are not above `wanted`, those from `high` on are. "
        "When the bounds meet, the answer is `low - 1`.",
    ),
    read="engine/storage/index.py, _search",
)
