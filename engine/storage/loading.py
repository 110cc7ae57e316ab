"""Open a partition's directory: repair the effects of an unclean stop, and find the log end.

    survey          check the files without changing them; it may refuse to open the log
    leftovers       unfinished work (*.deleted, *.cleaned, *.tmp) is removed
    *.swap          a finished compaction replaces its segments
    indexes         those that contradict their log are rebuilt from it
    recovery        for the unflushed part, indexes, producers and aborted transactions are rebuilt
    the torn tail   is copied to a .cut file beside the log, and removed

The .cut files are for administrators; no broker reads them. All .cut files of a partition together
have at most `CUT_KEPT` bytes.

Removing the tail is safe: it was never flushed, so this broker alone never guaranteed it. If the
lost part was replicated, the leader sends it again.

Invariant: a loaded log has only whole batches, in offset order, up to `end_offset`.
Invariant: no file changes before the survey has decided that the log may be opened.
"""

from collections.abc import Callable
from mmap import ACCESS_READ, mmap
from pathlib import Path

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import files
from engine.storage.log import Emit, Log
from engine.storage.segment import Segment, files_of
from engine.storage.snapshots import first_marker, learned, rebuild_aborted
from engine.storage.survey import Fault, LogOffline, Survey, Surveyor

CUT_KEPT = 64 * 2**20
CUT = ".cut"


def load(
    directory: Path,
    partition: TopicPartition,
    config: TopicConfig,
    *,
    now: int,
    clean: bool = False,
    recovery_point: int | None = 0,
    start_offset: int = 0,
    high_watermark: int | None = None,
    emit: Emit = lambda event: None,
    surveyor: type[Surveyor] = Surveyor,
) -> Log:
    """Open a log, or create a new one; `LogOffline` if it must not be opened.

    `clean`: the last broker had an orderly stop. Without a recovery point, it is not known what was
    flushed. Afterwards the log's producers have the transactions that are open, and those whose
    marker is at `high_watermark` or later. A challenge brings another surveyor.
    """
    if directory.exists() and not directory.is_dir():
        raise LogOffline(directory, "it is a file, and a directory is expected")
    directory.mkdir(parents=True, exist_ok=True)
    log = Log(directory, partition, config, emit)
    try:
        found = surveyor(log, start_offset, clean, recovery_point, now).survey()
        _load(log, found, start_offset, high_watermark, now)
    except BaseException:
        log.abandon()
        raise
    flushed = log.end_offset if clean else recovery_point or 0
    log.recovery_point = min(flushed, log.end_offset)
    log.last_flush = now
    return log


def _load(log: Log, found: Survey, start_offset: int, high_watermark: int | None, now: int) -> None:
    _finish_unfinished(log, found, now)
    for segment, reason in found.stale.items():
        segment.rebuild_indexes()
        log.emit("index.rebuilt", now, file=str(segment.path), reason=reason)
    for segment, reason in found.aborted.items():
        rebuild_aborted(log.directory, log.segments, segment)
        log.emit("index.rebuilt", now, file=str(segment.path), reason=reason)
    if found.cut is not None:
        _cut(log, found.cut, now)
    if not log.segments:
        log.segments = [log.open_segment(start_offset, now)]
    since = None if high_watermark is None else first_marker(log.segments, high_watermark)
    unflushed = [segment for segment in found.unflushed if segment in log.segments]
    if unflushed:
        _recover(log, unflushed, since, now)
    if found.epochs:
        _rebuild_epochs(log, found.epochs, now)
    elif log.epochs.path.exists():
        log.epochs.load()
    log.active.open_for_appends(log.config.segment_index_bytes)
    log.end_offset = log.active.end()[0]
    if log.end_offset < start_offset:  # the tail is lost, and all before it was deleted
        log.restart_at(start_offset, now)
    log.start_offset = max(start_offset, log.segments[0].base_offset)
    log.epochs.truncate_end(log.end_offset)
    log.epochs.truncate_start(log.start_offset)
    if not unflushed:
        log.rebuild_producers(log.end_offset, since, _drop(log, now))


