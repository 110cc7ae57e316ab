"""The half of AdminClient that is about groups, and what both halves need: a thread and its time.

    changes.list_consumer_groups().result().valid                 ConsumerGroupListing ...
    changes.describe_consumer_groups(["g"])["g"].result()         ConsumerGroupDescription
    changes.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"].result()

See client.py. Wrong types and values are refused before anything is asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Self, TypeVar

from engine.client import changes, groups
from engine.client.admin import work
from engine.client.admin.errands import Errands
from engine.client.admin.values import (
    ConsumerGroupDescription,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ListConsumerGroupsResult,
)
from engine.client.cluster import ClusterView
from engine.client.connection import Address
from engine.client.listing import GroupMetadata
from engine.client.values import OFFSET_INVALID, TopicPartition, exception_of
from engine.client.values import KafkaError as Told
from engine.config.admin import AdminConfig
from engine.errors import KafkaError

T = TypeVar("T")

LONGEST = 3600.0  # seconds that a call may be given
UNSET = -1.0  # as a time-out: the configuration's


class GroupAdmin:
    def __init__(self, conf: Mapping[str, Any], **more: Any) -> None:
        try:
            config, _ = AdminConfig.take({**conf, **more} if isinstance(conf, Mapping) else conf)
            addresses = [Address.parse(text) for text in config.bootstrap_servers]
        except KafkaError as error:
            raise exception_of(error, Told._INVALID_ARG) from error
        self._patience = config.default_api_timeout_ms / 1000
        once = config.request_timeout_ms / 1000
        name = config.client_id or "brokerlab"

        def opened(seconds: float) -> ClusterView:
            return ClusterView(addresses, name, once, patience=LONGEST, within=seconds)

        self._errands = Errands(opened, "AdminClient")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be asked from now on, and what waits for its turn fails."""
        self._errands.close()

    def _seconds(self, timeout: float) -> float:
        return self._patience if timeout == UNSET else seconds(timeout)

    # -- groups --------------------------------------------------------------------------

    def list_consumer_groups(
        self,
        states: set[ConsumerGroupState] | None = None,
        types: set[ConsumerGroupType] | None = None,
        request_timeout: float = UNSET,
    ) -> "Future[ListConsumerGroupsResult]":
        """All of them, or those in these states; brokers of Kafka 2.8 tell no types."""
        for name, those, kind in (
            ("states", states, ConsumerGroupState),
            ("types", types, ConsumerGroupType),
        ):
            if those is not None and not isinstance(those, set):
                raise TypeError(f"'{name}' must be a set")
            if not all(isinstance(each, kind) for each in those or ()):
                raise TypeError(f"All elements of {name} must be of type {kind.__name__}")
        wanted = sorted(states or ())
        return self._errands.one(
            lambda view: work.list_groups(view, wanted), self._seconds(request_timeout)
        )

    def list_groups(self, group: str | None = None, timeout: float = UNSET) -> list[GroupMetadata]:
        """With their members, all or one; it waits for the answer."""

        def listed(view: ClusterView) -> list[GroupMetadata]:
            names = sorted(groups.list_groups(view)[0]) if group is None else [group]
            return [work.group_metadata(view, name) for name in names]

        return self._errands.one(listed, self._seconds(timeout)).result()

    def describe_consumer_groups(
        self, group_ids: list[str], request_timeout: float = UNSET
    ) -> "dict[str, Future[ConsumerGroupDescription]]":
        names = some(group_ids, str)
        return self._errands.each(names, work.describe_group, self._seconds(request_timeout))

    def delete_consumer_groups(
        self, group_ids: list[str], request_timeout: float = UNSET
    ) -> "dict[str, Future[None]]":
        names = some(group_ids, str)
        return self._errands.each(names, groups.delete, self._seconds(request_timeout))

    # -- their offsets -------------------------------------------------------------------

    def list_consumer_group_offsets(
        self,
        list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        require_stable: bool = False,
        request_timeout: float = UNSET,
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Without partitions: of all for which the group has committed an offset."""
        wanted = {it.group_id: it for it in _groups(list_consumer_group_offsets_request)}
        for it in wanted.values():
            if it.topic_partitions is not None:
                for place in places(it.topic_partitions):
                    if place.offset != OFFSET_INVALID:
                        raise ValueError(f"{place}: the offset is what is asked for")
        return self._errands.each(
            wanted,
            lambda view, group: work.committed(view, wanted[group], require_stable),
            self._seconds(request_timeout),
        )

    def alter_consumer_group_offsets(
        self,
        alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        request_timeout: float = UNSET,
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Of a group without members. Each partition of the result has its own error, or none."""
        wanted = {it.group_id: it for it in _groups(alter_consumer_group_offsets_request)}
        for it in wanted.values():
            if it.topic_partitions is None:
                raise ValueError("'topic_partitions' cannot be null")
            for place in places(it.topic_partitions):
                if place.offset < 0:
                    raise ValueError(f"{place}: the offset must be 0 or more")
        return self._errands.each(
            wanted,
            lambda view, group: work.commit(view, wanted[group]),
            self._seconds(request_timeout),
        )

    def delete_consumer_group_offsets(
        self, group_id: str, partitions: list[TopicPartition], request_timeout: float = UNSET
    ) -> "dict[TopicPartition, Future[None]]":
        """Named as in Kafka's Java client: confluent-kafka has none."""
        return self._errands.each(
            places(partitions),
            lambda view, it: work.forget(view, group_id, it),
            self._seconds(request_timeout),
        )


def _groups(request: list[ConsumerGroupTopicPartitions]) -> list[ConsumerGroupTopicPartitions]:
    for it in listed(request, ConsumerGroupTopicPartitions):
        if not isinstance(it.group_id, str):
            raise TypeError("'group_id' must be a string")
        if not it.group_id:
            raise ValueError("'group_id' cannot be empty")
    return some(request, ConsumerGroupTopicPartitions)


# -- what is handed in ---------------------------------------------------------------------------


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


def places(these: Iterable[TopicPartition]) -> list[TopicPartition]:
    found = some(list(these), TopicPartition)
    for each in found:
        if each.partition < 0:
            raise ValueError(f"{each}: the partition must be 0 or more")
    return found


def seconds(timeout: float) -> float:
    if not 0 <= timeout <= LONGEST:
        raise ValueError(f"a time-out is a number of seconds from 0 to 3600, not {timeout}")
    return timeout


def operation(timeout: float) -> timedelta:
    """For the controller: how long it may wait until all brokers have heard."""
    return changes.TIMEOUT if timeout == UNSET else timedelta(seconds=seconds(timeout))
