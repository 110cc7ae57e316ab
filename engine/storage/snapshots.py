"""Restore the producers up to an offset: from a snapshot, and the batches after it.

    snapshots     at 0         at 4711            at 9204
                  |            |                  |
    [ 00..0000.log ][ 00..4711.log ][ 00..9204.log  ..............
                                 |    |................ replayed |
                              since   newest not after `since`   end

A snapshot has the transactions that were open at its offset, but not those that had ended. An ended
one is needed until its marker is replicated. So the replay begins before such a marker, `since`.

Snapshots are kept for the start of each segment, where a truncation may end, and for the log end.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.errors import ApiException
from engine.storage import control, files
from engine.storage.batch import Header, crc_ok
from engine.storage.control import Marker
from engine.storage.producers import Producers
from engine.storage.segment import Segment, Slice, files_of

SUFFIX = ".snapshot"


def restore(
    directory: Path,
    segments: Sequence[Segment],
    end: int,
    since: int | None = None,
    drop: Callable[[Path], None] = files.remove,
) -> Producers:
    """The producers as of the offset `end`, with each transaction that ended at `since` or later.

    A damaged snapshot is deleted: the log has the same information.
    """
    producers, replay_from = Producers(), segments[0].base_offset
    latest = end if since is None else min(end, since)
    for at, path in reversed(files_of(directory, SUFFIX).items()):
        if segments[0].base_offset <= at <= latest:
            try:
                producers.load(path)
            except ApiException:
                drop(path)
            else:
                replay_from = at
                break
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end
        if segment.base_offset < end and following > replay_from:
            for position, header in segment.batches_from(replay_from):
                if header.base_offset >= replay_from:
                    producers.apply(header, _marker(segment, position, header))
    return producers


def tidy(directory: Path, segments: Sequence[Segment], end: int) -> None:
    """Remove the snapshots after the log end, and those that are not needed."""
    known = files_of(directory, SUFFIX)
    usable = [at for at in known if segments[0].base_offset <= at <= end]
    staying = {*usable[-1:], *(segment.base_offset for segment in segments)}.intersection(usable)
    for at, path in known.items():
        if at not in staying:
            files.remove(path)


def rebuild_aborted(directory: Path, segments: Sequence[Segment], segment: Segment) -> None:
    """Rebuild the index of the transactions that a segment's markers aborted."""
    producers = restore(directory, segments, segment.base_offset)
    segment.forget_aborted()
    for _ in learned(producers, segment):
        """`learned` updates both."""


def learned(producers: Producers, segment: Segment) -> Iterator[tuple[int, Header]]:
    """The batches of a segment. Each is added to the producers and the aborted transactions."""
    for position, header in segment.headers():
        yield position, header
        aborted = producers.apply(header, _marker(segment, position, header))
        if aborted is not None:
            segment.aborted.append(aborted)


def first_marker(segments: Sequence[Segment], offset: int) -> int | None:
    """The offset of the first marker from an offset on."""
    ends = [*(segment.base_offset for segment in segments[1:]), None]
    for segment, end in zip(segments, ends, strict=True):
        if end is None or end > offset:
            for _, header in segment.batches_from(offset):
                if header.is_control and header.base_offset >= offset:
                    return header.base_offset
    return None


def _marker(segment: Segment, position: int, header: Header) -> Marker | None:
    """The marker in a batch, if it has one and is whole."""
    if not header.is_control:
        return None
    batch = Slice(segment.file, position, header.size).read()
    return control.find(batch, header) if crc_ok(batch, 0, header) else None
