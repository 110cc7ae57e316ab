"""Changes of the metadata in ZooKeeper mode: znodes, and events of the controller.

    create    /config/topics/T, then /brokers/topics/T      the controller sees the new topic
    delete    /admin/delete_topics/T                        the controller deletes it
    grow      /brokers/topics/T                             with more partitions
    configure /config/topics/T, then /config/changes/...    every broker reads the entity again
    commit    /consumers/G/offsets/T/P                      for clients before Kafka 0.9
    reserve   /latest_producer_id_block                     a block of ids, by compare-and-set

No log is changed here: the controller decides what follows from a change. Elections and moves are
events of the controller in this broker; if another broker is the controller, they are refused.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from engine.broker.broker import Broker
from engine.broker.zookeeper.acl_store import AclStore
from engine.broker.zookeeper.config_znodes import ConfigZnodes, check_size
from engine.broker.zookeeper.controller_service import ControllerService
from engine.controller import events
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import Assignment, Entries, OngoingReassignment, Outcomes
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.quotas.alteration import Alteration, altered, check_address
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import ResourcePattern
from engine.security.principals import znode_name
from engine.security.scram import NUMBERS
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder, Unreadable, decoded
from engine.zookeeper.json_fields import LONG_MAX
from engine.zookeeper.quota_znodes import place_of
from engine.zookeeper.requests import Create, Exists, Get, Multi, Reason, Refused, Set

BLOCK = 1000  # producer ids


@dataclass(eq=False)
class ZooKeeperGateway:
    broker_id: int
    configs: ConfigZnodes
    acls: AclStore | None
    controller_service: ControllerService
    _decoder: Decoder
    _new_uuid: Callable[[], UUID]
    decides_in_order = False  # znodes are read, and then written

    def __post_init__(self) -> None:
        self._zookeeper = self.configs.zookeeper
        self._controller = self.controller_service.controller

    @property
    def controller_id(self) -> int:
        return self._controller.leader_id

    @property
    def is_controller(self) -> bool:
        return self._controller.active

    def snapshot(self) -> dict[str, Any]:
        return self._controller.snapshot()

    # -- topics --------------------------------------------------------------------------

    async def create_topic(
        self, name: str, assignment: Assignment, overrides: Mapping[str, str]
    ) -> None:
        """Create the znodes of a topic and of its configuration, both or neither."""
        partitions = {n: ReplicaAssignment(tuple(ids)) for n, ids in assignment.items()}
        topic = znodes.Topic(self._new_uuid(), partitions).encode()
        config_path = znodes.config_path("topics", name)
        config = znodes.encode_config(overrides)
        check_size(config, topic)
        (left_over,) = await self._zookeeper.ask([Exists(config_path)])
        write = Set(config_path, config) if left_over else Create(config_path, config)
        create = Multi((write, Create(znodes.topic_path(name), topic)))
        (created,) = await self._zookeeper.ask([create])
        if created == Refused(Reason.NO_NODE, config_path):
            raise ApiException(ErrorCode.request_timed_out, f"{config_path} has just been deleted")
        if isinstance(created, Refused):
            raise ApiException(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
        await self.configs.reload("topics", name)

    async def create_partitions(self, name: str, added: Assignment) -> None:
        """Refused if the topic was deleted, or some of these partitions were added, meanwhile."""
        new = {number: ReplicaAssignment(tuple(ids)) for number, ids in added.items()}
        path = znodes.topic_path(name)
        changed = ApiException(
            ErrorCode.reassignment_in_progress, f"{name} was changed at the same time"
        )
        (node,) = await self._zookeeper.ask([Get(path)])
        if node is None:
            raise changed
        topic = decoded(znodes.Topic.decode, node.data)
        if isinstance(topic, Unreadable):
            raise ApiException(ErrorCode.invalid_partitions, f"{path}: {topic.why}")
        if new.keys() & topic.partitions.keys():
            raise changed
        if any(each.adding or each.removing for each in topic.partitions.values()):
            raise ApiException(
                ErrorCode.reassignment_in_progress,
                f"A partition reassignment is in progress for the topic '{name}'.",
            )
        grown = topic._replace(partitions={**topic.partitions, **new}).encode()
        check_size(grown)
        (written,) = await self._zookeeper.ask([Set(path, grown, node.stat.version)])
        if isinstance(written, Refused):
            raise changed

    async def delete_topic(self, name: str) -> None:
        """ZooKeeper refuses it if the deletion was requested before."""
        await self._zookeeper.ask([Create(znodes.deleted_topic_path(name), b"")])

    def is_deleting(self, topic: str) -> bool:
        return self._controller.is_deleting(topic)

    # -- events of the controller --------------------------------------------------------

    async def elect_leaders(
        self, partitions: frozenset[TopicPartition] | None, *, unclean: bool
    ) -> Outcomes:
        outcomes: Outcomes = await self._ask(events.ElectLeaders(partitions, unclean))
        return outcomes

    async def alter_reassignments(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None]
    ) -> Outcomes:
        outcomes: Outcomes = await self._ask(events.AlterReassignments(moves))
        return outcomes

    async def list_reassignments(
        self, partitions: frozenset[TopicPartition] | None
    ) -> Mapping[TopicPartition, OngoingReassignment]:
        moving = await self._ask(events.ListReassignments(partitions))
        return {partition: OngoingReassignment(*assigned) for partition, assigned in moving.items()}

    async def _ask(self, event: events.ControllerEvent) -> Any:
        outcome = await self.controller_service.ask(event)
        if isinstance(outcome, ApiException):
            raise outcome
        return outcome

    # -- configurations, quotas, credentials, access control lists -----------------------

    async def config(self, kind: str, name: str) -> Mapping[str, str]:
        await self.configs.reload(kind, name)
        return self.configs.of(kind, name)

    async def alter_config(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        await self.configs.change(kind, name, values)

    async def quotas(self) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        await self.configs.reload_all_clients()
        return self.configs.quotas()

    async def alter_quotas(
        self, entity: ClientQuotaEntity, changes: Iterable[Alteration], *, validate_only: bool
    ) -> None:
        if isinstance(entity.ip, str):
            check_address(znode_name(entity.ip))  # so an IPv6 address is refused, as by Kafka
        kind, name = place_of(entity)
        config = altered(await self.config(kind, name), entity, changes)
        if not validate_only:
            await self.configs.change(kind, name, config)

    async def credentials(self) -> Mapping[str, Mapping[str, str]]:
        await self.configs.reload_all_clients()
        return self.configs.credentials()

    async def alter_credentials(self, user: str, changed: Callable[[dict[str, str]], None]) -> None:
        name = znode_name(user)
        config = dict(await self.config("users", name))
        credentials = {key: config[key] for key in NUMBERS.values() if key in config}
        before = set(credentials)
        changed(credentials)
        for mechanism in before - credentials.keys():
            del config[mechanism]
        await self.configs.change("users", name, config | credentials)

    async def alter_acls(
        self, resource: ResourcePattern, changed: Callable[[Entries], Entries]
    ) -> None:
        assert self.acls is not None, "there is no authorizer"
        if "/" in resource.name:  # the name is a part of a znode's path
            raise invalid_request("Failed to create ACL")
        await self.acls.change(resource, changed)

    # -- ids, and offsets of old clients -------------------------------------------------

    async def allocate_producer_ids(self) -> range:
        while True:
            (node,) = await self._zookeeper.ask([Get(znodes.PRODUCER_ID_BLOCK)])
            block = self._next_block(node)
            write = Set(znodes.PRODUCER_ID_BLOCK, block.encode(), node.stat.version)
            (written,) = await self._zookeeper.ask([write])
            if not isinstance(written, Refused):  # else another broker took this one
                return range(block.first, block.last + 1)

    def _next_block(self, node: Any) -> znodes.ProducerIdBlock:
        path, first = znodes.PRODUCER_ID_BLOCK, 0
        if node is None:
            raise ApiException(ErrorCode.coordinator_not_available, f"{path} is missing")
        if node.data:
            harm = "no broker gets a new block of producer ids"
            last = self._decoder.read(znodes.ProducerIdBlock.decode, path, node.data, harm)
            if last is None or last.last + BLOCK > LONG_MAX:  # else an id could be given out twice
                raise ApiException(
                    ErrorCode.coordinator_not_available, f"{path} leaves no producer ids"
                )
            first = last.last + 1
        return znodes.ProducerIdBlock(self.broker_id, first, first + BLOCK - 1)

    async def commit_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        path = _offset_path(group, partition)
        await self.configs.write(path, str(offset).encode(), parents=True)

    async def committed_offset(self, group: str, partition: TopicPartition) -> int | None:
        (node,) = await self._zookeeper.ask([Get(_offset_path(group, partition))])
        try:
            return int(node.data) if node is not None and node.data else None
        except ValueError as error:
            raise ApiException(ErrorCode.unknown_server_error, f"{group}: {error}") from error


def gateway_of(broker: Broker) -> ZooKeeperGateway:
    """For the handlers of requests that only brokers in ZooKeeper mode get."""
    assert isinstance(broker.gateway, ZooKeeperGateway)
    return broker.gateway


def _offset_path(group: str, partition: TopicPartition) -> str:
    if not group or "/" in group or group in (".", ".."):
        raise ApiException(ErrorCode.invalid_group_id, f"{group!r} cannot be a name in ZooKeeper")
    return f"/consumers/{group}/offsets/{partition.topic}/{partition.partition}"
