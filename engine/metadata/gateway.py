"""Changes of the metadata that a broker asks for: a `ControllerGateway`.

    handlers ──> ControllerGateway ──> ZooKeeper mode: znodes, and events of the controller
                                       another mode: requests to its controller

Whatever is refused raises an ApiException. If the store of the metadata fails, MetadataError is
raised; if it is out of reach, MetadataUnavailable, and the change may have been made or not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from engine.errors import ApiException
from engine.model import TopicPartition
from engine.quotas.alteration import Alteration
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import AccessControlEntry, ResourcePattern

Assignment = Mapping[int, Sequence[int]]  # each partition's replicas, the preferred leader first
Entries = frozenset[AccessControlEntry]
Outcomes = Mapping[TopicPartition, ApiException | None]  # None: it is done


class OngoingReassignment(NamedTuple):
    """A partition that is being moved."""

    replicas: tuple[int, ...]  # the old and the new ones
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ControllerGateway(Protocol):
    @property
    def controller_id(self) -> int:
        """The broker that is the controller; -1: none."""

    @property
    def is_controller(self) -> bool:
        """Whether this broker is."""

    @property
    def decides_in_order(self) -> bool:
        """Whether changes that are asked for at the same time are decided one after the other: then
        all parts of a request may be asked for at once."""

    def snapshot(self) -> dict[str, Any]:
        """The controller's state, in values that JSON has, for labs."""

    # -- topics and partitions -------------------------------------------------------------

    async def create_topic(
        self, name: str, assignment: Assignment, overrides: Mapping[str, str]
    ) -> None:
        """The topic exists; its leaders are elected afterwards."""

    async def create_partitions(self, name: str, added: Assignment) -> None: ...

    async def delete_topic(self, name: str) -> None:
        """Ask for it; also if it was asked for before."""

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic is being deleted, and the deletion does not wait for a broker."""

    async def elect_leaders(
        self, partitions: frozenset[TopicPartition] | None, *, unclean: bool
    ) -> Outcomes:
        """Of all partitions, if None."""

    async def alter_reassignments(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> Outcomes:
        """Move partitions to these replicas; None cancels a move."""

    async def list_reassignments(
        self, partitions: frozenset[TopicPartition] | None
    ) -> Mapping[TopicPartition, OngoingReassignment]: ...

    # -- configurations, quotas, credentials, access control lists -------------------------

    async def config(self, kind: str, name: str) -> Mapping[str, str]:
        """What is set for an entity now, read from the store."""

    async def alter_config(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        """Replace what is set for an entity. It was validated before."""

    async def quotas(self) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        """All that are set now, read from the store."""

    async def alter_quotas(
        self, entity: ClientQuotaEntity, changes: Iterable[Alteration], *, validate_only: bool
    ) -> None: ...

    async def credentials(self) -> Mapping[str, Mapping[str, str]]:
        """The SCRAM credentials of each user by mechanism, read from the store."""

    async def alter_credentials(self, user: str, changed: Callable[[dict[str, str]], None]) -> None:
        """`changed` gets the credentials that the user has, by mechanism, and changes them."""

    async def alter_acls(
        self, resource: ResourcePattern, changed: Callable[[Entries], Entries]
    ) -> None:
        """Replace the entries by what `changed` makes of them. It may be called several times."""

    # -- ids, and offsets of old clients ---------------------------------------------------

    async def allocate_producer_ids(self) -> range:
        """Ids that no other broker gets."""

    async def commit_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        """Of OffsetCommit in version 0, which stores offsets beside the metadata."""

    async def committed_offset(self, group: str, partition: TopicPartition) -> int | None: ...
