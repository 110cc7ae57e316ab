"""Are there enough resources to start a cluster, or Spark? If not: an error that says what to do.

    resources   memory   of the machine, and of each control group around this process
                tasks    processes and threads, which the system counts together
                disk     where the data will be

    resources.check(resources.cluster(3), data)     enough       nothing happens
                                                    short        a warning on stderr, by logging
                                                    too little   an ApiException with the numbers

The limits of a container stand in its control groups, version 1 or 2. A limit holds for all groups
below it, so every level is read and the smallest counts. The page cache is counted as free, because
the system gives it back when memory is needed.

If a resource runs out later, `refusals` and `hint` say so in words: the system itself only returns
EAGAIN, or kills a process without a message.

Invariant: a number that the system does not report is not guessed; where it reports none (macOS),
nothing is refused.
"""

import errno
import logging
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from engine.browser import resource
from engine.errors import ApiException, ErrorCode

MB = 1_000_000
ROOT = Path("/")
LOG = logging.getLogger(__name__)
WIDTH = 88  # characters in a line; a notebook would break stderr in the middle of a word

ADVICE = (
    "Shut down the kernels that you are done with (JupyterLab's left side bar lists them, under "
    "Running Terminals and Kernels)"
)
REFUSED = {  # the reason, by errno
    errno.EAGAIN: "the system starts no more processes for you",
    errno.ENOMEM: "the system has no memory left for another process",
    errno.EMFILE: "this process has as many files open as it may (ulimit -n)",
    errno.ENFILE: "the whole system has as many files open as it can",
    errno.ENOSPC: "the disk is full",
}
FILES = ("active", "inactive")  # lists of the page cache
ENDINGS = (  # what a process may write to its log when a resource ran out
    "insufficient memory for the Java Runtime",
    "Could not reserve enough space for",
    "OutOfMemoryError",
    "MemoryError",
    "Cannot allocate memory",
    "can't start new thread",
    "Resource temporarily unavailable",
    "No space left on device",
)


class Resources(NamedTuple):
    """What is still free; None: the system does not say."""

    memory: int | None = None  # bytes
    tasks: int | None = None  # processes and threads
    disk: int | None = None  # bytes


class Need(NamedTuple):
    """What something needs to start; with less than twice as much there is a warning."""

    what: str
    least: Resources
    instead: str = ""  # what would need less, for the end of the advice


def cluster(brokers: int, zookeepers: int = 1, controllers: int = 0) -> Need:
    """Measured on an idle cluster: ZooKeeper 70 MB in 28 tasks, each other node 40 MB in 3, half of
    which copies of one process share (node_launcher.py)."""
    least = Resources(
        memory=(80 * zookeepers + 40 * (brokers + controllers)) * MB,
        tasks=30 * zookeepers + 5 * (brokers + controllers),
        disk=50 * MB,
    )
    what = f"a cluster of {brokers} broker{'s' * (brokers != 1)}"
    return Need(what, least, ", or start fewer brokers" if brokers > 1 else "")


# A JVM whose heap of 512 MB is not touched all at once, and its Python workers.
SPARK = Need("Spark", Resources(memory=500 * MB, tasks=120, disk=100 * MB))


def check(need: Need, place: Path, free: Resources | None = None) -> None:
    """Raise an error if there is too little, log a warning if it is short."""
    free = read(place) if free is None else free
    if words := refusal(free, need, place):
        raise ApiException(ErrorCode.broker_not_available, words)
    if words := warning(free, need):
        LOG.warning(fill(words, WIDTH))


# -- errors and warnings ---------------------------------------------------------------------


def refusal(free: Resources, need: Need, place: Path) -> str:
    """Why it cannot start, and what to do; "" if it can."""
    least = need.least
    if _below(free.memory, least.memory):
        missing, advice = f"memory: {_amounts(free.memory, least.memory)}", ADVICE + need.instead
    elif _below(free.tasks, least.tasks):
        missing = f"room for processes: it takes {least.tasks} with their threads, and "
        missing += f"{_some(free.tasks)} more may be started"
        advice = ADVICE + need.instead
    elif _below(free.disk, least.disk):
        missing = f"room in {place}: {_amounts(free.disk, least.disk)}"
        advice = "Delete what you no longer need there, or set TMPDIR to a folder with more room"
    else:
        return ""
    return f"{need.what} cannot start, there is too little {missing}. {advice}."


