"""A control group of Linux: the kernel ends what takes more memory than the group may have.

    version 1   /sys/fs/cgroup/memory/NAME/   memory.limit_in_bytes   memory.oom_control
    version 2   /sys/fs/cgroup/NAME/          memory.max              memory.events

Both have `cgroup.procs`: a process that writes its number there belongs to the group from then on,
and so do its children. Only root may make one, and in many containers not even root.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SYSTEM = Path("/sys/fs/cgroup")


class Files(NamedTuple):
    """Where a version keeps what."""

    folder: str
    limit: str
    killed: str  # has a line `oom_kill N`


VERSIONS = (
    Files("memory", "memory.limit_in_bytes", "memory.oom_control"),
    Files(".", "memory.max", "memory.events"),
)


class Group:
    """A group of one's own, with a limit; it must be empty to be removed."""

    def __init__(self, path: Path, files: Files) -> None:
        self.path = path
        self.files = files

    @classmethod
    def make(cls, name: str, limit: int, system: Path = SYSTEM) -> "Group | None":
        """None where there is no such thing, or not for us."""
        for files in VERSIONS:
            path = system / files.folder / name
            with suppress(OSError):
                path.mkdir()
                if (path / files.limit).exists():
                    (path / files.limit).write_text(str(limit))
                    return cls(path, files)
                path.rmdir()
        return None

    def join(self) -> None:
        """To be called in the process that is to belong to it."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def members(self) -> list[int]:
        return [int(number) for number in (self.path / "cgroup.procs").read_text().split()]

    def killed(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        found = re.search(r"^oom_kill (\d+)$", (self.path / self.files.killed).read_text(), re.M)
        return int(found[1]) if found else 0

    def remove(self) -> None:
        self.path.rmdir()
