"""Prints .index and .timeindex files, and compares them with their log; see dump_log.py.

An offset entry has the last offset of one write, and the position where that write starts. A leader
writes one batch at a time, a follower all batches of a fetch: so the entry is right if a batch with
this last offset is between its position and that of the next entry.

A time entry names the last offset of a batch, and the latest timestamp up to there.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from engine.cli.dump.files import DumpReport, headers
from engine.storage import index
from engine.storage.batch import NO_TIMESTAMP


def dump_index(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    entries = index.read_offset_entries(path)
    texts = [f"offset: {offset} position: {position}" for offset, position in entries]
    size, offsets = index.OffsetIndex.ENTRY.size, [offset for offset, _ in entries]
    if not _print_index(path, size, offsets, texts, options, report):
        return
    mismatches = []
    with _log_beside(path, report) as log:
        if log is None:
            return
        fd, size = log
        for (offset, position), (_, limit) in pairwise([*entries, (0, size)]):
            if not position:  # the start of the log, or an index that is preallocated and unused
                continue
            found = -1
            for _, header in headers(fd, position, max(position, limit), options.max_message_size):
                found = header.last_offset
                if found >= offset:
                    break
            if found != offset:
                mismatches.append(f"  Index offset: {offset}, log offset: {found}")
    if mismatches:
        report.wrong(f"Mismatches in :{path.absolute()}", *mismatches)


def dump_time_index(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    entries = index.read_time_entries(path)
    texts = [f"timestamp: {timestamp} offset: {offset}" for timestamp, offset in entries]
    size, offsets = index.TimeIndex.ENTRY.size, [offset for _, offset in entries]
    if not _print_index(path, size, offsets, texts, options, report):
        return
    mismatches, disorder, missing = [], [], []
    with _log_beside(path, report) as log:
        if log is None:
            return
        batches = headers(log[0], 0, log[1], options.max_message_size)
        batch, previous = next(batches, None), NO_TIMESTAMP
        for timestamp, offset in entries:
            if not timestamp and offset == int(path.stem):  # preallocated and unused
                continue
            while batch is not None and batch[1].last_offset < offset:
                batch = next(batches, None)
            found = -1 if batch is None else batch[1].last_offset
            if batch is None or found != offset:
                missing.append(f"Indexed offset: {offset}, found log offset: {found}")
                continue
            if (latest := batch[1].max_timestamp) != timestamp:
                mismatches.append(f"  Index timestamp: {timestamp}, log timestamp: {latest}")
            if previous >= timestamp:
                disorder.append(
                    f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
                )
            previous = timestamp
    for title, lines in (
        (f"Found timestamp mismatch in :{path.absolute()}", mismatches),
        (f"Found out of order timestamp in :{path.absolute()}", disorder),
        ("The following indexed offsets are not found in the log.", missing),
    ):
        if lines:
            report.wrong(title, *lines)


def _print_index(
    path: Path,
    entry_size: int,
    offsets: list[int],
    texts: list[str],
    options: argparse.Namespace,
    report: DumpReport,
) -> bool:
    """Print the entries; False if they are not to be compared with the log."""
    if not _is_sane(path, entry_size, offsets, report):
        return False
    if options.index_sanity_check:
        print(f"{path} passed sanity check.")
    elif not options.verify_index_only:
        print(*texts, sep="\n", end="\n" * bool(texts))
    return not options.index_sanity_check


def _is_sane(path: Path, entry_size: int, offsets: list[int], report: DumpReport) -> bool:
    """The checks that need the index alone; a broker rebuilds an index that fails them."""
    size = path.stat().st_size
    if not size:
        print(f"{path} is empty.")
        return False
    if rest := size % entry_size:
        report.wrong(
            f"{path}: position {size - rest}: {rest} bytes are left, too few for an entry of "
            f"{entry_size}: the index is cut off or foreign, and is rebuilt when its log is opened"
        )
        return False
    for number, (before, after) in enumerate(pairwise([int(path.stem), *offsets])):
        if after < before:
            report.wrong(
                f"{path}: position {number * entry_size}: offset {after} after {before}: the "
                "index is corrupt, and is rebuilt when its log is opened"
            )
            return False
    return True


@contextmanager
def _log_beside(path: Path, report: DumpReport) -> Iterator[tuple[int, int] | None]:
    """Descriptor and size of the .log file of an index."""
    try:
        file = path.with_suffix(".log").open("rb")
    except FileNotFoundError:
        report.wrong(f"{path}: there is no {path.stem}.log beside it to compare it with")
        yield None
        return
    with file:
        yield file.fileno(), os.fstat(file.fileno()).st_size
