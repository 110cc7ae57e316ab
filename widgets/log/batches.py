"""The fields of a .log file: batches, their 61 bytes of header, and every record.

    | header: 13 fields | record | record | ...               a batch, and the next begins
                        | length | attributes | timestamp delta | offset delta |
                        | key length | key | value length | value | headers |

A compressed batch has its header and one field for the rest, which describes the unpacked records.
A truncated or damaged batch is shown as far as it can be read, and then a field says so.

Invariant: as in fields.py, each byte is in exactly one field, also in a damaged file.
"""

from collections.abc import Iterator

from engine.errors import ApiException
from engine.storage import records, varint
from engine.storage.batch import HEADER_SIZE, MAGIC, Codec, Header, crc_ok, seal
from engine.storage.compression import decompress
from engine.storage.control import ControlType
from widgets.log.fields import ByteField, count, text
from widgets.log.timestamps import moment
from widgets.tables import rows_of

_HEADER = rows_of(__file__, "header.tsv")  # in the order of `Header`: bytes, kind, meaning


def log_fields(data: bytes, at: int = 0, left: int | None = None) -> Iterator[ByteField]:
    """The batches in some bytes of a .log file, the first of which begins one at position `at`.

    `left`: bytes from there to the end of the file, if these are not all of them.
    """
    start, left = 0, len(data) if left is None else left
    while start < len(data):
        head = data[start : start + HEADER_SIZE]
        why = torn(head, left - start)
        header = None if len(head) < HEADER_SIZE else Header.parse(head)
        if why or header is None or start + header.size > len(data):
            yield from _torn(data[start:], at + start, why or "the rest was not read")
            return
        yield from batch_fields(data[start : start + header.size], at + start)
        start += header.size


def torn(head: bytes, left: int) -> str:
    """Why these bytes do not hold a whole batch with this header; "" if they do."""
    if left < HEADER_SIZE or len(head) < HEADER_SIZE:
        return f"{count(left, 'byte')}, too few for the {HEADER_SIZE} of a header: cut off"
    if not any(head):
        return "zeros where a batch should begin: never written"
    header = Header.parse(head)
    if header.magic != MAGIC:
        return f"no batch begins here: byte 16 is {header.magic}, and should be {MAGIC}"
    if header.size < HEADER_SIZE:
        return f"no batch begins here: a length of {header.length} is less than a header"
    if header.size > left:
        return f"the batch says {header.size:,} bytes, only {left:,} are here: cut off"
    return ""


def _torn(data: bytes, at: int, why: str) -> Iterator[ByteField]:
    """The fields of an incomplete batch at the end of a file: perhaps a header, and a rest."""
    known = 0
    if len(data) > HEADER_SIZE and data[16] == MAGIC and Header.parse(data).size >= HEADER_SIZE:
        yield from _header_fields(data, at, Header.parse(data), "a torn batch")
        known = HEADER_SIZE
    about = "A broker that starts cuts the file here; the leader sends the lost part again."
    yield ByteField(at + known, at + len(data), "torn", why, about, "torn", "a torn batch")


def batch_fields(batch: bytes, at: int = 0) -> Iterator[ByteField]:
    """One whole batch, which begins at position `at` of its file."""
    header = Header.parse(batch)
    part = f"batch {header.base_offset:,} to {header.last_offset:,}"
    if header.is_control:
        part = f"control batch at offset {header.base_offset:,}"
    yield from _header_fields(batch, at, header, part)
    if len(batch) == HEADER_SIZE:
        return
    if header.attributes & 7 == Codec.NONE:
        yield from _Records(batch, at, header, part)
    else:
        about = "The producer compresses all records of a batch as one; the broker keeps them so."
        said = _unpacked(batch, header)
        yield ByteField(at + HEADER_SIZE, at + len(batch), "records", said, about, "payload", part)


def _header_fields(batch: bytes, at: int, header: Header, part: str) -> Iterator[ByteField]:
    for name, number, (size, kind, about) in zip(Header._fields, header, _HEADER, strict=True):
        said = _said(name, number, batch, header)
        end = at + int(size)
        yield ByteField(at, end, name.replace("_", " "), said, about, kind, part)
        at = end


def _said(name: str, number: int, batch: bytes, header: Header) -> str:
    match name:
        case "crc" if len(batch) < header.size:
            return f"{number:#010x}: cannot be checked, the batch is cut off"
        case "crc":
            return f"{number:#010x}: {crc_verdict(batch, header)}"
        case "attributes":
            return _flags(header)
        case "last_offset_delta":
            return f"{number} → last offset {header.last_offset:,}"
        case "base_timestamp" | "max_timestamp":
            return f"{number} → {moment(number)}"
    return str(number)


def crc_verdict(batch: bytes, header: Header) -> str:
    """The result of computing the CRC again."""
    if crc_ok(batch, 0, header):
        return "right ✓"
    found = Header.parse(seal(header, batch[HEADER_SIZE : header.size])).crc
    return f"WRONG ✗, these bytes give {found:#010x}"


def _flags(header: Header) -> str:
    bits = header.attributes & 7
    said = ["not compressed" if not bits else Codec(bits).name.lower() if bits < 5 else "no codec"]
    said.append("log append time" if header.is_log_append_time else "create time")
    said += ["transactional"] * header.is_transactional + ["control"] * header.is_control
    return f"{header.attributes:#06x} → " + ", ".join(said)


def _unpacked(batch: bytes, header: Header) -> str:
    """The description of compressed records."""
    try:
        codec = header.codec
        size = len(decompress(codec, batch[HEADER_SIZE:]))
        found = records.decode(batch)
    except ApiException as error:
        return f"cannot be unpacked: {error.message}"
    packed = len(batch) - HEADER_SIZE
    said = f"{codec.name.lower()}: {packed:,} bytes hold {size:,}, {count(len(found), 'record')}"
    first = found[0] if found else None
    key = "" if first is None or first.key is None else f"; the first has key {text(first.key)}"
    return said + key


