"""A lookup, lane under lane: each step halves the range, and the next lane shows what is left.

    segments   ▐ 0 ▌▐ 4,711 ▌▐ 9,204 ▌▐ 13,377      the ribbon; a bar is the range that is left,
               ├────────●───────────────────┤         the circle is the entry that was read
                        ├──────────●────────┤
                       ╱                     ╲
    index      │ │ │ │ │ │ │ │ │ │ │ │ │ │ │ │       all entries of one index, side by side
               ├───────────────●──────────────┤
                              ╱      ╲
    log        ▐ hopped over ▌▐ over ▌▐█ found █      the last stretch, batch by batch

The heading of a lane has as many lines as it needs on a narrow page.

Invariant: the picture has its full height from the first step on, so that nothing moves while it
plays; later steps are not drawn yet.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from engine.storage.batch import Header
from widgets.log.directory import Look, SegmentFiles
from widgets.log.fields import count
from widgets.log.lookup import IndexLookup, LookupResult, LookupStep
from widgets.log.ribbon import BOTTOM, HEIGHT, LEFT, TOP, Slab
from widgets.log.timestamps import moment
from widgets.scene import ABOUT, UP_TO, Act, SceneShape, circle, path, rect, text, width_of, wrap

ROW = 15  # from one probe, or line of a heading, to the next
SIZE = 11.5  # of a heading
LENS = 30
LANE = 20  # an index, side by side
STRETCH = 30
BEHIND = 2  # batches that are shown after the one that was found
CELLS = 40  # batches and entries that are drawn one by one
THIN = 10  # the least width of a batch

NAMES = {
    "segment": "Which segment?",
    "newest": "Which segment? The first whose newest record is late enough",
    "times": "The time index: up to which offset is everything older?",
    "offsets": "The offset index: where in the file?",
    "scan": "The log from there on: from header to header",
}


Cell = tuple[int, str, str, str]  # bytes, look, label, words inside


class Lane(NamedTuple):
    """Consecutive steps of one kind in one file."""

    steps: tuple[LookupStep, ...]
    first: int  # the number of its first step in the lookup

    @property
    def kind(self) -> str:
        return self.steps[0].kind

    @property
    def height(self) -> float:
        match self.kind:
            case "segment":
                return 20 + ROW * len(self.steps)
            case "newest":
                return 20 + ROW
            case "lost":
                return 20
            case "scan":
                return LENS + STRETCH + 18
        return LENS + LANE + 6 + ROW * len(self.steps)


def lanes(lookup: IndexLookup) -> Iterator[Lane]:
    first = 0
    for _, run in groupby(lookup.steps, key=_place):
        steps = tuple(run)
        yield Lane(steps, first)
        first += len(steps)


def _place(step: LookupStep) -> tuple[str, int]:
    """All steps of a search through the segments are one lane."""
    over_all = step.kind in ("segment", "newest")
    return step.kind, -1 if over_all else step.base_offset


class Drawing:
    """The lanes of one lookup, of which `shown` steps are taken."""

    def __init__(
        self, look: Look, found: Sequence[Slab], lookup: IndexLookup, shown: int, right: float = 944
    ) -> None:
        self.shapes: list[SceneShape] = []
        self.right, self.room = right, right - LEFT
        self.cells = min(CELLS, int(self.room // (2 * THIN)))  # batches one by one
        self.y: float = BOTTOM + 4
        self._look, self._lookup, self._shown = look, lookup, shown
        self._slabs = {piece.segment.base_offset: slab for slab in found for piece in slab.pieces}
        self._segments = {segment.base_offset: segment for segment in look.segments}
        self._part: tuple[float, float] | None = (
            None  # the part of the lane above that the next one shows
        )
        for lane in lanes(lookup):
            heading = self._heading(lane)
            if lane.first < shown:
                self._name(lane, heading)
            # From here on the lane is drawn as if its heading had one line.
            self.y += ROW * (len(heading) - 1)
            if lane.first < shown:
                self._draw(lane, tuple(islice(lane.steps, shown - lane.first)), len(heading))
            self.y += lane.height
        if lookup.found and shown == len(lookup.steps):
            self._drop(lookup.found)

    def _drop(self, found: LookupResult) -> None:
        """A mark at its position in the whole log."""
        slab, segment = self._slabs[found.segment.base_offset], found.segment
        x = slab.x + slab.width * found.position / max(segment.size, 1)
        drawn = f"M-5 -8h10l-5 7zM0 -2v10M0 {HEIGHT - 6}v8"  # not through the segment's words
        label = f"offset {found.offset:,}, byte {found.position:,} of its segment"
        self.shapes.append(path("drop", drawn, x, TOP, look="watermark", label=label))

    def _heading(self, lane: Lane) -> list[tuple[str, str]]:
        """What a lane is, line by line; the last line has its cost at the right."""
        step, cost = lane.steps[0], ""
        match lane.kind:
            case "lost":
                return [(part, "") for part in wrap(f"▲ {step.words}", self.room, 12)]
            case "segment" | "newest":
                cost = count(len(self._look.segments), "segment")
            case "scan" if step.slot:
                cost = f"{count(step.slot, 'header')} hopped over, {step.high - step.low:,} bytes"
            case "times" | "offsets":
                cost = f"{count(step.high, 'entry')}, {count(len(lane.steps), 'probe')}"
        lines = [(part, "") for part in wrap(NAMES[lane.kind], self.room, SIZE)]
        free = self.room - width_of(lines[-1][0], SIZE) - 16
        if cost and width_of(cost, 11) > free:
            return [*lines, ("", cost)]
        return [*lines[:-1], (lines[-1][0], cost)]

    def _draw(self, lane: Lane, steps: tuple[LookupStep, ...], lines: int) -> None:
        if lane.kind not in ("segment", "newest", "lost"):
            self._lens(lane, lines)
        match lane.kind:
            case "segment":
                self._segment(lane, steps)
            case "newest":
                self._newest(lane, steps)
            case "scan":
                self._scan(lane, steps[0])
            case "lost":
                pass  # its heading says all
            case _:
                self._index(lane, steps)

    # -- segments ------------------------------------------------------------------------

    def _segment(self, lane: Lane, steps: tuple[LookupStep, ...]) -> None:
        bases = [segment.base_offset for segment in self._look.segments]
        for row, step in enumerate(steps):
            left, right = self._slabs[bases[step.low]].x, self._slabs[bases[step.high - 1]].end
            slab = self._slabs[step.base_offset]
            where = left, right, slab.x + slab.width / 2, self.y + 20 + ROW * row
            self._probe(lane.first + row, step, where, f"{step.entry[0]:,}")
        self._part = self._next_segment(lane)

    def _newest(self, lane: Lane, steps: tuple[LookupStep, ...]) -> None:
        for row, step in enumerate(steps):
            slab = self._slabs[step.base_offset]
            where = slab.x, slab.end, slab.x + slab.width / 2, self.y + 20
            self._probe(lane.first + row, step, where, "")
        self._part = self._next_segment(lane)

    def _next_segment(self, lane: Lane) -> tuple[float, float] | None:
        """Where the search continues."""
        following = self._lookup.steps[lane.first + len(lane.steps) :]
        slab = self._slabs[following[0].base_offset] if following else None
        return (slab.x, slab.end) if slab else None

    # -- an index ------------------------------------------------------------------------

    def _index(self, lane: Lane, steps: tuple[LookupStep, ...]) -> None:
        entries, base = lane.steps[0].high, lane.steps[0].base_offset
        width, top = self.room / entries, self.y + LENS
        key, is_time = f"i{lane.first}", lane.kind == "times"
        label = f"{lane.kind[:-1]} index of segment {base:,}: {count(entries, 'entry')}"
        self.shapes.append(rect(key, LEFT, top, self.room, LANE, 3, look="folded", label=label))
        parts = entries if entries <= self.cells * 3 else self.cells
        marks = (self.room * part / parts for part in range(1, parts))
        cells = "".join(f"M{mark:.1f} 0v{LANE}" for mark in marks)
        if cells:
            self.shapes.append(path(f"{key}c", cells, LEFT, top, look="rule still"))
        for row, step in enumerate(steps):
            middle = LEFT + width * (step.slot + 0.5)
            bar = LEFT + width * step.low, LEFT + width * step.high
            key = moment(step.entry[0])[11:] if is_time else f"{base + step.entry[0]:,}"
            self._probe(lane.first + row, step, (*bar, middle, top + LANE + 6 + ROW * row), key)
        if len(steps) == len(lane.steps):
            self._land(lane, width, top)

    def _land(self, lane: Lane, width: float, top: float) -> None:
        """The entry that was found, or the start of the segment if all lie above."""
        fitting = [step.slot for step in lane.steps if step.fits]
        self._part = LEFT, LEFT + 2
        if fitting:
            x = LEFT + width * fitting[-1]
            self._part = x, x + width
            hit = rect(f"h{lane.first}", x, top, max(width, 3), LANE, look="hit")
            self.shapes.append(hit)
        if lane.kind == "times":
            self._part = self._next_segment(lane)

    # -- the last stretch ----------------------------------------------------------------

    def _scan(self, lane: Lane, step: LookupStep) -> None:
        top, bottom = self.y + LENS, self.y + LENS + STRETCH + 13
        cells = self._cells(self._segments[step.base_offset], step)
        room = self.room - THIN * len(cells)
        total, x = sum(size for size, *_ in cells), float(LEFT)
        for number, (size, look, label, words) in enumerate(cells):
            width = THIN + room * size / max(total, 1)
            acts = (Act("open_found", None, "open in hex"),) if look == "hit" else ()
            shape = rect(f"c{lane.first}.{number}", x, top, max(width - 2, 1), STRETCH, 3,
                         look=look, label=label, acts=acts)  # fmt: skip
            self.shapes.append(shape)
            middle = x + width / 2
            if width_of(words, SIZE) + 6 < width:
                ink = "small still" if look == "hit" else "tiny still"
                key = f"w{lane.first}.{number}"
                self.shapes.append(text(key, middle, top + 19, words, ABOUT, look=ink))
            if look == "hit":
                words = f"byte {step.high:,}"
                half = width_of(words, 11) / 2
                middle = min(max(middle, LEFT + half), self.right - half)
                self._tiny(f"at{lane.first}", middle, bottom, words, ABOUT)
                if step.slot and middle - half > LEFT + width_of(f"byte {step.low:,}", 11) + 12:
                    self._tiny(f"from{lane.first}", LEFT, bottom, f"byte {step.low:,}")
            x += width

    def _cells(self, segment: SegmentFiles, step: LookupStep) -> list[Cell]:
        """Each batch from the position in the index to a few after the result."""
        wanted = step.slot + (1 + BEHIND if step.fits else 0)
        if step.slot > self.cells:
            words = f"{step.slot:,} batches"
            hopped = [(step.high - step.low, "hop", f"{words}: hopped over", words)]
            behind = islice(segment.headers(step.high), wanted - step.slot)
            return hopped + [
                _cell(header, number == 0, False) for number, (_, header) in enumerate(behind)
            ]
        batches = islice(segment.headers(step.low), wanted)
        return [
            _cell(header, number == step.slot and step.fits, number < step.slot)
            for number, (_, header) in enumerate(batches)
        ]

    # -- parts ---------------------------------------------------------------------------

    def _name(self, lane: Lane, heading: list[tuple[str, str]]) -> None:
        y = self.y + {"segment": 12, "newest": 12, "lost": 14}.get(lane.kind, LENS - 8)
        look = "bad" if lane.kind == "lost" else "small still"
        for row, (words, cost) in enumerate(heading):
            key = f"{lane.first}.{row}" if row else f"{lane.first}"
            if words:
                self.shapes.append(text(f"n{key}", LEFT, y + ROW * row, words, look=look))
            if cost:
                self._tiny(f"m{key}", self.right, y + ROW * row, cost, UP_TO)

    def _tiny(self, key: str, x: float, y: float, words: str, anchor: int = -1) -> None:
        self.shapes.append(text(key, x, y, words, anchor, look="tiny still"))

    def _lens(self, lane: Lane, lines: int) -> None:
        """The lines from a small part above to the whole width below."""
        if self._part:
            (left, right), low = self._part, LENS - 1
            high = 2 - ROW * (lines - 1)
            drawn = f"M{left:.1f} {high}L{LEFT} {low}H{self.right:g}L"
            drawn += f"{max(right, left + 2):.1f} {high}Z"
            self.shapes.append(path(f"l{lane.first}", drawn, 0, self.y, look="lens"))

    def _probe(
        self, number: int, step: LookupStep, where: tuple[float, float, float, float], words: str
    ) -> None:
        left, right, middle, y = where
        now = " now" if number == self._shown - 1 else ""
        bar = rect(f"p{number}", left, y, max(right - left, 2), 8, 4, look="span" + now)
        look = ("probe fits" if step.fits else "probe") + now
        mark = circle(f"o{number}", middle, y + 4, 4.5, look=look, label=step.words)
        self.shapes += [bar, mark]
        if words:
            words, anchor = (f"{words} →", -1) if step.fits else (f"← {words}", 1)
            wide = width_of(words, 11) + 9
            if not LEFT <= middle + (-wide if anchor == 1 else wide) <= self.right:
                anchor = -anchor
            x = middle - 8 * anchor
            self.shapes.append(text(f"v{number}", x, y + 8, words, anchor, look="over still"))


def _cell(header: Header, is_found: bool, is_hopped: bool) -> Cell:
    first, last = f"{header.base_offset:,}", f"{header.last_offset:,}"
    words = first if first == last else f"{first} to {last}"
    label = f"batch {words}, {header.size:,} bytes"
    if is_found:
        return header.size, "hit", f"{label}: found", words
    return (
        header.size,
        *(("hop", f"{label}: hopped over") if is_hopped else ("folded", label)),
        words,
    )
