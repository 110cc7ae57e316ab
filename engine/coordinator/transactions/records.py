"""The records of __transaction_state, byte for byte as Kafka writes them.

    key         version i16 = 0 | transactional id |
    value       version i16 = 0 | producer id i64 | epoch i16 | time-out i32, ms | state i8 |
                | partitions? | updated i64 | started i64 |     or null, a tombstone
    partitions  | topic | numbers, each i32 |

How each field is written is in coordinator/fields.py. Without a transaction (Empty) the partitions
are null; after one (CompleteCommit, CompleteAbort) there are none. Each record says all that there
is to know, so the last one of a key is enough, and compaction may take the others.

Invariant: nobody rests in Dead or PrepareEpochFence; a record that says so is none.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from engine.coordinator import fields
from engine.coordinator.effects import Writer
from engine.coordinator.transactions.image import Image
from engine.coordinator.transactions.states import NUMBERED, State
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.wire.messages.versions import Int8, Int16, Int32, Int64, String

TOPIC = "__transaction_state"
VERSION = 0
NEVER = frozenset({State.DEAD, State.PREPARE_EPOCH_FENCE})


@dataclass(frozen=True, slots=True)
class TransactionKey:
    transactional_id: String


@dataclass(frozen=True, slots=True)
class Partitions:
    topic: String
    numbers: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class TransactionValue:
    producer_id: Int64
    epoch: Int16
    timeout: Int32
    state: Int8
    partitions: tuple[Partitions, ...] | None
    updated: Int64
    started: Int64


def encode_key(transactional_id: str) -> bytes:
    return fields.encode(TransactionKey(transactional_id), VERSION)


def encode_value(image: Image) -> bytes | None:
    """None, a tombstone, for one that is to be forgotten."""
    if image.state is State.DEAD:
        return None
    assert image.state not in NEVER, f"{image.state.value} is only a step"
    is_empty = image.state is State.EMPTY
    value = TransactionValue(
        producer_id=image.writer.producer_id,
        epoch=image.writer.epoch,
        timeout=image.timeout,
        state=NUMBERED.index(image.state),
        partitions=None if is_empty else _by_topic(image.partitions),
        updated=image.updated,
        started=image.started,
    )
    return fields.encode(value, VERSION)


def _by_topic(partitions: Iterable[TopicPartition]) -> tuple[Partitions, ...]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(partitions):
        numbers[topic].append(number)
    return tuple(Partitions(topic, tuple(each)) for topic, each in numbers.items())


def decode_key(data: bytes) -> str:
    """The transactional id."""
    key: TransactionKey = fields.decode(data, {VERSION: TransactionKey}, TOPIC)
    return key.transactional_id


def decode_value(data: bytes) -> Image:
    value: TransactionValue = fields.decode(data, {VERSION: TransactionValue}, TOPIC)
    return Image(
        writer=Writer(value.producer_id, value.epoch),
        timeout=value.timeout,
        state=_state(value.state),
        partitions=frozenset(
            TopicPartition(each.topic, number)
            for each in value.partitions or ()
            for number in each.numbers
        ),
        updated=value.updated,
        started=value.started,
    )


def _state(number: int) -> State:
    if not 0 <= number < len(NUMBERED) or NUMBERED[number] in NEVER:
        raise KafkaError(
            ErrorCode.invalid_record, f"state {number} belongs in no record of {TOPIC}"
        )
    return NUMBERED[number]
