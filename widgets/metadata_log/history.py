"""The metadata log at each moment, made from the entries in order.

RECORD 0 ... RECORD 5, TRUNCATED 4, RECORD 4, SNAPSHOT 3

records    0 1 2 3 4         one for each offset
lost       4 5               that were truncated: no majority had them
snapshot   3                 it stands for 0 1 2
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.cluster.kraft.metadata_log_reader import MetadataEntryKind, MetadataLogEntry
from engine.cluster.recording import Recording


@dataclass
class LogMoment:
    """The log after some entry."""

    number: int = 0  # of the entry
    records: dict[int, MetadataLogEntry] = field(default_factory=dict)  # by offset, in order
    lost: list[MetadataLogEntry] = field(default_factory=list)
    snapshot: MetadataLogEntry | None = None

    def apply(self, entry: MetadataLogEntry) -> None:
        self.number = entry.number
        match entry.kind:
            case MetadataEntryKind.RECORD:
                self.records[entry.offset] = entry
            case MetadataEntryKind.TRUNCATED:
                gone = [offset for offset in self.records if offset >= entry.offset]
                self.lost += [self.records.pop(offset) for offset in gone]
            case MetadataEntryKind.SNAPSHOT:
                if self.snapshot is None or entry.offset > self.snapshot.offset:
                    self.snapshot = entry

    @property
    def end(self) -> int:
        return max(self.records, default=-1) + 1


class MetadataLogHistory:
    def __init__(self) -> None:
        self.entries: list[MetadataLogEntry] = []
        self.topics: dict[str, str] = {}  # names, by id: also of topics that are deleted
        self._times: list[int] = []  # of the entries; never falling, whatever the clocks say
        self._now = LogMoment()
        self._past = LogMoment()

    def add(self, entries: Iterable[MetadataLogEntry]) -> None:
        for entry in entries:
            self.entries.append(entry)
            self._times.append(max(entry.at, self._times[-1] if self._times else 0))
            self._now.apply(entry)
            if entry.record == "TopicRecord":
                self.topics[str(entry.fields["topicId"])] = str(entry.fields["name"])

    def at(self, time: int | None) -> LogMoment:
        """The log at a time; None: now."""
        number = len(self.entries) if time is None else bisect_right(self._times, time)
        if number == len(self.entries):
            return self._now
        if number < self._past.number:
            self._past = LogMoment()
        for entry in self.entries[self._past.number : number]:
            self._past.apply(entry)
        return self._past

    @property
    def last(self) -> int:
        return len(self.entries)


def recorded_log(recording: Recording, name: str) -> list[MetadataLogEntry]:
    """The entries in a recording; none if it was made without the log."""
    return [MetadataLogEntry.parse(row) for _, rows in recording.track(name) for row in rows]
