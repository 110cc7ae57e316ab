"""ReplicaView: the replicas of one partition over time, and its high watermark.

    ReplicaView(cluster, "orders", 0)                          live
    ReplicaView(Recording.load("run.jsonl.gz"), "orders", 0)   a run that is over

A line for the end of each log (LEO), a heavy one for the high watermark (HW), and, once a
transaction has held it back, one for the last stable offset (LSO). A clean election loses no record
below the HW: kill the leader, and the next epoch continues from there. The timeline is that of
playback.py.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.cluster.event_stream import ClusterEvent
from engine.model import TopicPartition
from widgets import palette
from widgets.playback import SpanPlayback
from widgets.replica.layout import ReplicaViewState
from widgets.replica.partition_history import PartitionHistory
from widgets.replica.scene import about, picture
from widgets.scene import Scene

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]


class ReplicaView(SpanPlayback[ReplicaViewState]):
    _css = palette.for_pages("replicas.css")

    def __init__(self, source: Any, topic: str, partition: int = 0) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Replicas")
        self.partition = TopicPartition(topic, partition)
        self._open(source)

    def _open(self, source: Any) -> None:
        self.past = PartitionHistory(self.partition)
        super()._open(source)

    def add_events(self, events: Sequence[ClusterEvent]) -> None:
        self.past.add_events(events)

    def view_state(self) -> ReplicaViewState:
        run_source, past = self.run_source, self.past
        past.see(run_source.between(past.seen or run_source.start, run_source.end))
        return ReplicaViewState(**self.facts(), past=past, span=self.shown)

    def painted(self, state: ReplicaViewState) -> Scene:
        return picture(state)

    def headline(self, state: ReplicaViewState) -> str:
        return about(state)

    def gist(self, state: ReplicaViewState) -> tuple[object, ...]:
        return *super().gist(state), len(state.past.answers), len(state.past.cuts)

    def figure(self) -> "go.Figure":
        """A chart of the whole run."""
        from widgets.replica.chart import chart  # noqa: PLC0415 - plotly takes its time

        with self.lock:
            return chart(self.view_state())
