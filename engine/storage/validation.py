"""The validation of a batch before it is appended.

The broker checks the header and the checksum. A compressed payload is decompressed once, so that no
consumer gets a payload that cannot be decompressed, and its records are counted by their lengths,
without decoding them. Only on a compacted topic the records are decoded: each needs a key, and a
batch that compaction could not decode would end the compaction of its partition. If a batch is
refused for some of its records, the error names them: `ApiException.records`.

Left out: counting the records of an uncompressed payload. It would add a tenth or more to the cost
of a batch of 200-byte records. A count that is too large for the bytes is refused; another wrong
count is noticed by the consumers.

Invariant: the cost of a batch is limited by its bytes, compressed or not, never by the count in its
header.
Invariant: the records of a batch that is appended to an ordinary topic are not decoded.

The checks have Kafka's order, because a batch may be wrong in more than one way.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.storage import varint
from engine.storage.batch import (
    HEADER_SIZE,
    LEAST_LENGTH,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    UNKNOWN_ATTRIBUTES,
    Codec,
    Header,
    check,
    crc_ok,
    scan,
    unknown,
)
from engine.storage.compression import decompress
from engine.storage.files import Buffer
from engine.storage.records import stream

NAMED = 1000  # at most so many bad records of a batch are named in a response
LEAST_RECORD = 7  # bytes: its length, attributes, two deltas, no key, no value, no headers


def validate(batch: Buffer, config: TopicConfig, now: int, *, client: bool = True) -> Header:
    """The header of exactly one batch that may be appended by a leader, or an ApiException."""
    _check_most(len(batch), config)
    header = check(batch)
    if header.base_offset != 0:
        raise _invalid(f"base offset {header.base_offset}: a producer must send 0")
    if header.count != header.last_offset_delta + 1 or header.count < 1:
        raise _invalid(f"{header.count} records, last offset delta {header.last_offset_delta}")
    if header.is_control and client:
        raise _invalid("clients may not write control batches")
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0 and client:
        raise _invalid(f"producer {header.producer_id} sent sequence {header.base_sequence}")
    keyless = _validate_payload(batch, header, keyed=client and "compact" in config.cleanup_policy)
    if header.attributes & UNKNOWN_ATTRIBUTES:
        raise _invalid(unknown(batch))
    if keyless or _is_ill_timed(header, config, now):
        raise _rejected(batch, header, config, now, keyless)
    _check_room(len(batch), config)
    return header


def check_size(size: int, config: TopicConfig) -> None:
    """Refuse a batch that is too large once its codec was changed."""
    _check_most(size, config)
    _check_room(size, config)


def _check_most(size: int, config: TopicConfig) -> None:
    if size > config.max_message_bytes:
        raise ApiException(
            ErrorCode.message_too_large,
            f"the batch has {size} bytes, max.message.bytes is {config.max_message_bytes}",
        )


def _check_room(size: int, config: TopicConfig) -> None:
    if size > config.segment_bytes:
        raise ApiException(
            ErrorCode.record_list_too_large,
            f"the batch has {size} bytes, segment.bytes is {config.segment_bytes}",
        )


def _validate_payload(batch: Buffer, header: Header, *, keyed: bool) -> list[int]:
    """The numbers of the records that lack a key. `keyed`: a client wrote to a compacted topic."""
    if keyed:
        keyless = (number for number, each in enumerate(stream(batch)) if each.key is None)
        named = list(islice(keyless, NAMED))
        deque(keyless, maxlen=0)  # the rest is decoded, too
        return named
    payload = memoryview(batch)[HEADER_SIZE:]
    if header.codec is Codec.NONE:
        whole = header.count * LEAST_RECORD <= len(payload)
    else:
        whole = _holds(decompress(header.codec, payload), header.count)
    if not whole:
        raise _invalid(f"the payload does not have the {header.count} records of the header")
    return []


def _holds(payload: bytes, count: int) -> bool:
    """Whether the payload has exactly this many records."""
    if count * LEAST_RECORD > len(payload):
        return False
    at, long = 0, varint.read_long
    try:
        for _ in range(count):
            n, at = payload[at], at + 1  # the length, with its sign in the lowest bit
            if n > 0x7F:
                n, at = long(payload, at, n)
            at += n >> 1
    except IndexError:
        return False
    return at == len(payload)


def _is_ill_timed(header: Header, config: TopicConfig, now: int) -> bool:
    """By its header alone: the first timestamp, and the largest."""
    if header.is_log_append_time:
        return True
    largest = header.max_timestamp
    if config.message_timestamp_type == "LogAppendTime" or largest == NO_TIMESTAMP:
        return False
    allowed = config.message_timestamp_difference_max_ms
    return abs(header.base_timestamp - now) > allowed or abs(largest - now) > allowed


def _rejected(
    batch: Buffer, header: Header, config: TopicConfig, now: int, keyless: list[int]
) -> ApiException:
    """The error that names the records without a key, or with a bad timestamp."""
    bad = dict.fromkeys(keyless, "Compacted topic cannot accept message without key.")
    code, what = ErrorCode.invalid_record, "One or more records have been rejected"
    if _is_ill_timed(header, config, now):
        code, what = ErrorCode.invalid_timestamp, f"{what} due to invalid timestamp"
        for number, timestamp in enumerate(_timestamps(batch, header)):
            if len(bad) < NAMED and (fault := _time_fault(timestamp, header, config, now)):
                bad.setdefault(number, fault)
    error = ApiException(code, ": ".join([what, *islice(bad.values(), 1)]))
    error.records = bad
    return error


def _time_fault(timestamp: int, header: Header, config: TopicConfig, now: int) -> str:
    """What is wrong with a timestamp; empty: nothing."""
    if header.is_log_append_time:
        return "Producer should not set timestamp type to LogAppendTime."
    allowed = config.message_timestamp_difference_max_ms
    if timestamp == NO_TIMESTAMP or abs(timestamp - now) <= allowed:
        return ""
    limits = f"[{now - allowed}, {now + allowed}]"
    return f"Timestamp {timestamp} is out of range. The timestamp should be within {limits}"


def newest_timestamp(batch: Buffer, header: Header) -> int:
    """The largest timestamp of the records, for a producer that omits it in the header.

    Kafka's broker computes it, and sarama, a client in Go, relies on that.
    """
    return varint.wrap(max(_timestamps(batch, header)))


def _timestamps(batch: Buffer, header: Header) -> Iterator[int]:
    payload = decompress(header.codec, memoryview(batch)[HEADER_SIZE:])
    at, long = 0, varint.read_long
    try:
        for _ in range(header.count):
            n, at = payload[at], at + 1
            if n > 0x7F:
                n, at = long(payload, at, n)
            delta = payload[at + 1]  # behind the attributes
            if delta > 0x7F:
                delta, _ = long(payload, at + 2, delta)
            yield header.base_timestamp + (delta >> 1 ^ -(delta & 1))
            at += n >> 1
    except IndexError:
        raise _invalid(f"the payload does not have {header.count} records") from None


def validate_copied(data: Buffer, log_end: int) -> list[Header]:
    """The headers of the whole batches from a leader; a partial last one is ignored."""
    headers, end = list[Header](), 0
    for position, header in scan(data):
        _check_known(data, position, log_end)
        if not crc_ok(data, position, header):
            raise ApiException(
                ErrorCode.corrupt_message,
                f"the leader sent a corrupt batch at byte {position}, offset {header.base_offset}",
            )
        if header.base_offset < log_end:
            raise ApiException(
                ErrorCode.offset_out_of_range,
                f"the leader sent offset {header.base_offset}, but the log ends at {log_end}",
            )
        log_end, end = header.next_offset, position + header.size
        headers.append(header)
    length = int.from_bytes(data[end + 8 : end + LOG_OVERHEAD])
    if LEAST_LENGTH <= length <= len(data) - end - LOG_OVERHEAD:  # an older one can be that short
        _check_known(data, end, log_end)
    return headers


def _check_known(data: Buffer, position: int, offset: int) -> None:
    if reason := unknown(data, position):
        raise ApiException(
            ErrorCode.unsupported_for_message_format,
            f"the leader sent a batch that this broker cannot read, at offset {offset}: {reason}",
        )


def _invalid(message: str) -> ApiException:
    return ApiException(ErrorCode.invalid_record, message)
