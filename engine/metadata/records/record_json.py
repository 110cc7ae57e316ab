"""A message's fields as Kafka's JSON has them: names in camel case, ids and bytes in base64.

    TopicRecord(name="teas", topic_id=UUID(...))  ->  {"name": "teas", "topicId": "vXw2..."}

A field that this version has not is left out, and so is a tagged field that has its default.
"""

import base64
import dataclasses
from typing import Any
from uuid import UUID

from engine.model import id_text

_NO_ID = UUID(int=0)


def json_fields(message: Any, version: int) -> dict[str, Any]:
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
    return json_fields(value, version) if dataclasses.is_dataclass(value) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
