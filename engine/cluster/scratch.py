"""A temporary directory that is removed when the last process that works in it has ended.

A kernel that is killed removes nothing. So a shell, in a session of its own, reads from a pipe
that nobody writes to. The parent and all its children hold the pipe's other end:

    parent   ──┐
    ZooKeeper ─┼── pipe ──> sh: read to the end, then rm -rf DIR
    broker 1 ──┘

The pipe is closed when the last of them has ended, in whatever way. An orderly stop removes the
directory in the same way; there is no other. In a browser tab there is no shell, and what was
written lies in the tab's memory, which is gone with it.

Invariant: no process writes into the directory any more when it is removed.
"""

import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

from engine.browser import IN_BROWSER
from engine.errors import ApiException, ErrorCode

REMOVE_WAIT_S = 10.0  # for the shell to remove it; then we do


class Scratch:
    """`end` is the descriptor that every process in the directory has to inherit."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="brokerlab-")).resolve()
        except OSError as error:
            raise ApiException(
                ErrorCode.kafka_storage_error,
                f"no temporary folder can be made: {error}. "
                "Set TMPDIR to a folder that you may write to, and start again",
            ) from error
        reader, self.end = os.pipe()
        self._sweeper = None if IN_BROWSER else _sweeper(self.path, reader)
        os.close(reader)
        _open.add(self)

    def remove(self) -> None:
        """Remove the directory now. All children have ended."""
        self._close()
        if self._sweeper is not None:
            _await(self._sweeper)
        shutil.rmtree(self.path, ignore_errors=True)  # if the shell has failed

    def _close(self) -> None:
        _open.discard(self)
        if self.end != -1:
            os.close(self.end)
            self.end = -1


def _sweeper(path: Path, reader: int) -> subprocess.Popen[bytes]:
    """The shell that removes the directory when nobody has the pipe's other end any more."""
    return subprocess.Popen(
        ["/bin/sh", "-c", 'cat; cd /; exec rm -rf -- "$0"', str(path)],
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # interrupting the kernel must not interrupt this
    )


def _await(sweeper: subprocess.Popen[bytes]) -> None:
    try:
        sweeper.wait(REMOVE_WAIT_S)
    except subprocess.TimeoutExpired:
        sweeper.kill()
        sweeper.wait()


_open: weakref.WeakSet[Scratch] = weakref.WeakSet()


def _close_all() -> None:
    """In a forked copy of the parent: it may run for long, and the directories are not its own."""
    for scratch in list(_open):
        scratch._close()


os.register_at_fork(after_in_child=_close_all)
