"""The bytes that members exchange through the coordinator, which does not read them.

    subscription   version int16, topics [string], user data bytes,
                   v1: owned [topic string, partitions [int32]],  v2: generation int32
    assignment     version int16, partitions [topic string, partitions [int32]], user data bytes
    user data      of sticky: previous [topic string, partitions [int32]], v1: generation int32
                   of cooperative-sticky: generation int32

Lengths are an int16 before a string and an int32 before an array or bytes, where -1 is null. Kafka
2.8 writes version 1. A newer version only adds fields at the end, so its known fields are read;
Kafka 3 added the generation, which is used, and a rack, which is not.

Invariant: any other bytes raise an ApiException, and no other exception.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from struct import Struct, error, unpack_from
from typing import NamedTuple

from engine.assignors.member import NO_GENERATION
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

VERSION = 1

_SHORT, _INT = Struct(">h"), Struct(">i")

Partitions = tuple[TopicPartition, ...]


class Subscription(NamedTuple):
    """A member's data in JoinGroup; the fields of a `Subscriber` after its id."""

    topics: tuple[str, ...]
    owned: Partitions = ()
    user_data: bytes | None = None
    generation: int = NO_GENERATION


class Assignment(NamedTuple):
    """A member's data in the response to SyncGroup."""

    partitions: Partitions
    user_data: bytes | None = None


class MemberData(NamedTuple):
    """The partitions that a member had, and the generation in which it got them."""

    partitions: Partitions
    generation: int = NO_GENERATION


def encode_subscription(it: Subscription) -> bytes:
    topics = b"".join(map(_text, sorted(it.topics)))
    encoded = _SHORT.pack(VERSION) + _INT.pack(len(it.topics)) + topics + _bytes(it.user_data)
    return encoded + _partitions(sorted(it.owned))


def decode_subscription(data: bytes) -> Subscription:
    with _reading("subscription", data) as reader:
        version = reader.version()
        topics = tuple(reader.text() for _ in range(reader.length()))
        user_data = reader.nullable()
        owned = reader.partitions() if version >= 1 else ()
        generation = reader.integer() if version >= 2 else NO_GENERATION
        return Subscription(topics, owned, user_data, generation)


def decode_topics(data: bytes) -> tuple[str, ...]:
    """The topics of a subscription, by the fields that all versions have: a coordinator needs no
    more."""
    with _reading("subscription", data) as reader:
        reader.version()
        topics = tuple(reader.text() for _ in range(reader.length()))
        reader.nullable()
        return topics


def encode_assignment(it: Assignment) -> bytes:
    return _SHORT.pack(VERSION) + _partitions(it.partitions) + _bytes(it.user_data)


def decode_assignment(data: bytes) -> Assignment:
    with _reading("assignment", data) as reader:
        reader.version()
        return Assignment(reader.partitions(), reader.nullable())


def encode_member_data(it: MemberData) -> bytes:
    return _partitions(it.partitions) + encode_generation(it.generation)


def decode_member_data(data: bytes) -> MemberData:
    with _reading("previous assignment", data) as reader:
        return MemberData(reader.partitions(), NO_GENERATION if reader.at_end else reader.integer())


def encode_generation(generation: int) -> bytes:
    return _INT.pack(generation)


def decode_generation(data: bytes) -> int:
    """The last number, since librdkafka's cooperative members send the data of sticky ones."""
    with _reading("generation", data[-_INT.size :]) as reader:
        return reader.integer()


# -- pieces ------------------------------------------------------------------------------------


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _SHORT.pack(len(encoded)) + encoded


def _bytes(data: bytes | None) -> bytes:
    return _INT.pack(-1) if data is None else _INT.pack(len(data)) + data


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Topic by topic, in the order in which the topics first appear."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return _INT.pack(len(numbers)) + b"".join(
        _text(topic) + Struct(f">{1 + len(these)}i").pack(len(these), *these)
        for topic, these in numbers.items()
    )


@contextmanager
def _reading(what: str, data: bytes) -> Iterator["_Reader"]:
    try:
        yield _Reader(data)
    except (error, ValueError) as why:
        message = f"This is no {what} of a group's member: {why}"
        raise ApiException(ErrorCode.inconsistent_group_protocol, message) from why


class _Reader:
    """Reads from its position; `struct.error` or `ValueError` if the bytes don't fit."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.data)

    def number(self, layout: Struct) -> int:
        (number,) = layout.unpack_from(self.data, self.position)
        self.position += layout.size
        return int(number)

    def integer(self) -> int:
        return self.number(_INT)

    def version(self) -> int:
        version = self.number(_SHORT)
        if version < 0:
            raise ValueError(f"there is no version {version}")
        return version

    def length(self) -> int:
        """Of an array, none of whose elements takes less than a byte."""
        return self.within(self.integer())

    def within(self, length: int) -> int:
        if not 0 <= length <= len(self.data) - self.position:
            raise ValueError(f"a length of {length} at byte {self.position} of {len(self.data)}")
        return length

    def take(self, length: int) -> bytes:
        start = self.position
        self.position += self.within(length)
        return self.data[start : self.position]

    def text(self) -> str:
        return self.take(self.number(_SHORT)).decode()

    def nullable(self) -> bytes | None:
        length = self.integer()
        return None if length == -1 else self.take(length)

    def partitions(self) -> Partitions:
        found: list[TopicPartition] = []
        for _ in range(self.length()):
            topic, count = self.text(), self.length()
            numbers = unpack_from(f">{count}i", self.data, self.position)
            self.position += 4 * count
            found += [TopicPartition(topic, number) for number in numbers]
        return tuple(found)
