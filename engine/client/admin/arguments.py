"""Checks of the arguments that an application passes to an AdminClient."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TypeVar

from engine.client.admin.executor import UNSET, seconds
from engine.client.admin.requests import CONTROLLER_TIMEOUT
from engine.client.admin.values import ConsumerGroupTopicPartitions
from engine.client.values import TopicPartition

T = TypeVar("T")


def groups_of(
    request: list[ConsumerGroupTopicPartitions],
) -> dict[str, ConsumerGroupTopicPartitions]:
    """The groups of a request, by their ids."""
    for group in listed(request, ConsumerGroupTopicPartitions):
        if not isinstance(group.group_id, str):
            raise TypeError("'group_id' must be a string")
        if not group.group_id:
            raise ValueError("'group_id' cannot be empty")
    return {group.group_id: group for group in some(request, ConsumerGroupTopicPartitions)}


def listed(these: Sequence[T], kind: type[T]) -> list[T]:
    if not isinstance(these, list | tuple):
        raise TypeError(f"expected a list of {kind.__name__}, not {type(these).__name__}")
    for item in these:
        if not isinstance(item, kind):
            raise TypeError(f"expected a list of {kind.__name__}, not of {type(item).__name__}")
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
    wanted = some(list(these), TopicPartition)
    for place in wanted:
        if place.partition < 0:
            raise ValueError(f"{place}: the partition must be 0 or more")
    return wanted


def operation(timeout: float) -> timedelta:
    """How long the controller may wait until all brokers know the change."""
    return CONTROLLER_TIMEOUT if timeout == UNSET else timedelta(seconds=seconds(timeout))
