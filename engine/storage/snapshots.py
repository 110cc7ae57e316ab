"""What the producers had sent up to an offset: from a snapshot, and from the batches behind it.

    snapshots     at 0         at 4711            at 9204
                  |            |                  |
    [ 00..0000.log ][ 00..4711.log ][ 00..9204.log  ..............
                                 |    |................ replayed |
                              since   newest not beyond `since`  end

A snapshot knows of the transactions that were open at its offset, and of none that had ended. But
one that has ended counts as long as its marker is not replicated. So where such a marker stands,
`since`, the replay has to begin before it.

Snapshots stay where a segment begins, since there a cut may end, and at the end of the log.
"""

from collections.abc import Sequence
from pathlib import Path

from engine.storage import control, files
from engine.storage.batch import Header, crc_ok
from engine.storage.control import Marker
from engine.storage.producers import Producers
from engine.storage.segment import Segment, Slice, files_of

SUFFIX = ".snapshot"


def restore(
    directory: Path, segments: Sequence[Segment], end: int, since: int | None = None
) -> Producers:
    """The producers as of the offset `end`, with each transaction that ended at `since` or later.

    A snapshot that is damaged is removed; it is no loss, the log says it all.
    """
    producers, replay_from = Producers(), segments[0].base_offset
    latest = end if since is None else min(end, since)
    for at, path in reversed(files_of(directory, SUFFIX).items()):
        if segments[0].base_offset <= at <= latest:
            if producers.try_load(path):
                replay_from = at
                break
            files.remove(path)
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end
        if segment.base_offset < end and following > replay_from:
            for position, header in segment.batches_from(replay_from):
                if header.base_offset >= replay_from:
                    producers.apply(header, _marker(segment, position, header))
    return producers


def tidy(directory: Path, segments: Sequence[Segment], end: int) -> None:
    """Remove the snapshots that say too much, and those that nobody will ask for."""
    known = files_of(directory, SUFFIX)
    usable = [at for at in known if segments[0].base_offset <= at <= end]
    staying = {*usable[-1:], *(segment.base_offset for segment in segments)}.intersection(usable)
    for at, path in known.items():
        if at not in staying:
            files.remove(path)


def rebuild_aborted(directory: Path, segments: Sequence[Segment], segment: Segment) -> None:
    """Find anew which transactions were aborted by a segment's markers."""
    producers = restore(directory, segments, segment.base_offset)
    segment.forget_aborted()
    for position, header in segment.headers():
        aborted = producers.apply(header, _marker(segment, position, header))
        if aborted is not None:
            segment.aborted.append(aborted)


def first_marker(segments: Sequence[Segment], offset: int) -> int | None:
    """Where the first transaction ends from an offset on."""
    ends = [*(segment.base_offset for segment in segments[1:]), None]
    for segment, end in zip(segments, ends, strict=True):
        if end is None or end > offset:
            for _, header in segment.batches_from(offset):
                if header.is_control and header.base_offset >= offset:
                    return header.base_offset
    return None


def _marker(segment: Segment, position: int, header: Header) -> Marker | None:
    """What a batch says, if it is a marker and whole."""
    if not header.is_control:
        return None
    batch = Slice(segment.file, position, header.size).read()
    return control.find(batch, header) if crc_ok(batch, 0, header) else None
