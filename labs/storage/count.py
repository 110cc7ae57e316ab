"""Counting instead of timing: what the engine did to the disk while something was done.

    with counted() as work:
        log.append(batch, 0, now)
    work.writes, work.written, work.flushes, work.checked

A second is longer on a busy machine; a write is a write everywhere. Every change that storage makes
goes through one module, engine/storage/files.py, and there it is counted. What a restart reads
after a crash is counted where it compares each batch with its checksum.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine.storage import files, survey
from engine.storage.batch import Header


@dataclass
class DiskWork:
    writes: int = 0  # system calls that append
    written: int = 0  # bytes
    flushes: int = 0  # files that were forced to the disk
    checked: int = 0  # bytes of batches whose checksum was computed


@contextmanager
def counted() -> Iterator[DiskWork]:
    """The work that is done inside, in this process."""
    reading: Any = survey
    work, append, flush, check = DiskWork(), files.append, files.flush, reading.crc_ok

    def note_append(fd: int, parts: Sequence[files.Buffer]) -> int:
        size = append(fd, parts)
        work.writes, work.written = work.writes + 1, work.written + size
        return size

    def note_flush(fd: int) -> None:
        work.flushes += 1
        flush(fd)

    def note_check(buffer: files.Buffer, position: int, header: Header) -> bool:
        work.checked += header.size
        return bool(check(buffer, position, header))

    files.append, files.flush, reading.crc_ok = note_append, note_flush, note_check
    try:
        yield work
    finally:
        files.append, files.flush, reading.crc_ok = append, flush, check
