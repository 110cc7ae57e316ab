"""What a crash leaves of a log: a process that dies, a machine that loses power, a torn tail."""

import os
from typing import NamedTuple

from engine.storage.log import Log
from storage import disk
from storage.count import counted


class Lost(NamedTuple):
    acknowledged: int
    found: int

    @property
    def nothing(self) -> bool:
        return self.acknowledged == self.found

    def __repr__(self) -> str:
        return f"{self.found} of {self.acknowledged} acknowledged messages are there"


def process_killed(number: int = 1000) -> Lost:
    """The process is gone; what it has written is the operating system's, and stays."""
    log = disk.fill(disk.log(), number)
    return Lost(number, sum(1 for _ in disk.stored(disk.killed(log))))


def power_lost(number: int = 1000, flushed: int = 600) -> Lost:
    """The machine is gone, and with it what was only in its memory: all after the last flush."""
    log = disk.fill(disk.log(), flushed)
    log.flush(disk.NOW)
    on_the_disk = log.size
    disk.fill(log, number - flushed)
    os.truncate(log.active.path, on_the_disk)
    after = disk.killed(log, recovery_point=log.recovery_point)
    return Lost(number, sum(1 for _ in disk.stored(after)))


def flushes(number: int = 1000) -> int:
    """How often the log was forced to the disk while so many messages were acknowledged."""
    log = disk.log()
    with counted() as work:
        disk.fill(log, number)
    return work.flushes


class Torn(NamedTuple):
    before: int  # messages
    bytes_left: int  # of the batch that the crash has torn
    after: int

    def __repr__(self) -> str:
        return (
            f"{self.before} messages; {self.bytes_left} bytes of one more were written when it "
            f"crashed; {self.after} after the restart"
        )


def torn(bytes_left: int = 40, number: int = 10) -> Torn:
    """A crash in the middle of an append: a batch without its end."""
    log = disk.fill(disk.log(), number)
    with log.active.path.open("ab") as file:
        file.write(disk.batch()[:bytes_left])
    after = disk.killed(log)
    return Torn(number, bytes_left, after.end_offset)


def without_helpers(log: Log) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The indexes' bytes before they are deleted, and after a restart has made them anew."""
    log.close(disk.NOW)  # in good order: the indexes are cut to their entries
    before = _helpers(log)
    for name in before:
        (log.directory / name).unlink()
    again = disk.killed(log)
    again.active.close_for_appends()
    return before, _helpers(again)


def _helpers(log: Log) -> dict[str, bytes]:
    paths = [it for it in sorted(log.directory.iterdir()) if it.suffix in (".index", ".timeindex")]
    return {path.name: path.read_bytes() for path in paths}
