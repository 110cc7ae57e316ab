"""AddPartitionsToTxn (API 24) and AddOffsetsToTxn (25), versions 0 to 3: I am going to write there.

A producer says so before its first record goes to a partition, and waits: the coordinator has to
know where markers are to go when the transaction ends. The offsets of a group are records too, in
the partition of __consumer_offsets that the group belongs to.

The first partition begins the transaction, and its time is measured from then on. Partitions are
added together or not at all: if one is unknown, none of them is.
"""

from collections.abc import Callable, Iterable
from typing import Any

from engine.coordinator.effects import Caller, Writer
from engine.coordinator.transactions import answers
from engine.coordinator.transactions.registry import Registry
from engine.coordinator.transactions.states import State
from engine.errors import ErrorCode
from engine.model import TopicPartition

# Topics that the brokers write to on their own: a client that adds one of their partitions is
# told, like every client in Kafka, that it may not.
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})


def add_partitions(registry: Registry, request: Any, caller: Caller, now: int) -> Any:
    wanted = partitions(request)
    wrong = {each: code for each in wanted if (code := _wrong(registry, each))}
    if wrong:
        codes = dict.fromkeys(wanted, ErrorCode.operation_not_attempted) | wrong
        return answers.added(caller, codes)

    def reply(error: ErrorCode) -> None:
        registry.host.reply(caller, answers.added(caller, dict.fromkeys(wanted, error)))

    writer = Writer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    _add(registry, request.v3_and_below_transactional_id, writer, wanted, now, reply)
    return None


def partitions(request: Any) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, number)
        for topic in request.v3_and_below_topics
        for number in topic.partitions
    ]


def _wrong(registry: Registry, partition: TopicPartition) -> ErrorCode | None:
    if partition.topic in INTERNAL:
        return ErrorCode.topic_authorization_failed
    return None if registry.exists(partition) else ErrorCode.unknown_topic_or_partition


def add_offsets(registry: Registry, request: Any, caller: Caller, now: int) -> None:
    def reply(error: ErrorCode) -> None:
        registry.host.reply(caller, answers.offsets_added(caller, error))

    writer = Writer(request.producer_id, request.producer_epoch)
    partition = registry.partition_of_group(request.group_id)
    _add(registry, request.transactional_id, writer, [partition], now, reply)


def _add(
    registry: Registry,
    id: str,
    writer: Writer,
    wanted: Iterable[TopicPartition],
    now: int,
    reply: Callable[[ErrorCode], None],
) -> None:
    transaction = registry.require(id, writer)
    image, more = transaction.image, frozenset(wanted)
    if image.state is State.ONGOING and more <= image.partitions:
        reply(ErrorCode.none)
    else:
        transaction.change(image.extended(more, now), now, lambda error, now: reply(error))
