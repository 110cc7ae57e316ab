"""Counting instead of timing: what the engine asked of the disk while something was done.

    with counted() as work:
        log.append(batch, 0, now)
    work.writes, work.written, work.flushes

A second is longer on a busy machine; a write is a write everywhere. Every change that storage makes
goes through one module, engine/storage/files.py, and there it is counted.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from engine.storage import files


@dataclass
class Work:
    writes: int = 0  # system calls that append
    written: int = 0  # bytes
    flushes: int = 0  # files that were forced to the disk


@contextmanager
def counted() -> Iterator[Work]:
    """The work that is done inside, in this process."""
    work, append, flush = Work(), files.append, files.flush

    def note_append(fd: int, parts: Sequence[files.Buffer]) -> int:
        size = append(fd, parts)
        work.writes, work.written = work.writes + 1, work.written + size
        return size

    def note_flush(fd: int) -> None:
        work.flushes += 1
        flush(fd)

    files.append, files.flush = note_append, note_flush
    try:
        yield work
    finally:
        files.append, files.flush = append, flush
