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
from typing import TYPE_CHECKING, Any

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState
from widgets import palette
from widgets.board.history import BoardHistory
from widgets.board.scene import BoardMoment, headline, picture
from widgets.playback import SPANS, SpanPlayback
from widgets.scene import Scene

if TYPE_CHECKING:
    from plotly.graph_objects import Figure  # type: ignore[import-untyped]


class OperatorBoard(SpanPlayback[BoardMoment]):
    SPANS = SPANS[1:]

    _css = palette.for_pages("board.css")

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Operator's board")
        self.history = BoardHistory()
        if hasattr(source, "count_requests"):
            source.count_requests()
        self._open(source)

    def _open(self, source: Any) -> None:
        super()._open(source)
        run_source = self.run_source
        for state in run_source.between(run_source.start, run_source.end):
            self.history.see(state)
        self._drawn = None  # the first picture had no sample
        self.draw()

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        self.history.add_events(events)

    def see(self, state: ClusterState) -> None:
        self.history.see(state)

    def view_state(self) -> BoardMoment:
        return BoardMoment(**self.facts(), history=self.history, span=self.shown)

    def painted(self, state: BoardMoment) -> Scene:
        return picture(state)

    def headline(self, state: BoardMoment) -> str:
        return headline(state)

    def gist(self, state: BoardMoment) -> tuple[object, ...]:
        seen = len(self.history.samples), len(self.history.changes)
        return *seen, state.at // 1000, self.shown

    def figure(self) -> "Figure":
        """A chart of the whole run."""
        from widgets.board.chart import chart  # noqa: PLC0415 - plotly takes its time

        with self.lock:
            return chart(replace(self.view_state(), at=self.run_source.end, span=0))
