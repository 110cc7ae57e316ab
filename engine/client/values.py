"""Messages, partitions and errors for the application, with confluent-kafka's classes.

    TopicPartition("orders", 0, offset=17)          a partition, and an offset in it
    message.topic(), .offset(), .value(), .error()  a record, or an error instead of one
    KafkaError.code() == KafkaError._PARTITION_EOF  an error and its code
    KafkaException.args[0]                          the KafkaError that was raised
    ClusterMetadata, GroupMetadata                  the results of list_topics and list_groups

Codes from 0 on come from brokers, under librdkafka's names. Negative ones are a client's own and
never on the wire: they stand in local_errors.tsv. Inside the engine errors are
`engine.errors.ApiException`; the public methods convert them, once: `error_of` to report an error,
`exception_of` to raise it.
"""

import builtins
import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import total_ordering
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from engine import errors
from engine.client.metadata import MetadataSnapshot
from engine.errors import ErrorCode
from engine.model import NO_BROKER

OFFSET_END = -1
OFFSET_BEGINNING = -2
OFFSET_STORED = -1000  # the group's committed offset
OFFSET_INVALID = -1001  # no offset: not given, or not known

TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME = range(3)

Headers = list[tuple[str, bytes | None]]

# A client's own codes, for errors without a broker.
with Path(__file__).with_name("local_errors.tsv").open(encoding="utf-8") as _table:
    _LOCAL: dict[int, tuple[str, str]] = {
        int(row["code"]): (row["name"], row["text"])
        for row in csv.DictReader(_table, delimiter="\t")
    }

# Codes whose name in librdkafka differs from Kafka's.
_RENAMED = {
    ErrorCode.unknown_server_error: "UNKNOWN",
    ErrorCode.none: "NO_ERROR",
    ErrorCode.corrupt_message: "INVALID_MSG",
    ErrorCode.unknown_topic_or_partition: "UNKNOWN_TOPIC_OR_PART",
    ErrorCode.invalid_fetch_size: "INVALID_MSG_SIZE",
    ErrorCode.not_leader_or_follower: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.message_too_large: "MSG_SIZE_TOO_LARGE",
    ErrorCode.stale_controller_epoch: "STALE_CTRL_EPOCH",
    ErrorCode.offset_metadata_too_large: "OFFSET_METADATA_TOO_LARGE",
    ErrorCode.invalid_topic_exception: "TOPIC_EXCEPTION",
}

_NAMES = {int(each): _RENAMED.get(each, each.name.upper()) for each in ErrorCode} | {
    code: name for code, (name, _) in _LOCAL.items()
}
_TEXTS = {int(each): f"Broker: {each.name.replace('_', ' ')}" for each in ErrorCode} | {
    code: f"Local: {text}" for code, (_, text) in _LOCAL.items()
}


class _Codes(type):
    """For type checkers: the names of all codes are attributes; a loop below sets them."""

    if TYPE_CHECKING:

        def __getattr__(cls, name: str) -> int: ...


@total_ordering
class KafkaError(metaclass=_Codes):
    """An error. It equals its code, and every other error of that code."""

    __slots__ = ("_aborts", "_code", "_fatal", "_records", "_retriable", "_text")

    def __init__(
        self,
        error: int,
        reason: builtins.str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None:
        self._code = int(error)
        self._text = reason
        self._fatal = fatal
        self._retriable = retriable
        self._aborts = txn_requires_abort
        self._records: Mapping[int, builtins.str] = {}  # of a batch: the bad ones, and why

    def of_record(self, number: int) -> "KafkaError":
        """The error of one record, if this is one of a batch in which some records are bad."""
        if not self._records:
            return self
        if number in self._records:
            return KafkaError(self._code, self._records[number] or self._text)
        return KafkaError(KafkaError._INVALID_DIFFERENT_RECORD)

    def code(self) -> int:
        return self._code

    def name(self) -> builtins.str:
        return _NAMES.get(self._code, f"ERR_{self._code}?")

    def str(self) -> builtins.str:
        """The message."""
        return self._text or _TEXTS.get(self._code, f"Err-{self._code}?")

    def fatal(self) -> bool:
        """Whether the client can't be used any more."""
        return self._fatal

    def retriable(self) -> bool:
        """Whether the same call may succeed later."""
        return self._retriable

    def txn_requires_abort(self) -> bool:
        """Whether the transaction can only be aborted; the next one may succeed."""
        return self._aborts

    def __repr__(self) -> builtins.str:
        fatal = "FATAL," * self._fatal
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self.str()}"}}'

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        return self._code == other if isinstance(other, int | KafkaError) else NotImplemented

    def __lt__(self, other: "int | KafkaError") -> bool:
        return self._code < (other if isinstance(other, int) else other.code())


for _code, _name in _NAMES.items():
    setattr(KafkaError, _name, _code)


class KafkaException(Exception):
    """Raised by the clients; `args[0]` is the KafkaError."""


def error_of(
    error: errors.ApiException, code: int | None = None, fatal: bool = False
) -> KafkaError:
    """The engine's error as a client's KafkaError, with `code` instead of its own if given."""
    number = _LOST.get(error.code, int(error.code)) if code is None else code
    made = KafkaError(number, error.message, fatal, bool(error.code.retriable) and not fatal)
    made._records = error.records
    return made


def refusal(row: Any) -> errors.ApiException:
    """The error in a partition's result of Produce, with its bad records."""
    error = errors.ApiException(row.error_code, row.error_message or "")
    error.records = {each.batch_index: each.batch_index_error_message for each in row.record_errors}
    return error


