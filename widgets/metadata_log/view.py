"""MetadataLogView: the records of `__cluster_metadata`, as controllers write them.

    MetadataLogView(cluster)                              live, of a cluster without ZooKeeper
    MetadataLogView(Recording.load("run.jsonl.gz"))       recorded with metadata_log=True

The records come from the controllers' disks, so one that is not committed yet, or never will be, is
shown, too. The high watermark is what the controllers say. The timeline is that of playback.py, and
the clock is that of all views of the cluster.
"""

from typing import Any, ClassVar

from engine.cluster.kraft.metadata_log_reader import LOG_TRACK, MetadataLogReader
from engine.errors import ApiException, ErrorCode
from widgets import controls, palette
from widgets.controls import Control
from widgets.metadata_log.history import MetadataLogHistory, recorded_log
from widgets.metadata_log.layout import NEWS_MS, MetadataLogViewState
from widgets.metadata_log.rows import LogSelection
from widgets.metadata_log.scene import about, picture
from widgets.metadata_log.words import NO_OP
from widgets.moment import ViewMoment
from widgets.playback import TIME, Playback
from widgets.scene import Scene

OWN = frozenset({"choose", "shut", "only", "fold", "scroll"})


class MetadataLogView(Playback):
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

    def view_state(self, moment: ViewMoment) -> MetadataLogViewState:
        is_recorded = self._reader is not None or bool(self.history.last)
        return MetadataLogViewState(moment, self.history, self.choice, is_recorded)

    def painted(self, moment: ViewMoment) -> Scene:
        return picture(self.view_state(moment))

    def headline(self, moment: ViewMoment) -> str:
        return about(self.view_state(moment))

    def able(self, now: bool) -> frozenset[str]:
        return self.ACTS

    def gist(self, moment: ViewMoment, waits: bool) -> tuple[object, ...]:
        log = self.view_state(moment).log
        glows = [it.number for it in log.records.values() if 0 <= moment.at - it.at < NEWS_MS]
        return *super().gist(moment, waits), log.number, repr(self.choice), tuple(glows)

    def offers(self, moment: ViewMoment) -> list[Control]:
        folded = self.choice.folded
        label = "fold the records by what they change"
        return [controls.button("fold", "by thing", label, pressed=folded)]

    # -- choosing --------------------------------------------------------------------------

    def choose(self, number: float) -> None:
        """Show a record in full; a second call with the same one closes it."""
        if not 1 <= int(number) <= self.history.last:
            raise ApiException(ErrorCode.invalid_request, f"there is no entry {number:g}")
        with self.lock:
            self.choice.opened = 0 if int(number) == self.choice.opened else int(number)
            self.draw()

    def shut(self) -> None:
        with self.lock:
            self.choice.opened = 0
            self.draw()

    def only(self, name: str) -> None:
        """Show only records about things of this group; with "" all of them."""
        with self.lock:
            self.choice.group = "" if name == self.choice.group else str(name)
            self.choice.first = None
            self.draw()

    def fold(self) -> None:
        """Show each thing with its records; or the records as they come."""
        with self.lock:
            self.choice.folded = not self.choice.folded
            self.choice.first = None
            self.draw()

    def scroll(self, first: float) -> None:
        """Show other rows, from this one on. After the next selection it follows the log again."""
        with self.lock:
            self.choice.first = max(int(first), 0)
            self.draw()

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
