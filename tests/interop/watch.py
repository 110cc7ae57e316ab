"""Looking at a broker's process from outside: its log, its memory, its files."""

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from engine.cluster.child import Child
from tests.limits import CHANGE_S

T = TypeVar("T")
LOOKS, BETWEEN_LOOKS_S = 10, 0.03


def until(condition: Callable[[], T], patience: float = CHANGE_S) -> T:
    """What a condition gives once it holds; fails if that is never."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"still not so after {patience:.0f} s"
        time.sleep(0.01)
    return found


def threads(name: str) -> set[threading.Thread]:
    """Those of this name. Another test's cluster may have some too: compare with those before."""
    return {each for each in threading.enumerate() if each.name == name}


@contextmanager
def told(child: Child, pattern: str) -> Iterator[None]:
    """What happens inside leaves a line in the log, and no traceback."""
    before = len(child.output())
    yield
    until(lambda: re.search(pattern, child.output()[before:]))
    assert "Traceback" not in child.output()[before:]


def memory(pid: int, kind: str = "VmRSS") -> int:
    """Bytes of a process that are in memory now; on Linux, with VmHWM, that ever were."""
    if (status := Path(f"/proc/{pid}/status")).exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith(kind))
        return int(line.split()[1]) * 1024
    return int(_ask("ps", "-o", "rss=", "-p", str(pid))) * 1024


@contextmanager
def bounded(pid: int, limit: int) -> Iterator[None]:
    """A process grows by no more than `limit` bytes; on Linux not even for a moment."""
    before, reset = memory(pid), Path(f"/proc/{pid}/clear_refs")
    if reset.exists():
        reset.write_text("5")  # the peak begins anew
    yield
    grown = memory(pid, "VmHWM") - before
    assert grown <= limit, f"it grew by {grown / 1e6:.1f} MB"


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open: the fewest of some looks, for a checkpoint is
    open while it is written, each few seconds."""
    fewest = _descriptors(pid)
    for _ in range(LOOKS):
        time.sleep(BETWEEN_LOOKS_S)
        fewest = min(fewest, _descriptors(pid))
    return fewest


def _descriptors(pid: int) -> int:
    if (files := Path(f"/proc/{pid}/fd")).exists():
        return len(os.listdir(files))
    return len(re.findall(r"^f\d", _ask("lsof", "-p", str(pid), "-F", "f"), re.MULTILINE))


def sockets(pid: int) -> int:
    """How many connections a process has, its listening socket among them."""
    if not (files := Path(f"/proc/{pid}/fd")).exists():
        told = _ask("lsof", "-a", "-i", "-p", str(pid), "-F", "f")
        return len(re.findall(r"^f\d", told, re.MULTILINE))
    count = 0
    for number in os.listdir(files):
        with suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink(files / number).startswith("socket:")
    return count


def _ask(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
