"""Requests as plain values, in any version: what is not given has its default.

ask = partial(asked, client)
ask(Api.METADATA, 4, topics=[{"name": "orders"}], allow_auto_topic_creation=False)
"""

from datetime import timedelta
from itertools import count
from typing import Any

from engine.wire import schema
from engine.wire.apis import Api, ApiKey
from engine.wire.codec import message
from tests.interop.raw import Raw

TEN_SECONDS = timedelta(seconds=10)
_numbers = count()


def new_name() -> str:
    """A topic's name that no other test has."""
    return f"name-{next(_numbers)}"


def asked(client: Raw, api: ApiKey, version: int | None = None, **fields: Any) -> Any:
    """The answer, in the newest shape."""
    version = api.newest if version is None else version
    return client.ask(api, build(message(api, version, "request"), fields), version)


def build(kind: type, values: dict[str, Any]) -> Any:
    """A message from dictionaries and lists."""
    fields = schema.fields(kind)
    assert values.keys() <= {field.name for field in fields}
    given = {field.name: values.get(field.name, field.default) for field in fields}
    for field in fields:
        if not isinstance(field.type, str) and given[field.name]:
            given[field.name] = tuple(build(field.type, item) for item in given[field.name])
    return kind(**given)


def create(client: Raw, *topics: dict[str, Any], version: int = 7, **more: Any) -> Any:
    """The answers to a CreateTopics request; one partition and one replica if not told."""
    defaults = {"num_partitions": 1, "replication_factor": 1}
    wanted = [defaults | topic for topic in topics]
    return asked(
        client, Api.CREATE_TOPICS, version, topics=wanted, **({"timeout": TEN_SECONDS} | more)
    ).topics
