"""ElectLeaders (API 43), versions 0 to 2; AlterPartitionReassignments (API 45) and
ListPartitionReassignments (API 46), version 0.

    request -> the controller -> its result, partition by partition -> answer

Elections: a preferred election makes the first replica leader again; an unclean one may elect a
replica that is not in sync, if no other is left. If all partitions are requested, the response
omits those that need no election. The response is sent when this broker's own metadata has the new
leaders, so that the client's next Metadata request finds them; at the latest after `timeout`.

Reassignments: the response confirms that a move has begun. ListPartitionReassignments shows how far
it is.

Only the controller accepts these requests. If a change takes longer than `timeout`, the response is
REQUEST_TIMED_OUT, and the work continues. ListPartitionReassignments ignores its `timeout`, as in
Kafka: some clients send 0.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, TypeVar

from kio.schema.alter_partition_reassignments.v0 import response as alter_v0
from kio.schema.elect_leaders.v2 import response as elect_v2
from kio.schema.list_partition_reassignments.v0 import response as list_v0

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, deadline, error_fields
from engine.broker.metadata import Metadata
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import ControllerGateway, Outcomes
from engine.model import TopicPartition
from engine.wire.by_topic import by_partition, partitions_in, topics_of
from engine.wire.primitives import NO_THROTTLE

T = TypeVar("T")


class Election(IntEnum):
    """By Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


async def _in_time(work: Awaitable[T], until: float) -> T:
    """The result. An error if this broker stops being the controller meanwhile."""
    try:
        async with asyncio.timeout_at(until):
            return await work
    except TimeoutError as error:
        raise ApiException(ErrorCode.request_timed_out, "the controller is still busy") from error


def _rows(outcome: Mapping[TopicPartition, T] | ApiException) -> list[tuple[TopicPartition, T]]:
    """None if the whole request has failed."""
    if isinstance(outcome, ApiException):
        return []
    return [(each, outcome[each]) for each in sorted(outcome)]


# -- AlterPartitionReassignments -------------------------------------------------------------


async def alter_reassignments(
    gateway: ControllerGateway, call: Call, request: Any
) -> alter_v0.AlterPartitionReassignmentsResponse:
    moves = {
        partition: each.replicas  # None cancels
        for partition, each in by_partition(request.topics)
    }
    outcome = await attempt(_in_time(gateway.alter_reassignments(moves), deadline(request.timeout)))
    row = alter_v0.ReassignablePartitionResponse
    rows = (
        (each, row(partition_index=each.partition, **error_fields(error)))
        for each, error in _rows(outcome)
    )
    return alter_v0.AlterPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        **error_fields(outcome),
        responses=topics_of(alter_v0.ReassignableTopicResponse, rows),
    )


# -- ListPartitionReassignments --------------------------------------------------------------


async def list_reassignments(
    gateway: ControllerGateway, call: Call, request: Any
) -> list_v0.ListPartitionReassignmentsResponse:
    wanted = None
    if request.topics is not None:
        wanted = frozenset(partitions_in(request.topics, numbers="partition_indexes"))
    outcome = await attempt(gateway.list_reassignments(wanted))
    rows = (
        (
            each,
            list_v0.OngoingPartitionReassignment(
                partition_index=each.partition,
                replicas=assigned.replicas,
                adding_replicas=assigned.adding,
                removing_replicas=assigned.removing,
            ),
        )
        for each, assigned in _rows(outcome)
    )
    return list_v0.ListPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        **error_fields(outcome),
        topics=topics_of(list_v0.OngoingTopicReassignment, rows),
    )


@dataclass(frozen=True)
class ElectLeadersHandler:
    metadata: Metadata
    gateway: ControllerGateway

    # -- ElectLeaders ----------------------------------------------------------------------------

    async def handle(self, call: Call, request: Any) -> elect_v2.ElectLeadersResponse:
        topics = request.topic_partitions
        wanted = None if topics is None else frozenset(partitions_in(topics, "topic"))
        until = deadline(request.timeout)
        outcome = await attempt(self._elect(wanted, request.election_type, until))
        if isinstance(
            outcome, ApiException
        ):  # version 0 has no field for an error of the whole request
            outcome = dict.fromkeys(self._all() if wanted is None else wanted, outcome)
        elif wanted is None:
            outcome = {
                partition: error
                for partition, error in outcome.items()
                if error is None or error.code != ErrorCode.election_not_needed
            }
        rows = (
            (each, elect_v2.PartitionResult(partition_id=each.partition, **error_fields(error)))
            for each, error in _rows(outcome)
        )
        return elect_v2.ElectLeadersResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.none,
            replica_election_results=topics_of(
                elect_v2.ReplicaElectionResult, rows, "topic", "partition_result"
            ),
        )

    async def _elect(
        self, wanted: frozenset[TopicPartition] | None, kind: int, until: float
    ) -> Outcomes:
        if kind not in list(Election):
            raise invalid_request(f"There is no election type {kind}")
        unclean = kind == Election.UNCLEAN
        outcomes = await _in_time(self.gateway.elect_leaders(wanted, unclean=unclean), until)
        leads = partial(self._leads, unclean)
        elected = [partition for partition, error in outcomes.items() if error is None]
        await self.metadata.until(lambda: all(map(leads, elected)), until)
        late = ApiException(
            ErrorCode.request_timed_out, "the new leader is not in the metadata yet"
        )
        return {**outcomes, **{each: late for each in elected if not leads(each)}}

    def _leads(self, unclean: bool, partition: TopicPartition) -> bool:
        """Whether this broker's metadata has the elected leader."""
        known = self.metadata.partition(partition)
        if known is None:
            return False
        return known.leader in (self.metadata.brokers if unclean else known.replicas[:1])

    def _all(self) -> list[TopicPartition]:
        topics = self.metadata.topics.values()
        return [
            TopicPartition(topic.name, number) for topic in topics for number in topic.partitions
        ]
