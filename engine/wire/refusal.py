"""The response to a request, or to a part of it, that is refused: every row has the same error.

    OffsetCommit   topics[name  partitions[partition_index  committed_offset ...]]
    its response   topics[name  partitions[partition_index  error_code]]

A response repeats the rows of its request, with an error in each. So it can be made from the
request and the declaration of the response: what both name is copied, and the rest is empty.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import Any

from engine.errors import ApiException
from engine.wire import schema
from engine.wire.apis import ApiKey
from engine.wire.codec import message

# Names that the messages of the protocol have for the same thing.
NAMES = "name", "topic", "topic_name"
NUMBERS = "index", "partition_index", "partition", "partition_id"


def refusal(api: ApiKey, request: Any, error: ApiException) -> Any:
    """The response to a request of which nothing was done."""
    return _row(message(api, api.newest, "response"), request, error)


def refused_rows(
    api: ApiKey, listed: str, rows: Iterable[Any], error: ApiException
) -> tuple[Any, ...]:
    """Rows for the field `listed` of the response, one for each refused row of the request."""
    response = schema.fields(message(api, api.newest, "response"))
    kind = next(field.type for field in response if field.name == listed)
    assert isinstance(kind, type), f"{listed} has no rows"
    return tuple(_row(kind, row, error) for row in rows)


def _row(kind: type, source: Any, error: ApiException) -> Any:
    values: dict[str, Any] = {}
    for field in schema.fields(kind):
        name = field.name
        if name in _codes(kind):
            values[name] = error.code
        elif name.endswith("error_message"):
            values[name] = error.message
        elif isinstance(field.type, type):
            below = _rows(source) if _has_errors(field.type) else ()
            values[name] = tuple(_row(field.type, each, error) for each in below)
        elif (known := _same(name, source)) is not None:
            values[name] = known
        elif field.type == "string" and not field.is_array:
            values[name] = field.default or ""  # older versions may have no null here
        elif name.endswith("error_code") or field.default is False or field.default != 0:
            values[name] = field.default
        else:  # a number that is not known
            values[name] = -1 if field.is_number_out else field.default
    return kind(**values)


@cache
def _codes(kind: type) -> frozenset[str]:
    """The fields that get the error. A field of another name that has a default keeps it."""
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.name.endswith("error_code")
        and (field.name == "error_code" or field.default is dataclasses.MISSING)
    )


@cache
def _has_errors(kind: type) -> bool:
    """Whether a row has an error, or the rows below it have one."""
    below = (field.type for field in schema.fields(kind) if isinstance(field.type, type))
    return bool(_codes(kind)) or any(_has_errors(each) for each in below)


def _rows(source: Any) -> Iterable[Any]:
    """The first list of rows, or of numbers, in a request or in a row of it."""
    if dataclasses.is_dataclass(source):
        for field in dataclasses.fields(source):
            value = getattr(source, field.name)
            if isinstance(value, tuple):
                return value
    return ()


def _same(name: str, source: Any) -> Any:
    """The value that the row of the request has for this field of the response."""
    if isinstance(source, int):
        return source if name in NUMBERS else None
    if isinstance(source, str):
        return source if name in (*NAMES, "group_id", "transactional_id", "user") else None
    names = next((each for each in (NAMES, NUMBERS) if name in each), (name,))
    return next((getattr(source, each) for each in names if hasattr(source, each)), None)
