"""The meaning of each byte of a log's files: bytes in, named and explained fields out.

    .log        batches, their headers and records: see batches.py
    .index      | relative offset i32 | position i32 | ...                  8 bytes an entry
    .timeindex  | timestamp i64 | relative offset i32 | ...                12 bytes an entry
    .txnindex   | version i16 | producer id i64 | three offsets i64 | ...    34 bytes an entry

The bytes may be damaged: unreadable bytes are a field too, which says why. So the code that draws
fields needs no check whether the file is complete.

Invariant: fields are in order, and each byte is in exactly one of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from widgets.log.timestamps import moment

ABORTED_SIZE = 34  # bytes of an entry of a .txnindex
SHOWN = 48  # characters of a key or value that are shown as text


class ByteField(NamedTuple):
    start: int  # the first byte, counted from the start of the file
    end: int  # the byte after the last
    name: str
    value: str  # as text
    about: str  # its meaning
    kind: str  # the colour of its band, shared by fields of a kind: place, time, key ...
    part: str  # the batch, record or entry that it belongs to


def text(data: bytes) -> str:
    """UTF-8 text in quotes; other bytes as hex."""
    try:
        shown = data.decode()
    except UnicodeDecodeError:
        shown = ""
    said = f"“{shown}”" if shown.isprintable() and shown else data.hex(" ")
    return said if len(said) <= SHOWN else said[: SHOWN - 1] + "…"


def count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "es" * noun.endswith("ch")
    plural += "s" * (plural == noun)
    return f"{number:,} {noun if number == 1 else plural}"


def index_fields(data: bytes, base_offset: int, at: int = 0) -> Iterator[ByteField]:
    """Entries of an .index file, from position `at` on."""
    offset = "Last offset of the write that this entry points to, minus the file's name."
    position = "Where in the .log file that write begins."
    for start, entry, part in _entries(data, at, 8):
        if len(entry) < 8 or not any(entry):
            yield _rest(start, entry, part)
            continue
        relative, place = entry[:4], entry[4:]
        found = base_offset + int.from_bytes(relative, "big", signed=True)
        said = f"+{found - base_offset} → offset {found:,}"
        yield ByteField(start, start + 4, "relative offset", said, offset, "place", part)
        said = f"byte {int.from_bytes(place, 'big', signed=True):,}"
        yield ByteField(start + 4, start + 8, "position", said, position, "size", part)


def time_index_fields(data: bytes, base_offset: int, at: int = 0) -> Iterator[ByteField]:
    """Entries of a .timeindex file, from position `at` on."""
    newest = "The latest timestamp so far: no record up to this offset is younger."
    offset = "Last offset of the batch that has it, minus the file's name."
    for start, entry, part in _entries(data, at, 12):
        if len(entry) < 12 or not any(entry):
            yield _rest(start, entry, part)
            continue
        time = int.from_bytes(entry[:8], "big", signed=True)
        said = f"{time} → {moment(time)}"
        yield ByteField(start, start + 8, "timestamp", said, newest, "time", part)
        found = base_offset + int.from_bytes(entry[8:], "big", signed=True)
        said = f"+{found - base_offset} → offset {found:,}"
        yield ByteField(start + 8, start + 12, "relative offset", said, offset, "place", part)


ABORTED = (  # of a transaction in a .txnindex: bytes, name, kind, meaning
    (2, "version", "flags", "Of the form of this entry."),
    (8, "producer id", "producer", "Whose transaction was aborted."),
    (8, "first offset", "place", "Of the transaction's first record in this partition."),
    (8, "last offset", "place", "Of its ABORT marker: what lies between, of this producer, is "
     "skipped by read_committed."),
    (8, "last stable offset", "place", "When it ended, all transactions before this had ended: a "
     "search for aborted transactions may stop here."),
)  # fmt: skip


def aborted_fields(data: bytes, base_offset: int, at: int = 0) -> Iterator[ByteField]:
    """Entries of a .txnindex file, from position `at` on: the aborted transactions."""
    for start, entry, part in _entries(data, at, ABORTED_SIZE):
        if len(entry) < ABORTED_SIZE or not any(entry):
            yield _rest(start, entry, part)
            continue
        place = 0
        for size, name, kind, about in ABORTED:
            number = int.from_bytes(entry[place : place + size], "big", signed=True)
            begin, place = start + place, place + size
            yield ByteField(begin, start + place, name, f"{number:,}", about, kind, part)


def _entries(data: bytes, at: int, size: int) -> Iterator[tuple[int, bytes, str]]:
    """Entry by entry; consecutive zeros are one field."""
    start = 0
    while start < len(data):
        end, entry = start + size, data[start : start + size]
        if not any(entry):
            end = len(data) - len(data[start:].lstrip(b"\0"))
            end -= (end - start) % size if end < len(data) else 0
            entry = data[start:end]
        yield at + start, entry, f"entry {(at + start) // size:,}"
        start = end


def _rest(start: int, data: bytes, part: str) -> ByteField:
    if any(data):
        why = f"{count(len(data), 'byte')}, less than an entry"
        return ByteField(
            start, start + len(data), "torn", why, "The index is rebuilt.", "torn", part
        )
    about = "The index of the active segment has its full size at once; closing trims it."
    return ByteField(start, start + len(data), "not used yet", "zeros", about, "unused", "no entry")
