"""The codec of the coordinators' records, in the format of Kafka's messages.

    a record    version i16 | its fields, in the order in which a dataclass declares them

The wire layer reads and writes the fields, as those of requests; wire/messages/versions.py shows
how a dataclass declares the versions of a field. Newer releases (KIP-915) write records in flexible
versions, whose fields with tags an older reader skips: Kafka 4.1 does.

Invariant: decoding a record and encoding it again, in the same version, gives the same bytes, but
for fields with tags, which are skipped. Bytes that are not such a record raise an ApiException, and
no other exception.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from engine.errors import ApiException, ErrorCode
from engine.wire.errors import Malformed
from engine.wire.messages.versions import at
from engine.wire.primitives import BYTES_ERRORS, SHORT, Draft
from engine.wire.readers import Reader, message_reader
from engine.wire.writers import Writer, message_writer

MAX_STRING_BYTES = 2**15 - 1


def encode(record: Any, version: int) -> bytes:
    _, write = _codec(record.__class__, version)
    return _framed(record, version, write)


def _framed(record: Any, version: int, write: Writer) -> bytes:
    draft = Draft()
    SHORT.write(draft, version)
    write(draft, record)
    return bytes(draft)


def decode(data: bytes, kinds: Mapping[int, type], topic: str, flexible: int | None = None) -> Any:
    """Decode a record, as an instance of the class of its version. An error names the topic.

    `flexible`: the version that has tagged fields.
    """
    try:
        version, start = SHORT.read(data, 0)
        if version not in kinds:
            raise Malformed(f"unknown version {version}")
        read, write = _codec(kinds[version], version, version == flexible)
        record, _ = read(data, start)
        # The reader puts U+FFFD for bytes that are not UTF-8, which would change an id.
        if "\ufffd" in repr(record) and not data.startswith(_framed(record, version, write)):
            raise Malformed("a string is not UTF-8")
    except (Malformed, *BYTES_ERRORS) as why:
        message = f"not a valid record of {topic}: {why}"
        raise ApiException(ErrorCode.invalid_record, message) from why
    return record


@cache
def _codec(kind: type, version: int, is_flexible: bool = False) -> tuple[Reader, Writer]:
    """Of one version of a record."""
    message = at(kind, version, is_flexible)
    return message_reader(message, kind), message_writer(message)
