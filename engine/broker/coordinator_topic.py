"""The topics of the coordinators: their settings, and the records in their batches.

__consumer_offsets      groups and their offsets     engine/coordinator/
__transaction_state     transactions                 engine/coordinator/transactions/
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.config import BrokerConfig
from engine.storage.batch import Header, scan
from engine.storage.records import Record, decode

OFFSETS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
ALL = -1  # acks: every in-sync replica has it
TXN_TIMEOUT_MS = 60_000  # for a write about a transaction: Kafka's default for a transaction


class CoordinatorTopic(NamedTuple):
    """The topic of a coordinator, and its settings in the broker's configuration."""

    name: str
    events: str  # the prefix of its events
    partitions: Callable[[BrokerConfig], int]
    load_bytes: Callable[[BrokerConfig], int]  # read at once
    acks: Callable[[BrokerConfig], int]
    timeout_ms: Callable[[BrokerConfig], int]  # for a write to be replicated


OFFSETS_TOPIC = CoordinatorTopic(
    OFFSETS,
    "group",
    partitions=lambda config: config.offsets_topic_num_partitions,
    load_bytes=lambda config: config.offsets_load_buffer_size,
    acks=lambda config: config.offsets_commit_required_acks,
    timeout_ms=lambda config: config.offsets_commit_timeout_ms,
)
TRANSACTIONS_TOPIC = CoordinatorTopic(
    TRANSACTIONS,
    "transaction",
    partitions=lambda config: config.transaction_state_log_num_partitions,
    load_bytes=lambda config: config.transaction_state_log_load_buffer_size,
    acks=lambda config: ALL,
    timeout_ms=lambda config: TXN_TIMEOUT_MS,
)


def batches(data: bytes, offset: int = 0) -> Iterator[tuple[Header, list[Record]]]:
    """Each whole batch, with its records from an offset on."""
    for position, header in scan(data):
        batch = memoryview(data)[position : position + header.size]
        yield header, [record for record in decode(batch) if record.offset >= offset]


def unpacked(data: bytes) -> list[Record]:
    """All records except control records."""
    return [
        record for header, records in batches(data) if not header.is_control for record in records
    ]
