"""Elections that nobody's death has caused.

ElectLeaders     an administrator asks: preferred leaders, or unclean elections
balancing        from time to time, each partition gets its preferred leader back; up to a
                 thousand at once, the others soon after
unclean ones     from time to time, likewise: a topic may have got unclean.leader.election.enable
                 after its partitions had lost their leaders
"""

from collections.abc import Iterable

from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import PartitionRegistration
from engine.metadata.gateway import Outcomes
from engine.metadata.records.topics import PartitionChangeRecord
from engine.model import NO_BROKER, TopicPartition
from engine.quorum_controller.partition_change import PartitionElection
from engine.quorum_controller.replication_control import ReplicationControlManager
from engine.quorum_controller.result import ControllerResult

MAX_BALANCED = 1000  # elections in one batch of records


class LeaderElections:
    def __init__(self, replication: ReplicationControlManager) -> None:
        self._replication, self._image = replication, replication.image

    def elect(
        self, partitions: Iterable[TopicPartition] | None, election: PartitionElection
    ) -> ControllerResult[Outcomes]:
        if partitions is None:
            partitions = (partition for partition, _ in self._image.partitions())
        records, outcomes = (
            list[PartitionChangeRecord](),
            dict[TopicPartition, ApiException | None](),
        )
        for partition in sorted(partitions):
            try:
                records.append(self._elect(partition, election))
                outcomes[partition] = None
            except ApiException as error:
                outcomes[partition] = error
        return ControllerResult(records, outcomes)

    def _elect(self, asked: TopicPartition, election: PartitionElection) -> PartitionChangeRecord:
        topic, partition = self._image.topics.get(asked.topic), self._image.partition(asked)
        if topic is None or partition is None:
            what = f"topic as {asked.topic}" if topic is None else f"partition as {asked}"
            raise ApiException(ErrorCode.unknown_topic_or_partition, f"No such {what}")
        is_preferred = election is PartitionElection.PREFERRED
        has = partition.leader == partition.replicas[0] if is_preferred else (
            partition.leader != NO_BROKER
        )  # fmt: skip
        if has:
            text = "Leader election not needed for topic partition."
            raise ApiException(ErrorCode.election_not_needed, text)
        record = self._replication.builder.build(
            topic.id, asked.partition, partition, election=election
        )
        if record is None:
            code = (
                ErrorCode.preferred_leader_not_available
                if is_preferred
                else ErrorCode.eligible_leaders_not_available
            )
            why = f"Failed to elect leader for partition {asked} under strategy {election.name}"
            raise ApiException(code, why)
        return record

    def balance(self) -> ControllerResult[bool]:
        """The response: whether there may be more to do."""
        moved = (it for it in self._image.partitions() if it[1].leader != it[1].replicas[0])
        return self._batch(moved, PartitionElection.PREFERRED)

    def elect_uncleanly(self) -> ControllerResult[bool]:
        """The response: whether there may be more to do."""
        unclean, election = PartitionElection.UNCLEAN, self._replication.election
        leaderless = (it for it in self._image.partitions() if it[1].leader == NO_BROKER)
        return self._batch((it for it in leaderless if election(it[0].topic) is unclean), unclean)

    def _batch(
        self,
        partitions: Iterable[tuple[TopicPartition, PartitionRegistration]],
        election: PartitionElection,
    ) -> ControllerResult[bool]:
        records = []
        for (topic, number), known in partitions:
            id = self._image.topics[topic].id
            record = self._replication.builder.build(id, number, known, election=election)
            if record is not None:
                records.append(record)
            if len(records) == MAX_BALANCED:
                return ControllerResult(records, True)
        return ControllerResult(records, False)
