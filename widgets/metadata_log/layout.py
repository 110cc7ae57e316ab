"""The moment of a metadata log that is drawn, and where its columns stand.

    left   offset   record                    about        says                     right
    [3]    17       PartitionChange           teas-0       leader 2, isr 2 3

On a page of less than 720 px, what a record says is on a second line.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from engine.cluster.kraft.metadata_log_reader import MetadataLogEntry
from widgets.metadata_log.history import LogMoment, MetadataLogHistory
from widgets.metadata_log.rows import LogRow, LogSelection, counted, rows, window
from widgets.moment import ViewMoment

BESIDE = 720  # px: on a narrower page a record has two lines
CHIP, CHIP_GAP = 26, 8  # px: the height of a group's button, and the space around it
ROW, ROW_NARROW = 23, 37  # px
ROWS, ROWS_OPEN, ROWS_NARROW = 15, 10, 9  # on the page; while one is shown in full; of two lines
NEWS_MS = 2400  # for so long a new record is highlighted
CELL = 17  # px


@dataclass(frozen=True)
class MetadataLogViewState(ViewMoment):
    history: MetadataLogHistory = field(kw_only=True)
    choice: LogSelection = field(kw_only=True)
    is_recorded: bool = field(kw_only=True)  # False: the recording was made without the log

    @cached_property
    def log(self) -> LogMoment:
        return self.history.at(None if self.live else self.at)

    @cached_property
    def mark(self) -> int:
        """The high watermark: the highest that a controller knows."""
        marks = (it.high_watermark for it in self.state.controllers.values())
        return max(marks, default=self.log.end)

    @property
    def start(self) -> int:
        """The first offset that the controllers still have: before it there is the snapshot."""
        starts = (it.log_start for it in self.state.controllers.values())
        return min(starts, default=0)

    @property
    def epoch(self) -> int:
        return max((it.epoch for it in self.log.records.values()), default=0)

    @cached_property
    def counted(self) -> Counter[str]:
        return counted(self.log, self.history.topics)

    @cached_property
    def every(self) -> list[LogRow]:
        return rows(self.log, self.mark, self.choice, self.history.topics)

    @cached_property
    def rows(self) -> list[LogRow]:
        room = ROWS if self.wide else ROWS_NARROW
        room = min(room, ROWS_OPEN) if self.choice.opened else room
        return window(self.every, room, self.choice.first)

    @cached_property
    def opened(self) -> MetadataLogEntry | None:
        """The record that is shown in full, if it is there at this moment."""
        place = self.choice.opened - 1
        found = self.history.entries[place] if 0 <= place < self.history.last else None
        return found if found is not None and found.number <= self.log.number else None

    def is_news(self, entry: MetadataLogEntry) -> bool:
        return 0 <= self.at - entry.at < NEWS_MS

    # -- columns ---------------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        return self.width >= BESIDE

    @property
    def left(self) -> float:
        return 20 if self.wide else 12

    @property
    def right(self) -> float:
        return self.width - self.left

    @property
    def row(self) -> float:
        return ROW if self.wide else ROW_NARROW

    @property
    def offset(self) -> float:
        """The right end of the offset."""
        return self.left + 62

    @property
    def record(self) -> float:
        return self.left + 74

    @property
    def about(self) -> float:
        return self.left + (300 if self.wide else 74)

    @property
    def words(self) -> float:
        return self.left + (420 if self.wide else 74)
