"""Slices of log files while they are sent.

While a slice is being sent, its segment may be deleted and the descriptor closed. The next file to
be opened would get the same number. So a long slice gets a descriptor of its own; of a short one
the bytes are read at once, which costs less than sendfile.
"""

import asyncio
import os
from contextlib import ExitStack
from io import FileIO
from typing import Any

from engine.storage.segment import Slice, SliceGone

COPIED = 32 * 1024  # up to this size, reading a slice and writing it costs less than sendfile


async def send_file(transport: asyncio.WriteTransport, file: Any, position: int, size: int) -> int:
    """The kernel sends a part of a file; returns how many bytes were sent."""
    try:
        return await asyncio.get_running_loop().sendfile(transport, file, position, size)
    except RuntimeError as error:  # the transport is being closed
        raise ConnectionError(str(error)) from error


def sendable(piece: Any, kept_open: ExitStack) -> Any:
    """The bytes of a short slice; for a long one, a file descriptor of its own."""
    if not isinstance(piece, Slice):
        return piece
    if piece.size <= COPIED:
        return piece.read()
    if piece.file.closed:
        raise SliceGone("a log file was closed before it was sent")
    return piece._replace(file=kept_open.enter_context(FileIO(os.dup(piece.file.fileno()))))
