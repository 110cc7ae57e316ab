"""ElectLeaders (API 43), versions 0 to 2; AlterPartitionReassignments (API 45) and
ListPartitionReassignments (API 46), version 0.

    request -> an event for the controller -> its result, partition by partition -> answer

Elections: a preferred one gives each partition back to its first replica; an unclean one lets a
replica lead that is not in sync, where nobody else is left. "All partitions" leaves those out of
the answer that need no election. What was elected is answered once this broker's own metadata
says so too, so that the client's next question finds it; at the latest after `timeout`.

Reassignments: the answer says that a move has begun. How far it is, the other request tells.

Only the controller takes these requests. Where it takes longer than `timeout`, the answer is
REQUEST_TIMED_OUT, and it goes on all the same.
"""

import asyncio
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from kio.schema.alter_partition_reassignments.v0.response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kio.schema.elect_leaders.v2.response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kio.schema.list_partition_reassignments.v0.response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

from engine.broker.broker import Broker, Call
from engine.broker.handlers.outcome import NO_THROTTLE, attempt, code_of, deadline, message_of
from engine.controller.events import (
    AlterReassignments,
    ElectLeaders,
    Event,
    ListReassignments,
    Outcomes,
)
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

T = TypeVar("T")


class Election(IntEnum):
    """By Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


async def _ask(broker: Broker, event: Event, until: float) -> Any:
    """What comes of an event. Whoever ceases to be the controller meanwhile answers an error."""
    try:
        async with asyncio.timeout_at(until):
            outcome = await broker.controlling.ask(event)
    except TimeoutError as error:
        raise KafkaError(
            ErrorCode.request_timed_out, "the controller is still at something else"
        ) from error
    if isinstance(outcome, KafkaError):
        raise outcome
    return outcome


def _by_topic(results: Mapping[TopicPartition, T]) -> Iterable[tuple[str, list[tuple[int, T]]]]:
    """As the protocol nests them: a topic, and what there is to say of its partitions."""
    for topic, items in groupby(sorted(results), key=lambda each: each.topic):
        yield topic, [(each.partition, results[each]) for each in items]


# -- ElectLeaders ----------------------------------------------------------------------------


async def elect(broker: Broker, call: Call, request: Any) -> ElectLeadersResponse:
    wanted = None
    if request.topic_partitions is not None:
        wanted = frozenset(
            TopicPartition(each.topic, number)
            for each in request.topic_partitions
            for number in each.partitions
        )
    until = deadline(request.timeout)
    outcome = await attempt(_elect(broker, wanted, request.election_type, until))
    if isinstance(outcome, KafkaError):  # version 0 has no place for an error of the whole
        outcome = dict.fromkeys(_all(broker) if wanted is None else wanted, outcome)
    elif wanted is None:
        outcome = {
            partition: error
            for partition, error in outcome.items()
            if code_of(error) != ErrorCode.election_not_needed
        }
    return ElectLeadersResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        replica_election_results=tuple(
            ReplicaElectionResult(
                topic=topic,
                partition_result=tuple(
                    PartitionResult(
                        partition_id=number,
                        error_code=code_of(error),
                        error_message=message_of(error),
                    )
                    for number, error in results
                ),
            )
            for topic, results in _by_topic(outcome)
        ),
    )


async def _elect(
    broker: Broker, wanted: frozenset[TopicPartition] | None, kind: int, until: float
) -> Outcomes:
    if kind not in list(Election):
        raise KafkaError(ErrorCode.invalid_request, f"There is no election type {kind}")
    unclean = kind == Election.UNCLEAN
    outcomes: Outcomes = await _ask(broker, ElectLeaders(wanted, unclean), until)
    leads = partial(_leads, broker, unclean)
    elected = [partition for partition, error in outcomes.items() if error is None]
    await broker.metadata.until(lambda: all(map(leads, elected)), until)
    late = KafkaError(ErrorCode.request_timed_out, "the new leader has not begun to lead yet")
    return {**outcomes, **{each: late for each in elected if not leads(each)}}


def _leads(broker: Broker, unclean: bool, partition: TopicPartition) -> bool:
    """Whether the one that was elected leads, as far as this broker knows."""
    known = broker.metadata.partition(partition)
    if known is None:
        return False
    return known.leader in (broker.metadata.brokers if unclean else known.replicas[:1])


def _all(broker: Broker) -> list[TopicPartition]:
    topics = broker.metadata.topics.values()
    return [TopicPartition(topic.name, number) for topic in topics for number in topic.partitions]


# -- AlterPartitionReassignments -------------------------------------------------------------


async def alter_reassignments(
    broker: Broker, call: Call, request: Any
) -> AlterPartitionReassignmentsResponse:
    moves = {
        TopicPartition(topic.name, each.partition_index): each.replicas  # None cancels
        for topic in request.topics
        for each in topic.partitions
    }
    event = AlterReassignments(moves)
    outcome = await attempt(_ask(broker, event, deadline(request.timeout)))
    return AlterPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(outcome),
        error_message=message_of(outcome),
        responses=tuple(
            ReassignableTopicResponse(
                name=topic,
                partitions=tuple(
                    ReassignablePartitionResponse(
                        partition_index=number,
                        error_code=code_of(error),
                        error_message=message_of(error),
                    )
                    for number, error in results
                ),
            )
            for topic, results in _by_topic({} if isinstance(outcome, KafkaError) else outcome)
        ),
    )


# -- ListPartitionReassignments --------------------------------------------------------------


async def list_reassignments(
    broker: Broker, call: Call, request: Any
) -> ListPartitionReassignmentsResponse:
    wanted = None
    if request.topics is not None:
        wanted = frozenset(
            TopicPartition(topic.name, number)
            for topic in request.topics
            for number in topic.partition_indexes
        )
    event = ListReassignments(wanted)
    outcome = await attempt(_ask(broker, event, deadline(request.timeout)))
    return ListPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(outcome),
        error_message=message_of(outcome),
        topics=tuple(
            OngoingTopicReassignment(
                name=topic,
                partitions=tuple(
                    OngoingPartitionReassignment(
                        partition_index=number,
                        replicas=each.replicas,
                        adding_replicas=each.adding,
                        removing_replicas=each.removing,
                    )
                    for number, each in moves
                ),
            )
            for topic, moves in _by_topic({} if isinstance(outcome, KafkaError) else outcome)
        ),
    )
