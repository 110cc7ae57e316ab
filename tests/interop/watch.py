"""Looking at a broker's process from outside: its log, its memory, its files."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from engine.cluster.child import Child

PATIENCE = 30.0  # seconds; a busy machine takes its time, but not forever
T = TypeVar("T")


def until(condition: Callable[[], T], patience: float = PATIENCE) -> T:
    """What a condition gives once it holds; fails if that is never."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"still not so after {patience:.0f} s"
        time.sleep(0.01)
    return found


@contextmanager
def told(child: Child, pattern: str) -> Iterator[None]:
    """What happens inside leaves a line in the log, and no traceback."""
    before = len(child.output())
    yield
    until(lambda: re.search(pattern, child.output()[before:]), 5)
    assert "Traceback" not in child.output()[before:]


def memory(pid: int) -> int:
    """Bytes of a process that are in memory now."""
    listed = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
    )
    return int(listed.stdout) * 1024


@contextmanager
def bounded(pid: int, limit: int) -> Iterator[None]:
    """A process grows by no more than `limit` bytes; on Linux not even for a moment."""
    peak, reset = Path(f"/proc/{pid}/status"), Path(f"/proc/{pid}/clear_refs")
    before = memory(pid)
    if reset.exists():
        reset.write_text("5")  # the peak begins anew
    yield
    if peak.exists():
        line = next(line for line in peak.read_text().splitlines() if line.startswith("VmHWM"))
        after = int(line.split()[1]) * 1024
    else:
        after = memory(pid)
    assert after - before <= limit, f"it grew by {(after - before) / 1e6:.1f} MB"


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open."""
    if Path(f"/proc/{pid}/fd").exists():
        return len(os.listdir(f"/proc/{pid}/fd"))
    listed = subprocess.run(
        ["lsof", "-p", str(pid), "-F", "f"], capture_output=True, text=True, check=True
    )
    return sum(re.fullmatch(r"f\d+", line) is not None for line in listed.stdout.splitlines())
