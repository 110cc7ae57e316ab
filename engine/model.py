"""The few words that every part of the engine shares."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, ParamSpec
from uuid import UUID

Facts = ParamSpec("Facts")

NO_BROKER = -1  # in place of a broker id: there is no leader, or no controller
NO_EPOCH = -1  # older than every epoch, of a leader, a controller, a broker or a producer

Racks = Mapping[int, str | None]  # broker id -> the place where it stands; None: not set
NO_RACKS: Racks = {}


class TopicPartition(NamedTuple):
    """One partition of one topic; its directory on disk is named `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Event(NamedTuple):
    """Something that happened. Pictures are drawn from its data, so it has no text for people."""

    kind: str  # a dotted noun and verb: "segment.rolled", "log.truncated"
    at: int  # the broker's own clock, milliseconds since 1970
    data: dict[str, Any]  # JSON-ready facts: topic, partition, offsets, bytes


class Callbacks(list[Callable[Facts, object]], Generic[Facts]):
    """Functions to call when something has happened."""

    def __call__(self, *args: Facts.args, **kwargs: Facts.kwargs) -> None:
        for listener in self:
            listener(*args, **kwargs)


def id_text(value: UUID) -> str:
    """An id as Kafka writes it: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")


def parse_id(text: str) -> UUID:
    """The id that `id_text` has written."""
    return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
