"""The versions of messages that kio has dropped, and Kafka 2.8 still serves.

    ListOffsets 1     partition | timestamp |                          as kio declares it
    ListOffsets 0     partition | timestamp | max number of offsets |  as it is derived here

An old version is declared by what is different in it: a field that it lacks, or other fields in the
place of one. The differences of all versions between it and the oldest one of kio add up. So the
table below is also a history of these APIs, read from the bottom of each entry.

Clients of Kafka 0.8 to 0.10 use them, and so do those that are told to speak like one.
"""

import dataclasses
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from engine.wire.apis import Api, ApiKey
from engine.wire.messages.versions import Bool, Int32, Int64, make_message, primitive_field

# The oldest version in kio; of an API that is not named, the oldest version that there is.
OLDEST_IN_KIO: Mapping[ApiKey, int] = {
    Api.PRODUCE: 3,
    Api.FETCH: 4,
    Api.LIST_OFFSETS: 1,
    Api.OFFSET_COMMIT: 2,
    Api.OFFSET_FETCH: 1,
    Api.CREATE_TOPICS: 2,
    Api.DELETE_TOPICS: 1,
    Api.OFFSET_FOR_LEADER_EPOCH: 2,
    Api.DESCRIBE_ACLS: 1,
    Api.CREATE_ACLS: 1,
    Api.DELETE_ACLS: 1,
    Api.DESCRIBE_CONFIGS: 1,
    Api.ALTER_REPLICA_LOG_DIRS: 1,
    Api.DESCRIBE_LOG_DIRS: 1,
    Api.CREATE_DELEGATION_TOKEN: 1,
    Api.RENEW_DELEGATION_TOKEN: 1,
    Api.EXPIRE_DELEGATION_TOKEN: 1,
    Api.DESCRIBE_DELEGATION_TOKEN: 1,
}


class OldField(NamedTuple):
    """A field that newer versions lack; with the name of a newer one, it stays as it is there."""

    name: str
    type: Any = None  # as in messages/versions.py
    default: Any = None


Differences = Mapping[str, tuple[OldField, ...]]  # by a newer field's name: what is in its place

COMMIT_TIMESTAMP = OldField("commit_timestamp", Int64, -1)
MAX_NUM_OFFSETS = OldField("max_num_offsets", Int32, 1)
OLD_STYLE_OFFSETS = OldField("old_style_offsets", Annotated[tuple[int, ...], "int64"], ())
IS_DEFAULT = OldField("is_default", Bool, False)

# (API, kind) -> version -> its differences from the next one; a field with () is absent.
DIFFERENCES: Mapping[tuple[ApiKey, str], Mapping[int, Differences]] = {
    (Api.PRODUCE, "request"): {2: {"transactional_id": ()}},
    (Api.PRODUCE, "response"): {1: {"log_append_time": ()}, 0: {"throttle_time": ()}},
    (Api.FETCH, "request"): {3: {"isolation_level": ()}, 2: {"max_bytes": ()}},
    (Api.FETCH, "response"): {
        3: {"last_stable_offset": (), "aborted_transactions": ()},
        0: {"throttle_time": ()},
    },
    (Api.LIST_OFFSETS, "request"): {0: {"timestamp": (OldField("timestamp"), MAX_NUM_OFFSETS)}},
    (Api.LIST_OFFSETS, "response"): {0: {"timestamp": (), "offset": (OLD_STYLE_OFFSETS,)}},
    (Api.OFFSET_COMMIT, "request"): {
        1: {
            "retention_time": (),
            "committed_metadata": (COMMIT_TIMESTAMP, OldField("committed_metadata")),
        },
        0: {
            "generation_id": (),
            "member_id": (),
            "committed_metadata": (OldField("committed_metadata"),),
        },
    },
    (Api.CREATE_TOPICS, "request"): {0: {"validate_only": ()}},
    (Api.CREATE_TOPICS, "response"): {1: {"throttle_time": ()}, 0: {"error_message": ()}},
    (Api.DELETE_TOPICS, "response"): {0: {"throttle_time": ()}},
    (Api.OFFSET_FOR_LEADER_EPOCH, "request"): {1: {"current_leader_epoch": ()}},
    (Api.OFFSET_FOR_LEADER_EPOCH, "response"): {1: {"throttle_time": ()}, 0: {"leader_epoch": ()}},
    (Api.DESCRIBE_ACLS, "request"): {0: {"pattern_type_filter": ()}},
    (Api.DESCRIBE_ACLS, "response"): {0: {"pattern_type": ()}},
    (Api.CREATE_ACLS, "request"): {0: {"resource_pattern_type": ()}},
    (Api.DELETE_ACLS, "request"): {0: {"pattern_type_filter": ()}},
    (Api.DELETE_ACLS, "response"): {0: {"pattern_type": ()}},
    (Api.DESCRIBE_CONFIGS, "request"): {0: {"include_synonyms": ()}},
    (Api.DESCRIBE_CONFIGS, "response"): {0: {"config_source": (IS_DEFAULT,), "synonyms": ()}},
}


def declare(oldest: type, api: ApiKey, version: int, kind: str) -> type:
    """The dataclass of an old version, from that of the oldest version in kio."""
    changes = DIFFERENCES.get((api, kind), {})
    differences: dict[str, tuple[OldField, ...]] = {}
    for each in sorted((it for it in changes if it >= version), reverse=True):
        differences |= changes[each]
    return _derive(oldest, version, differences)


def _derive(message: type, version: int, differences: Differences) -> type:
    declared: list[tuple[str, Any, Any]] = []
    for each in dataclasses.fields(message):
        for field in differences.get(each.name, (OldField(each.name),)):
            if field.name == each.name:
                same = dataclasses.field(default=each.default, metadata=each.metadata)
                declared.append((each.name, _nested(each.type, version, differences), same))
            else:
                declared.append(primitive_field(*field))
    form = {name: getattr(message, name) for name in vars(message) if name.startswith("__api_")}
    form |= {name: getattr(message, name) for name in ("__flexible__", "__header_schema__")}
    return make_message(message.__name__, declared, form | {"__version__": version})


def _nested(declared: Any, version: int, differences: Differences) -> Any:
    """A field's type; nested messages have differences, too."""
    if isinstance(declared, UnionType):
        return _nested(get_args(declared)[0], version, differences) | None
    if get_origin(declared) is tuple and dataclasses.is_dataclass(item := get_args(declared)[0]):
        assert isinstance(item, type)
        return tuple[_derive(item, version, differences), ...]  # type: ignore[misc]
    return declared
