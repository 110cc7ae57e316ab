"""ReplicaView: the replicas of one partition over time, and what was committed.

    ReplicaView(cluster, "orders", 0)                          live
    ReplicaView(Recording.load("run.jsonl.gz"), "orders", 0)   a run that is over

A line for the end of each log (LEO), a heavy one for the high watermark (HW), below which nothing
is ever lost by a clean election: kill the leader, and see it go on from there in the next epoch.
Its time is that of all views (playback.py).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from engine.cluster.stream import Happened
from engine.model import TopicPartition
from widgets import controls, palette
from widgets.controls import Control
from widgets.moment import Moment
from widgets.playback import TIME, Playback
from widgets.replica.past import Past
from widgets.replica.plan import Scenery
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
        self.past = Past(self.partition)
        self._span: int | None = None
        super()._open(source)

    def hear(self, events: Sequence[Happened]) -> None:
        self.past.hear(events)

    def scenery(self, moment: Moment) -> Scenery:
        reel, past = self.reel, self.past
        past.see(reel.between(past.seen or reel.start, reel.end))
        return Scenery(
            reel,
            moment.at,
            moment.live,
            moment.acts,
            moment.topic,
            moment.playing,
            past,
            self.shown,
        )

    @property
    def shown(self) -> int:
        """How many seconds are seen; 0: all. At first, a minute of what is live."""
        if self._span is not None:
            return self._span
        return 60 if self.reel.live else 0

    def painted(self, moment: Moment) -> Scene:
        return picture(self.scenery(moment))

    def headline(self, moment: Moment) -> str:
        return about(self.scenery(moment))

    def able(self, now: bool) -> frozenset[str]:
        return TIME | {"span"}

    def offers(self, moment: Moment) -> list[Control]:
        return [controls.choice("span", "last", SPANS, str(self.shown))]

    def gist(self, moment: Moment, waits: bool) -> tuple[object, ...]:
        past = self.scenery(moment).past
        return *super().gist(moment, waits), self.shown, len(past.answers), len(past.cuts)

    def span(self, seconds: str) -> None:
        """How much of the past is seen; 0: all of it."""
        self._span = max(int(seconds), 0)
        self.draw()

    def figure(self) -> "go.Figure":
        """All of it, as a chart."""
        from widgets.replica.chart import chart  # noqa: PLC0415 - plotly takes its time

        with self.lock:
            return chart(self.scenery(self.moment()))
