"""CreateTopics (API 19), versions 0 to 7; DeleteTopics (API 20), 0 to 6; CreatePartitions (API
37), 0 to 3.

    check everything -> ask the gateway -> wait until the controller has done it

Only the controller accepts these requests; the others respond with NOT_CONTROLLER, and the client
finds the controller in the metadata. Each topic has a result of its own. With `validate_only` only
the checks are done. If the controller takes longer than `timeout`, the response is
REQUEST_TIMED_OUT, and the work continues.

A client's `controller_mutation_rate` is the partitions that it may create and delete in a second.
The sum of the new partitions of one request is limited, as in KRaft: the broker plans them all, and
with `validate_only` too.

Left out: creation policies.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from kio.schema.create_partitions.v3 import response as grow_v3
from kio.schema.create_topics.v7 import response as create_v7
from kio.schema.delete_topics.v6 import response as delete_v6

from engine.broker.call import Call
from engine.broker.config_cache import ConfigCache
from engine.broker.creation import DEFAULT, AutoTopicCreationManager, Plan
from engine.broker.handlers.results import (
    attempt,
    attempt_each,
    code_of,
    deadline,
    error_fields,
    message_of,
)
from engine.broker.metadata import Metadata, TopicInfo
from engine.config import BrokerConfig, Layer, describe_topic
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import ControllerGateway
from engine.model import NO_BROKER
from engine.topics import check_added, check_assignment, spread_further
from engine.wire.primitives import NO_THROTTLE

T = TypeVar("T")
DELETION_DISABLED_SINCE = 3  # older versions have no error of that name


class TopicRows:
    """What holds for a request as a whole: no name twice, and not too many new partitions."""

    def __init__(self, request: Any, partitions: Callable[[Any], int], *, once: bool) -> None:
        """`once`: there is one row for each name, as without ZooKeeper."""
        self.validate_only: bool = request.validate_only
        self.topics: Sequence[Any] = request.topics
        self._names = Counter(topic.name for topic in request.topics)
        self._partitions = sum(max(partitions(topic), 0) for topic in request.topics)
        if once:
            self.topics = [*{topic.name: topic for topic in request.topics}.values()]

    def check(self, name: str) -> None:
        """Refuse a row of it."""
        if self._names[name] > 1:
            raise invalid_request("Duplicate topic name.")
        check_added(self._partitions)


async def _each(
    outcomes: list[T | ApiException], wait: Callable[[T], Awaitable[None]]
) -> list[T | ApiException]:
    """Wait for each outcome that is no error. An error of the wait takes its place."""
    waited = list(outcomes)
    for place, outcome in enumerate(outcomes):
        if not isinstance(outcome, ApiException):
            failed: ApiException | None = await attempt(wait(outcome))
            waited[place] = failed or outcome
    return waited


# -- DeleteTopics ----------------------------------------------------------------------------


class Wanted(NamedTuple):
    """A topic to delete: by its name, or since version 6 by its id."""

    name: str | None
    id: UUID | None


NOTHING_WANTED = Wanted(None, None)
Assignment = dict[int, list[int]]


@dataclass(frozen=True)
class TopicHandlers:
    """The three APIs, with what they use."""

    config: BrokerConfig
    metadata: Metadata
    configs: ConfigCache
    gateway: ControllerGateway
    creation: AutoTopicCreationManager
    now: Callable[[], int]

    def _check_controller(self) -> None:
        if self.metadata.controller != self.config.broker_id:
            raise ApiException(
                ErrorCode.not_controller, f"the controller is broker {self.metadata.controller}"
            )

    def _has_leaders(self, name: str, partitions: Collection[int]) -> bool:
        topic = self.metadata.topics.get(name)
        return topic is not None and all(
            number in topic.partitions and topic.partitions[number].leader != NO_BROKER
            for number in partitions
        )

    async def _wait_for_leaders(self, name: str, partitions: Collection[int], until: float) -> None:
        if not await self.metadata.until(partial(self._has_leaders, name, partitions), until):
            raise ApiException(ErrorCode.request_timed_out, f"{name} has no leaders yet")

    # -- CreateTopics ----------------------------------------------------------------------------

    async def create(self, call: Call, request: Any) -> create_v7.CreateTopicsResponse:
        once, layers = self.gateway.decides_in_order, self.configs.layers()
        rows = TopicRows(request, self._partitions_of_new, once=once)
        outcomes = await attempt_each(
            self.gateway, (self._create(call, rows, it) for it in rows.topics)
        )
        if not request.validate_only:
            until = deadline(request.timeout)
            outcomes = await _each(
                outcomes, lambda plan: self._wait_for_leaders(plan.name, plan.assignment, until)
            )
        return create_v7.CreateTopicsResponse(
            throttle_time=NO_THROTTLE,
            topics=tuple(
                self._creation(topic.name, outcome, layers)
                for topic, outcome in zip(rows.topics, outcomes, strict=True)
            ),
        )

    def _partitions_of_new(self, topic: Any) -> int:
        by_hand, count = len(topic.assignments), topic.num_partitions
        return by_hand or (self.config.num_partitions if count == DEFAULT else int(count))

    async def _create(self, call: Call, rows: TopicRows, topic: Any) -> Plan:
        self._check_controller()
        rows.check(topic.name)
        planned = self.creation.plan(
            topic.name,
            {each.name: each.value for each in topic.configs},
            partitions=topic.num_partitions,
            replication=topic.replication_factor,
            by_hand={each.partition_index: list(each.broker_ids) for each in topic.assignments},
        )
        if not rows.validate_only:
            call.take(len(planned.assignment), self.now())
            await self.gateway.create_topic(planned.name, planned.assignment, planned.overrides)
        return planned

    def _creation(
        self, name: str, outcome: Plan | ApiException, layers: list[Layer]
    ) -> create_v7.CreatableTopicResult:
        if isinstance(outcome, ApiException):
            return create_v7.CreatableTopicResult(
                name=name, topic_id=None, **error_fields(outcome), configs=()
            )
        topic = self.metadata.topics.get(name)
        entries = describe_topic(outcome.config, outcome.overrides, layers)
        return create_v7.CreatableTopicResult(
            name=name,
            topic_id=topic.id if topic else None,
            error_code=ErrorCode.none,
            error_message=None,
            num_partitions=len(outcome.assignment),
            replication_factor=outcome.replication,
            configs=tuple(
                create_v7.CreatableTopicConfigs(
                    name=entry.name,
                    value=entry.value,
                    read_only=entry.read_only,
                    config_source=entry.source,
                    is_sensitive=False,
                )
                for entry in entries
            ),
        )

    async def delete(self, call: Call, request: Any) -> delete_v6.DeleteTopicsResponse:
        by_name = [Wanted(name, None) for name in getattr(request, "topic_names", ())]
        wanted = by_name or [Wanted(topic.name, topic.topic_id) for topic in request.topics]
        of_quorum, times = self.gateway.decides_in_order, Counter(wanted)
        if of_quorum:
            wanted = [*times]
        rows = (self._delete(call, each, of_quorum and times[each] > 1) for each in wanted)
        outcomes = await attempt_each(self.gateway, rows)
        until = deadline(request.timeout)
        outcomes = await _each(outcomes, lambda topic: self._wait_until_deleted(topic, until))
        return delete_v6.DeleteTopicsResponse(
            throttle_time=NO_THROTTLE,
            responses=tuple(
                delete_v6.DeletableTopicResult(
                    name=outcome.name if isinstance(outcome, TopicInfo) else each.name,
                    topic_id=outcome.id
                    if of_quorum and isinstance(outcome, TopicInfo)
                    else each.id,
                    error_code=code_of(outcome),
                    # Kafka 2.8 has the field, and leaves it empty.
                    error_message=message_of(outcome) if of_quorum else None,
                )
                for each, outcome in zip(wanted, outcomes, strict=True)
            ),
        )

    async def _delete(self, call: Call, wanted: Wanted, is_repeated: bool) -> TopicInfo:
        self._check_controller()
        if is_repeated:
            raise invalid_request(f"Duplicate topic {'id' if wanted.name is None else 'name'}.")
        if not self.config.delete_topic_enable:
            known = call.version >= DELETION_DISABLED_SINCE
            raise ApiException(
                ErrorCode.topic_deletion_disabled if known else ErrorCode.invalid_request,
                "Topic deletion is disabled: delete.topic.enable is false.",
            )
        topic = self._find(wanted)
        call.take(len(topic.partitions), self.now())
        await self.gateway.delete_topic(topic.name)
        return topic

    def _find(self, wanted: Wanted) -> TopicInfo:
        if wanted.name is not None and wanted.id is not None:
            raise invalid_request("Topic name and topic ID can not both be specified.")
        if wanted == NOTHING_WANTED and self.gateway.decides_in_order:
            raise invalid_request("Neither topic name nor id were specified.")
        topics, what = self.metadata.topics, "topic-partition"
        if wanted.id is None:
            found, code = topics.get(wanted.name or ""), ErrorCode.unknown_topic_or_partition
        else:
            found = topics.get(self.metadata.topic_names.get(wanted.id, ""))
            code, what = ErrorCode.unknown_topic_id, "topic ID"
        if found is None:
            raise ApiException(code, f"This server does not host this {what}.")
        return found

    async def _wait_until_deleted(self, topic: TopicInfo, until: float) -> None:
        """Wait until this topic is gone; a new one may have its name by then.

        For clients it is gone at once; its name is free only when every replica has been deleted.
        If a broker is down, that may take days: the wait ends before.
        """
        topics, gateway = self.metadata.topics, self.gateway

        def gone() -> bool:
            return topics.get(topic.name) is not topic and not gateway.is_deleting(topic.name)

        if not await self.metadata.until(gone, until):
            raise ApiException(ErrorCode.request_timed_out, f"{topic.name} is still being deleted")

    # -- CreatePartitions ------------------------------------------------------------------------

    async def create_partitions(self, call: Call, request: Any) -> grow_v3.CreatePartitionsResponse:
        rows = TopicRows(request, self._partitions_of_grown, once=self.gateway.decides_in_order)
        outcomes = await attempt_each(
            self.gateway, (self._grow(call, rows, it) for it in rows.topics)
        )
        if not request.validate_only:
            until = deadline(request.timeout)
            outcomes = await _each(outcomes, lambda grown: self._wait_for_leaders(*grown, until))
        return grow_v3.CreatePartitionsResponse(
            throttle_time=NO_THROTTLE,
            results=tuple(
                grow_v3.CreatePartitionsTopicResult(name=topic.name, **error_fields(outcome))
                for topic, outcome in zip(rows.topics, outcomes, strict=True)
            ),
        )

    def _partitions_of_grown(self, wanted: Any) -> int:
        topic = self.metadata.topics.get(wanted.name)
        return 0 if topic is None else wanted.count - len(topic.partitions)

    async def _grow(self, call: Call, rows: TopicRows, wanted: Any) -> tuple[str, Assignment]:
        self._check_controller()
        rows.check(wanted.name)
        topic = self.metadata.topics.get(wanted.name)
        if topic is None:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition, f"The topic '{wanted.name}' does not exist."
            )
        added = self._added(topic, wanted)
        if not rows.validate_only:
            call.take(len(added), self.now())
            await self.gateway.create_partitions(wanted.name, added)
        return wanted.name, added

    def _added(self, topic: TopicInfo, wanted: Any) -> Assignment:
        """The replicas of the new partitions, in the ring that starts at partition 0's leader."""
        count, known = len(topic.partitions), self.metadata
        if wanted.count < count:
            raise ApiException(
                ErrorCode.invalid_partitions,
                f"Topic currently has {count} partitions, which is higher than the requested "
                f"{wanted.count}.",
            )
        if wanted.count == count:
            raise ApiException(
                ErrorCode.invalid_partitions, f"Topic already has {count} partitions."
            )
        if topic.partitions.keys() != set(range(count)):
            raise ApiException(
                ErrorCode.invalid_partitions,
                f"The partitions of topic '{topic.name}' are {sorted(topic.partitions)}: some are "
                "missing, so it is not known which are to be added.",
            )
        first = topic.partitions[0].replicas
        if wanted.assignments is None:
            how: dict[str, Any] = {"racks": known.racks, "fenced": known.fenced}
            return spread_further(wanted.count, first, known.eligible, first_partition=count, **how)
        by_hand = {
            count + place: list(each.broker_ids) for place, each in enumerate(wanted.assignments)
        }
        if len(by_hand) != wanted.count - count:
            raise ApiException(
                ErrorCode.invalid_replica_assignment,
                f"Increasing the number of partitions by {wanted.count - count} but {len(by_hand)} "
                "assignments provided.",
            )
        check_assignment(by_hand, self.metadata.registered, count)
        if len(by_hand[count]) != len(first):
            raise ApiException(
                ErrorCode.invalid_replica_assignment,
                f"Inconsistent replication factor between partitions, partition 0 has {len(first)} "
                f"while the new ones have {len(by_hand[count])}.",
            )
        return by_hand
