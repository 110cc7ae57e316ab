"""Records on brokers and controllers, and on the cluster as a whole.

    RegisterBroker ──> BrokerRegistrationChange: unfenced, fenced, in controlled shutdown
                   ──> UnregisterBroker, by an administrator

Below level 6 (3.3-IV2) FenceBroker and UnfenceBroker stand in place of BrokerRegistrationChange.
A broker's epoch is the offset of its RegisterBroker record.
"""

from dataclasses import dataclass, field

from engine.wire.messages.versions import (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uint16,
    Uuid,
    Uuids,
    since,
    tagged,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEndpoint:
    """A listener; its security protocol is 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: String
    host: String
    port: Uint16
    security_protocol: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFeature:
    """The levels of a feature that a node can work with."""

    name: String
    min_supported_version: Int16
    max_supported_version: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecord:
    broker_id: Int32
    is_migrating_zk_broker: Bool = field(default=False, metadata=since(2))
    incarnation_id: Uuid
    broker_epoch: Int64
    end_points: tuple[RecordEndpoint, ...]
    features: tuple[RecordFeature, ...]
    rack: NullableString
    fenced: Bool = True
    in_controlled_shutdown: Bool = field(default=False, metadata=since(1))
    log_dirs: Uuids = field(default=(), metadata=tagged(0, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord:
    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord:
    id: Int32
    epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord:
    id: Int32
    epoch: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecord:
    """A field that is 0 or empty has not changed."""

    broker_id: Int32
    broker_epoch: Int64
    fenced: Int8 = field(default=0, metadata=tagged(0))  # 1: fenced, -1: unfenced
    in_controlled_shutdown: Int8 = field(default=0, metadata=tagged(1, 1))  # 1: it is
    log_dirs: Uuids = field(default=(), metadata=tagged(2, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord:
    controller_id: Int32
    incarnation_id: Uuid
    zk_migration_ready: Bool
    end_points: tuple[RecordEndpoint, ...]
    features: tuple[RecordFeature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord:
    """`metadata.version` is one; level 0 removes a feature."""

    name: String
    feature_level: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord:
    """A broker got the ids up to the next one."""

    broker_id: Int32
    broker_epoch: Int64 = -1
    next_producer_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord:
    """Written when nothing else is, so that the high watermark reaches everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord:
    zk_migration_state: Int8  # 0 none, 1 migration, 2 before it, 3 after it


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord:
    """Records from here to the end are applied together, or not at all."""

    name: NullableString = field(default=None, metadata=tagged(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord:
    """Apply what came since BeginTransaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord:
    reason: NullableString = field(default=None, metadata=tagged(0))
