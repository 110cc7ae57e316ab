"""Every change that storage makes to the file system goes through this module.

One narrow door has two uses. Durability rules stand in one place (a file is replaced by
write, fsync, rename, fsync of its directory; never edited in place). And a test can stand in
the door: `tests/properties` stops the engine between any two of these calls, or lets the disk
fill up in the middle of one, and then looks at what a restart finds.
"""

import os
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path

Buffer = bytes | bytearray | memoryview | mmap


def append(fd: int, parts: Sequence[Buffer]) -> int:
    """Append the parts to a file opened with O_APPEND; may write less than all, as a disk does."""
    return os.writev(fd, parts)


def truncate(fd: int, size: int) -> None:
    os.ftruncate(fd, size)


def flush(fd: int) -> None:
    """Force a file's bytes to the disk."""
    os.fsync(fd)


def set_modified(fd: int, at: int) -> None:
    """Give a file an age, in milliseconds since 1970: that of the files it takes the place of."""
    os.utime(fd, ns=(at * 1_000_000, at * 1_000_000))


def rename(old: Path, new: Path) -> None:
    """Atomic: a reader finds the old file or the new one, never half of each."""
    os.replace(old, new)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def remove_directory(path: Path) -> None:
    path.rmdir()


def flush_path(path: Path) -> None:
    """Force a file to the disk; or a directory's names, so that a rename survives power loss."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Create or overwrite a file and, if it is to be `durable`, force it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def replace(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put new content in place of a file's old one, whole or not at all."""
    draft = path.with_name(path.name + ".tmp")
    write(draft, data, durable=durable)
    rename(draft, path)
    if durable:
        flush_path(path.parent)
