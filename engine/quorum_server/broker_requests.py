"""What brokers ask of the active controller.

    BrokerRegistration 0-1   a broker starts; the answer has its epoch
    BrokerHeartbeat 0        it is alive, wants to be unfenced, or to stop
    UnregisterBroker 0       an administrator has removed it for good
    AlterPartition 2         a leader asks for another ISR
    AllocateProducerIds 0    a block of a thousand producer ids
    UpdateFeatures 0-1       an administrator raises a level

The error of a whole request stands above its rows: STALE_BROKER_EPOCH, NOT_CONTROLLER and the like.
Left out: brokers that migrate from ZooKeeper; they get BROKER_ID_NOT_REGISTERED.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, code_of, error_fields
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.delta import PartitionRegistration
from engine.metadata.records.brokers import RecordEndpoint, RecordFeature
from engine.quorum_controller.broker_heartbeats import BrokerHeartbeat
from engine.quorum_controller.cluster_control import BrokerRegistrationAsked
from engine.quorum_controller.feature_control import UpgradeType
from engine.quorum_controller.quorum_controller import FeatureUpdateAsked, HeartbeatReply
from engine.quorum_controller.replication_control import PartitionChangeAsked
from engine.quorum_server.controller_service import QuorumControllerService
from engine.wire.primitives import NO_THROTTLE

NOTHING = HeartbeatReply(is_caught_up=False, is_fenced=True, should_shut_down=False)


class BrokerRequestHandlers:
    def __init__(self, service: QuorumControllerService) -> None:
        self._service = service

    async def register(self, call: Call, request: Any) -> SimpleNamespace:
        outcome = await attempt(self._register(request))
        return SimpleNamespace(
            throttle_time=NO_THROTTLE,
            error_code=_code(call, f"broker {request.broker_id}", outcome),
            broker_epoch=-1 if isinstance(outcome, ApiException) else outcome,
        )

    async def _register(self, request: Any) -> int:
        if request.is_migrating_zk_broker:
            text = "Controller does not support registering ZK brokers."
            raise ApiException(ErrorCode.broker_id_not_registered, text)
        if request.incarnation_id is None:
            raise invalid_request("the incarnation id is missing")
        asked = BrokerRegistrationAsked(
            request.broker_id,
            request.cluster_id,
            request.incarnation_id,
            tuple(
                RecordEndpoint(
                    name=it.name,
                    host=it.host,
                    port=it.port,
                    security_protocol=it.security_protocol,
                )
                for it in request.listeners
            ),
            tuple(
                RecordFeature(
                    name=it.name,
                    min_supported_version=it.min_supported_version,
                    max_supported_version=it.max_supported_version,
                )
                for it in request.features
            ),
            request.rack,
        )
        return await self._service.write(lambda it, now: it.register_broker(asked, now))

    async def heartbeat(self, call: Call, request: Any) -> SimpleNamespace:
        heartbeat = BrokerHeartbeat(
            request.broker_id,
            request.broker_epoch,
            request.current_metadata_offset,
            request.want_fence,
            request.want_shut_down,
        )
        outcome = await attempt(self._service.write(lambda it, now: it.heartbeat(heartbeat, now)))
        reply = NOTHING if isinstance(outcome, ApiException) else outcome
        return SimpleNamespace(
            throttle_time=NO_THROTTLE, error_code=code_of(outcome), **reply._asdict()
        )

    async def unregister(self, call: Call, request: Any) -> SimpleNamespace:
        outcome = await attempt(
            self._service.write(lambda it, now: it.unregister_broker(request.broker_id))
        )
        return SimpleNamespace(throttle_time=NO_THROTTLE, **error_fields(outcome))

    # -- AlterPartition ----------------------------------------------------------------------

    async def alter_partitions(self, call: Call, request: Any) -> SimpleNamespace:
        asked = [
            PartitionChangeAsked(
                topic.topic_id,
                it.partition_index,
                it.leader_epoch,
                it.new_isr,
                it.leader_recovery_state,
                it.partition_epoch,
            )
            for topic in request.topics
            for it in topic.partitions
        ]
        broker, epoch = request.broker_id, request.broker_epoch
        outcome = await attempt(
            self._service.write(
                lambda it, now: it.replication.alter_partitions(broker, epoch, asked)
            )
        )
        code, topics = _code(call, f"broker {broker}", outcome), list[Any]()
        if not isinstance(outcome, ApiException):
            found = iter(outcome)
            topics = [
                SimpleNamespace(
                    topic_id=topic.topic_id,
                    partitions=[
                        _partition(it.partition_index, next(found)) for it in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        return SimpleNamespace(throttle_time=NO_THROTTLE, error_code=code, topics=topics)

    # -- producer ids and features -----------------------------------------------------------

    async def allocate_producer_ids(self, call: Call, request: Any) -> SimpleNamespace:
        broker, epoch = request.broker_id, request.broker_epoch
        outcome = await attempt(
            self._service.write(lambda it, now: it.allocate_producer_ids(broker, epoch))
        )
        block = range(0) if isinstance(outcome, ApiException) else outcome
        return SimpleNamespace(
            throttle_time=NO_THROTTLE,
            error_code=_code(call, f"broker {broker}", outcome),
            producer_id_start=block.start,
            producer_id_len=len(block),
        )

    async def update_features(self, call: Call, request: Any) -> SimpleNamespace:
        updates = [
            FeatureUpdateAsked(it.feature, it.max_version_level, _upgrade_type(it))
            for it in request.feature_updates
        ]
        outcome = await attempt(self._update(updates, validate_only=request.validate_only))
        rows = {} if isinstance(outcome, ApiException) else outcome
        return SimpleNamespace(
            throttle_time=NO_THROTTLE,
            **error_fields(outcome),
            results=[
                SimpleNamespace(feature=name, **error_fields(error)) for name, error in rows.items()
            ],
        )

    async def _update(
        self, updates: Iterable[FeatureUpdateAsked], *, validate_only: bool
    ) -> dict[str, ApiException | None]:
        return await self._service.write(
            lambda it, now: it.update_features(updates, validate_only=validate_only)
        )


def _upgrade_type(row: Any) -> int:
    """Version 0 has `allow_downgrade` in place of a type."""
    is_old = getattr(row, "allow_downgrade", False)
    return UpgradeType.SAFE_DOWNGRADE if is_old else int(row.upgrade_type)


def _partition(index: int, outcome: PartitionRegistration | ApiException) -> SimpleNamespace:
    if isinstance(outcome, ApiException):
        return SimpleNamespace(
            partition_index=index,
            error_code=outcome.code,
            leader_id=0,
            leader_epoch=0,
            isr=(),
            leader_recovery_state=0,
            partition_epoch=0,
        )
    return SimpleNamespace(
        partition_index=index,
        error_code=ErrorCode.none,
        leader_id=outcome.leader,
        leader_epoch=outcome.leader_epoch,
        isr=outcome.isr,
        leader_recovery_state=outcome.leader_recovery_state,
        partition_epoch=outcome.version,
    )


def _code(call: Call, what: str, outcome: object) -> ErrorCode:
    """The error of a whole request, which is logged: not every broker shows it."""
    if isinstance(outcome, ApiException):
        return call.refused(what, outcome).code
    return ErrorCode.none
