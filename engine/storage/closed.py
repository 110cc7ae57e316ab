"""Flush the closed segments of a log, while it is used: then a recovery begins behind them.

    roll           a segment is closed; the request waits for the producers' snapshot, and no more
    in a thread    its files, the leader epochs and the names in the directory are flushed
    afterwards     the recovery point moves to the segment behind

Meanwhile the log may be truncated, and the same offsets be written anew. Each truncation into the
closed segments removes the segment behind them. So if the log still has that one, all that was
flushed is as it was. Retention may delete segments, and a compaction replaces them by others, which
are flushed: neither does any harm.

The active segment is not flushed, as Kafka does it: replicas keep what a power cut takes away.
"""

from contextlib import suppress

from engine.storage import files
from engine.storage.log import Log


class ClosedSegments:
    """The closed segments of a log that were not flushed yet."""

    def __init__(self, log: Log) -> None:
        *closed, self._behind = log.segments_from(log.recovery_point)
        self._log = log
        paths = [path for segment in closed for path in segment.all_paths]
        self._paths = [*paths, log.epochs.path, log.directory]

    def flush(self) -> None:
        """Waits for the disk; it uses nothing that another thread may change."""
        for path in self._paths:
            with suppress(FileNotFoundError):  # there is none, or it was deleted meanwhile
                files.flush_path(path)

    def flushed(self) -> None:
        """The recovery point moves behind them, unless the log was truncated into them."""
        log, behind = self._log, self._behind
        if behind in log.segments:
            log.recovery_point = max(log.recovery_point, behind.base_offset)
