"""Records of `__cluster_metadata` as text, as Kafka 3.9's `--cluster-metadata-decoder` has them.

    {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":7}}
    controlType: LEADER_CHANGE(2)
    SnapshotHeader {"version":0,"lastContainedLogTimestamp":0}

Tagged fields are printed if they are not their defaults; ids and bytes are base64.
"""

import json
import re

from engine.metadata.records.framing import decode_record
from engine.metadata.records.record_json import json_fields
from engine.raft.control_records import CONTROL_KEY, QuorumControlType, decode_control
from engine.storage.records import Record

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
    content = {"type": name, "version": version, "data": json_fields(found, version)}
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
    shown = json.dumps(json_fields(message, 0), separators=(",", ":"), ensure_ascii=False)
    return f"{_SHOWN[type]} {shown}"
