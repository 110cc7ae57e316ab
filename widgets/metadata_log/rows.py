"""The rows of the log: records as they come, or folded by what they change.

    as they come                            folded
      12  RegisterBroker   broker 2           broker 2    [12] [14]      not fenced
      13  NoOp, 4 of them                     teas        [19]           id 9bJ...
      17  BrokerRegistrationChange            teas-0      [20] [31]      leader 3, isr 3 2
    ── snapshot: 9 records for these 18
      18  Partition
    ━━ high watermark 19
      19  PartitionChange

Records that only say that the quorum lives are one row. If there are more rows than room, a window
shows some of them, and a row counts those above or below; unless it is moved it is at the end.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from engine.cluster.kraft.metadata_log_reader import MetadataLogEntry
from widgets.metadata_log.history import LogMoment
from widgets.metadata_log.words import GROUPS, NO_OP, RecordSubject, TopicNames, subject
from widgets.row_window import RowWindow


class LogRowKind(Enum):
    RECORD = "record"
    IDLE = "idle"  # NoOp records, one after another
    LOST = "lost"  # a record that was truncated
    SNAPSHOT = "snapshot"
    MARK = "mark"  # the high watermark
    THING = "thing"  # folded: one thing with all its records
    MORE = "more"  # rows above or below


class LogRow(NamedTuple):
    kind: LogRowKind
    entries: tuple[MetadataLogEntry, ...] = ()  # the newest is the last
    about: RecordSubject = RecordSubject("", "")
    number: int = 0  # the mark's offset; of a row for others, how many they are
    first: int = 0  # and where it leads


@dataclass
class LogSelection:
    """What the user has chosen."""

    group: str = ""  # only records about things of this group; "": all
    folded: bool = False
    opened: int = 0  # the number of the entry that is shown in full; 0: none
    first: int | None = None  # the first row on the page; None: the page is at the end


def counted(log: LogMoment, topics: TopicNames) -> Counter[str]:
    """How many records each group has."""
    found = Counter(subject(entry, topics).group for entry in log.records.values())
    return Counter({group: found[group] for group in GROUPS if found[group]})


def rows(log: LogMoment, mark: int, choice: LogSelection, topics: TopicNames) -> list[LogRow]:
    if choice.folded:
        return [*_things(log, choice.group, topics)]
    return [*_records(log, mark, choice.group, topics)]


def _records(log: LogMoment, mark: int, group: str, topics: TopicNames) -> Iterator[LogRow]:
    """In the order of offsets; what was truncated stands before what replaced it."""
    both = sorted([*log.records.values(), *log.lost], key=lambda it: (it.offset, it.epoch))
    lost = {entry.number for entry in log.lost}
    snapshot, is_marked = log.snapshot, mark <= 0
    idle: list[MetadataLogEntry] = []
    for entry in both:
        is_next = snapshot is not None and entry.offset >= snapshot.offset
        is_first_open = not is_marked and entry.offset >= mark
        wanted = not group or subject(entry, topics).group == group
        if idle and (is_next or is_first_open or entry.record != NO_OP or entry.number in lost):
            yield LogRow(LogRowKind.IDLE, tuple(idle))
            idle = []
        if is_next:
            assert snapshot is not None, "it is next"
            yield LogRow(LogRowKind.SNAPSHOT, (snapshot,))
            snapshot = None
        if is_first_open:
            yield LogRow(LogRowKind.MARK, number=mark)
            is_marked = True
        if not wanted:
            continue
        if entry.number in lost:
            yield LogRow(LogRowKind.LOST, (entry,), subject(entry, topics))
        elif entry.record == NO_OP:
            idle.append(entry)
        else:
            yield LogRow(LogRowKind.RECORD, (entry,), subject(entry, topics))
    if idle:
        yield LogRow(LogRowKind.IDLE, tuple(idle))
    if snapshot is not None:
        yield LogRow(LogRowKind.SNAPSHOT, (snapshot,))
    if not is_marked:
        yield LogRow(LogRowKind.MARK, number=mark)


def _things(log: LogMoment, group: str, topics: TopicNames) -> Iterator[LogRow]:
    """Each thing with its records; groups in their order, things by name."""
    found: dict[RecordSubject, list[MetadataLogEntry]] = {}
    for entry in log.records.values():
        about = subject(entry, topics)
        if entry.record != NO_OP and (not group or about.group == group):
            found.setdefault(about, []).append(entry)
    for about in sorted(found, key=lambda it: (GROUPS.index(it.group), it.name)):
        yield LogRow(LogRowKind.THING, tuple(found[about]), about)


def window(found: Sequence[LogRow], room: int, first: int | None) -> list[LogRow]:
    """As many rows as there is room for: from `first` on, or the last ones."""
    page = RowWindow.of(len(found), room, len(found) if first is None else first)
    shown = [*found[page.begin : page.end]]
    if page.above:
        shown.insert(0, LogRow(LogRowKind.MORE, number=page.above, first=page.back))
    if page.below:
        shown.append(LogRow(LogRowKind.MORE, number=page.below, first=page.end - 1))
    return shown
