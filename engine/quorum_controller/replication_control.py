"""Topics, partitions, and their leaders and ISRs (ReplicationControlManager).

    create     Topic, Config ..., Partition ...     leaders are chosen with it
    delete     RemoveTopic                          the brokers delete the logs
    a leader asks for another ISR (AlterPartition)  PartitionChange
    a broker is fenced, or wants to stop            PartitionChange of each partition it leads or is
                                                    in the ISR of, then BrokerRegistrationChange
    a broker is unfenced                            BrokerRegistrationChange, then PartitionChange
                                                    of each partition without a leader

AlterPartition is refused, partition by partition:

    UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
    NOT_CONTROLLER             its epochs are newer: another node is the controller
    FENCED_LEADER_EPOCH        of an earlier leader
    INVALID_REQUEST            not from the leader; the ISR is none; or it is still recovering
    INVALID_UPDATE_VERSION     the partition has changed since
    INELIGIBLE_REPLICA         a new member is fenced, or stops
    NEW_LEADER_ELECTED         accepted: it ended a move, and another broker leads now
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.delta import EVERY_BROKER, PartitionRegistration
from engine.metadata.image import MetadataImage, TopicImage, changed_partition
from engine.metadata.image_records import config_record, partition_record
from engine.metadata.records.topics import (
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from engine.metadata.replica_assignment import without
from engine.model import NO_BROKER, TopicPartition
from engine.quorum_controller.cluster_control import ClusterControlManager
from engine.quorum_controller.partition_change import (
    RECOVERED,
    RECOVERING,
    PartitionChangeBuilder,
    PartitionElection,
)
from engine.quorum_controller.result import ControllerResult
from engine.topics import check_added

ALL_BROKERS = "brokers", EVERY_BROKER
UNCLEAN_KEY = "unclean.leader.election.enable"
METADATA_TOPIC = "__cluster_metadata"  # the log of the quorum, which is no topic of brokers


class PartitionChangeAsked(NamedTuple):
    """What a leader asks for in AlterPartition."""

    topic_id: UUID
    partition: int
    leader_epoch: int
    isr: tuple[int, ...]
    recovery: int
    partition_epoch: int


class ReplicationControlManager:
    def __init__(
        self,
        image: MetadataImage,
        cluster: ClusterControlManager,
        builder: PartitionChangeBuilder,
        *,
        unclean: bool,  # unclean.leader.election.enable of this node
    ) -> None:
        self.image, self.cluster, self.builder, self._unclean = image, cluster, builder, unclean

    # -- topics ----------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        id: UUID,
        assignment: Mapping[int, Sequence[int]],
        config: Mapping[str, str],
    ) -> ControllerResult[None]:
        if name == METADATA_TOPIC:
            raise invalid_request(f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
        if name in self.image.topics:
            text = f"Topic '{name}' already exists."
            raise ApiException(ErrorCode.topic_already_exists, text)
        if (other := self._colliding(name)) is not None:
            text = f"Topic '{name}' collides with existing topic: {other}"
            raise ApiException(ErrorCode.invalid_topic_exception, text)
        check_added(len(assignment))
        configs = [config_record("topics", name, key, value) for key, value in config.items()]
        partitions = self._new_partitions(id, assignment)
        return ControllerResult([TopicRecord(name=name, topic_id=id), *configs, *partitions], None)

    def _colliding(self, name: str) -> str | None:
        """A topic whose name differs from this one only by '.' for '_': the names of their metrics
        would be the same."""
        if "." not in name and "_" not in name:
            return None
        alike = name.replace(".", "_")
        return next((it for it in self.image.topics if it.replace(".", "_") == alike), None)

    def create_partitions(
        self, name: str, assignment: Mapping[int, Sequence[int]]
    ) -> ControllerResult[None]:
        topic = self.topic(name)
        check_added(len(assignment))
        if assignment.keys() & topic.partitions.keys():
            raise ApiException(
                ErrorCode.invalid_partitions,
                f"Topic currently has {len(topic.partitions)} partitions: others were added at "
                "the same time.",
            )
        return ControllerResult(list(self._new_partitions(topic.id, assignment)), None)

    def delete_topic(self, name: str) -> ControllerResult[None]:
        return ControllerResult([RemoveTopicRecord(topic_id=self.topic(name).id)], None)

    def topic(self, name: str) -> TopicImage:
        topic = self.image.topics.get(name)
        if topic is None:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist."
            )
        return topic

    def _new_partitions(self, id: UUID, assignment: Mapping[int, Sequence[int]]) -> Iterator[Any]:
        for index, replicas in sorted(assignment.items()):
            isr = tuple(replica for replica in replicas if self.cluster.is_active(replica))
            if not isr:
                raise ApiException(
                    ErrorCode.invalid_replica_assignment,
                    "All brokers specified in the manual partition assignment for partition "
                    f"{index} are fenced or in controlled shutdown.",
                )
            state = PartitionRegistration(isr[0], 0, isr, tuple(replicas), 0)
            yield partition_record(id, index, state)

    # -- brokers ---------------------------------------------------------------------------

    def fenced(self, broker: int) -> list[Any]:
        return [*self.without_broker(broker), self.cluster.fence(broker)]

    def unfenced(self, broker: int) -> list[Any]:
        """It may lead the partitions that have no leader now. One that was on its way to a stop
        leads nothing more before its next start."""
        stops = self.image.brokers[broker].in_controlled_shutdown
        waiting = (it for it in self._all() if it[2].leader == NO_BROKER and not stops)
        builder = PartitionChangeBuilder(
            lambda it: it == broker or self.cluster.is_active(it), self.builder.elect
        )
        return [self.cluster.unfence(broker), *self._changes(builder, waiting, NO_BROKER)]

    def shut_down(self, broker: int) -> list[Any]:
        return [*self.cluster.shut_down(broker), *self.without_broker(broker)]

    def without_broker(self, broker: int) -> Iterator[PartitionChangeRecord]:
        """It leaves each ISR, and others lead in its place."""
        inside = (it for it in self._all() if broker in it[2].isr)
        builder = PartitionChangeBuilder(
            lambda it: it != broker and self.cluster.is_active(it), self.builder.elect
        )
        return self._changes(builder, inside, broker)

    def leads(self, broker: int) -> bool:
        return any(partition.leader == broker for _, _, partition in self._all())

    def _all(self) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
        for topic in self.image.topics.values():
            for index, partition in topic.partitions.items():
                yield topic, index, partition

    def _changes(
        self,
        builder: PartitionChangeBuilder,
        partitions: Iterable[tuple[TopicImage, int, PartitionRegistration]],
        leaving: int,
    ) -> Iterator[PartitionChangeRecord]:
        for topic, index, partition in partitions:
            isr = without(partition.isr, (leaving,))
            election = self.election(topic.name)
            record = builder.build(topic.id, index, partition, isr=isr, election=election)
            if record is not None:
                yield record

    def election(self, topic: str) -> PartitionElection:
        """Whether a replica that is not in sync may lead, if no other can."""
        set_for = (self.image.configs.get(key, {}) for key in (("topics", topic), ALL_BROKERS))
        text = next((values[UNCLEAN_KEY] for values in set_for if UNCLEAN_KEY in values), None)
        unclean = self._unclean if text is None else text.strip().lower() == "true"
        return PartitionElection.UNCLEAN if unclean else PartitionElection.ONLINE

    # -- AlterPartition --------------------------------------------------------------------

    def alter_partitions(
        self, broker: int, epoch: int, asked: Iterable[PartitionChangeAsked]
    ) -> ControllerResult[list[PartitionRegistration | ApiException]]:
        """The response has the partitions as they are now, in the order of the request."""
        self.cluster.check_epoch(broker, epoch)
        records, outcomes = list[Any](), list[PartitionRegistration | ApiException]()
        for change in asked:
            try:
                record, now = self._alter(broker, change)
            except ApiException as error:
                outcomes.append(error)
                continue
            if record is not None:
                records.append(record)
            elected = now.leader != broker
            outcomes.append(ApiException(ErrorCode.new_leader_elected) if elected else now)
        return ControllerResult(records, outcomes)

    def _alter(
        self, broker: int, change: PartitionChangeAsked
    ) -> tuple[PartitionChangeRecord | None, PartitionRegistration]:
        topic = self.image.topic(change.topic_id)
        if topic is None:
            raise ApiException(ErrorCode.unknown_topic_id, str(change.topic_id))
        partition = topic.partitions.get(change.partition)
        if partition is None:
            raise ApiException(ErrorCode.unknown_topic_or_partition, topic.name)
        code = self._fault(broker, change, partition)
        if code is not ErrorCode.none:
            text = f"{TopicPartition(topic.name, change.partition)} is {partition}, not {change}"
            raise ApiException(code, text)
        record = self.builder.build(
            topic.id,
            change.partition,
            partition,
            isr=change.isr,
            recovery=change.recovery,
            election=self.election(topic.name),
        )
        return record, partition if record is None else changed_partition(partition, record)

    def _fault(
        self, broker: int, change: PartitionChangeAsked, partition: PartitionRegistration
    ) -> ErrorCode:
        recovers = change.recovery == RECOVERING
        rules: tuple[tuple[Callable[[], bool], ErrorCode], ...] = (
            (lambda: change.recovery not in (RECOVERED, RECOVERING), ErrorCode.invalid_request),
            (lambda: change.leader_epoch > partition.leader_epoch, ErrorCode.not_controller),
            (lambda: change.partition_epoch > partition.version, ErrorCode.not_controller),
            (lambda: change.leader_epoch < partition.leader_epoch, ErrorCode.fenced_leader_epoch),
            (lambda: broker != partition.leader, ErrorCode.invalid_request),
            (lambda: change.partition_epoch < partition.version, ErrorCode.invalid_update_version),
            (lambda: not _is_isr(change.isr, partition.replicas), ErrorCode.invalid_request),
            (lambda: broker not in change.isr, ErrorCode.invalid_request),
            (lambda: recovers and len(change.isr) > 1, ErrorCode.invalid_request),
            (
                lambda: recovers and partition.leader_recovery_state == RECOVERED,
                ErrorCode.invalid_request,
            ),
            (
                lambda: not all(map(self.cluster.is_active, change.isr)),
                ErrorCode.ineligible_replica,
            ),
        )
        return next((code for holds, code in rules if holds()), ErrorCode.none)


def _is_isr(isr: tuple[int, ...], replicas: tuple[int, ...]) -> bool:
    return bool(isr) and len(set(isr)) == len(isr) and set(isr) <= set(replicas)
