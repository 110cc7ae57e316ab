"""Registrations of brokers (ClusterControlManager).

A broker registers when it starts, with the incarnation id of its process. Its epoch is the offset
of its RegisterBroker record: each later one is larger, so a request of an earlier process can be
told from one of this. These are refused:

    INCONSISTENT_CLUSTER_ID         it is of another cluster
    DUPLICATE_BROKER_REGISTRATION   another process with its id has a session, and is not fenced, as
                                    one is that has ended in order
    UNSUPPORTED_VERSION             it cannot work with a finalized level of a feature
    STALE_BROKER_EPOCH              a request with an epoch that is not that of the registration
"""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from engine.errors import ApiException, ErrorCode
from engine.metadata.image import BrokerImage, MetadataImage
from engine.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RecordEndpoint,
    RecordFeature,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from engine.quorum_controller.broker_heartbeats import BrokerControlState, BrokerHeartbeatManager

METADATA_VERSION = "metadata.version"
LEVEL_OF_CHANGES = 6  # 3.3-IV2: BrokerRegistrationChange in place of FenceBroker, UnfenceBroker
LEVEL_OF_SHUTDOWN = 7  # 3.3-IV3: controlled shutdown is in the registration
ONLY_LEVEL = RecordFeature(  # of a broker that names no range of levels
    name=METADATA_VERSION, min_supported_version=1, max_supported_version=1
)


class BrokerRegistrationAsked(NamedTuple):
    broker: int
    cluster_id: str
    incarnation: UUID
    endpoints: tuple[RecordEndpoint, ...]
    features: tuple[RecordFeature, ...]
    rack: str | None


class ClusterControlManager:
    def __init__(
        self, cluster_id: str, image: MetadataImage, heartbeats: BrokerHeartbeatManager
    ) -> None:
        self._cluster_id, self._image, self.heartbeats = cluster_id, image, heartbeats

    # -- reading ---------------------------------------------------------------------------

    def is_active(self, broker: int) -> bool:
        known = self._image.brokers.get(broker)
        return known is not None and known.is_active

    @property
    def unfenced(self) -> frozenset[int]:
        return frozenset(it.id for it in self._image.brokers.values() if not it.fenced)

    @property
    def active(self) -> frozenset[int]:
        return frozenset(it.id for it in self._image.brokers.values() if it.is_active)

    def state(self, broker: int) -> BrokerControlState:
        known = self._image.brokers[broker]
        if known.fenced:
            return BrokerControlState.FENCED
        if known.in_controlled_shutdown or self.heartbeats.shutdown_offset(broker) is not None:
            return BrokerControlState.CONTROLLED_SHUTDOWN
        return BrokerControlState.UNFENCED

    @property
    def level(self) -> int:
        return self._image.features.get(METADATA_VERSION, 1)

    def check_epoch(self, broker: int, epoch: int) -> BrokerImage:
        known = self._image.brokers.get(broker)
        if known is None:
            raise ApiException(
                ErrorCode.stale_broker_epoch, f"No broker registration found for broker id {broker}"
            )
        if known.epoch != epoch:
            raise ApiException(
                ErrorCode.stale_broker_epoch,
                f"Expected broker epoch {known.epoch}, but got broker epoch {epoch}",
            )
        return known

    # -- deciding --------------------------------------------------------------------------

    def check(self, asked: BrokerRegistrationAsked, now: int) -> None:
        """Raise an ApiException if the broker cannot be registered."""
        if asked.cluster_id != self._cluster_id:
            raise ApiException(
                ErrorCode.inconsistent_cluster_id,
                f"Expected cluster ID {self._cluster_id}, but got cluster ID {asked.cluster_id}",
            )
        known = self._image.brokers.get(asked.broker)
        is_other = known is not None and not known.fenced and known.incarnation != asked.incarnation
        if is_other and self.heartbeats.has_valid_session(asked.broker, now):
            raise ApiException(
                ErrorCode.duplicate_broker_registration,
                "Another broker is registered with that broker id.",
            )
        _check_features(self._image.features, asked.features)

    def registration(self, asked: BrokerRegistrationAsked, epoch: int) -> RegisterBrokerRecord:
        """The record of a registration. The same process keeps its epoch and its state."""
        known = self._image.brokers.get(asked.broker)
        features = asked.features
        if all(feature.name != METADATA_VERSION for feature in features):
            features = (*features, ONLY_LEVEL)
        is_same = known is not None and known.incarnation == asked.incarnation
        return RegisterBrokerRecord(
            broker_id=asked.broker,
            incarnation_id=asked.incarnation,
            broker_epoch=known.epoch if known is not None and is_same else epoch,
            end_points=asked.endpoints,
            features=features,
            rack=asked.rack,
            fenced=known.fenced if known is not None and is_same else True,
            in_controlled_shutdown=(
                known.in_controlled_shutdown if known is not None and is_same else False
            ),
        )

    def fence(self, broker: int) -> Any:
        epoch = self._image.brokers[broker].epoch
        if self.level < LEVEL_OF_CHANGES:
            return FenceBrokerRecord(id=broker, epoch=epoch)
        return BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=epoch, fenced=1)

    def unfence(self, broker: int) -> Any:
        epoch = self._image.brokers[broker].epoch
        if self.level < LEVEL_OF_CHANGES:
            return UnfenceBrokerRecord(id=broker, epoch=epoch)
        return BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=epoch, fenced=-1)

    def shut_down(self, broker: int) -> list[Any]:
        """Below level 7 only the controller knows of it."""
        if self.level < LEVEL_OF_SHUTDOWN:
            return []
        epoch = self._image.brokers[broker].epoch
        return [
            BrokerRegistrationChangeRecord(
                broker_id=broker, broker_epoch=epoch, in_controlled_shutdown=1
            )
        ]


def _check_features(finalized: dict[str, int], given: Iterable[RecordFeature]) -> None:
    ranges = {it.name: (it.min_supported_version, it.max_supported_version) for it in given}
    ranges.setdefault(METADATA_VERSION, (1, 1))
    levels = {name: finalized.get(name, 1 if name == METADATA_VERSION else 0) for name in ranges}
    for name, level in {**levels, **finalized}.items():
        least, most = ranges.get(name, (0, 0))
        if not least <= level <= most:
            raise ApiException(
                ErrorCode.unsupported_version,
                "Unable to register because the broker does not support finalized version "
                f"{level} of {name}. The broker wants a version between {least} and {most}, "
                "inclusive.",
            )