def warning(free: Resources, need: Need) -> str:
    """What is short, although it is enough for a start; "" if nothing is."""
    least = need.least
    short = [
        words
        for left, wanted, words in (
            (free.memory, least.memory, f"{_mb(free.memory)} of memory"),
            (free.tasks, least.tasks, f"{_some(free.tasks)} processes and threads"),
            (free.disk, least.disk, f"{_mb(free.disk)} on the disk"),
        )
        if _below(left, wanted, times=2)
    ]
    if not short:
        return ""
    return (
        f"There is room for {need.what}, but not much: {' and '.join(short)} are left. "
        f"If something dies by itself, this is why. {ADVICE}."
    )


def _below(left: int | None, wanted: int | None, times: int = 1) -> bool:
    return left is not None and wanted is not None and left < times * wanted


def _amounts(left: int | None, wanted: int | None) -> str:
    return f"it takes {_mb(wanted)}, and {_mb(left)} are left"


def _mb(number: int | None) -> str:
    return f"{max(number or 0, 0) // MB} MB"


def _some(number: int | None) -> str:
    return str(max(number or 0, 0) or "no")


# -- when a resource runs out later ----------------------------------------------------------


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Turn the errno of a system that has run out of something into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        words = f"{what} cannot start, {REFUSED[error.errno]}. {ADVICE}."
        raise ApiException(ErrorCode.broker_not_available, words) from error


def hint(exit_code: int | None, output: str) -> str:
    """What to add to the error of a process that ended while it started; mostly nothing."""
    if exit_code == -signal.SIGKILL:
        return f" (nobody here did that; the system does, when memory runs out). {ADVICE}."
    if any(words in output for words in ENDINGS):
        return f" (there is no room left). {ADVICE}."
    return ""


# -- what the system reports -----------------------------------------------------------------


def read(place: Path, root: Path = ROOT) -> Resources:
    """`place` is where the data will be, and may not exist yet; `root` is for tests."""
    return Resources(_memory(root), _tasks(root), _disk(place))


def _memory(root: Path) -> int | None:
    left = [number for number in (_available(root),) if number is not None]
    for group in _groups(root, "memory"):
        for limit, used, prefix in (
            ("memory.max", "memory.current", ""),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        ):
            most, now = _number(group / limit), _number(group / used)
            if most is not None and now is not None:
                cache = [_field(group / "memory.stat", f"{prefix}{it}_file") for it in FILES]
                left.append(most - now + sum(cache))
    return min(left, default=None)


def _tasks(root: Path) -> int | None:
    left = []
    for group in _groups(root, "pids"):
        most, now = _number(group / "pids.max"), _number(group / "pids.current")
        if most is not None and now is not None:
            left.append(most - now)
    most, user = resource.getrlimit(resource.RLIMIT_NPROC)[0], os.getuid()
    running = _tasks_of(user, root) if user and most != resource.RLIM_INFINITY else 0
    if running:  # 0: the limit does not hold for root, and only Linux lists them
        left.append(most - running)
    return min(left, default=None)


def _tasks_of(user: int, root: Path) -> int:
    count = 0
    for process in (root / "proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == user:
                count += sum(1 for _ in (process / "task").iterdir())
        except OSError:
            continue  # it has ended meanwhile
    return count


def _disk(place: Path) -> int | None:
    there = next((each for each in (place, *place.parents) if each.exists()), None)
    return shutil.disk_usage(there).free if there else None


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The control groups that limit this process, from its own up to the outermost."""
    for line in _lines(root / "proc/self/cgroup"):
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        top = root / "sys/fs/cgroup" / (controller if names else "")
        own = top / path.lstrip("/")
        yield from (each for each in (own, *own.parents) if each.is_relative_to(top))


def _available(root: Path) -> int | None:
    kilobytes = _field(root / "proc/meminfo", "MemAvailable:")
    return kilobytes * 1024 if kilobytes else None


def _field(path: Path, name: str) -> int:
    """Of lines like "inactive_file 4096"; 0 if there is none."""
    rows = (line.split() for line in _lines(path))
    return next((int(row[1]) for row in rows if row and row[0] == name), 0)


def _number(path: Path) -> int | None:
    """None where there is no such file, or no limit ("max")."""
    text = " ".join(_lines(path))
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # another system, another version, or no permission
        return ()
