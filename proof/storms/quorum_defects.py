"""Defects of controllers, and of brokers that read the metadata log: of clusters without ZooKeeper.

    Run(seed=7, defect=KRAFT_DEFECTS["answer-uncommitted"], kraft=True)

Each is planted into a node when it is built: one of its parts gets a subclass with a defect. The
defects of the Raft are in proof/quorum/defects.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from engine.broker.kraft.quorum_node import NodeQuorum
from engine.broker.rules import Rules
from engine.controller.election import Elected, elect
from engine.metadata.delta import PartitionRegistration
from engine.metadata.image import TopicImage
from engine.metadata.records.topics import PartitionChangeRecord
from engine.model import NO_BROKER
from engine.quorum_controller.partition_change import PartitionChangeBuilder
from engine.quorum_controller.quorum_controller import QuorumController
from engine.quorum_controller.replication_control import ReplicationControlManager
from engine.quorum_controller.result import ControllerResult
from engine.quorum_server.build import ControllerNode
from engine.quorum_server.controller_service import Decide, QuorumControllerService
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import OffsetAndEpoch
from engine.sim.quorum.controller_node import NodeBuilt
from proof.storms.defects import DEFECTS, Defect

T = TypeVar("T")
QuorumNode = ControllerNode | NodeQuorum
KnownPartition = tuple[TopicImage, int, PartitionRegistration]


def elect_of_all(
    replicas: Sequence[int], isr: Sequence[int], live: Sequence[int], **how: Any
) -> Elected:
    """A controller with this defect elects fenced brokers, too."""
    return elect(replicas, isr, replicas, **how)


# -- of brokers --------------------------------------------------------------------------------


class SkipsFencing(MetadataLoader):
    def _replay(self, batch: bytes) -> None:
        before = dict(self.image.brokers)
        super()._replay(batch)
        if any(broker.fenced for broker in self.image.brokers.values()):
            self.image.brokers |= before


class ForgetsBrokers(MetadataLoader):
    def _load(self, snapshot: OffsetAndEpoch) -> None:
        super()._load(snapshot)
        self.image.brokers.clear()


def loads_with(loader: type[MetadataLoader]) -> NodeBuilt:
    """Give each broker a loader of this class."""

    def built(node: QuorumNode) -> None:
        if isinstance(node, NodeQuorum):
            node.loader.__class__ = loader

    return built


# -- of controllers ------------------------------------------------------------------------------


class AnswersAtOnce(QuorumControllerService):
    async def write(self, decide: Decide[T]) -> T:
        controller = self.leading()
        result = decide(controller, self.raft.now())
        self._append(controller, result.records)
        return result.response


def answer_uncommitted(node: QuorumNode) -> None:
    if isinstance(node, ControllerNode):
        node.service.__class__ = AnswersAtOnce


class LeavesInSync(ReplicationControlManager):
    def _changes(
        self, builder: PartitionChangeBuilder, partitions: Iterable[KnownPartition], leaving: int
    ) -> Iterator[PartitionChangeRecord]:
        """Elect others in place of a lost broker, which stays in the ISR: this is the defect."""
        return super()._changes(builder, partitions, NO_BROKER)


class RepeatsIds(QuorumController):
    def allocate_producer_ids(self, broker: int, epoch: int) -> ControllerResult[range]:
        result = super().allocate_producer_ids(broker, epoch)
        return ControllerResult([], result.response)


def with_parts(
    controller: type[QuorumController] = QuorumController,
    replication: type[ReplicationControlManager] = ReplicationControlManager,
) -> NodeBuilt:
    """Give these classes to each controller that becomes active."""

    class CarelessService(QuorumControllerService):
        def _activate(self) -> None:
            super()._activate()
            if self.active is not None:
                self.active.__class__ = controller
                self.active.replication.__class__ = replication

    def built(node: QuorumNode) -> None:
        if isinstance(node, ControllerNode):
            node.service.__class__ = CarelessService

    return built


KRAFT_DEFECTS: Mapping[str, Defect] = {
    # A broker does not apply the records that fence brokers.
    "record-skipped": Defect(built=loads_with(SkipsFencing)),
    # A broker loads a snapshot without the registrations in it.
    "snapshot-in-part": Defect(built=loads_with(ForgetsBrokers)),
    # The controller elects leaders that are fenced.
    "elect-fenced": Defect(Rules(elect=elect_of_all)),
    # A broker that is lost loses its leaderships, and stays in the ISRs.
    "stays-in-sync": Defect(built=with_parts(replication=LeavesInSync)),
    # The controller answers before its records are committed.
    "answer-uncommitted": Defect(built=answer_uncommitted),
    # The controller gives away the same producer ids again and again.
    "ids-repeated": Defect(built=with_parts(RepeatsIds), in_transactions=True),
}
OF_KRAFT_TOO: Mapping[str, Defect] = {**DEFECTS, **KRAFT_DEFECTS}
