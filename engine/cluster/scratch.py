"""A temporary directory that goes when the last process that works in it has gone.

A kernel that is killed removes nothing. So a shell, in a session of its own, reads from a pipe
that nobody ever writes to, and whose other end the parent and all its children hold:

    parent   ──┐
    ZooKeeper ─┼── pipe ──> sh: read to the end, then rm -rf DIR
    broker 1 ──┘

The pipe ends when the last of them has ended, in whatever way. It is so in good order, too: there
is one way to remove the directory, and it is used every day.

Invariant: nobody writes into the directory any more when it is removed.
"""

import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

from engine.errors import ErrorCode, KafkaError

PATIENCE = 10.0  # seconds until we look for ourselves; a terabyte of logs takes longer than that


class Scratch:
    """`end` is the descriptor that every process in the directory is to inherit."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="brokerlab-")).resolve()
        except OSError as error:
            raise KafkaError(
                ErrorCode.kafka_storage_error,
                f"no temporary folder can be made: {error}. "
                "Set TMPDIR to a folder that you may write to, and start again",
            ) from error
        reader, self.end = os.pipe()
        self._sweeper = subprocess.Popen(
            ["/bin/sh", "-c", 'cat; cd /; exec rm -rf -- "$0"', str(self.path)],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what interrupts the kernel is not to interrupt this
        )
        os.close(reader)
        _open.add(self)

    def remove(self) -> None:
        """Let go, and see that it is gone. All children have ended."""
        self._let_go()
        try:
            self._sweeper.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._sweeper.kill()
            self._sweeper.wait()
        shutil.rmtree(self.path, ignore_errors=True)  # should the shell have failed

    def _let_go(self) -> None:
        _open.discard(self)
        if self.end != -1:
            os.close(self.end)
            self.end = -1


_open: weakref.WeakSet[Scratch] = weakref.WeakSet()


def _let_go_of_all() -> None:
    """In a forked copy of the parent: it may live on for long, and the directories are not its."""
    for scratch in list(_open):
        scratch._let_go()


os.register_at_fork(after_in_child=_let_go_of_all)
