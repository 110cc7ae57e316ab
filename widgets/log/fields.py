"""The meaning of each byte of a log's files: bytes in, named and explained fields out.

    .log        batches, their headers and records: see batches.py
    .index      | relative offset i32 | position i32 | ...                  8 bytes an entry
    .timeindex  | timestamp i64 | relative offset i32 | ...                12 bytes an entry
    .txnindex   | version i16 | producer id i64 | three offsets i64 | ...    34 bytes an entry

The bytes may be damaged: unreadable bytes are a field too, which says why. So the code that draws
fields needs no check whether the file is complete.

Invariant: fields are in order, and each byte is in exactly one of them.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from widgets.log.timestamps import moment

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


class EntryPart(NamedTuple):
    """A number in an entry of an index file."""

    size: int  # bytes
    name: str
    kind: str
    said: str  # {0}: the number, {1}: what it means
    about: str


OFFSET = "+{0} → offset {1:,}"
ENTRIES: Mapping[str, tuple[EntryPart, ...]] = {
    "index": (
        EntryPart(4, "relative offset", "place", OFFSET, "Last offset of the write that this entry "
                  "points to, minus the file's name."),
        EntryPart(4, "position", "size", "byte {0:,}", "Where in the .log file that write begins."),
    ),
    "timeindex": (
        EntryPart(8, "timestamp", "time", "{0} → {1}", "The latest timestamp so far: no record up "
                  "to this offset is younger."),
        EntryPart(4, "relative offset", "place", OFFSET, "Last offset of the batch that has it, "
                  "minus the file's name."),
    ),
    "txnindex": (  # the aborted transactions
        EntryPart(2, "version", "flags", "{0:,}", "Of the form of this entry."),
        EntryPart(8, "producer id", "producer", "{0:,}", "Whose transaction was aborted."),
        EntryPart(8, "first offset", "place", "{0:,}", "Of the transaction's first record in this "
                  "partition."),
        EntryPart(8, "last offset", "place", "{0:,}", "Of its ABORT marker: what lies between, of "
                  "this producer, is skipped by read_committed."),
        EntryPart(8, "last stable offset", "place", "{0:,}", "When it ended, all transactions "
                  "before this had ended: a search for aborted transactions may stop here."),
    ),
}  # fmt: skip


def entry_size(kind: str) -> int:
    return sum(part.size for part in ENTRIES[kind])


def entry_fields(kind: str, data: bytes, base_offset: int, at: int = 0) -> Iterator[ByteField]:
    """The entries of an index file of this kind, from position `at` on."""
    size = entry_size(kind)
    for start, entry, part in _entries(data, at, size):
        if len(entry) < size or not any(entry):
            yield _rest(start, entry, part)
            continue
        for number in ENTRIES[kind]:
            raw, entry = entry[: number.size], entry[number.size :]
            value = int.from_bytes(raw, "big", signed=True)
            means = moment(value) if number.kind == "time" else base_offset + value
            said = number.said.format(value, means)
            end = start + number.size
            yield ByteField(start, end, number.name, said, number.about, number.kind, part)
            start = end


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
