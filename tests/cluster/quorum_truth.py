"""What the quorum of controllers says about a cluster, read from the disks of its voters.

A record counts when more than half of the voters have it. No process is asked: one that is paused,
or cut off, could not answer, or would say what was true before.
"""

from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import engine
from engine.client.admin.values import ElectionType
from engine.cluster.cluster import Cluster
from engine.cluster.link_faults import FIRST_CONTROLLER, End, controller
from engine.metadata.image import MetadataImage
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import NO_BROKER, TopicPartition
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import OffsetAndEpoch
from engine.raft.quorum_state_file import QuorumStateFile
from engine.raft.snapshot_files import parse_snapshot_name, snapshot_name
from engine.storage.batch import scan
from tests.cluster.truth import Seen, Truth
from tests.limits import CHANGE_S


class VoterFiles:
    """The metadata log in one voter's directory, as a MetadataLoader reads it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        named = [parse_snapshot_name(path.name) for path in directory.glob("*.checkpoint")]
        self.last_snapshot = max((id for id in named if id is not None), default=None)
        self.batches, self.end = dict[int, bytes](), 0
        for path in sorted(directory.glob("*.log")):
            data = path.read_bytes()
            for place, header in scan(data):
                self.batches[header.base_offset] = data[place : place + header.size]
                self.end = header.next_offset
        self.start_offset = min(self.batches, default=self.end)

    def read(self, offset: int, max_bytes: int) -> bytes:
        return b"".join(batch for base, batch in self.batches.items() if base >= offset)

    def snapshot_size(self, snapshot: OffsetAndEpoch) -> int:
        return (self.directory / snapshot_name(snapshot)).stat().st_size

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return (self.directory / snapshot_name(snapshot)).read_bytes()


class QuorumTruth(Truth):
    epochs_of_a_shrink = 1  # at level 7 (below 12) a smaller ISR begins a leader epoch

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        reader = cluster.metadata_log()
        reader.entries()
        self._directories = [*reader.ends()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, traceback: TracebackType | None
    ) -> None:
        """It has no connection."""

    # -- the cluster -----------------------------------------------------------------------

    def brokers(self) -> set[int]:
        return {id for id, broker in self._image.brokers.items() if not broker.fenced}

    def controller(self) -> End:
        """Its name, or the number of the combined node; -1 while a majority knows none."""
        _, leader = self._election
        return controller(leader - FIRST_CONTROLLER + 1) if leader >= FIRST_CONTROLLER else leader

    def controller_epoch(self) -> int:
        return self._election[0]

    # -- topics ----------------------------------------------------------------------------

    def topics(self) -> set[str]:
        return {*self._image.topics}

    def replicas(self, topic: str) -> dict[int, ReplicaAssignment]:
        return {
            number: ReplicaAssignment(each.replicas, each.adding, each.removing)
            for number, each in self._image.topics[topic].partitions.items()
        }

    def find(self, topic: str, partition: int) -> Seen | None:
        found = self._image.partition(TopicPartition(topic, partition))
        return found and Seen(found.leader, found.leader_epoch, found.isr, found.version)

    # -- requests ----------------------------------------------------------------------------

    def reassign(self, moves: dict[TopicPartition, tuple[int, ...]]) -> None:
        wanted = {engine.TopicPartition(*partition): list(to) for partition, to in moves.items()}
        for each in self._cluster.admin.alter_partition_reassignments(wanted).values():
            each.result(CHANGE_S)

    def elect_preferred(self, topic: str, partition: int) -> None:
        wanted = [engine.TopicPartition(topic, partition)]
        self._cluster.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(CHANGE_S)

    def delete(self, topic: str) -> None:
        (deleted,) = self._cluster.admin.delete_topics([topic]).values()
        deleted.result(CHANGE_S)

    def deletions(self) -> set[str]:
        """None: a topic is gone as soon as its record is committed."""
        return set()

    # -- the files of the voters ---------------------------------------------------------------

    @property
    def _image(self) -> MetadataImage:
        voters = sorted(map(VoterFiles, self._directories), key=lambda voter: voter.end)
        least = voters[(len(voters) - 1) // 2]  # of the majority that has the most
        loader = MetadataLoader(cast(Any, least))
        loader.committed(least.end)
        return loader.image

    @property
    def _election(self) -> tuple[int, int]:
        """The epoch and the leader that more than half of the voters know."""
        found = [QuorumStateFile(directory, ()).read() for directory in self._directories]
        known = [(it.epoch, it.leader) for it in found if it is not None and it.leader is not None]
        for epoch, leader in sorted({*known}, reverse=True):
            if 2 * known.count((epoch, leader)) > len(self._directories):
                return epoch, leader
        return NO_BROKER, NO_BROKER
