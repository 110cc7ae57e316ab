"""Compaction: which records of a closed segment stay?

    before   | 0 a=1 | 1 b=1 | 2 a=2 | 3 b= |      map: a -> 2   b -> 3
    after                    | 2 a=2 | 3 b= |      and later, when its time is over, without 3

The rule stands in the compaction of a real log, which goes through several rounds. The map of a
round has only the keys of its dirty part: what was written since the last round.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import files, loading, records
from engine.storage.compaction import Compaction
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import Segment, Slice
from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

HOUR = 3_600_000  # ms
ORDERS = TopicPartition("orders", 0)
MEMORY = 1 << 20
KEYS = "abcdef"
UNKNOWN = -1  # a key is not in the map
TOMBSTONE = 0.4  # the probability of one

Change = tuple[str, str]  # a key and a value; "" is null: a tombstone


class CompactionRule(Protocol):
    def stays(self, offset: int, latest: int, is_tombstone: bool, is_old: bool) -> bool:
        """Compaction rewrites a segment. Does this record stay?

        `latest`: the offset of the last record with the same key in the part that is cleaned for
        the first time; -1 if this key is not there. `is_tombstone`: its value is null. `is_old`:
        its segment became clean more than delete.retention.ms ago.
        """


class ChangingTable(NamedTuple):
    rounds: Sequence[Sequence[Change]]  # what is written before each round of compaction
    hours: int  # between two rounds; tombstones are kept for one

    @property
    def size(self) -> int:
        return sum(map(len, self.rounds))

    def __str__(self) -> str:
        rounds = (" ".join(f"{key}={value}" for key, value in each) for each in self.rounds)
        return f"Written, and then compacted: {' | '.join(rounds)}"


def put_compaction(guard: RuleGuard, old: dict[int, bool]) -> type[Compaction]:
    """`old`: which offsets were in old segments, of those that the rule was asked about."""

    class RuledCompaction(Compaction):
        def _stays(self, record: Record, tombstones_go: bool) -> bool:
            if record.offset >= self.end or record.key is None:
                return super()._stays(record, tombstones_go)
            old[record.offset] = tombstones_go
            latest = self._latest.get(record.key, UNKNOWN)
            arguments = record.offset, latest, record.value is None, tombstones_go
            stays: bool = guard.call("stays", bool, *arguments)
            return stays

        def _groups(self) -> list[list[Segment]]:
            """Each stays a segment of its own, so that old tombstones keep their age."""
            return [[it] for it in self._waiting if it.base_offset < self.end]

    return RuledCompaction


def check_compaction(guard: RuleGuard, case: ChangingTable) -> None:
    config = TopicConfig(cleanup_policy=("compact",), delete_retention_ms=HOUR)
    old: dict[int, bool] = {}
    with TemporaryDirectory() as home:
        log = loading.load(Path(home) / str(ORDERS), ORDERS, config, now=0)
        try:
            start, now = 0, HOUR
            for changes in case.rounds:
                _append(log, changes, now)
                before, end = [*_records(log)], log.active.base_offset
                old.clear()
                for _ in put_compaction(guard, old)(log, start, end, MEMORY, now).run():
                    pass
                _compare(before, [*_records(log)], old)
                start, now = end, now + case.hours * HOUR
        finally:
            log.abandon()


def _append(log: Log, changes: Sequence[Change], now: int) -> None:
    """A closed segment of its own."""
    for key, value in changes:
        record = Record(0, now, key.encode(), value.encode() or None)
        log.append(records.encode([record]), 0, now)
    files.set_modified(log.active.file.fileno(), now)
    log.roll(now)


def _records(log: Log) -> Iterator[Record]:
    for segment, position, header in log.headers():
        yield from records.decode(Slice(segment.file, position, header.size).read())


def _compare(before: Sequence[Record], after: Sequence[Record], old: Mapping[int, bool]) -> None:
    latest = {record.key: record for record in before}
    left = {record.offset for record in after}
    for record in before:
        last, there = latest[record.key], record.offset in left
        what, where = _text(record), f"at offset {record.offset}"
        if last is not record:
            if there:
                raise PromiseBroken(
                    f"{what} {where} is still there, although {_text(last)} at {last.offset} has "
                    "replaced it."
                )
        elif record.value is not None:
            if not there:
                raise PromiseBroken(
                    f"{what} {where} was the last record of its key, and it is gone: whoever reads "
                    "the topic from its beginning does not get the latest value."
                )
        elif there == old.get(record.offset, False):
            raise PromiseBroken(
                f"{what} {where} is still there, although delete.retention.ms are over."
                if there
                else f"{what} {where} is gone too early: a consumer that has read an older value "
                "never hears of the deletion."
            )


def _text(record: Record) -> str:
    key = (record.key or b"").decode()
    if record.value is None:
        return f"the tombstone of {key}"
    return f"{key}={record.value.decode()}"


# -- cases -----------------------------------------------------------------------------------


def _drawn(
    chance: Random, size: int, *, rounds: int, tombstones: float = 0, hours: int = 0
) -> ChangingTable:
    most = max(1, size // rounds)
    counts = [chance.randint(max(1, most // 2), most) for _ in range(rounds)]
    made, value = list[list[Change]](), 0
    for count in counts[: max(1, size)]:
        made.append([])
        for _ in range(count):
            value += 1
            is_tombstone = chance.random() < tombstones
            made[-1].append((chance.choice(KEYS), "" if is_tombstone else str(value)))
    return ChangingTable(made, hours)


def _small(chance: Random, size: int) -> ChangingTable:
    return _drawn(chance, min(size, 12), rounds=1)


def _many(chance: Random, size: int) -> ChangingTable:
    return _drawn(chance, size, rounds=chance.randint(2, 4))


def _tombstones(chance: Random, size: int) -> ChangingTable:
    return _drawn(chance, size, rounds=chance.randint(1, 3), tombstones=TOMBSTONE)


def _everything(chance: Random, size: int) -> ChangingTable:
    rounds, hours = chance.randint(3, 5), chance.choice((0, 1, 2))
    return _drawn(chance, size, rounds=rounds, tombstones=TOMBSTONE, hours=hours)


CHALLENGE = Challenge(
    "compact",
    "Which records does compaction keep?",
    "compaction",
    CompactionRule,
    CaseTrial(
        check_compaction,
        "record",
        (
            CaseStage("small logs", _small),
            CaseStage("many rounds", _many),
            CaseStage("tombstones", _tombstones),
            CaseStage("everything", _everything),
        ),
    ),
    naive="""class Mine:
    def stays(self, offset, latest, is_tombstone, is_old):
        return offset == latest
""",
    hints=(
        "A key that was not written since the last round is not in the map. Is its record still "
        "the last one?",
        "A record goes if a later one of its key is known. A tombstone is a record, too.",
        "The last tombstone of a key goes as well, but only when it is old: until then slow "
        "consumers have to see it.",
    ),
    read="engine/storage/compaction.py, _stays",
)
