"""The transactions in a segment: which batches count, which are skipped, where the markers are.

    offset      3        4        5          6          7        8
              | p1     | p2     | p1       | p1 ABORT | p2     | p2 COMMIT |
    fate        aborted  commit.  aborted    marker     commit.  marker

The next marker of its producer tells whether a batch counts. Until the segment has one, the
transaction is open, and read_committed readers stop before it. A broker sends them aborted batches
too, with a list of the aborted transactions (the .txnindex file), and they skip these.

Only headers are read, and of a control batch its record.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple

from engine.errors import ApiException
from engine.storage import control
from engine.storage.batch import Header
from engine.storage.control import ControlType
from widgets.log.directory import SegmentFiles

AHEAD = 500  # batches that are looked through for a marker


class BatchFate(Enum):
    PLAIN = "plain"  # in no transaction
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    COMMIT = "COMMIT"  # a marker
    ABORT = "ABORT"

    @property
    def is_marker(self) -> bool:
        return self in (BatchFate.COMMIT, BatchFate.ABORT)


ENDS = {BatchFate.COMMIT: BatchFate.COMMITTED, BatchFate.ABORT: BatchFate.ABORTED}
MARKERS = {ControlType.COMMIT: BatchFate.COMMIT, ControlType.ABORT: BatchFate.ABORT}


class FatedBatch(NamedTuple):
    position: int
    header: Header
    fate: BatchFate
    marker: int = -1  # the offset of the marker that ends its transaction

    @property
    def offsets(self) -> str:
        first, last = self.header.base_offset, self.header.last_offset
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"

    @property
    def words(self) -> str:
        """What it means for a reader."""
        header = self.header
        whose = f"producer {header.producer_id}, epoch {header.producer_epoch}"
        match self.fate:
            case BatchFate.PLAIN:
                return f"offset {self.offsets}: in no transaction"
            case BatchFate.COMMIT | BatchFate.ABORT:
                return (
                    f"offset {self.offsets}: {self.fate.value} marker of {whose}, a control batch"
                )
            case BatchFate.OPEN:
                return f"offset {self.offsets}: open transaction of {whose}; read_committed waits"
            case BatchFate.ABORTED:
                end = f"aborted by the marker at {self.marker:,}"
                return f"offset {self.offsets}: {whose}, {end}; read_committed skips it"
        end = f"committed by the marker at {self.marker:,}"
        return f"offset {self.offsets}: {whose}, {end}"


def fated(segment: SegmentFiles, position: int, stop: int) -> list[FatedBatch]:
    """The batches that begin at a position or after it, and before `stop`."""
    found: list[FatedBatch] = []
    pending: dict[int, list[int]] = {}  # places in `found`, by producer
    ahead = 0
    for at, header in segment.headers(position):
        if at >= stop:
            ahead += 1
            if ahead > AHEAD or not pending:
                break
        fate = _fate(segment, at, header)
        if fate.is_marker:
            for place in pending.pop(header.producer_id, ()):
                found[place] = found[place]._replace(fate=ENDS[fate], marker=header.base_offset)
        elif fate is BatchFate.OPEN and at < stop:
            pending.setdefault(header.producer_id, []).append(len(found))
        if at < stop:
            found.append(FatedBatch(at, header, fate))
    return found


def _fate(segment: SegmentFiles, position: int, header: Header) -> BatchFate:
    """As far as the batch alone says it."""
    if header.is_control:
        data = segment.read(position, header.size)
        try:
            marker = control.find(data, header)
        except ApiException:  # damaged: the fields of HexView say where
            marker = None
        return BatchFate.PLAIN if marker is None else MARKERS[marker.type]
    return BatchFate.OPEN if header.is_transactional else BatchFate.PLAIN


def newest(segments: Sequence[SegmentFiles], most: int) -> Iterator[FatedBatch]:
    """The last batches of a log, from the last one back, without reading all of a segment."""
    for segment in reversed(segments):
        entries = segment.offsets
        found: list[FatedBatch] = []
        for slot in range(len(entries) - 1, -2, -1):  # from index entry to index entry
            start = entries[slot][1] if slot >= 0 else 0
            found = fated(segment, start, segment.size)
            if len(found) >= most:
                break
        taken = list(islice(reversed(found), most))
        yield from taken
        most -= len(taken)
        if not most:
            return
