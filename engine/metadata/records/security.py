"""Records on configurations, quotas and who may do what.

A record with a null value, or of a `Remove` type, takes back an earlier one.
"""

from dataclasses import dataclass

from engine.wire.messages.versions import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int32,
    Int64,
    NullableString,
    String,
    Strings,
    Uuid,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    resource_type: Int8  # 2 topic, 4 broker
    resource_name: String  # an empty one: the default of all brokers
    name: String
    value: NullableString  # null: no value of its own any more


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntityData:
    entity_type: String  # user, client-id, ip
    entity_name: NullableString  # null: the default


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientQuotaRecord:
    entity: tuple[QuotaEntityData, ...]
    key: String
    value: Float64
    remove: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecord:
    id: Uuid
    resource_type: Int8
    resource_name: String
    pattern_type: Int8
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecord:
    id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecord:
    name: String
    mechanism: Int8  # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
    salt: Bytes
    stored_key: Bytes
    server_key: Bytes
    iterations: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecord:
    name: String
    mechanism: Int8


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecord:
    owner: String
    requester: String
    renewers: Strings
    issue_timestamp: Int64
    max_timestamp: Int64
    expiration_timestamp: Int64
    token_id: String


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecord:
    token_id: String
