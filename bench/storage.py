"""The log against the simplest code with the same effect: a file, and a CRC.

    python -m bench.storage [--rounds N] [--size GB]

    append      batches that are not decoded, against os.write and CRC-32C of the same bytes
    lookup      Log.read at random offsets of a large log, against those of a 1 MB log
    recovery    of a large segment after an unclean stop, against reading the file once: from
                memory, as after the crash of a process, and where that can be had from the disk,
                as after that of a machine

Both sides take turns, and each number is the median over the rounds of one's time divided by the
other's, so that a busy machine matters little. All files lie in one temporary directory.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.loading import load
from engine.storage.log import Log
from engine.storage.records import Record

NOW = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)
TURN = 16 << 20  # bytes in one turn of append
LOOKUPS = 2000  # in one turn
PIECE = 1 << 20  # the plain reader's


def batch(size: int, count: int = 1) -> bytes:
    """A batch of very nearly this many bytes, which do not repeat."""
    value = os.urandom((size - 61) // count - 12)
    return records.encode([Record(n, NOW, None, value) for n in range(count)])


def open_log(path: Path, **how: bool) -> Log:
    return load(path, ORDERS, TopicConfig(max_message_bytes=2 << 20), now=NOW, **how)


Work = Callable[[], object]


def seconds(work: Work, before: Work) -> float:
    before()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(
    ours: Work,
    theirs: Work,
    rounds: int,
    before_ours: Work = lambda: None,
    before_theirs: Work = lambda: None,
) -> float:
    """How many times longer ours takes. The preparation of each turn is not timed."""
    ours(), theirs()
    return statistics.median(
        seconds(ours, before_ours) / seconds(theirs, before_theirs) for _ in range(rounds)
    )


def appending(path: Path, size: int, rounds: int) -> float:
    data = batch(size)
    times = range(max(1, min(TURN // size, 4000)))
    log = open_log(path / f"log-{size}")
    fd = os.open(path / f"plain-{size}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def ours() -> None:
        for _ in times:
            log.append(data, 0, NOW)

    def empty_ours() -> None:
        log.truncate(0, NOW)
        log.sweep(NOW + log.config.file_delete_delay_ms)
        log.append(data, 0, NOW)  # the first one notes the leader epoch

    def theirs() -> None:
        for _ in times:
            os.write(fd, data)
            crc32c(data)

    def empty_theirs() -> None:
        os.ftruncate(fd, 0)
        os.write(fd, data)

    found = ratio(ours, theirs, rounds, empty_ours, empty_theirs)
    log.abandon()
    os.close(fd)
    return found


def fill(log: Log, size: int) -> None:
    sizes = [batch(each, each // 200) for each in (4096, 8192, 16384)]
    while log.size < size:
        log.append(random.choice(sizes), 0, NOW)


def looking_up(large: Log, small: Log, rounds: int) -> float:
    def reads(log: Log) -> Callable[[], object]:
        return lambda: [log.read(random.randrange(log.end_offset), 4096) for _ in range(LOOKUPS)]

    return ratio(reads(large), reads(small), rounds)


def recovering(path: Path, rounds: int, before: Work = lambda: None) -> float:

    def ours() -> None:
        open_log(path).abandon()

    def theirs() -> None:
        piece = bytearray(PIECE)
        for log in sorted(path.glob("*.log")):
            with log.open("rb", buffering=0) as file:
                while file.readinto(piece):
                    pass

    return ratio(ours, theirs, rounds, before, before)


def forget(path: Path) -> None:
    """Make the system read these files from the disk again."""
    for file in path.iterdir():
        fd = os.open(file, os.O_RDWR)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def main() -> None:
    parser = argparse.ArgumentParser(description="The log on disk, against plain files.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=float, default=1.0, help="of the large log, in GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        for size in (1 << 10, 16 << 10, 128 << 10, 1 << 20):
            found = appending(path, size, options.rounds)
            print(
                f"append, {size >> 10:4} KB batches       {found:5.2f} times a plain file and CRC"
            )
        large, small = open_log(path / "large"), open_log(path / "small")
        fill(large, int(options.size * (1 << 30)) - (1 << 20))
        fill(small, 1 << 20)
        found = looking_up(large, small, options.rounds)
        print(f"lookup in {options.size:g} GB               {found:5.2f} times that in 1 MB")
        large.abandon()
        small.abandon()
        found = recovering(path / "large", options.rounds)
        print(f"recovery of {options.size:g} GB             {found:5.2f} times reading it")
        if hasattr(os, "posix_fadvise"):
            found = recovering(path / "large", options.rounds, lambda: forget(path / "large"))
            print(f"the same, from the disk       {found:5.2f} times reading it")


if __name__ == "__main__":
    main()
