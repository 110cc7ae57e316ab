"""Records of `__cluster_metadata` as text, as Kafka 3.9's `--cluster-metadata-decoder` has them.

    {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":7}}
    controlType: LEADER_CHANGE(2)
    SnapshotHeader {"version":0,"lastContainedLogTimestamp":0}

Tagged fields are printed if they are not their defaults; ids and bytes are base64.
"""

import base64
import dataclasses
import json
import re
from typing import Any
from uuid import UUID

from engine.metadata.records.framing import decode_record
from engine.model import id_text
from engine.raft.control_records import CONTROL_KEY, QuorumControlType, decode_control
from engine.storage.records import Record

_NO_ID = UUID(int=0)
_SHOWN = {
    QuorumControlType.SNAPSHOT_HEADER: "SnapshotHeader",
    QuorumControlType.SNAPSHOT_FOOTER: "SnapshotFooter",
    QuorumControlType.KRAFT_VERSION: "KRaftVersion",
    QuorumControlType.KRAFT_VOTERS: "KRaftVoters",
}


def payload(record: Record) -> str:
    """The value of a record. One that is not of this topic is an ApiException."""
    found, version = decode_record(record.value, record.offset)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(found).__name__).upper()
    content = {"type": name, "version": version, "data": _fields(found, version)}
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def is_quorums(record: Record) -> bool:
    """Whether it is a control record of the quorum, and not the marker of a transaction."""
    key = record.key or b""
    known = {*QuorumControlType}
    return len(key) == CONTROL_KEY.size and CONTROL_KEY.unpack(key)[1] in known


def control_text(record: Record) -> str:
    """A control record of the quorum."""
    type, message = decode_control(record)
    if type not in _SHOWN:
        return f"controlType: {type.name}({type})"
    shown = json.dumps(_fields(message, 0), separators=(",", ":"), ensure_ascii=False)
    return f"{_SHOWN[type]} {shown}"


def _fields(message: Any, version: int) -> dict[str, Any]:
    shown = {}
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        is_tagged = "tag" in field.metadata
        if field.metadata.get("since", 0) <= version and not (is_tagged and value == field.default):
            shown[_camel(field.name)] = _json(value, version, field.type)
    return shown


def _json(value: Any, version: int, declared: Any) -> Any:
    if value is None and "uuid" in getattr(declared, "__metadata__", ()):
        return id_text(_NO_ID)
    match value:
        case UUID():
            return id_text(value)
        case bytes():
            return base64.b64encode(value).decode()
        case tuple():
            return [_json(item, version, None) for item in value]
    return _fields(value, version) if dataclasses.is_dataclass(value) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
