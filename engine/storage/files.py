"""All changes of the file system by the storage layer.

So the rules of durability are in one place (a file is replaced by write, fsync, rename, fsync of
its directory; never edited in place). And tests can interrupt every change: `tests/properties`
stops the engine between any two of these calls, or fills the disk during one, and then restarts.
"""

import errno
import os
import shutil
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path

from engine.errors import ApiException, ErrorCode

Buffer = bytes | bytearray | memoryview | mmap


def append(fd: int, parts: Sequence[Buffer]) -> int:
    """Append the parts to a file opened with O_APPEND. On a full disk, fewer bytes are written."""
    return os.writev(fd, parts)


def append_whole(fd: int, parts: Sequence[Buffer], size: int, position: int, path: Path) -> None:
    """Append all the bytes or none: a short write to a file that ended at `position` is undone."""
    try:
        written = append(fd, parts)
        if written != size:
            raise OSError(f"only {written} of {size} bytes were written")
    except OSError as error:
        truncate(fd, position)
        reason = f"cannot append to {path}: {error.strerror or error}"
        raise ApiException(ErrorCode.kafka_storage_error, reason) from error


def write_at(fd: int, data: Buffer, position: int) -> None:
    """Write all the bytes at a position. A full disk is an error here; in a file that is mapped, a
    page that the disk has no room for would end the process."""
    written = os.pwrite(fd, data, position)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written")


def truncate(fd: int, size: int) -> None:
    os.ftruncate(fd, size)


def flush(fd: int) -> None:
    """Flush a file to the disk."""
    os.fsync(fd)


def set_modified(fd: int, at: int) -> None:
    """Set the mtime of a file, in milliseconds since 1970."""
    os.utime(fd, ns=(at * 1_000_000, at * 1_000_000))


def rename(old: Path, new: Path) -> None:
    """Atomic: a reader finds the old file or the new one, never half of each."""
    os.replace(old, new)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def remove_tree(path: Path) -> bool:
    """Remove a directory with its content. Returns whether it is gone."""
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


def flush_path(path: Path) -> None:
    """Flush a file; or the names in a directory, so that a rename survives power loss."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(path: Path, data: Buffer, *, durable: bool = True) -> None:
    """Create or overwrite a file, and flush it if it is `durable`."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def replace(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace the content of a file, whole or not at all."""
    draft = path.with_name(path.name + ".tmp")
    write(draft, data, durable=durable)
    rename(draft, path)
    if durable:
        flush_path(path.parent)
