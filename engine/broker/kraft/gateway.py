"""Changes of the metadata that a broker wants itself, and what it describes, without ZooKeeper.

    create_topic            internal topics:                             CreateTopics
                            those that a client asks for, in its name:   Envelope: CreateTopics
    allocate_producer_ids   a block of a thousand:                       AllocateProducerIds
    config, quotas ...      from the image of the metadata

All that administrators change is passed on to the controller as it came (forwarding.py), and so
never comes here. Offsets in version 0 of OffsetCommit were in ZooKeeper: they are refused.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NoReturn

from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

from engine.broker.call import Call
from engine.broker.kraft.controller_channel import ControllerChannel
from engine.broker.kraft.forwarding import ForwardingManager
from engine.broker.kraft.lifecycle_manager import BrokerLifecycleManager
from engine.broker.kraft.quorum_node import NodeQuorum
from engine.config.kraft import KRaftBrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.gateway import Assignment
from engine.model import NO_BROKER, TopicPartition
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api
from engine.wire.controller_apis import ControllerApi


class KRaftGateway:
    decides_in_order = True  # the controller does

    def __init__(
        self,
        config: KRaftBrokerConfig,
        node: NodeQuorum,
        channel: ControllerChannel,
        lifecycle: BrokerLifecycleManager,
        forwarding: ForwardingManager,
        client: Call | None = None,
    ) -> None:
        self._config, self._node = config, node
        self._channel, self._lifecycle = channel, lifecycle
        self._forwarding, self._client = forwarding, client

    def asked_by(self, client: Call) -> "KRaftGateway":
        """The gateway of a request for metadata: the controller authorizes its sender, and counts
        the new partitions for the sender's quota."""
        parts = self._config, self._node, self._channel, self._lifecycle, self._forwarding
        return KRaftGateway(*parts, client)

    @property
    def controller_id(self) -> int:
        """The node that leads the quorum."""
        leader = self._node.raft.client.leader
        return NO_BROKER if leader is None else leader

    @property
    def is_controller(self) -> bool:
        return self._node.raft.client.is_leader

    def snapshot(self) -> dict[str, Any]:
        client, image = self._node.raft.client, self._node.loader.image
        return {
            "leader": self.controller_id,
            "epoch": client.epoch,
            "high_watermark": client.high_watermark,
            "metadata_offset": image.offset,
            "broker_epoch": self._lifecycle.epoch,
            "broker_state": self._lifecycle.state.value,
            "fenced": self._lifecycle.is_fenced,
        }

    # -- what this broker wants ------------------------------------------------------------

    async def create_topic(
        self, name: str, assignment: Assignment, overrides: Mapping[str, str]
    ) -> None:
        """Without a controller the client is told at once to ask again: the requests behind its own
        may not need one."""
        if self._node.raft.client.leader is None:
            raise ApiException(ErrorCode.leader_not_available, "no controller leads the quorum")
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=tuple(
                CreatableReplicaAssignment(
                    partition_index=number,
                    broker_ids=tuple(ids),
                )
                for number, ids in sorted(assignment.items())
            ),
            configs=tuple(
                CreatableTopicConfig(name=key, value=value) for key, value in overrides.items()
            ),
        )
        limit = timedelta(milliseconds=self._config.request_timeout_ms)
        request = CreateTopicsRequest(topics=(topic,), timeout=limit)
        answer = await self._create(request)
        for row in answer.topics:
            if row.error_code is ErrorCode.throttling_quota_exceeded:  # the client asks again
                raise ApiException(ErrorCode.unknown_topic_or_partition, row.error_message or "")
            if row.error_code is not ErrorCode.none:
                raise ApiException(row.error_code, row.error_message or "")

    async def _create(self, request: CreateTopicsRequest) -> Any:
        if self._client is None:
            return await self._ask(ControllerApi.CREATE_TOPICS, request)
        api = Api.CREATE_TOPICS
        header = self._client.header._replace(api_key=int(api), api_version=api.newest)
        return await self._forwarding.handle(self._client._replace(header=header), request)

    async def allocate_producer_ids(self) -> range:
        request = AllocateProducerIdsRequest(
            broker_id=self._config.node_id,
            broker_epoch=self._lifecycle.epoch,
        )
        answer = await self._ask(ControllerApi.ALLOCATE_PRODUCER_IDS, request)
        if answer.error_code is not ErrorCode.none:
            raise ApiException(
                ErrorCode.coordinator_not_available,
                f"the controller gives no producer ids: {answer.error_code.name}",
            )
        first = answer.producer_id_start
        return range(first, first + answer.producer_id_len)

    async def _ask(self, api: ControllerApi, request: Any) -> Any:
        try:
            async with asyncio.timeout(self._config.request_timeout_ms / 1000):
                return await self._channel.ask(api, request)
        except TimeoutError:
            why = "no controller has answered in time"
            raise ApiException(ErrorCode.request_timed_out, why) from None

    # -- what it describes -----------------------------------------------------------------

    async def config(self, kind: str, name: str) -> Mapping[str, str]:
        return dict(self._node.loader.image.configs.get((kind, name), {}))

    async def quotas(self) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
        return {entity: dict(rows) for entity, rows in self._node.loader.image.quotas.items()}

    async def credentials(self) -> Mapping[str, Mapping[str, str]]:
        return {user: dict(rows) for user, rows in self._node.loader.image.credentials.items()}

    def is_deleting(self, topic: str) -> bool:
        """A deleted topic is gone at once."""
        return False

    # -- what does not come here -----------------------------------------------------------

    def _passed_on(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("requests of administrators are passed on as they came")

    create_partitions = delete_topic = elect_leaders = alter_reassignments = _passed_on
    list_reassignments = alter_config = alter_quotas = alter_credentials = _passed_on
    alter_acls = _passed_on

    async def commit_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        raise _in_zookeeper("commit")

    async def committed_offset(self, group: str, partition: TopicPartition) -> int | None:
        raise _in_zookeeper("fetch")


def _in_zookeeper(what: str) -> ApiException:
    text = f"Version 0 offset {what} requests are not supported without ZooKeeper"
    return ApiException(ErrorCode.unsupported_version, text)
