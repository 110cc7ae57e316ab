"""The page cache: how Kafka is in memory without keeping anything there itself.

    producer ──> broker ──> write ──> page cache (RAM, the operating system's) ──> disk, later
    consumer <── sendfile <────────── page cache

`cached` asks the operating system which pages of a file are in memory (mincore); `forget` asks it
to let go of them, where it can be asked (not on macOS).
"""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]

from engine.storage.log import Log
from engine.storage.segment import Slice
from storage import disk
from storage.count import counted
from storage.segments import located


def cached(path: Path) -> float:
    """The share of a file's pages that are in memory."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as pages:
        seen = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(pages)
        failed = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), seen
        )
        del first
    assert not failed, os.strerror(ctypes.get_errno())
    return sum(page & 1 for page in seen) / len(seen)


def forget(paths: Iterable[Path]) -> bool:
    """Have the operating system drop files from its cache; whether it can be asked to."""
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in paths:
        fd = os.open(path, os.O_RDWR)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    return True


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    return int(psutil.Process(pid).memory_info().rss)


def looked_at(log: Log, offset: int) -> int:
    """Bytes of log that are read to find an offset, the batch's own header included."""
    found = located(log, offset)
    return found.skipped + 61


class Growth(NamedTuple):
    """What is there, and what has to be done, at one size of the log."""

    megabytes: float
    append: int  # bytes written for one more message
    tail: int  # bytes hopped over to find the newest message
    indexes: int  # bytes of index, which live in memory
    recovery: int  # bytes that a restart has to check after a crash


def growth(megabytes: float) -> Growth:
    log = disk.grow(disk.log(), megabytes)
    with counted() as work:
        log.append(disk.batch(), 0, disk.NOW)
    tail = located(log, log.end_offset - 1).skipped
    index = sum(it.offsets.count * 8 + it.times.count * 12 for it in log.segments)
    found = Growth(megabytes, work.written, tail, index, log.size - _flushed(log))
    disk.drop(log)
    return found


def _flushed(log: Log) -> int:
    """Bytes below the recovery point: none, unless somebody has asked for a flush."""
    return sum(it.size for it in log.segments[:-1] if it.base_offset < log.recovery_point)


class Readers(NamedTuple):
    appended: int  # messages that went in while they held what they had begun to read
    whole: bool  # each then read what was there when it began, and nothing else


def readers(number: int = 8) -> Readers:
    """Readers that stop in the middle of a read, and a writer that goes on meanwhile."""
    log = disk.fill(disk.log(segment_bytes=20_000), 500)
    begun = [log.read(log.end_offset * it // number, 5000) for it in range(number)]
    halves = [os.pread(it.file.fileno(), it.size // 2, it.position) for it in begun]
    before = [it.read() for it in begun]
    disk.fill(log, 500)
    rests = [_rest(it, len(half)) for it, half in zip(begun, halves, strict=True)]
    whole = [half + rest for half, rest in zip(halves, rests, strict=True)] == before
    return Readers(log.end_offset - 500, whole)


def _rest(begun: Slice, done: int) -> bytes:
    return os.pread(begun.file.fileno(), begun.size - done, begun.position + done)


def half_written() -> tuple[bytes, bytes]:
    """What a reader gets before an append, and while only half of its bytes are in the file."""
    log = disk.fill(disk.log(), 50)
    before = log.read(10, 1000).read()
    with log.active.path.open("ab") as file:
        file.write(disk.batch()[:50])
        file.flush()
        during = log.read(10, 1000).read()
    return before, during
