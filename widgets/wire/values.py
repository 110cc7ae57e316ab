"""Values of the protocol, as text."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from engine.assignors.protocol import decode_assignment, decode_subscription
from engine.errors import ApiException, ErrorCode
from engine.model import id_text
from engine.wire.apis import Api, ApiKey
from widgets.log.fields import text
from widgets.log.timestamps import moment

KINDS = {  # the colour of a primitive's band, if it is no number
    "bool": "flags",
    "int8": "flags",
    "error_code": "check",
    "timedelta_i32": "time",
    "timedelta_i64": "time",
    "datetime_i64": "time",
    "uuid": "producer",
    "string": "key",
}


def title(api: ApiKey) -> str:
    """As Kafka writes its name."""
    return api.name.title().replace("_", "")


def error_name(code: int) -> str:
    """NOT_LEADER_OR_FOLLOWER, as Kafka writes it."""
    return ErrorCode(code).name.upper()


def said(primitive: str, value: Any) -> str:
    if primitive == "error_code":
        return f"{int(value)} → {error_name(value) if value else 'no error'}"
    if isinstance(value, timedelta):
        return f"{value // timedelta(milliseconds=1):,} ms"
    if isinstance(value, datetime):
        return moment(round(value.timestamp() * 1000))
    if isinstance(value, UUID):
        return id_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def meaning(api: ApiKey, name: str, data: bytes) -> str:
    """The meaning of bytes that a broker does not read, if it is known."""
    reader = READERS.get((api, name))
    if reader is None or not data:
        return text(data)
    try:
        return reader(data)
    except ApiException:  # another kind of group than that of consumers
        return text(data)


def _subscribed(data: bytes) -> str:
    found = decode_subscription(data)
    owned = f", has {', '.join(map(str, found.owned))}" if found.owned else ""
    return f"topics {', '.join(found.topics)}{owned}"


def _assigned(data: bytes) -> str:
    return ", ".join(map(str, decode_assignment(data).partitions)) or "no partition"


READERS: dict[tuple[ApiKey, str], Callable[[bytes], str]] = {
    (Api.JOIN_GROUP, "metadata"): _subscribed,
    (Api.SYNC_GROUP, "assignment"): _assigned,
}
