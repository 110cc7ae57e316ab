"""The znodes of access control lists.

    /kafka-acl/TYPE/NAME                        the entries of a literal pattern
    /kafka-acl-extended/prefixed/TYPE/NAME      those of a prefixed pattern
    /kafka-acl-changes/acl_changes_#            a note to all brokers: "TOPIC:orders" has changed
    /kafka-acl-extended-changes/acl_changes_#   the same for a prefixed pattern, as JSON

TYPE is Topic, Group, Cluster, TransactionalId or DelegationToken. Literal patterns are apart
because they are older: before Kafka 2.0 there were no others.

Invariant: for any bytes, decoding returns a valid value or raises a ValueError with the reason.
"""

from collections.abc import Iterable

from engine.security.acls import (
    OF_2_8,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    PatternType,
    ResourcePattern,
    check_principal,
)
from engine.zookeeper.json_fields import (
    as_int32,
    as_list,
    as_text,
    encoded_json,
    field,
    json_object,
)

ACLS = {
    PatternType.LITERAL: "/kafka-acl",
    PatternType.PREFIXED: "/kafka-acl-extended/prefixed",
}
CHANGES = {
    PatternType.LITERAL: "/kafka-acl-changes",
    PatternType.PREFIXED: "/kafka-acl-extended-changes",
}
CHANGE = "acl_changes_"  # a prefix: ZooKeeper appends a number
VERSION = 1

# Every broker with an authorizer creates these when it starts.
PATHS = (
    *(f"{root}/{kind.title}" for root in ACLS.values() for kind in OF_2_8),
    *CHANGES.values(),
)


def acl_path(resource: ResourcePattern) -> str:
    return f"{ACLS[resource.pattern]}/{resource.type.title}/{resource.name}"


def encode_acls(entries: Iterable[AccessControlEntry]) -> bytes:
    listed = [
        {
            "principal": each.principal,
            "permissionType": each.permission.title,
            "operation": each.operation.title,
            "host": each.host,
        }
        for each in sorted(entries)
    ]
    return encoded_json({"version": VERSION, "acls": listed})


def decode_acls(data: bytes) -> frozenset[AccessControlEntry]:
    """Without data there are no entries."""
    if not data:
        return frozenset()
    value = json_object(data)
    version = field(value, "version", as_int32)
    if version != VERSION:
        raise ValueError(f"version {version} of access control lists is not known")
    return frozenset(
        AccessControlEntry(
            check_principal(field(each, "principal", as_text)),
            field(each, "host", as_text),
            AclOperation.named(field(each, "operation", as_text)),
            AclPermissionType.named(field(each, "permissionType", as_text)),
        )
        for each in field(value, "acls", as_list)
    )


def encode_acl_change(resource: ResourcePattern) -> bytes:
    if resource.pattern is PatternType.LITERAL:
        return f"{resource.type.name}:{resource.name}".encode()
    return encoded_json(
        {
            "version": VERSION,
            "resourceType": resource.type.name,
            "name": resource.name,
            "patternType": resource.pattern.name,
        }
    )


def decode_acl_change(data: bytes) -> ResourcePattern:
    """The resource whose entries have changed."""
    if data.startswith(b"{"):
        value = json_object(data)
        kind, name = field(value, "resourceType", as_text), field(value, "name", as_text)
        pattern = PatternType.named(field(value, "patternType", as_text))
    else:
        kind, colon, name = data.decode().partition(":")
        if not colon:
            raise ValueError(f"expected AclResourceType:ResourceName, not {data[:60]!r}")
        pattern = PatternType.LITERAL
    resource = ResourcePattern(AclResourceType.named(kind), name, pattern)
    if resource.type not in OF_2_8 or pattern not in ACLS or not name or "/" in name:
        raise ValueError(f"there is no such resource: {data[:60]!r}")
    return resource
