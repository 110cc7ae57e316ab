"""ReplicaView: the replicas of one partition over time, and its high watermark.

    ReplicaView(cluster, "orders", 0)                          live
    ReplicaView(Recording.load("run.jsonl.gz"), "orders", 0)   a run that is over

A line for the end of each log (LEO), a heavy one for the high watermark (HW), and, once a
transaction has held it back, one for the last stable offset (LSO). A clean election loses no record
below the HW: kill the leader, and the next epoch continues from there. The timeline is that of
playback.py.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from engine.cluster.event_stream import ClusterEvent
from engine.model import TopicPartition
from widgets import controls, palette
from widgets.controls import Control
from widgets.moment import ViewMoment
from widgets.playback import TIME, Playback
from widgets.replica.layout import ReplicaViewState
from widgets.replica.partition_history import PartitionHistory
from widgets.replica.scene import about, picture
from widgets.scene import Scene

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

SPANS = [("10", "10 s"), ("30", "30 s"), ("60", "1 min"), ("300", "5 min"), ("0", "all")]


class ReplicaView(Playback):
    _css = palette.for_pages("replicas.css")

    ACTS: ClassVar[frozenset[str]] = TIME | {"span"}

    def __init__(self, source: Any, topic: str, partition: int = 0) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Replicas")
        self.partition = TopicPartition(topic, partition)
        self._open(source)

    def _open(self, source: Any) -> None:
        self.past = PartitionHistory(self.partition)
        self._span: int | None = None
        super()._open(source)

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        self.past.add_events(events)

    def view_state(self, moment: ViewMoment) -> ReplicaViewState:
        run_source, past = self.run_source, self.past
        past.see(run_source.between(past.seen or run_source.start, run_source.end))
        return ReplicaViewState(
            run_source,
            moment.at,
            moment.live,
            moment.acts,
            moment.topic,
            moment.playing,
            moment.width,
            past,
            self.shown,
        )

    @property
    def shown(self) -> int:
        """How many seconds are shown; 0: all. At first, a minute of a live run."""
        if self._span is not None:
            return self._span
        return 60 if self.run_source.live else 0

    def painted(self, moment: ViewMoment) -> Scene:
        return picture(self.view_state(moment))

    def headline(self, moment: ViewMoment) -> str:
        return about(self.view_state(moment))

    def able(self, now: bool) -> frozenset[str]:
        return TIME | {"span"}

    def offers(self, moment: ViewMoment) -> list[Control]:
        return [controls.choice("span", "last", SPANS, str(self.shown))]

    def gist(self, moment: ViewMoment, waits: bool) -> tuple[object, ...]:
        past = self.view_state(moment).past
        return *super().gist(moment, waits), self.shown, len(past.answers), len(past.cuts)

    def span(self, seconds: str) -> None:
        """How much of the past is shown; 0: all of it."""
        self._span = max(int(seconds), 0)
        self.draw()

    def figure(self) -> "go.Figure":
        """A chart of the whole run."""
        from widgets.replica.chart import chart  # noqa: PLC0415 - plotly takes its time

        with self.lock:
            return chart(self.view_state(self.moment()))
