"""What a batch must be before it may enter a log.

The broker looks at the header and at the checksum. It reads records only where their meaning
matters to the log: keys on a compacted topic. A compressed payload is unpacked once, as a stream
and without keeping it, so that no consumer is handed bytes that nobody can unpack.

The checks stand in Kafka's order, since a batch may be wrong in more than one way.
"""

from engine.config import TopicConfig
from engine.errors import ErrorCode, KafkaError
from engine.storage import compression, records
from engine.storage.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Codec,
    Header,
    check,
    crc_ok,
    scan,
)
from engine.storage.files import Buffer


def validate(batch: Buffer, config: TopicConfig, now: int, *, client: bool = True) -> Header:
    """The header of exactly one batch that may be appended by a leader, or a KafkaError."""
    size = len(batch)
    if size > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.message_too_large,
            f"the batch has {size} bytes, max.message.bytes is {config.max_message_bytes}",
        )
    header = check(batch)
    if header.base_offset != 0:
        raise _invalid(f"base offset {header.base_offset}: a producer must send 0")
    if header.count != header.last_offset_delta + 1 or header.count < 1:
        raise _invalid(f"{header.count} records, last offset delta {header.last_offset_delta}")
    if header.is_control and client:
        raise _invalid("clients may not write control batches")
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0 and client:
        raise _invalid(f"producer {header.producer_id} sent sequence {header.base_sequence}")
    _validate_payload(batch, header, config)
    _validate_time(header, config, now)
    if size > config.segment_bytes:
        raise KafkaError(
            ErrorCode.record_list_too_large,
            f"the batch has {size} bytes, segment.bytes is {config.segment_bytes}",
        )
    return header


def _validate_payload(batch: Buffer, header: Header, config: TopicConfig) -> None:
    if "compact" in config.cleanup_policy and not header.is_control:
        if any(record.key is None for record in records.decode(batch)):
            raise _invalid("a record without a key cannot be kept in a compacted topic")
    elif header.codec is not Codec.NONE:
        compression.decompress(header.codec, memoryview(batch)[HEADER_SIZE:])


def _validate_time(header: Header, config: TopicConfig, now: int) -> None:
    if config.message_timestamp_type == "LogAppendTime" or header.max_timestamp == NO_TIMESTAMP:
        return
    allowed = config.message_timestamp_difference_max_ms
    for timestamp in (header.base_timestamp, header.max_timestamp):
        if abs(timestamp - now) > allowed:
            raise KafkaError(
                ErrorCode.invalid_timestamp,
                f"timestamp {timestamp} is more than {allowed} ms away from the broker's {now}",
            )


def validate_copied(data: Buffer, log_end: int) -> list[Header]:
    """The headers of the whole batches that a leader sent; a torn last one is left for later."""
    headers = []
    for position, header in scan(data):
        if header.magic != 2 or not crc_ok(data, position, header):
            raise KafkaError(
                ErrorCode.corrupt_message,
                f"the leader sent a corrupt batch at byte {position}, offset {header.base_offset}",
            )
        if header.base_offset < log_end:
            raise KafkaError(
                ErrorCode.offset_out_of_range,
                f"the leader sent offset {header.base_offset}, but the log ends at {log_end}",
            )
        log_end = header.next_offset
        headers.append(header)
    return headers


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_record, message)
