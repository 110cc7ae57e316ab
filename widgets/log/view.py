"""SegmentView: a log as a ribbon of segments, and the lookup of an offset or a time in it.

    SegmentView(cluster, "orders", 0)        the leader's files; live
    SegmentView("data/broker-1/orders-0")    a directory, whether a broker runs on it or not
    SegmentView(recording, "orders", 0)      at any moment of a recording

    read the directory ─────> SegmentHistory ────────────────> ribbon ─┐
    an offset, a time ──────> Lookup: step by step ─────────> lanes ──┼──> Scene
    the newest batches ─────> the markers of transactions ──> batch_lane

A click on a segment or a batch opens its bytes in the HexView below.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets  # type: ignore[import-untyped]

from engine.errors import ApiException, ErrorCode, invalid_request
from widgets import controls
from widgets.controls import Control
from widgets.log import batch_lane, ribbon, timestamps
from widgets.log.batches import torn
from widgets.log.directory import Look, SegmentFiles
from widgets.log.fields import count
from widgets.log.hex_view import GONE, NOT_THEN, HexView
from widgets.log.lanes import Drawing
from widgets.log.location import LogLocation, Source
from widgets.log.lookup import IndexLookup, find_offset, find_time
from widgets.log.ribbon import BOTTOM, LEFT, bytes_in_words
from widgets.log.segment_history import SegmentHistory, SegmentPiece
from widgets.log.transactions import FatedBatch, newest
from widgets.replay.recorded_files import PartitionFiles
from widgets.scene import Scene
from widgets.shared_time import SharedTime
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

LINE = 18
TRIES = 5  # attempts to read files that are being deleted
EVERY = 0.3  # seconds between two reads of the directory
PACE = 0.7  # seconds a step, when it plays
HINT = "Type an offset or a time above. The ticks are index entries; a click opens the bytes."


class SegmentView(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"ask_offset", "ask_time", "step", "back", "play", "clear", "replica"}
        | {"open_segment", "open_found", "open_batch", "moment"}
    )

    def __init__(
        self, source: Source, topic: str = "", partition: int = 0, *, broker: int | None = None
    ) -> None:
        super().__init__()
        self.clock = time.monotonic
        self._place = LogLocation(source, topic, partition, broker)
        self._history = SegmentHistory()
        self._look: Look | None = None
        self._pieces: list[SegmentPiece] = []
        self.facts = ""  # a line about the log
        self._newest: list[FatedBatch] = []  # the last one first
        self._torn: dict[SegmentFiles, str] = {}  # the bytes after its last whole batch, as text
        self.lookup: IndexLookup | None = None
        self.shown = 0  # steps of the lookup that are drawn
        self._playing = False
        self._due_look = self._due_step = 0.0
        self.hex = HexView(None)
        self.hex.gone = NOT_THEN if self._place.past else GONE
        self.hex.layout.display = "none"  # until something is opened in it
        self.both = ipywidgets.VBox([self, self.hex])
        self.name = f"Log of {self._place}"
        self.shared = SharedTime.of(source)
        if self._place.past:
            self.shared.join(self)
        self.reread()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """A notebook shows it together with its HexView, and keeps its still."""
        return self.both._repr_mimebundle_(**options) | self.still()

    @property
    def shown_id(self) -> str | None:
        comm = self.both.comm if self.comm is not None else None
        return None if comm is None else str(comm.comm_id)

    # -- looking -------------------------------------------------------------------------

    def poll(self) -> bool:
        now = self.clock()
        with self.lock:
            if self._playing and now >= self._due_step:
                self._due_step = now + PACE
                self._advance(1)
            if now >= self._due_look:
                self._due_look = now + EVERY
                return self._follow()
        return True

    def _follow(self) -> bool:
        """Read the files again; if the log is deleted, the last picture stays."""
        try:
            self.reread()
        except ApiException as error:
            self.trouble = f"{error.message}. This is what was there."
            return False
        return True

    def reread(self) -> None:
        """Read the files again, and draw the changes."""
        with self.lock:
            self._place.refresh()
            self._steady(self._see)

    def _steady(self, work: Callable[[], None]) -> None:
        """If files are deleted while they are read, read the directory again."""
        for _ in range(TRIES):
            try:
                return work()
            except FileNotFoundError:
                self._look = None
        work()

    def _see(self) -> None:
        found = self._place.look()
        if found == self._look:
            return
        torn_by_now = {it: self._torn.get(it) or self._behind(it) for it in found.segments}
        facts, batches = _facts(found), list(newest(found.segments, batch_lane.MOST))
        self._look, self._torn, self.facts = found, torn_by_now, facts
        self._pieces, self._newest = self._history.see(found), batches
        self._draw(" ".join(self._history.news))

    def _behind(self, segment: SegmentFiles) -> str:
        """Incomplete bytes at the end. A write in progress looks the same, so they are checked
        twice."""
        _, end = segment.end()
        if end >= segment.size:
            return ""
        left = segment.path.stat().st_size - end
        why = torn(segment.read(end, 61), left)
        return f"{segment.path.name} is torn at byte {end:,}: {why}." if why else ""

    def moment(self, index: float) -> None:
        """The files as they were at another moment of a recording."""
        past = self._place.past
        if past is None:
            raise invalid_request("this is no recording: it is always now")
        self._turn_to(past, int(index))
        self.shared.tell(self, past.moments[past.index])

    def follow(self, at: int | None) -> None:
        """Show the files of this time, because another view shows it."""
        past = self._place.past
        if past and past.moments and (index := past.until(at)) != past.index:
            self._turn_to(past, index)

    def _turn_to(self, past: PartitionFiles, there: int) -> None:
        with self.lock:
            here = past.index
            self.lookup, self._look, self._playing = None, None, False
            if there < here:
                self._history, here = SegmentHistory(), -1
            for turn in past.turns():
                if here < turn < there:  # changes in between belong to the history
                    past.turn_to(turn)
                    self._place.refresh()
                    self._history.see(self._place.look())
            past.turn_to(there)
            self.reread()
            self.hex.again()

    # -- lookups --------------------------------------------------------------------------

    def ask_offset(self, offset: float) -> None:
        """Find an offset."""
        self._ask(lambda look: find_offset(look, int(offset)))

    def ask_time(self, when: str) -> None:
        """Find a time: "2026-01-31 12:00:00", "12:00:00", or milliseconds since 1970."""

        def find(look: Look) -> IndexLookup:
            newest = max((segment.newest() for segment in look.segments), default=0)
            return find_time(look, timestamps.parse(when, newest))

        self._ask(find)

    def _ask(self, find: Callable[[Look], IndexLookup]) -> None:
        def ask() -> None:
            self._see()
            assert self._look is not None
            self.lookup, self.shown, self._playing = find(self._look), 0, True
            self._due_step = self.clock() + PACE
            self._advance(1)

        with self.lock:
            self._place.refresh()
            self._steady(ask)

    def step(self) -> None:
        """To the next probe."""
        self._playing = False
        self._advance(1)

    def back(self) -> None:
        """To the previous probe."""
        self._playing = False
        self._advance(-1)

    def play(self) -> None:
        """Play the steps, from the start if it is at the end; or pause."""
        with self.lock:
            self._playing = not self._playing
            if self._playing and self.lookup and self.shown >= len(self.lookup.steps):
                self.shown = 0
            self._draw()

    def clear(self) -> None:
        """Show only the ribbon."""
        with self.lock:
            self.lookup, self._playing = None, False
            self._draw()

    def _advance(self, steps: int) -> None:
        with self.lock:
            if self.lookup is not None:
                last = len(self.lookup.steps)
                self.shown = min(max(self.shown + steps, min(1, last)), last)
                self._playing = self._playing and self.shown < last
                self._draw(_words(self.lookup, self.shown)[0])

    # -- files -------------------------------------------------------------------

    def replica(self, broker: str) -> None:
        """The same partition on another broker."""
        with self.lock:
            self._place.choose(int(broker))
            self._history, self._look, self.lookup = SegmentHistory(), None, None
            self.reread()

    def open_segment(self, base_offset: str) -> None:
        """A segment's bytes, from its start."""
        self.reread()
        for segment in self._look.segments if self._look else ():
            if str(segment.base_offset) == base_offset:
                return self._open(segment.path, 0)
        raise ApiException(ErrorCode.offset_out_of_range, f"there is no segment {base_offset} now")

    def open_found(self) -> None:
        """The bytes of what was found."""
        if self.lookup is None or self.lookup.found is None:
            raise ApiException(ErrorCode.offset_out_of_range, "nothing was looked up and found yet")
        found = self.lookup.found
        self._open(found.segment.path, found.position)
        self.hex.offset(found.offset)

    def open_batch(self, offset: float) -> None:
        """The bytes of the batch that begins at this offset."""
        self.reread()
        for segment in reversed(self._look.segments if self._look else ()):
            for position, header in segment.batches_from(int(offset)):
                if header.base_offset == int(offset):
                    self._open(segment.path, position)
                    return self.hex.choose(position)
        raise ApiException(ErrorCode.offset_out_of_range, f"no batch begins at {offset:,.0f} now")

    def _open(self, path: Path, position: int) -> None:
        self.hex.turn_to(path, position)
        self.hex.layout.display = ""

    def close(self) -> None:
        self.shared.leave(self)
        self.hex.close()
        self._place.close()
        super().close()

    # -- drawing -------------------------------------------------------------------------

    def figure(self) -> "Figure":
        """The segments as a chart."""
        from widgets.log.chart import chart  # noqa: PLC0415 - plotly takes a second to load

        return chart(self._pieces, str(self._place))

    def draw(self) -> None:
        if self._look is not None:
            self._draw()

    def _draw(self, says: str = "") -> None:
        assert self._look is not None
        asked = {step.base_offset for step in self.lookup.steps} if self.lookup else set[int]()
        right = self.width - LEFT
        found = ribbon.slabs(self._pieces, asked, right)
        facts = " · ".join(filter(None, [self.facts, self._place.when]))
        shapes, y = ribbon.draw(found, facts, right), float(BOTTOM + 4)
        lines = [(f"▲ {words}", "bad") for words in self._torn.values() if words]
        if self._place.past and self._place.past.stopped:
            lines.append((f"▲ {self._place.past.stopped}", "bad"))
        if self.lookup is not None:
            drawing = Drawing(self._look, found, self.lookup, self.shown, right)
            shapes, y = shapes + drawing.shapes, drawing.y
            words, cost = _words(self.lookup, self.shown)
            lines += [(words, "bold"), (cost, "soft")]
        else:
            lane, y = batch_lane.drawn(self._newest, y, right)
            shapes += lane
            lines.append((HINT, "soft"))
        told = TextColumn(LEFT, y + LINE, right - LEFT, LINE)
        for number, (words, look) in enumerate(lines):
            told.write(f"line {number}", words, look)
        title = f"{self.name}: {facts}"
        picture = Scene(self.width, told.y, [*shapes, *told.shapes], title=title, says=says)
        self.show(picture, self._controls())

    def _controls(self) -> list[Control]:
        lookup, known = self.lookup, self._place.options
        idle = lookup is None or not lookup.steps
        at_end = lookup is not None and self.shown >= len(lookup.steps)
        words = "❙❙ pause" if self._playing else "▸ play"
        chosen = str(self._place.broker)
        found = [controls.choice("replica", "replica", known, chosen)] if known else []
        if self._place.past:
            found.insert(0, self._place.past.slider())
        return [
            *found,
            controls.number("ask_offset", "offset", least=0),
            controls.text("ask_time", "time", hint="12:00:00"),
            controls.button("back", "◂", "one probe back", off=idle or self.shown <= 1),
            controls.button("play", words, "play the search", off=idle),
            controls.button("step", "▸", "one probe on", off=idle or at_end),
            controls.button("clear", "✕", "clear the search", off=lookup is None),
            controls.button("open_found", "hex", "open the batch that was found in hex",
                            off=lookup is None or lookup.found is None),
        ]  # fmt: skip


def _facts(look: Look) -> str:
    size = bytes_in_words(look.size)
    span = f"offsets {look.start_offset:,} to {look.end_offset:,}"
    return f"{count(len(look.segments), 'segment')} · {size} · {span}"


def _words(lookup: IndexLookup, shown: int) -> tuple[str, str]:
    """The text of the step that is shown; at the end, the result and its cost."""
    if shown >= len(lookup.steps):
        return lookup.words, lookup.cost
    step = f"Step {shown} of {len(lookup.steps)}, {lookup.asked}."
    return lookup.steps[shown - 1].words, step
