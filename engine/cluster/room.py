"""How much room there is: is it enough to start a cluster, or Spark, and what to do if it is not?

    what is left     memory   the machine's, and that of each control group around this process
                     tasks    processes and threads, which the system counts together
                     disk     where the data will be

    room.check(room.cluster(3), data)     enough    nothing is said
                                          short     a sentence on stderr, by way of logging
                                          too little   a KafkaError with the numbers, and advice

A container says what it may use in its control groups, of version 1 or 2, and a limit further up
holds for all that is below it; so each level is read, and the least counts. What the page cache
holds of files is counted as free, for the system gives it back when it is needed.

Where room runs out all the same, `refusals` and `hint` say so in words: the system itself only says
EAGAIN, or kills a process without a word.

Invariant: what the system does not tell is not guessed; where it tells nothing (macOS), nothing is
refused.
"""

import errno
import logging
import os
import resource
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from engine.errors import ErrorCode, KafkaError

MB = 1_000_000
ROOT = Path("/")
LOG = logging.getLogger(__name__)
WIDTH = 88  # letters in a line; a notebook would break stderr in the middle of a word

ADVICE = (
    "Shut down the kernels that you are done with (JupyterLab's left side bar lists them, under "
    "Running Terminals and Kernels)"
)
REFUSED = {  # what the system says when it has no room, by errno
    errno.EAGAIN: "the system starts no more processes for you",
    errno.ENOMEM: "the system has no memory left for another process",
    errno.EMFILE: "this process has as many files open as it may (ulimit -n)",
    errno.ENFILE: "the whole system has as many files open as it can",
    errno.ENOSPC: "the disk is full",
}
FILES = ("active", "inactive")  # lists of the page cache
ENDINGS = (  # what a process may leave in its log that found no room
    "insufficient memory for the Java Runtime",
    "Could not reserve enough space for",
    "OutOfMemoryError",
    "MemoryError",
    "Cannot allocate memory",
    "can't start new thread",
    "Resource temporarily unavailable",
    "No space left on device",
)


class Room(NamedTuple):
    """What may still be taken; None: the system does not say."""

    memory: int | None = None  # bytes
    tasks: int | None = None  # processes and threads
    disk: int | None = None  # bytes


class Need(NamedTuple):
    """What something takes to start; twice as much, and it has room to work."""

    what: str
    least: Room
    instead: str = ""  # what would need less, for the end of the advice


def cluster(brokers: int, zookeeper: bool = True) -> Need:
    """Measured on an idle cluster: ZooKeeper 70 MB in 28 tasks, a broker 40 MB in 3."""
    least = Room(
        memory=(80 * zookeeper + 40 * brokers) * MB,
        tasks=30 * zookeeper + 5 * brokers,
        disk=50 * MB,
    )
    what = f"a cluster of {brokers} broker{'s' * (brokers != 1)}"
    return Need(what, least, ", or start fewer brokers" if brokers > 1 else "")


# A JVM whose heap of 512 MB is not touched all at once, and its Python workers.
SPARK = Need("Spark", Room(memory=500 * MB, tasks=120, disk=100 * MB))


def check(need: Need, place: Path, room: Room | None = None) -> None:
    """Refuse what cannot work, and warn of what may not."""
    room = read(place) if room is None else room
    if words := refusal(room, need, place):
        raise KafkaError(ErrorCode.broker_not_available, words)
    if words := warning(room, need):
        LOG.warning(fill(words, WIDTH))


# -- what it means ---------------------------------------------------------------------------


def refusal(room: Room, need: Need, place: Path) -> str:
    """Why it cannot start, and what to do; "" if it can."""
    least = need.least
    if _below(room.memory, least.memory):
        missing, advice = f"memory: {_told(room.memory, least.memory)}", ADVICE + need.instead
    elif _below(room.tasks, least.tasks):
        missing = f"room for processes: it takes {least.tasks} with their threads, and "
        missing += f"{_some(room.tasks)} more may be started"
        advice = ADVICE + need.instead
    elif _below(room.disk, least.disk):
        missing = f"room in {place}: {_told(room.disk, least.disk)}"
        advice = "Delete what you no longer need there, or set TMPDIR to a folder with more room"
    else:
        return ""
    return f"{need.what} cannot start, there is too little {missing}. {advice}."


def warning(room: Room, need: Need) -> str:
    """What is getting short, although it will do for a start."""
    least = need.least
    short = [
        words
        for left, wanted, words in (
            (room.memory, least.memory, f"{_mb(room.memory)} of memory"),
            (room.tasks, least.tasks, f"{_some(room.tasks)} processes and threads"),
            (room.disk, least.disk, f"{_mb(room.disk)} on the disk"),
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


def _told(left: int | None, wanted: int | None) -> str:
    return f"it takes {_mb(wanted)}, and {_mb(left)} are left"


def _mb(number: int | None) -> str:
    return f"{max(number or 0, 0) // MB} MB"


def _some(number: int | None) -> str:
    return str(max(number or 0, 0) or "no")


# -- when it runs out all the same -----------------------------------------------------------


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Say in a sentence what the system refuses with a number."""
    try:
        yield
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        words = f"{what} cannot start, {REFUSED[error.errno]}. {ADVICE}."
        raise KafkaError(ErrorCode.broker_not_available, words) from error


def hint(exit_code: int | None, output: str) -> str:
    """What to add to the last words of a process that ended while it started; mostly nothing."""
    if exit_code == -signal.SIGKILL:
        return f" (nobody here did that; the system does, when memory runs out). {ADVICE}."
    if any(words in output for words in ENDINGS):
        return f" (there is no room left). {ADVICE}."
    return ""


# -- what the system says --------------------------------------------------------------------


def read(place: Path, root: Path = ROOT) -> Room:
    """`place` is where the data will be, and may not be there yet; `root` is for tests."""
    return Room(_memory(root), _tasks(root), _disk(place))


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
    if running:  # 0: nobody counts them for root, and only Linux tells them
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
    except OSError:  # another system, another version, or not ours to see
        return ()
