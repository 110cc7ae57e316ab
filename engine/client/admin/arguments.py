"""Checks of the arguments that an application passes to an AdminClient."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TypeVar

from engine.client.admin.executor import UNSET, seconds
from engine.client.admin.requests import CONTROLLER_TIMEOUT
from engine.client.admin.values import ConsumerGroupTopicPartitions
from engine.client.values import TopicPartition

T = TypeVar("T")


def groups_of(request: list[ConsumerGroupTopicPartitions]) -> list[ConsumerGroupTopicPartitions]:
    for it in listed(request, ConsumerGroupTopicPartitions):
        if not isinstance(it.group_id, str):
            raise TypeError("'group_id' must be a string")
        if not it.group_id:
            raise ValueError("'group_id' cannot be empty")
    return some(request, ConsumerGroupTopicPartitions)


def listed(these: Sequence[T], kind: type[T]) -> list[T]:
    if not isinstance(these, list | tuple):
        raise TypeError(f"expected a list of {kind.__name__}, not {type(these).__name__}")
    for each in these:
        if not isinstance(each, kind):
            raise TypeError(f"expected a list of {kind.__name__}, not of {type(each).__name__}")
    return list(these)


def some(these: Sequence[T], kind: type[T]) -> list[T]:
    if found := listed(these, kind):
        return found
    raise ValueError(f"expected a list of {kind.__name__} that is not empty")


def unique(these: list[T]) -> list[T]:
    if len(set(these)) < len(these):
        raise ValueError("duplicates are not allowed")
    return these


def places(these: Iterable[TopicPartition]) -> list[TopicPartition]:
    found = some(list(these), TopicPartition)
    for each in found:
        if each.partition < 0:
            raise ValueError(f"{each}: the partition must be 0 or more")
    return found


def operation(timeout: float) -> timedelta:
    """How long the controller may wait until all brokers know the change."""
    return CONTROLLER_TIMEOUT if timeout == UNSET else timedelta(seconds=seconds(timeout))