def _drop(log: Log, now: int) -> Callable[[Path], None]:
    def drop(path: Path) -> None:
        log.emit("snapshot.damaged", now, file=str(path))
        files.remove(path)

    return drop


def _finish_unfinished(log: Log, found: Survey, now: int) -> None:
    for path in found.leftovers:
        files.remove(path)
    for swap in log.segments:
        if swap.path.suffix == ".swap":
            swap.rebuild_indexes()
            replace_segments(log, swap, _overlapping(log, swap, now), now)
            log.emit("log.swap.completed", now, base_offset=swap.base_offset)


def _overlapping(log: Log, swap: Segment, now: int) -> list[Segment]:
    """The old segments whose records are in a finished compaction."""
    bases = files_of(log.directory, ".log")
    end = max(swap.end()[0], swap.base_offset + 1)
    return [log.open_segment(base, now) for base in bases if swap.base_offset <= base < end]


def replace_segments(log: Log, swap: Segment, replaced: list[Segment], now: int) -> None:
    """The last steps of a compaction. A crash may interrupt them anywhere.

    The new segment is complete under the name .swap, and replaces the old ones from then on.
    """
    for segment in replaced:
        log.retire(segment, now)
    swap.rename(".swap", "")
    files.flush_path(log.directory)


def _rebuild_epochs(log: Log, reason: str, now: int) -> None:
    log.epochs.clear()
    for _, _, header in log.headers():
        if header.leader_epoch > log.epochs.latest:
            log.epochs.assign(header.leader_epoch, header.base_offset)
    log.emit("log.epochs.rebuilt", now, file=str(log.epochs.path), reason=reason)


def _recover(log: Log, unflushed: list[Segment], since: int | None, now: int) -> None:
    """Rebuild the files that are derived from these segments; all their batches are whole."""
    log.rebuild_producers(unflushed[0].base_offset, since, _drop(log, now))
    for number, segment in enumerate(unflushed):
        segment.forget_aborted()
        segment.rebuild_indexes(learned(log.producers, segment))
        for following in unflushed[number + 1 : number + 2]:
            log.producers.save(log.snapshot_path(following.base_offset))


# -- the torn tail ---------------------------------------------------------------------------


def _cut(log: Log, fault: Fault, now: int) -> None:
    """Remove the torn tail of a log, after it was copied."""
    torn = log.segments.index(fault.segment)
    later = log.segments[torn + 1 :]
    for segment in [fault.segment, *later]:
        position = fault.position if segment is fault.segment else 0
        path, kept = _keep(segment, position)
        log.emit(
            "log.cut",
            now,
            file=str(segment.path),
            position=position,
            offset=fault.offset if segment is fault.segment else segment.base_offset,
            bytes=segment.size - position,
            reason=fault.reason if segment is fault.segment else "it follows a file that was cut",
            kept=kept,
            kept_in=path.name if kept else "",
        )
    files.flush_path(log.directory)
    for segment in later:
        log.segments.remove(segment)
        segment.delete()
    fault.segment.forget_aborted()
    fault.segment.cut(fault.position, fault.offset)


def _keep(segment: Segment, position: int) -> tuple[Path, int]:
    """Copy the tail of a segment to a .cut file. Returns the file, and how many bytes it has."""
    earlier = [path.stat().st_size for path in segment.path.parent.glob(f"*{CUT}*")]
    path = segment.path.with_name(segment.path.name + CUT)
    for number in range(1, len(earlier) + 1):
        if path.exists():
            path = path.with_name(f"{segment.path.name}{CUT}.{number}")
    kept = min(segment.size - position, max(0, CUT_KEPT - sum(earlier)))
    if kept:
        with (
            mmap(segment.file.fileno(), segment.size, access=ACCESS_READ) as data,
            memoryview(data) as view,
        ):
            files.write(path, view[position : position + kept])
    return path, kept
