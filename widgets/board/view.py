"""OperatorBoard: under-replicated partitions, ISR changes, rates, lags, requests, disk; over time.

    OperatorBoard(cluster)                              live
    OperatorBoard(Recording.load("run.jsonl.gz"))       a run that is over, with its timeline
    board.figure()                                      the same as a plotly chart

Everything is taken from `cluster.state()` and `cluster.events()`, so any cluster has a board. The
brokers count their requests while a board of them is open. The same figures are at a broker's
/metrics, for Prometheus, if it was started with prometheus.port.

Invariant: a sample that is shown was seen. Between two samples the board says nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from widgets import controls, palette
from widgets.board.history import BoardHistory
from widgets.board.scene import BoardMoment, headline, picture
from widgets.controls import Control
from widgets.moment import ViewMoment
from widgets.playback import TIME, Playback
from widgets.scene import Scene

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]

SPANS = [("30", "30 s"), ("60", "1 min"), ("300", "5 min"), ("0", "all")]


class OperatorBoard(Playback):
    _css = palette.for_pages("board.css")

    ACTS: ClassVar[frozenset[str]] = TIME | {"span"}

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Operator's board")
        self.history = BoardHistory()
        self._span: int | None = None
        if hasattr(source, "count_requests"):
            source.count_requests()
        self._open(source)

    def _open(self, source: Any) -> None:
        super()._open(source)
        run_source = self.run_source
        for state in run_source.between(run_source.start, run_source.end):
            self.history.see(state)
        self._drawn = ()  # the first picture had no sample
        self.draw()

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        self.history.add_events(events)

    def see(self, state: ClusterState) -> None:
        self.history.see(state)

    @property
    def shown(self) -> int:
        """How many seconds are shown; 0: all. At first, a minute of a live run."""
        if self._span is not None:
            return self._span
        return 60 if self.run_source.live else 0

    def board(self, moment: ViewMoment) -> BoardMoment:
        return BoardMoment(moment, self.history, self.shown)

    def painted(self, moment: ViewMoment) -> Scene:
        return picture(self.board(moment))

    def headline(self, moment: ViewMoment) -> str:
        return headline(self.board(moment))

    def able(self, now: bool) -> frozenset[str]:
        return TIME | {"span"}

    def offers(self, moment: ViewMoment) -> list[Control]:
        return [controls.choice("span", "last", SPANS, str(self.shown))]

    def gist(self, moment: ViewMoment, waits: bool) -> tuple[object, ...]:
        seen = len(self.history.samples), len(self.history.changes)
        return *seen, moment.at // 1000, moment.playing, self.shown

    def span(self, seconds: str) -> None:
        """How much of the past is shown; 0: all of it."""
        self._span = max(int(seconds), 0)
        self.draw()

    def figure(self) -> "Figure":
        """A chart of the whole run."""
        from widgets.board.chart import chart  # noqa: PLC0415 - plotly takes its time

        with self.lock:
            whole = replace(self.moment(), at=self.run_source.end)
            return chart(BoardMoment(whole, self.history, 0))
