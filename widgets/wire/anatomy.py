"""The fields of a message in its version, each with its value and its bytes.

    size │ api key │ version │ correlation id │ client id │ topics: 1 │ · name │ partitions: 2 │ ...
    ─────┴─────────┴─────────┴────────────────┴───────────┴───────────┴────────┴───────────────┴──
    request header                                         the fields of the version, in wire order

engine.wire declares the fields and reads the primitives; here their positions are kept as well. A
frame may be incomplete (see engine.broker.frames): then one leaf describes the rest. Of record
batches the header is read.

Invariant: the leaves are in order, and each byte is in exactly one, whatever the bytes are.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from engine.errors import ApiException
from engine.storage import records
from engine.storage.batch import HEADER_SIZE, MAGIC, Header
from engine.wire.apis import Api, ApiKey
from engine.wire.codec import message
from engine.wire.errors import Malformed
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import BY_NAME, EVERY_API
from engine.wire.primitives import BYTES_ERRORS, FIXED, LONG, SHORT, Length, read_uvarint
from engine.wire.schema import Field, array_length, content_length, fields
from widgets.log.batches import batch_fields
from widgets.log.fields import count, text
from widgets.wire.values import KINDS, error_name, meaning, said, title

ASK, ANSWER = "request", "response"
TAGS, NONE = "tagged fields", "none"
SENT_AS_IT_IS = "straight from the log file: sendfile, no broker looks at them"


class FieldNode(NamedTuple):
    """A field."""

    start: int  # the first byte, counted from the frame's own first
    end: int  # the byte after the last
    name: str
    value: str  # as text
    about: str  # its type
    kind: str  # the colour of its band
    depth: int
    raw: Any = None  # the value itself, except of counts
    first: bool = False  # a new element of an array begins with it


def dissect(api: str, version: int, way: str, frame: bytes) -> list[FieldNode]:
    """The leaves of a frame, from its size on; the frame may be incomplete."""
    reader = _FrameReader(BY_NAME[api], version, way, frame)
    try:
        reader.cut()
        reader.rest("left over", "nobody reads it", "unused")
    except _Missing:
        whole = SIZE.size + SIZE.unpack_from(frame)[0] if len(frame) >= SIZE.size else 0
        reader.rest("cut off", "only the beginning was kept", "unused")
        reader.missing(whole - len(frame))
    except (Malformed, *BYTES_ERRORS) as error:
        reader.rest("unreadable", str(error), "torn")
    return reader.leaves


def errors(leaves: list[FieldNode]) -> list[str]:
    """The names of the error codes in a response except 0, each once."""
    found = (error_name(leaf.raw) for leaf in leaves if leaf.about == "error code" and leaf.raw)
    return list(dict.fromkeys(found))


class _Missing(Exception):
    """The bytes end before the message does."""


class _FrameReader:
    """Reads a frame, leaf by leaf."""

    def __init__(self, api: ApiKey, version: int, way: str, frame: bytes) -> None:
        self.api, self.version, self.way, self.frame = api, version, way, frame
        self.leaves: list[FieldNode] = []
        self._at = 0
        self._depth = 0
        self._first = False  # the next leaf begins an element
        self._flexible = version >= api.flexible

    # -- the whole -----------------------------------------------------------------------

    def cut(self) -> None:
        self._fixed("size", "int32", "size")
        if self.way == ASK:
            self._fixed("api_key", "int16", "flags", lambda key: f"{key} → {title(EVERY_API[key])}")
            self._fixed("api_version", "int16", "flags")
            self._fixed("correlation_id", "int32", "producer")
            self._content("client_id", "string", SHORT)
            header_is_flexible = self.api.request_header(self.version) == 2
        else:
            self._fixed("correlation_id", "int32", "producer")
            header_is_flexible = self.api.response_header(self.version) == 1
        if header_is_flexible:
            self._tags({})
        self._message(message(self.api, self.version, self.way))

    def rest(self, name: str, why: str, kind: str) -> None:
        """The bytes after the last field."""
        if self._at < len(self.frame):
            size = count(len(self.frame) - self._at, "byte")
            self._leaf(len(self.frame), name, f"{size}: {why}", "", kind)

    def missing(self, size: int) -> None:
        last = self.leaves[-1] if self.leaves else None
        if size > 0 and not (last and last.name == "records" and self.api == Api.FETCH):
            words = f"{count(size, 'byte')} more, which the trace left out"
            self._leaf(self._at, "…", words, "", "unused")

    # -- fields --------------------------------------------------------------------------

    def _message(self, declared: type) -> None:
        tagged = {}
        for field in fields(declared):
            if field.tag is None:
                self._field(field)
            else:
                tagged[field.tag] = field
        if self._flexible:
            self._tags(tagged)

    def _field(self, field: Field) -> None:
        if field.is_array:
            self._array(field)
        elif field.type == "records":
            self._records(field)
        elif isinstance(field.type, str) and field.type in FIXED:
            self._fixed(field.name, field.type, KINDS.get(field.type, "place"))
        elif isinstance(field.type, str):
            self._content(field.name, field.type, content_length(field.type, self._flexible))
        else:
            self._message(field.type)

    def _array(self, field: Field) -> None:
        start, (number, at) = self._at, self._length(array_length(self._flexible))
        if number > 0 and isinstance(field.type, str):
            return self._row(field, start, at, number)
        words = "null" if number < 0 else str(number)
        self._leaf(at, field.name, words, "how many follow", "size")
        self._depth += 1
        for _ in range(number):
            self._first = True
            self._field(field._replace(is_array=False))
        self._depth -= 1

    def _row(self, field: Field, start: int, at: int, number: int) -> None:
        """Consecutive plain values are one leaf."""
        assert isinstance(field.type, str)
        values = []
        for _ in range(number):
            if field.type in FIXED:
                value, at = self._number(field.type, at)
            else:
                length = content_length(field.type, self._flexible)
                size, begin = self._length(length, at)
                value, at = self._bytes(begin, max(size, 0)).decode(errors="replace"), begin + size
            values.append(value)
        self._at = start
        words = ", ".join(str(it) for it in values)
        kind = KINDS.get(field.type, "key")
        self._leaf(at, field.name, words, f"{number} × {field.type}", kind, tuple(values))

    def _fixed(
        self, name: str, primitive: str, kind: str, words: Callable[[Any], str] = str
    ) -> None:
        raw, end = self._number(primitive, self._at)
        if primitive == "error_code":
            kind = "torn" if raw else "check"
        shown = said(primitive, raw) if words is str else words(raw)
        self._leaf(end, name, shown, primitive.replace("_", " "), kind, raw)

    def _content(self, name: str, primitive: str, length: Length) -> None:
        """Text or bytes, with their length in front."""
        size, start = self._length(length)
        if size < 0:
            return self._leaf(start, name, "null", primitive, "size")
        data = self._bytes(start, size)
        raw: Any = data.decode(errors="replace") if primitive == "string" else data
        shown = meaning(self.api, name, data) if primitive == "bytes" else text(data)
        kind = "key" if primitive == "string" else "value"
        self._leaf(start + size, name, shown if size else "empty", primitive, kind, raw)

    def _tags(self, known: dict[int, Field]) -> None:
        """Tagged fields: a count, then tag, size and value of each."""
        number, at = self._uvarint(self._at)
        self._first = False
        self._leaf(at, TAGS, str(number) if number else NONE, "", "unused")
        self._depth += 1
        for _ in range(number):
            tag, at = self._uvarint(self._at)
            size, at = self._uvarint(at)
            self._leaf(at, "tag", f"{tag}, {count(size, 'byte')}", "tag and size", "size")
            if tag in known:
                self._field(known[tag])
            else:
                data = self._bytes(at, size)
                self._leaf(at + size, f"tag {tag}", text(data), "unknown", "value", data)
        self._depth -= 1

    # -- records -------------------------------------------------------------------------

    def _records(self, field: Field) -> None:
        size, start = self._length(content_length("records", self._flexible))
        end, here = start + max(size, 0), len(self.frame)
        words = "null" if size < 0 else count(size, "byte")
        if start == here < end:
            words += f", {SENT_AS_IT_IS}" if self.way == ANSWER else ", left out"
        self._leaf(start, field.name, words, "length", "size", max(size, 0))
        self._depth += 1
        while self._at < min(end, here):
            self._batch(end)
        self._depth -= 1
        if end > here:
            raise _Missing

    def _batch(self, end: int) -> None:
        head = self.frame[self._at : min(self._at + HEADER_SIZE, end)]
        if len(head) < HEADER_SIZE or head[16] != MAGIC:
            stop = min(end, len(self.frame))
            if stop < end:
                raise _Missing
            return self._leaf(stop, "records", "no batch of version 2", "", "torn")
        header = Header.parse(head)
        stop = self._at + max(header.size, HEADER_SIZE)
        is_whole = stop <= min(end, len(self.frame))
        batch = self.frame[self._at : stop] if is_whole else head
        inside = self._at + HEADER_SIZE
        for each in batch_fields(batch, self._at):
            if each.start < inside:
                self._leaf(each.end, each.name, each.value, each.about, each.kind)
        if is_whole:
            self._leaf(stop, "records", _contents(batch, header), "opaque to a broker", "payload")
            return
        stop = min(stop, end, len(self.frame))
        shown = f"{count(header.count, 'record')}, of which {count(stop - self._at, 'byte')} kept"
        self._leaf(stop, "records", shown, "opaque to a broker", "payload")

    # -- bytes ---------------------------------------------------------------------------

    def _leaf(
        self, end: int, name: str, value: str, about: str, kind: str, raw: Any = None
    ) -> None:
        self.leaves.append(
            FieldNode(self._at, end, name, value, about, kind, self._depth, raw, self._first)
        )
        self._at, self._first = end, False

    def _bytes(self, start: int, size: int) -> bytes:
        if start + size > len(self.frame):
            raise _Missing
        return self.frame[start : start + size]

    def _number(self, primitive: str, at: int) -> tuple[Any, int]:
        fixed = FIXED[primitive]
        layout = Struct(">" + fixed.code)
        (number,) = layout.unpack(self._bytes(at, layout.size))
        return (number if fixed.read is None else fixed.read(number)), at + layout.size

    def _uvarint(self, at: int) -> tuple[int, int]:
        try:
            return read_uvarint(self.frame, at)
        except IndexError as error:
            raise _Missing from error

    def _length(self, length: Length, at: int | None = None) -> tuple[int, int]:
        at = self._at if at is None else at
        if length in (SHORT, LONG):
            self._bytes(at, length.width)
            return length.read(self.frame, at)
        number, at = self._uvarint(at)
        return number - 1, at


def _contents(batch: bytes, header: Header) -> str:
    """The content of a batch, as text."""
    try:
        found = records.decode(batch)
    except ApiException as error:
        return f"{count(header.count, 'record')}: {error.message}"
    first = next(iter(found), None)
    if first is None:
        return "none"
    key = "" if first.key is None else f"{text(first.key)}: "
    value = "null" if first.value is None else text(first.value)
    return f"{count(header.count, 'record')}, the first {key}{value}"
