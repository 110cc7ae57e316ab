"""Partitions move to other brokers: AlterPartitionReassignments, one record a step.

    from 1,2 to 3,4           replicas   adding  removing  leader  ISR
    asked for                 3,4,1,2    3,4     1,2       1       1,2
    the leader adds 3 and 4   3,4                          3       3,4

The second record follows from the AlterPartition by which the ISR has all target replicas: then the
move is complete, and the removed replicas leave with that record. No other step is needed, so a new
controller has nothing to continue. A move that is cancelled is taken back by one record.

A move may get another target on its way. What it had added and the new target does not want leaves
at once, but for a replica in the ISR: perhaps nobody else has all records. It is removed in the
end, as the old ones are.
"""

from collections.abc import Mapping
from typing import Any

from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import PartitionRegistration
from engine.metadata.gateway import OngoingReassignment, Outcomes
from engine.metadata.image import TopicImage
from engine.metadata.records.topics import PartitionChangeRecord
from engine.metadata.replica_assignment import (
    ReplicaAssignment,
    is_moving,
    origin,
    toward,
    without,
)
from engine.model import TopicPartition
from engine.quorum_controller.partition_change import PartitionElection
from engine.quorum_controller.replication_control import ReplicationControlManager
from engine.quorum_controller.result import ControllerResult

Moves = Mapping[TopicPartition, tuple[int, ...] | None]  # None cancels


class Reassignments:
    def __init__(self, replication: ReplicationControlManager) -> None:
        self._replication, self._image = replication, replication.image

    def alter(self, moves: Moves) -> ControllerResult[Outcomes]:
        records, outcomes = list[Any](), dict[TopicPartition, ApiException | None]()
        for asked, to in sorted(moves.items()):
            try:
                record = self._alter(asked, to)
                outcomes[asked] = None
            except ApiException as error:
                outcomes[asked] = error
                continue
            if record is not None:
                records.append(record)
        return ControllerResult(records, outcomes)

    def ongoing(
        self, partitions: frozenset[TopicPartition] | None
    ) -> dict[TopicPartition, OngoingReassignment]:
        """The moves that go on, of these partitions; None: of all."""
        return {
            partition: OngoingReassignment(known.replicas, known.adding, known.removing)
            for partition, known in self._image.partitions()
            if is_moving(_assigned(known)) and (partitions is None or partition in partitions)
        }

    def _alter(
        self, asked: TopicPartition, to: tuple[int, ...] | None
    ) -> PartitionChangeRecord | None:
        topic, partition = self._image.topics.get(asked.topic), self._image.partition(asked)
        if topic is None or partition is None:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition, "The partition does not exist."
            )
        if to is None:
            return self._cancel(topic, asked.partition, partition)
        self._check(to)
        return self._replication.builder.build(
            topic.id, asked.partition, partition, assignment=_toward(partition, to)
        )

    def _cancel(
        self, topic: TopicImage, index: int, partition: PartitionRegistration
    ) -> PartitionChangeRecord | None:
        assigned, election = _assigned(partition), self._replication.election(topic.name)
        if not is_moving(assigned):
            text = "No partition reassignment is in progress."
            raise ApiException(ErrorCode.no_reassignment_in_progress, text)
        replicas, isr = origin(assigned), without(partition.isr, partition.adding)
        if not isr and election is not PartitionElection.UNCLEAN:
            raise ApiException(
                ErrorCode.invalid_replica_assignment,
                f"Unable to revert partition assignment for {topic.name}:{index} because it would "
                "require an unclean leader election.",
            )
        return self._replication.builder.build(
            *(topic.id, index, partition),
            isr=isr or replicas[:1],
            assignment=ReplicaAssignment(replicas),
            election=election,
        )

    def _check(self, to: tuple[int, ...]) -> None:
        unknown = next((it for it in to if it not in self._image.brokers), None)
        twice = next((it for it in to if to.count(it) > 1), None)
        fault = ""
        if not to:
            fault = "an empty replica list."
        elif unknown is not None:
            fault = f"broker {unknown}, but no such broker is registered."
        elif twice is not None:
            fault = f"the broker {twice} more than once."
        if fault:
            text = f"The manual partition assignment includes {fault}"
            raise ApiException(ErrorCode.invalid_replica_assignment, text)


def _toward(partition: PartitionRegistration, to: tuple[int, ...]) -> ReplicaAssignment:
    way = toward(_assigned(partition), to)
    kept = tuple(it for it in partition.isr if it not in way.replicas)
    return ReplicaAssignment((*way.replicas, *kept), way.adding, (*way.removing, *kept))


def _assigned(partition: PartitionRegistration) -> ReplicaAssignment:
    return ReplicaAssignment(partition.replicas, partition.adding, partition.removing)
