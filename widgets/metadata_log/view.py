"""MetadataLogView: the records of `__cluster_metadata`, as controllers write them.

    MetadataLogView(cluster)                              live, of a cluster without ZooKeeper
    MetadataLogView(Recording.load("run.jsonl.gz"))       recorded with metadata_log=True

The records come from the controllers' disks, so one that is not committed yet, or never will be, is
shown, too. The high watermark is what the controllers say. The timeline is that of playback.py, and
the clock is that of all views of the cluster.
"""

from typing import Any, ClassVar

from engine.cluster.kraft.metadata_log_reader import LOG_TRACK, MetadataLogReader
from engine.errors import invalid_request
from widgets import controls, palette
from widgets.controls import Control
from widgets.metadata_log.history import MetadataLogHistory, recorded_log
from widgets.metadata_log.layout import MetadataLogViewState
from widgets.metadata_log.rows import LogSelection
from widgets.metadata_log.scene import about, picture
from widgets.metadata_log.words import NO_OP
from widgets.playback import TIME, Playback
from widgets.scene import Scene
from widgets.view import redraws

OWN = frozenset({"choose", "shut", "only", "fold", "scroll"})


class MetadataLogView(Playback[MetadataLogViewState]):
    _css = palette.for_pages("znodes.css")

    ACTS: ClassVar[frozenset[str]] = TIME | OWN

    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster without ZooKeeper, or a Recording of one."""
        super().__init__(name="Metadata log")
        self.history = MetadataLogHistory()
        self.choice = LogSelection()
        self._reader: MetadataLogReader | None = None
        if hasattr(source, "metadata_log"):
            self._reader = source.metadata_log()
            self._catch_up_log()
        else:
            self.history.add(recorded_log(source, LOG_TRACK))
        self._open(source)

    # -- looking ---------------------------------------------------------------------------

    def _catch_up_log(self) -> None:
        if self._reader is not None:
            self.history.add(self._reader.entries(self.history.last))

    def _catch_up(self) -> None:
        super()._catch_up()
        self._catch_up_log()

    def view_state(self) -> MetadataLogViewState:
        is_recorded = self._reader is not None or bool(self.history.last)
        log = {"history": self.history, "choice": self.choice, "is_recorded": is_recorded}
        return MetadataLogViewState(**self.facts() | log)

    def painted(self, state: MetadataLogViewState) -> Scene:
        return picture(state)

    def headline(self, state: MetadataLogViewState) -> str:
        return about(state)

    def gist(self, state: MetadataLogViewState) -> tuple[object, ...]:
        glows = [it.number for it in state.log.records.values() if state.is_news(it)]
        return *super().gist(state), state.log.number, repr(self.choice), tuple(glows)

    def offers(self, state: MetadataLogViewState) -> list[Control]:
        label = "fold the records by what they change"
        fold = controls.button("fold", "by thing", label, pressed=self.choice.folded)
        return [fold, *super().offers(state)]

    # -- choosing --------------------------------------------------------------------------

    @redraws
    def choose(self, number: float) -> None:
        """Show a record in full; a second call with the same one closes it."""
        if not 1 <= int(number) <= self.history.last:
            raise invalid_request(f"there is no entry {number:g}")
        self.choice.opened = 0 if int(number) == self.choice.opened else int(number)

    @redraws
    def shut(self) -> None:
        self.choice.opened = 0

    @redraws
    def only(self, name: str) -> None:
        """Show only records about things of this group; with "" all of them."""
        self.choice.group = "" if name == self.choice.group else str(name)
        self.choice.first = None

    @redraws
    def fold(self) -> None:
        """Show each thing with its records; or the records as they come."""
        self.choice.folded = not self.choice.folded
        self.choice.first = None

    @redraws
    def scroll(self, first: float) -> None:
        """Show other rows, from this one on. After the next selection it follows the log again."""
        self.choice.first = max(int(first), 0)

    # -- time ------------------------------------------------------------------------------

    def stop_at(self, at: int | None) -> None:
        with self.lock:
            self.choice.first = None
        super().stop_at(at)

    def times(self) -> list[int]:
        """Of records, too."""
        own = [entry.at for entry in self.history.entries if entry.record != NO_OP]
        start = self.run_source.start
        return [at for at in (*own, *self.run_source.moments()) if at >= start]
