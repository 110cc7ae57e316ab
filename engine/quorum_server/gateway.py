"""The gateway of an administrator's request that has reached the leader of the quorum.

The handlers are those of a broker (broker/handlers). They validate by the committed metadata; then
the quorum controller decides by its own image, which has what is not committed yet. A request is
answered when its records are committed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.config.quorum import NO_CREDENTIALS
from engine.errors import ApiException, ErrorCode
from engine.metadata.gateway import Assignment, Entries, OngoingReassignment, Outcomes
from engine.metadata.image import MetadataImage
from engine.model import TopicPartition
from engine.quorum_controller import settings_control
from engine.quorum_controller.partition_change import PartitionElection
from engine.quorum_controller.result import ControllerResult
from engine.quorum_server.controller_service import QuorumControllerService
from engine.quotas.alteration import Alteration, check_address
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import ResourcePattern


@dataclass(frozen=True)
class QuorumGateway:
    _service: QuorumControllerService
    _new_uuid: Callable[[], UUID]
    decides_in_order = True  # at once, by an image that has what was decided before

    @property
    def controller_id(self) -> int:
        return self._service.controller_id

    @property
    def is_controller(self) -> bool:
        return self._service.is_active

    @property
    def _image(self) -> MetadataImage:
        return self._service.loader.image

    def is_registered(self, broker: int) -> bool:
        return broker in self._image.brokers

    def snapshot(self) -> dict[str, Any]:
        image = self._image
        brokers = [
            {
                "id": it.id,
                "epoch": it.epoch,
                "fenced": it.fenced,
                "in_controlled_shutdown": it.in_controlled_shutdown,
            }
            for it in image.brokers.values()
        ]
        return {"brokers": brokers, "offset": image.offset, "active": self.is_controller}

    # -- topics and partitions -------------------------------------------------------------

    async def create_topic(
        self, name: str, assignment: Assignment, overrides: Mapping[str, str]
    ) -> None:
        id = self._new_uuid()
        await self._service.write(
            lambda it, now: it.replication.create_topic(name, id, assignment, overrides)
        )

    async def create_partitions(self, name: str, added: Assignment) -> None:
        await self._service.write(lambda it, now: it.replication.create_partitions(name, added))

    async def delete_topic(self, name: str) -> None:
        await self._service.write(lambda it, now: it.replication.delete_topic(name))

    def is_deleting(self, topic: str) -> bool:
        return False  # one record deletes it: brokers delete the logs by themselves

    async def elect_leaders(
        self, partitions: frozenset[TopicPartition] | None, *, unclean: bool
    ) -> Outcomes:
        election = PartitionElection.UNCLEAN if unclean else PartitionElection.PREFERRED
        return await self._service.write(lambda it, now: it.elections.elect(partitions, election))

    async def alter_reassignments(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> Outcomes:
        return await self._service.write(lambda it, now: it.reassignments.alter(moves))

    async def list_reassignments(
        self, partitions: frozenset[TopicPartition] | None
    ) -> Mapping[TopicPartition, OngoingReassignment]:
        return await self._service.write(
            lambda it, now: ControllerResult([], it.reassignments.ongoing(partitions))
        )

    # -- configurations, quotas, access control lists --------------------------------------

    async def config(self, kind: str, name: str) -> Mapping[str, str]:
        """What is set when this returns: who alters it at once, alters this."""
        await self._service.write(lambda it, now: ControllerResult([], None))
        return dict(self._service.leading().image.configs.get((kind, name), {}))

    async def alter_config(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        await self._service.write(
            lambda it, now: settings_control.alter_config(it.image, kind, name, values)
        )

    async def quotas(self) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        return self._image.quotas

    async def alter_quotas(
        self, entity: ClientQuotaEntity, changes: Iterable[Alteration], *, validate_only: bool
    ) -> None:
        wanted = list(changes)
        if isinstance(entity.ip, str):
            check_address(entity.ip)

        def decide(controller: Any, now: int) -> ControllerResult[None]:
            result = settings_control.alter_quotas(controller.image, entity, wanted)
            return ControllerResult([], None) if validate_only else result

        await self._service.write(decide)

    async def alter_acls(
        self, resource: ResourcePattern, changed: Callable[[Entries], Entries]
    ) -> None:
        await self._service.write(
            lambda it, now: settings_control.alter_acls(
                *(it.image, resource, changed, self._new_uuid)
            )
        )

    async def credentials(self) -> Mapping[str, Mapping[str, str]]:
        return self._image.credentials

    async def alter_credentials(self, user: str, changed: Callable[[dict[str, str]], None]) -> None:
        text = f"The current metadata version does not support SCRAM: {NO_CREDENTIALS}"
        raise ApiException(ErrorCode.unsupported_version, text)

    # -- what only brokers ask for ---------------------------------------------------------

    async def allocate_producer_ids(self) -> range:
        raise _at_no_level("a block of producer ids for a controller")

    async def commit_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        raise _at_no_level("offsets beside the metadata")

    async def committed_offset(self, group: str, partition: TopicPartition) -> int | None:
        return None


def _at_no_level(what: str) -> ApiException:
    text = f"{what}: there is no such record at this metadata.version"
    return ApiException(ErrorCode.unsupported_version, text)
