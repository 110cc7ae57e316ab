"""One script, two libraries: what runs with confluent_kafka runs with engine, to the same end.

    script(kit, name) -> what it saw        kit: the names of one of the two libraries

A script is run twice, on one broker and under names of its own, and must see the same both times:
values, kinds of failures and their codes. Sentences may differ.
"""

import enum
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from pprint import pformat
from types import SimpleNamespace as Kit
from typing import Any

import confluent_kafka
import confluent_kafka.admin

import engine.client.admin.client
import engine.client.admin.values
from engine.client import consumer, producer, values
from engine.client.admin import security_values
from engine.cluster.cluster import Cluster

Script = Callable[[Any, str], Any]
Both = Callable[[Script], Any]

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "log.retention.ms": "-1",  # records of long ago
    "auto.create.topics.enable": "false",  # librdkafka creates what it only looks at
}

_numbers = count()


def kit(*homes: Any, **more: Any) -> Kit:
    """The names of several modules as those of one."""
    return Kit(**{name: each for home in homes for name, each in vars(home).items()} | more)


OURS = kit(
    values,
    engine.client.admin.values,
    security_values,
    AdminClient=engine.client.admin.client.AdminClient,
    Consumer=consumer.Consumer,
    Producer=producer.Producer,
)
THEIRS = kit(confluent_kafka, confluent_kafka.admin)


def both_on(cluster: Cluster) -> Both:
    """Runs a script with both, and gives what both have seen."""

    def run(script: Script) -> Any:
        seen = []
        for library in (OURS, THEIRS):
            library.basic = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
            name = f"both-{next(_numbers)}"
            seen.append(plain(script(library, name), name))
        ours, theirs = seen
        assert ours == theirs, f"not alike:\n{pformat(ours)}\n{pformat(theirs)}"
        return ours

    return run


def plain(value: Any, name: str) -> Any:
    """Without classes, and without what only one of the two has."""
    match value:
        case str():
            return value.replace(name, "NAME")
        case enum.Enum():
            return value.name
        case bytes():
            return value.replace(name.encode(), b"NAME")
        case None | bool() | int() | float():
            return value
        case Future():
            return plain(awaited(value), name)
        case dict():
            return {plain(key, name): plain(each, name) for key, each in value.items()}
        case set() | frozenset():
            return sorted(plain(each, name) for each in value)
        case list():
            return [plain(each, name) for each in value]
        case tuple():
            return tuple(plain(each, name) for each in value)
    match type(value).__name__:
        case "KafkaError":
            return value.code()
        case "TopicPartition":
            place = (value.topic, value.partition, value.offset, value.metadata)
            return (*plain(place, name), plain(value.error, name))
        case "ConfigResource":
            return (value.restype.name, plain(value.name, name))
        case "Uuid":
            return len(str(value))
    fields = vars(value) if hasattr(value, "__dict__") else value._asdict()
    return {key: plain(each, name) for key, each in fields.items()}


def attempt(call: Callable[..., Any], *words: Any, **more: Any) -> Any:
    """What it returns, or how it fails: the kind of exception, and the code in it."""
    try:
        return call(*words, **more)
    except Exception as error:
        code = error.args[0] if type(error).__name__ == "KafkaException" else None
        return [type(error).__name__, code]


def places(found: Any) -> list[Any]:
    """A dict by partition, as a list in their order: which offset a key has is not told alike.

    Futures are waited for here: those of a client that is gone may wait forever.
    """
    return [[it.topic, it.partition, awaited(found[it])] for it in sorted(found)]


def awaited(it: Any) -> Any:
    return attempt(it.result) if isinstance(it, Future) else it
