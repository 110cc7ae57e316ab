"""The records of __transaction_state, byte for byte as Kafka writes them.

    key         version i16 = 0 | transactional id |
    value       version i16 = 0 | producer id i64 | epoch i16 | timeout i32, ms | state i8 |
                | partitions? | updated i64 | started i64 |     or null, a tombstone
    partitions  | topic | numbers, each i32 |

coordinator/record_codec.py encodes them. Before the first transaction (Empty) the partitions are
null; after one (CompleteCommit, CompleteAbort) the list is empty. Each record has all the metadata,
so the last record of a key is enough, and compaction may remove the others.

Invariant: no record has the state Dead or PrepareEpochFence; one that has it is not valid.
"""

from dataclasses import dataclass
from typing import Annotated

from engine.coordinator import record_codec
from engine.coordinator.effects import TransactionalProducer
from engine.coordinator.transactions.metadata import NUMBERED, TransactionMetadata, TxnState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.by_topic import by_topic
from engine.wire.messages.versions import Int8, Int16, Int32, Int64, String

TRANSACTION_STATE_TOPIC = "__transaction_state"
VERSION = 0
FLEXIBLE = 1  # the same fields, and room for tagged ones; it is only read
NEVER = frozenset({TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE})


@dataclass(frozen=True, slots=True)
class TransactionKey:
    transactional_id: String


@dataclass(frozen=True, slots=True)
class TransactionPartitions:
    topic: String
    numbers: Annotated[tuple[int, ...], "int32"]


@dataclass(frozen=True, slots=True)
class TransactionValue:
    producer_id: Int64
    epoch: Int16
    timeout: Int32
    state: Int8
    partitions: tuple[TransactionPartitions, ...] | None
    updated: Int64
    started: Int64


def encode_key(transactional_id: str) -> bytes:
    return record_codec.encode(TransactionKey(transactional_id), VERSION)


def encode_value(metadata: TransactionMetadata) -> bytes | None:
    """None, a tombstone, for an id that is removed."""
    if metadata.state is TxnState.DEAD:
        return None
    assert metadata.state not in NEVER, f"{metadata.state.value} is not written"
    is_empty = metadata.state is TxnState.EMPTY
    numbers = by_topic((each, each.partition) for each in sorted(metadata.partitions))
    value = TransactionValue(
        producer_id=metadata.producer.producer_id,
        epoch=metadata.producer.epoch,
        timeout=metadata.timeout,
        state=NUMBERED.index(metadata.state),
        partitions=None if is_empty else tuple(TransactionPartitions(*each) for each in numbers),
        updated=metadata.updated,
        started=metadata.started,
    )
    return record_codec.encode(value, VERSION)


def decode_key(data: bytes) -> str:
    """The transactional id."""
    key: TransactionKey = record_codec.decode(
        data, {VERSION: TransactionKey}, TRANSACTION_STATE_TOPIC
    )
    return key.transactional_id


def decode_value(data: bytes) -> TransactionMetadata:
    kinds = dict.fromkeys((VERSION, FLEXIBLE), TransactionValue)
    value: TransactionValue = record_codec.decode(data, kinds, TRANSACTION_STATE_TOPIC, FLEXIBLE)
    return TransactionMetadata(
        producer=TransactionalProducer(value.producer_id, value.epoch),
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


def _state(number: int) -> TxnState:
    if not 0 <= number < len(NUMBERED) or NUMBERED[number] in NEVER:
        raise ApiException(
            ErrorCode.invalid_record, f"no record of {TRANSACTION_STATE_TOPIC} has state {number}"
        )
    return NUMBERED[number]