def exception_of(error: errors.ApiException, code: int | None = None) -> KafkaException:
    """An error as an exception: `raise exception_of(error) from error`."""
    return KafkaException(error_of(error, code))


# No broker answers these two: they come from our own network.
_LOST = {
    ErrorCode.network_exception: KafkaError._TRANSPORT,
    ErrorCode.broker_not_available: KafkaError._ALL_BROKERS_DOWN,
}


class ConsumerGroupMetadata(NamedTuple):
    """A member of a group and its generation, for a producer that commits the group's offsets.

    The coordinator refuses offsets of a member or generation that is no longer current (KIP-447).
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


def need_text(topic: object) -> None:
    if not isinstance(topic, str):
        raise TypeError(f"argument 1 must be str, not {type(topic).__name__}")


@dataclass(order=True, unsafe_hash=True, slots=True)
class TopicPartition:
    """A partition, and an offset in it. Two are equal if the partitions are."""

    topic: str
    partition: int = -1
    offset: int = field(default=OFFSET_INVALID, compare=False)
    metadata: str | None = field(default=None, compare=False)
    leader_epoch: int | None = field(default=None, compare=False)
    error: KafkaError | None = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        need_text(self.topic)

    def __repr__(self) -> str:
        return (
            f"TopicPartition{{topic={self.topic},partition={self.partition},offset={self.offset},"
            f"leader_epoch={self.leader_epoch},error={self.error}}}"
        )


class Message:
    """A record that was consumed or is to be delivered, or with `error()` why there is none."""

    __slots__ = (
        "_epoch", "_error", "_headers", "_key", "_latency",
        "_offset", "_partition", "_timestamp", "_topic", "_value",
    )  # fmt: skip

    def __init__(
        self,
        topic: str | None = None,
        partition: int = -1,
        offset: int = OFFSET_INVALID,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: KafkaError | None = None,
        timestamp: tuple[int, int] = (TIMESTAMP_NOT_AVAILABLE, -1),
        latency: float | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._offset = offset
        self._key = key
        self._value = value
        self._headers = headers
        self._error = error
        self._timestamp = timestamp
        self._latency = latency
        self._epoch = leader_epoch

    def topic(self) -> str | None:
        return self._topic

    def partition(self) -> int | None:
        """None if it was never known."""
        return None if self._partition < 0 else self._partition

    def offset(self) -> int | None:
        """None if it was never known."""
        return None if self._offset < 0 else self._offset

    def key(self) -> Any:
        return self._key

    def value(self) -> Any:
        return self._value

    def headers(self) -> Headers | None:
        return list(self._headers) if self._headers else None

    def error(self) -> KafkaError | None:
        return self._error

    def timestamp(self) -> tuple[int, int]:
        """Its type, TIMESTAMP_..., and milliseconds since 1970."""
        return self._timestamp

    def latency(self) -> float | None:
        """Seconds from `produce` to the delivery report."""
        return self._latency

    def leader_epoch(self) -> int | None:
        """The epoch of the leader that wrote the record."""
        return self._epoch

    def set_topic(self, topic: str) -> None:
        self._topic = topic

    def set_key(self, key: Any) -> None:
        self._key = key

    def set_value(self, value: Any) -> None:
        self._value = value

    def set_headers(self, headers: Any) -> None:
        self._headers = headers

    def set_error(self, error: KafkaError | None) -> None:
        self._error = error

    def __len__(self) -> int:
        return len(self._value) if self._value is not None else 0


# -- the results of list_topics and list_groups -------------------------------------------------


@dataclass
class BrokerMetadata:
    id: int = NO_BROKER
    host: str | None = None
    port: int = -1

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


@dataclass
class PartitionMetadata:
    id: int = -1
    leader: int = NO_BROKER
    replicas: list[int] = field(default_factory=list)
    isrs: list[int] = field(default_factory=list)
    error: KafkaError | None = None


@dataclass
class TopicMetadata:
    topic: str | None = None
    partitions: dict[int, PartitionMetadata] = field(default_factory=dict)
    error: KafkaError | None = None

    def __str__(self) -> str:
        return str(self.topic)


@dataclass
class ClusterMetadata:
    cluster_id: str | None = None
    controller_id: int = NO_BROKER
    brokers: dict[int, BrokerMetadata] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    orig_broker_id: int = NO_BROKER
    orig_broker_name: str | None = None

    def __str__(self) -> str:
        return str(self.cluster_id)

    @classmethod
    def of(cls, metadata: MetadataSnapshot) -> Self:
        """The result of `list_topics`, from a broker's answer."""
        return cls(
            metadata.cluster_id,
            metadata.controller,
            {number: BrokerMetadata(number, *at) for number, at in metadata.brokers.items()},
            {
                topic.name: TopicMetadata(
                    topic.name,
                    {
                        number: PartitionMetadata(
                            number, it.leader, list(it.replicas), list(it.isr)
                        )
                        for number, it in topic.partitions.items()
                    },
                    None if topic.error == ErrorCode.none else KafkaError(topic.error),
                )
                for topic in metadata.topics.values()
            },
        )


@dataclass
class GroupMember:
    id: str
    client_id: str
    client_host: str
    metadata: bytes  # its subscription
    assignment: bytes


@dataclass
class GroupMetadata:
    broker: BrokerMetadata
    id: str
    error: KafkaError | None
    state: str
    protocol_type: str
    protocol: str
    members: list[GroupMember]
