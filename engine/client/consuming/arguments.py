"""Checks the arguments that an application passes to a consumer, and converts them."""

import re
from collections.abc import Callable
from typing import Any

from engine.client import values
from engine.client.offset_and_metadata import OffsetAndMetadata, offsets_of
from engine.client.values import KafkaError, KafkaException, Message
from engine.model import NO_EPOCH, TopicPartition

Listener = Callable[[Any, list[values.TopicPartition]], Any]  # of a consumer and its partitions


def key_of(partition: values.TopicPartition) -> TopicPartition:
    if not isinstance(partition, values.TopicPartition):
        raise TypeError(f"expected TopicPartition, not {type(partition).__name__}")
    return TopicPartition(partition.topic, partition.partition)


def keys_of(
    partitions: list[values.TopicPartition],
) -> list[tuple[values.TopicPartition, TopicPartition]]:
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    return [(each, key_of(each)) for each in partitions]


def starts_of(partitions: list[values.TopicPartition]) -> dict[TopicPartition, int]:
    return {key: each.offset for each, key in keys_of(partitions)}


def subscription_of(topics: list[str]) -> tuple[list[str], re.Pattern[str] | None]:
    """The names, and all patterns as one."""
    if not isinstance(topics, list):
        raise TypeError("expected list of topic unicode strings")
    texts = [str(each) for each in topics]
    names = [each for each in texts if not each.startswith("^")]
    patterns = [f"(?:{each})" for each in texts if each.startswith("^")]
    if (not names and not patterns) or not all(names):
        why = "Failed to set subscription: there is a topic without a name, or no topic at all"
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why))
    try:
        return names, re.compile("|".join(patterns)) if patterns else None
    except re.error as error:
        why = f"Failed to set subscription: {error}"
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, why)) from error


def committed_offsets(
    message: Message | None, offsets: list[values.TopicPartition] | None
) -> dict[TopicPartition, OffsetAndMetadata] | None:
    """The offsets of a call to commit; None for "all that was consumed"."""
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        if (error := message.error()) is not None:
            raise KafkaException(error)
        key = TopicPartition(str(message.topic()), message._partition)
        epoch = message.leader_epoch()
        return {key: OffsetAndMetadata(message._offset + 1, NO_EPOCH if epoch is None else epoch)}
    return None if offsets is None else offsets_of(offsets)
