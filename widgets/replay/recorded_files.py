"""The log files of one partition, restored from a recording as they were at a moment.

    recording ──> Archive ──> RebuiltFiles: a directory with the files ──> SegmentView, HexView
                   moments     1 2 3 4 5 6 7       turn_to(3)

It has the methods `state` and `directory` of a cluster. The directory is a temporary one, and is
removed when this object is closed or garbage-collected.
"""

import shutil
import tempfile
import weakref
from bisect import bisect_right
from pathlib import Path

from engine.cluster.recorded_files import MOST, Archive, RebuiltFiles
from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from widgets import controls
from widgets.controls import Control


class PartitionFiles:
    def __init__(self, recording: Recording, partition: TopicPartition) -> None:
        archive = Archive(recording)
        there = archive.partitions()
        if str(partition) not in there:
            known = f" (only those of {', '.join(sorted(there))})" if there else ""
            raise ApiException(
                ErrorCode.unknown_topic_or_partition,
                f"this recording has no files of {partition}{known}: make one that has, with "
                f'cluster.record(path, files=["{partition}"])',
            )
        self.brokers = tuple(sorted(there[str(partition)]))
        self.moments: list[int] = []  # at which the files changed, on the broker that was chosen
        self._recording = recording
        self._partition = str(partition)
        self._archive = archive
        self._broker = self.brokers[0]
        self._shelf = RebuiltFiles(archive, Path(tempfile.mkdtemp(prefix="brokerlab-past-")))
        self.close = weakref.finalize(self, shutil.rmtree, self._shelf.directory, True)
        self._now = recording.end

    def directory(self, broker: int) -> Path:
        return self._shelf.folder(broker)

    def state(self) -> ClusterState:
        return self._recording.at(self._now)

    def choose(self, broker: int) -> None:
        self._broker = broker
        self.moments = self._archive.moments(self._partition, broker)
        self.turn_to(self.index)

    @property
    def index(self) -> int:
        """The index of the current moment."""
        return max(bisect_right(self.moments, self._now) - 1, 0)

    def until(self, at: int | None) -> int:
        """The index of the moment at a time; None: the last."""
        return max(bisect_right(self.moments, at) if at is not None else len(self.moments), 1) - 1

    def turn_to(self, index: int) -> None:
        """Show the files of another moment."""
        self._now = self.moments[min(max(index, 0), len(self.moments) - 1)]
        self._shelf.rebuild(self._now)

    def turns(self) -> list[int]:
        """The moments at which a file was created or deleted; the others are skipped."""
        times = self._archive.file_changes(self._partition, self._broker)
        return [self.moments.index(at) for at in times]

    # -- texts ------------------------------------------------------------------------

    @property
    def when(self) -> str:
        return f"at {self._seconds(self._now)} · {self.index + 1} of {len(self.moments)}"

    @property
    def stopped(self) -> str:
        """Why the last moment is not the end of the run; "" if it is."""
        full = self._archive.full
        if full is None or self.index < len(self.moments) - 1:
            return ""
        most = f"{MOST // 1_000_000} MB"
        return (
            f"From {self._seconds(full)} on no file was kept: they had grown by more than {most}."
        )

    def _seconds(self, at: int) -> str:
        return f"{(at - self._recording.start) / 1000:.2f} s"

    def slider(self) -> Control:
        return controls.slider("moment", "moment", self.index, 0, len(self.moments) - 1, 1)
