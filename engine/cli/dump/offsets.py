"""Records of __consumer_offsets as text, as Kafka 2.8's `--offsets-decoder` prints them.

    offset_commit::group=billing,partition=orders-0     offset=42,metadata=by hand
    group_metadata::group=billing     {"protocolType":"consumer","protocol":"range",
                                       "generationId":3,"assignment":"{m1=[orders-0]}"}
    either of them, forgotten         <DELETE>

A member's assignment is read as consumers write it, with the user data behind it in hexadecimal. In
a group of another protocol it is all hexadecimal.
"""

import json

from engine.assignors.protocol import decode_assignment
from engine.coordinator.records import (
    GroupKey,
    GroupValue,
    Key,
    MemberValue,
    OffsetKey,
    OffsetValue,
    decode_key,
    decode_value,
)
from engine.errors import ApiException, ErrorCode

CONSUMER = "consumer"
TOMBSTONE = "<DELETE>"


def texts(key: bytes | None, value: bytes | None) -> tuple[str, str]:
    """Key and value of a record. One that is not of this topic is an ApiException."""
    if key is None:
        raise ApiException(
            ErrorCode.invalid_record, "a record without a key belongs in no __consumer_offsets"
        )
    found = decode_key(key)
    return _key(found), TOMBSTONE if value is None else _value(found, value)


def _key(key: Key) -> str:
    match key:
        case OffsetKey():
            return f"offset_commit::group={key.group},partition={key.topic_partition}"
        case GroupKey():
            return f"group_metadata::group={key.group}"


def _value(key: Key, data: bytes) -> str:
    match decode_value(key, data):
        case OffsetValue(offset=offset, metadata=metadata):
            return f"offset={offset},metadata={metadata}" if metadata else f"offset={offset}"
        case GroupValue() as group:
            members = ",".join(_member(each, group.protocol_type) for each in group.members)
            facts = {
                "protocolType": group.protocol_type,
                "protocol": group.protocol,
                "generationId": group.generation,
                "assignment": f"{{{members}}}",
            }
            return json.dumps(facts, separators=(",", ":"), ensure_ascii=False)


def _member(member: MemberValue, protocol_type: str) -> str:
    if protocol_type != CONSUMER:
        return f"{member.id}={_hexadecimal(member.assignment)}"
    assignment = decode_assignment(member.assignment)
    partitions = ", ".join(map(str, assignment.partitions))
    data = _hexadecimal(assignment.user_data or b"")
    return f"{member.id}=[{partitions}]" + (f":{data}" if data else "")


def _hexadecimal(data: bytes) -> str:
    """As one number, without the zeros in front."""
    return f"{int.from_bytes(data):X}" if data else ""
