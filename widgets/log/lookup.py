"""The steps by which a broker finds an offset or a time.

    offset 4711 ──> which segment?     binary search by base offset      [0][2000][4000*][6000]
                    where in it?       binary search in its index       | | |*| | | | |
                    the last stretch   hops from batch to batch              >>>x

    a time      ──> which segment?     one after the other: is its newest record late enough?
                    where in it?       binary search in its time index, then as for an offset

It repeats the engine's own search (storage/log.py, segment.py, index.py) on the same files, which
it opens read-only; tests compare the results and the steps of both.

Invariant: a probe is in the range that the earlier ones left, and leaves at most half of it.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from engine.storage import records
from engine.storage.batch import NO_TIMESTAMP, Header
from widgets.log.directory import Entry, Look, SegmentFiles
from widgets.log.fields import count
from widgets.log.timestamps import moment

PROBES = ("segment", "times", "offsets")


class LookupStep(NamedTuple):
    """One entry or stretch of the log that the broker reads."""

    kind: str  # segment, newest, times, offsets: a probe; scan: a stretch of log; lost: a bad index
    base_offset: int  # of the segment
    slot: int  # the number of the segment or entry; of a scan: batches that were skipped
    low: int  # the first slot of the range before the probe; of a scan: the first byte
    high: int  # the slot after its end
    entry: Entry  # its content
    fits: bool  # it is not above the target; of a scan: it reached the target
    words: str


class LookupResult(NamedTuple):
    segment: SegmentFiles
    position: int
    header: Header
    offset: int  # of the record


class IndexLookup(NamedTuple):
    asked: str
    steps: tuple[LookupStep, ...]
    found: LookupResult | None
    words: str  # the result

    @property
    def cost(self) -> str:
        """How much was read, of how much."""
        parts = []
        for kind, steps in groupby(self.steps, key=lambda step: step.kind):
            run = list(steps)
            if kind in PROBES:
                there = count(run[0].high, _NOUNS[kind])
                parts.append(f"{count(len(run), 'probe')} into {there}")
            elif kind == "newest":
                whose = "its newest record" if len(run) == 1 else "their newest records"
                parts.append(f"{count(len(run), 'segment')} asked for {whose}")
            elif kind == "scan":
                bytes_read = sum(step.high - step.low for step in run)
                hops = count(sum(step.slot for step in run), "header")
                parts += [f"{hops} ({bytes_read:,} bytes) hopped over"] if bytes_read else []
        if self.found and self.steps[-1].low:
            parts.append(f"{count(self.steps[-1].low, 'byte')} before them never read")
        return ", ".join(parts)


_NOUNS = {"segment": "segment", "times": "time index entry", "offsets": "index entry"}


def find_offset(look: Look, offset: int) -> IndexLookup:
    """As `Log.read` does: the first batch that ends at or after the offset."""
    asked, end = f"offset {offset:,}", look.end_offset
    if offset == end:
        return IndexLookup(
            asked, (), None, f"Offset {offset:,} is not written yet: the log ends there."
        )
    if not look.start_offset <= offset < end:
        words = f"Offset {offset:,} is out of range: the log has {look.start_offset:,} to {end:,}."
        return IndexLookup(asked, (), None, words)

    def reaches(segment: SegmentFiles, position: int, header: Header) -> LookupResult | None:
        if header.last_offset < offset:
            return None
        return LookupResult(segment, position, header, max(offset, header.base_offset))

    search = _Search(look)
    for segment in look.segments[search.segment(offset) :]:
        found = search.scan(segment, search.position(segment, offset), reaches)
        if found:
            return IndexLookup(asked, tuple(search.steps), found, _lands(offset, found))
        end = search.steps[-1].high
        if end < segment.size:
            words = f"{segment.path.name} is damaged at byte {end:,}: offset {offset:,} is lost."
            return IndexLookup(asked, tuple(search.steps), None, words)
    return IndexLookup(asked, tuple(search.steps), None, "No batch reaches it.")


def find_time(look: Look, timestamp: int) -> IndexLookup:
    """As `Log.offset_for_time` does: the first record that is not older."""
    search, asked = _Search(look), moment(timestamp)

    def not_older(segment: SegmentFiles, position: int, header: Header) -> LookupResult | None:
        if header.max_timestamp < timestamp or header.last_offset < look.start_offset:
            return None
        for record in records.stream(segment.read(position, header.size)):
            if record.timestamp >= timestamp and record.offset >= look.start_offset:
                return LookupResult(segment, position, header, record.offset)
        return None

    for number, segment in enumerate(look.segments):
        if search.is_late_enough(number, segment, timestamp):
            start = max(search.offset(segment, timestamp), look.start_offset)
            found = search.scan(segment, search.position(segment, start), not_older)
            if found:
                words = f"The first record that is not older has offset {found.offset:,}."
                return IndexLookup(asked, tuple(search.steps), found, words)
    return IndexLookup(asked, tuple(search.steps), None, "Every record is older.")


def _lands(offset: int, found: LookupResult) -> str:
    if found.offset == offset:
        return f"Offset {offset:,} is in the batch at byte {found.position:,}."
    return (
        f"Offset {offset:,} is gone: compaction took it. The next batch begins with "
        f"{found.offset:,}, at byte {found.position:,}."
    )


Reaches = Callable[[SegmentFiles, int, Header], LookupResult | None]


class _Search:
    """Takes the steps, and keeps them."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self.steps: list[LookupStep] = []

    def segment(self, offset: int) -> int:
        """The segment that could hold an offset."""
        bases = [
            (segment.base_offset, number) for number, segment in enumerate(self._look.segments)
        ]
        slot = self._halve("segment", bases, offset, "Segment {} of {} begins at {:,}".format)
        return max(slot, 0)

    def is_late_enough(self, number: int, segment: SegmentFiles, timestamp: int) -> bool:
        newest = segment.newest() if segment.size else NO_TIMESTAMP
        late = segment.size > 0 and newest >= timestamp
        words = f"Segment {number + 1} of {len(self._look.segments)}: its newest record is of "
        words += f"{moment(newest)}, {'late enough' if late else 'too old'}."
        high = len(self._look.segments)
        self._note(
            "newest", segment, number, number, high, (newest, segment.base_offset), late, words
        )
        return late

    def offset(self, segment: SegmentFiles, timestamp: int) -> int:
        """The offset up to which every record is older, by the time index."""
        times = segment.times

        def say(slot: int, of: int, time: int) -> str:
            return f"Time entry {slot} of {of} has {moment(time)}"

        slot = self._halve("times", times, timestamp, say, segment)
        if slot < 0:
            return segment.base_offset
        if not _says_true(segment, times[slot]):
            words = "The time index is damaged: a broker makes it anew, we read from the start."
            self._note("lost", segment, slot, 0, len(times), times[slot], False, words)
            return segment.base_offset
        return segment.base_offset + times[slot][1]

    def position(self, segment: SegmentFiles, offset: int) -> int:
        """The position in the file from which to search for an offset."""
        entries = segment.offsets

        def say(slot: int, of: int, relative: int) -> str:
            return f"Index entry {slot} of {of} has offset {segment.base_offset + relative:,}"

        slot = self._halve("offsets", entries, offset - segment.base_offset, say, segment)
        position = entries[slot][1] if slot >= 0 else 0
        if position and not segment.begins(position, offset):
            words = "The index is damaged: a broker makes it anew, we read from the start."
            self._note("lost", segment, slot, 0, len(entries), entries[slot], False, words)
            return 0
        return position

    def scan(self, segment: SegmentFiles, start: int, reaches: Reaches) -> LookupResult | None:
        """From batch to batch until the target is reached."""
        hops, end, found = 0, start, None
        for position, header in segment.headers(start):
            found = reaches(segment, position, header)
            if found:
                break
            hops, end = hops + 1, position + header.size
        words = f"From byte {start:,} on, hop over {count(hops, 'header')} ({end - start:,} bytes)"
        words += f" to the batch at byte {end:,}." if found else ": nothing here reaches it, go on."
        self._note("scan", segment, hops, start, end, (start, end), found is not None, words)
        return found

    def _halve(
        self,
        kind: str,
        entries: Sequence[Entry],
        key: int,
        say: Callable[[int, int, int], str],
        segment: SegmentFiles | None = None,
    ) -> int:
        """The slot of the last entry whose first column is not above the key, or -1."""
        low, high = 0, len(entries)  # the answer lies in [low - 1, high)
        while low < high:
            middle = (low + high) // 2
            entry = entries[middle]
            fits = entry[0] <= key
            words = say(middle + 1, len(entries), entry[0])
            words += ": it is this one or a later one." if fits else ": it is an earlier one."
            looked_at = segment or self._look.segments[middle]
            self._note(kind, looked_at, middle, low, high, entry, fits, words)
            low, high = (middle + 1, high) if fits else (low, middle)
        return low - 1

    def _note(self, kind: str, segment: SegmentFiles, *facts: Any) -> None:
        self.steps.append(LookupStep(kind, segment.base_offset, *facts))


def _says_true(segment: SegmentFiles, entry: Entry) -> bool:
    """Whether the batch that a time entry names has that time."""
    timestamp, offset = entry[0], segment.base_offset + entry[1]
    for _, header in segment.batches_from(offset):
        if header.last_offset >= offset:
            return header.base_offset <= offset and header.max_timestamp == timestamp
    return False
