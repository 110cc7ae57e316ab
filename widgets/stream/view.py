"""StreamView: shows a streaming query, and goes back in its run, batch by batch.

    StreamView(query)                                        Spark's reports
    StreamView(query, cluster, lambda: spark.table("t"))     also the input records and the table
    StreamView.replay(json.load(file))                       a saved run: no Spark, no brokers

`view.moments()` is the whole run as plain JSON. Spark has no hook between two batches, so the table
is read when a poll finds that a batch is done: if batches are shorter than the time between two
polls, it may be the table of a later batch, and the batches between have none.

Invariant: the head is None (live, or at the end) or one of the moments. There are no requests after
the query's end, nor while no page shows the view.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from widgets import palette
from widgets.controls import Control
from widgets.scene import Scene
from widgets.step_view import STEP_ACTS, StepView
from widgets.stream import batches
from widgets.stream.feed import Feed
from widgets.stream.history import Plain, QueryHistory
from widgets.stream.layout import StreamViewState
from widgets.stream.scene import header, picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

LEAST_ROWS = 4  # of the lists, so that they don't grow at once


class StreamView(StepView[StreamViewState]):
    _css = palette.for_pages("znodes.css")  # changes are highlighted, as in the tree of znodes

    ACTS: ClassVar[frozenset[str]] = STEP_ACTS
    PACE, STEP = 0.7, "a batch"

    def __init__(
        self,
        query: Any,
        cluster: Any = None,
        table: Callable[[], Any] | None = None,
        every: float = 0.5,
        *,
        into: str = "",
    ) -> None:
        """`cluster`: an engine.Cluster, or where brokers are, for the records that come in.
        `table`: gives its rows, as dicts or as a DataFrame; it is asked after each batch.
        `into`: what the sink is called, a topic say, for Spark tells only of what kind it is."""
        super().__init__(name="Stream")
        self.interval = self._every = every  # seconds between two polls
        self.history = QueryHistory()
        self.feed = Feed(query, cluster, table) if query is not None else None
        self._name, self._into = str(getattr(query, "name", None) or ""), into
        self.poll()

    @classmethod
    def replay(cls, moments: Iterable[Plain], *, into: str = "") -> "StreamView":
        """A saved run: `view.moments()`, or the progress that Spark reported, as JSON."""
        view = cls(None, into=into)
        for told in moments:
            view.history.add(told)
        view.draw()
        return view

    # -- looking ---------------------------------------------------------------------------

    def poll(self) -> bool:
        """Ask the query, and draw changes. False: nothing more will come by itself."""
        return self.advance(self.clock())

    def advance(self, now: float) -> bool:
        feed = self.feed
        news = feed.ask() if feed else []  # slow: not under the lock
        with self.lock:
            for told in news:
                self.history.add(told)
            if feed and news:
                self.trouble = feed.trouble
            self._step_on(now)
            self.draw()
            turn = now + self._every if self._turn is None else self._turn
            self.interval = max(min(self._every, turn - now), 0.05)
            return self.playing or (feed is not None and not feed.over)

    def view_state(self) -> StreamViewState:
        feed, moments = self.feed, self.history.moments
        tables, records = [it.table for it in moments], [it.records for it in moments]
        lines = [len(it.lines) for it in tables if it]
        rows = [*lines, *(len(it) for it in records if it)]
        return StreamViewState(
            self.history,
            None if self.head is None else self._here - self.history.forgotten,
            self.ACTS if moments else frozenset(),
            self._name or next((it.name for it in moments[-1:]), ""),
            self._into,
            feed.status if feed else "",
            (feed is not None and feed.has_records) or any(it is not None for it in records),
            (feed is not None and feed.has_table) or any(it is not None for it in tables),
            self.playing,
            max([LEAST_ROWS, *rows]),
            max([LEAST_ROWS, *lines]),
            self.width,
        )

    def gist(self, state: StreamViewState) -> tuple[object, ...]:
        history = self.history
        batches = len(history.moments), history.forgotten, history.ended
        return *batches, state.head, state.status

    def headline(self, state: StreamViewState) -> str:
        return header(state)

    def painted(self, state: StreamViewState) -> Scene:
        return picture(state)

    def offers(self, state: StreamViewState) -> list[Control]:
        return self._time_buttons(live=bool(self.feed) and not self.history.ended)

    # -- time ------------------------------------------------------------------------------

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        with self.lock:
            seen = batches.window(self.view_state())
            if seen:
                place = min(int(float(share) * len(seen)), len(seen) - 1)
                self._go(self.history.forgotten + seen[place])

    @property
    def _first(self) -> int:
        return self.history.forgotten

    @property
    def _last(self) -> int:
        return self.history.forgotten + len(self.history.moments) - 1

    # -- the rest --------------------------------------------------------------------------

    def moments(self) -> list[Plain]:
        """The run up to now, as plain JSON for `replay`."""
        self.poll()
        with self.lock:
            return self.history.plain()

    def figure(self) -> "Figure":
        """Rows a second, times, lag, state and watermark of all batches."""
        from widgets.stream.chart import chart  # noqa: PLC0415 - plotly takes a second to load

        self.poll()
        with self.lock:
            return chart(self.history.moments)
