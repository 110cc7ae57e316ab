"""Our own producers in tests: made in passing, closed in any case, and heard."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.client.producer import Producer
from engine.client.values import KafkaError, KafkaException, Message
from tests.interop.plain import create, new_name
from tests.interop.raw import Raw

Make = Callable[..., Producer]


class Told:
    """A delivery callback that writes down what it hears."""

    def __init__(self) -> None:
        self.errors: list[KafkaError | None] = []
        self.messages: list[Message] = []

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        self.errors.append(error)
        self.messages.append(message)

    @property
    def places(self) -> list[tuple[int | None, int | None]]:
        return [(message.partition(), message.offset()) for message in self.messages]


@contextmanager
def making(bootstrap: str) -> Iterator[Make]:
    """make(linger_ms=5, on_delivery=told): in names of values `_` stands for `.`"""
    made: list[Producer] = []

    def make(**settings: Any) -> Producer:
        given = {
            key if callable(value) else key.replace("_", "."): value
            for key, value in settings.items()
        }
        made.append(Producer({"bootstrap.servers": bootstrap} | given))
        return made[-1]

    yield make
    for each in made:
        each.close(0)


def new_topic(client: Raw, partitions: int = 1, **config: str) -> str:
    name = new_name()
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in config.items()]
    create(client, {"name": name, "num_partitions": partitions, "configs": configs})
    return name


def refusal(call: Callable[[], object], code: int) -> str:
    """What a KafkaException of this code says."""
    with pytest.raises(KafkaException) as caught:
        call()
    assert caught.value.args[0].code() == code, caught.value
    error: KafkaError = caught.value.args[0]
    return error.str()
