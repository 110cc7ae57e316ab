"""Defects of controllers, and of brokers that read the metadata log: of clusters without ZooKeeper.

    Run(seed=7, defect=DEFECTS["answer-uncommitted"], kraft=True)

Each is planted into a node when it is built: one of its parts gets a subclass with a defect. The
defects of the Raft are in proof/quorum/defects.py.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from engine.broker.kraft.quorum_node import NodeQuorum
from engine.controller.election import Elected, elect
from engine.errors import ErrorCode
from engine.metadata.delta import PartitionRegistration
from engine.metadata.records.topics import PartitionChangeRecord
from engine.quorum_controller.broker_heartbeats import BrokerHeartbeat
from engine.quorum_controller.cluster_control import (
    BrokerRegistrationAsked,
    ClusterControlManager,
)
from engine.quorum_controller.quorum_controller import HeartbeatReply, QuorumController
from engine.quorum_controller.replication_control import (
    PartitionChangeAsked,
    ReplicationControlManager,
)
from engine.quorum_controller.result import ControllerResult
from engine.quorum_server.build import ControllerNode
from engine.quorum_server.controller_service import Decide, QuorumControllerService
from engine.raft.metadata_loader import MetadataLoader

T = TypeVar("T")
QuorumNode = ControllerNode | NodeQuorum


def elect_of_all(
    replicas: Sequence[int], isr: Sequence[int], live: Sequence[int], **how: Any
) -> Elected:
    """Fenced brokers may lead."""
    return elect(replicas, isr, replicas, **how)


# -- of brokers --------------------------------------------------------------------------------


class SkipsFencing(MetadataLoader):
    def _replay(self, batch: bytes) -> None:
        before = dict(self.image.brokers)
        super()._replay(batch)
        if any(broker.fenced for broker in self.image.brokers.values()):
            self.image.brokers |= before


def record_skipped(node: QuorumNode) -> None:
    if isinstance(node, NodeQuorum):
        node.loader.__class__ = SkipsFencing


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


class ServiceWith(QuorumControllerService):
    """Its controller has parts with a defect."""

    careless: Callable[[QuorumController], None]

    def _activate(self) -> None:
        super()._activate()
        if self.active is not None:
            type(self).careless(self.active)


class IgnoresVersions(ReplicationControlManager):
    def _fault(
        self, broker: int, change: PartitionChangeAsked, partition: PartitionRegistration
    ) -> ErrorCode:
        now = change._replace(partition_epoch=partition.version)
        return super()._fault(broker, now, partition)


class LetsAnybodyJoin(ReplicationControlManager):
    def _fault(
        self, broker: int, change: PartitionChangeAsked, partition: PartitionRegistration
    ) -> ErrorCode:
        fault = super()._fault(broker, change, partition)
        return ErrorCode.none if fault is ErrorCode.ineligible_replica else fault


class KeepsTheLost(ReplicationControlManager):
    def without_broker(self, broker: int) -> Iterator[PartitionChangeRecord]:
        """Nobody leaves an ISR, or a leadership."""
        return iter(())


class AnyEpoch(ClusterControlManager):
    def check_epoch(self, broker: int, epoch: int) -> Any:
        known = self._image.brokers.get(broker)
        return super().check_epoch(broker, epoch if known is None else known.epoch)


class UnfencesAtOnce(QuorumController):
    def heartbeat(self, heartbeat: BrokerHeartbeat, now: int) -> ControllerResult[HeartbeatReply]:
        known = heartbeat._replace(metadata_offset=self.image.offset)
        return super().heartbeat(known, now)


class RegistersInSync(QuorumController):
    def register_broker(self, asked: BrokerRegistrationAsked, now: int) -> ControllerResult[int]:
        result = super().register_broker(asked, now)
        record = result.records[-1]
        epoch = self.next_offset
        if record.broker_epoch >= epoch:
            record = type(record)(**{**_fields(record), "broker_epoch": epoch})
        return ControllerResult([record], record.broker_epoch)


class RepeatsIds(QuorumController):
    def allocate_producer_ids(self, broker: int, epoch: int) -> ControllerResult[range]:
        result = super().allocate_producer_ids(broker, epoch)
        return ControllerResult([], result.response)


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def parts(
    controller: type[QuorumController] | None = None,
    replication: type[ReplicationControlManager] | None = None,
    cluster: type[ClusterControlManager] | None = None,
) -> Callable[[QuorumNode], None]:
    """Give these classes to the parts of each controller that becomes active."""

    def careless(active: QuorumController) -> None:
        if controller is not None:
            active.__class__ = controller
        if replication is not None:
            active.replication.__class__ = replication
        if cluster is not None:
            active.cluster.__class__ = cluster

    service = type("CarelessService", (ServiceWith,), {"careless": staticmethod(careless)})

    def built(node: QuorumNode) -> None:
        if isinstance(node, ControllerNode):
            node.service.__class__ = service

    return built
