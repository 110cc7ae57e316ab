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

import psutil  # type: ignore[import-untyped]


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