# -- records ---------------------------------------------------------------------------------


class _Records:
    """Goes through the records of a batch that is not compressed, number by number."""

    def __init__(self, batch: bytes, at: int, header: Header, part: str) -> None:
        self._batch, self._base, self._header = batch, at, header
        self._at = HEADER_SIZE  # where the next field begins, in the batch
        self._part = part

    def __iter__(self) -> Iterator[ByteField]:
        """Field by field. An error has the remaining bytes; if there are none, the last field."""
        whole, held, why = self._part, None, ""
        try:
            for field in self._every():
                if held is not None:
                    yield held
                held = field
        except IndexError:
            why = "the batch ends in the middle of a record"
        except (ApiException, _Unreadable) as error:
            why = str(error)
        if self._at < len(self._batch):
            if held is not None:
                yield held
            why, about, self._part = why or "behind the last record", "No consumer reads it.", whole
            yield self._field(len(self._batch), "unreadable", why, about, "torn")
        elif held is not None:
            yield held if not why else held._replace(value=f"{held.value}; {why}", kind="torn")

    def _every(self) -> Iterator[ByteField]:
        for _ in range(self._header.count):
            _, at = self._varint(self._at)
            _, at = self._varint(at + 1)
            delta, _ = self._varint(at)
            self._part = f"offset {self._header.base_offset + delta:,}"
            yield from self._record()

    def _record(self) -> Iterator[ByteField]:
        length, field = self._number("length", "{} bytes", "Bytes of this record.", "size")
        end = self._at + length
        yield field
        if not self._at < end <= len(self._batch):
            raise _Unreadable(f"a record of {length} bytes has no room here")
        said, header = f"{self._batch[self._at]:#04x}", self._header
        yield self._field(self._at + 1, "attributes", said, "Not used by any record yet.", "flags")
        delta, field = self._number("timestamp delta", "+{} ms", "From the base timestamp.", "time")
        at = moment(header.base_timestamp + delta)
        if header.is_log_append_time:
            at = f"not asked, the broker's clock counts: {moment(header.max_timestamp)}"
        yield field._replace(value=f"{field.value} → {at}")
        _, field = self._number("offset delta", "+{}", "From the base offset.", "place")
        yield field._replace(value=f"{field.value} → {self._part}")
        yield from self._blob("key", "Chooses the partition; compaction keeps the last of each.")
        yield from self._blob("value", "What the application sent. Null: a tombstone.")
        headers, field = self._number("headers", "{}", "How many headers follow.", "size")
        yield field
        if headers < 0:
            raise _Unreadable(f"a record cannot have {headers} headers")
        for _ in range(headers):
            yield from self._blob("header name", "UTF-8.", "header")
            yield from self._blob("header value", "Any bytes; the broker does not look.", "header")
        if self._at != end:
            raise _Unreadable(f"the record should end at byte {self._base + end} of the file")

    def _number(self, name: str, shown: str, about: str, kind: str) -> tuple[int, ByteField]:
        """A varint: its value, and its field."""
        number, at = self._varint(self._at)
        about += " Varint: seven bits a byte, zigzag."
        return number, self._field(at, name, shown.format(number), about, kind)

    def _varint(self, at: int) -> tuple[int, int]:
        """The value, and the position after it."""
        first, at = self._batch[at], at + 1
        if first > 0x7F:
            first, at = varint.read_long(self._batch, at, first)
        return first >> 1 ^ -(first & 1), at

    def _blob(self, name: str, about: str, kind: str = "") -> Iterator[ByteField]:
        """A length, and so many bytes, if any; -1 is null."""
        length, field = self._number(f"{name} length", "{}", f"Bytes of the {name}.", "size")
        yield field if length >= 0 else field._replace(value="-1: null, there is none")
        end = self._at + max(length, 0)
        if length < -1 or end > len(self._batch):
            raise _Unreadable(f"a {name} of {length} bytes has no room here")
        if self._header.is_control and length >= 4 and name in ("key", "value"):
            yield from self._marker(name, end)
        elif length > 0:
            shown = text(self._batch[self._at : end])
            yield self._field(end, name, shown, about, kind or name)

    def _marker(self, name: str, end: int) -> Iterator[ByteField]:
        """A transaction's end, in the record of a control batch."""
        about = "Of the form of this control record."
        yield self._field(self._at + 2, "version", self._int(2), about, "flags")
        if name == "key":
            kind = self._int(2)
            known = {str(it.value): it.name for it in ControlType}
            about = "How the transaction ended."
            yield self._field(
                self._at + 2, "type", f"{kind} → {known.get(kind, '?')}", about, "key"
            )
        elif end - self._at >= 4:
            about = "Of the transaction coordinator's leader: fences those before it."
            said = self._int(4)
            yield self._field(self._at + 4, "coordinator epoch", said, about, "producer")
        if self._at < end:
            about = "A later version may add to the end."
            yield self._field(end, f"rest of the {name}", self._batch[self._at : end].hex(" "),
                              about, name)  # fmt: skip

    def _int(self, size: int) -> str:
        return str(int.from_bytes(self._batch[self._at : self._at + size], "big", signed=True))

    def _field(self, end: int, name: str, value: str, about: str, kind: str) -> ByteField:
        start, self._at = self._at, end
        return ByteField(self._base + start, self._base + end, name, value, about, kind, self._part)


class _Unreadable(Exception):
    """A record has impossible lengths."""
