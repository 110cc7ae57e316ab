"""Access control lists: who may do what on which resource.

    User:alice  from any host  may  Read  the topics whose names begin with "orders-"
    principal   host           permission and operation   resource: type, name, kind of pattern

A literal pattern is one name, or "*" for every resource of the type; a prefixed pattern covers the
names that begin with it. The numbers are those of Kafka's requests, the names those in ZooKeeper.

A filter selects bindings: a field that is left out (None, ANY) matches every value. The pattern
type MATCH selects each pattern that covers the name, and not only a pattern of that name.
"""

from enum import IntEnum
from typing import Any, NamedTuple, Self

WILDCARD = "*"  # every name, every host
EVERYBODY = "User:*"


class AclEnum(IntEnum):
    """A number of the protocol. One that is not known becomes UNKNOWN (0), as in Kafka."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls(0)

    @classmethod
    def named(cls, name: str) -> Self:
        """By the name in ZooKeeper or on the command line: TransactionalId, TRANSACTIONALID."""
        wanted = name.replace("_", "").upper()
        found = (each for each in cls if each.name.replace("_", "") == wanted)
        return next(found, cls(0))

    @property
    def title(self) -> str:
        """The name in ZooKeeper: TransactionalId."""
        return self.name.title().replace("_", "")


class AclResourceType(AclEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7  # whose tokens an entry is about; since version 3 of the requests


class PatternType(AclEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(AclEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9  # what only brokers do
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13  # for a user
    DESCRIBE_TOKENS = 14


class AclPermissionType(AclEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


CLUSTER_NAME = "kafka-cluster"  # the only resource of the type CLUSTER
TYPES = tuple(AclResourceType)[2:]  # of resources that there are
OF_2_8 = TYPES[:-1]
TOKENS = AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS
PATTERNS = (PatternType.LITERAL, PatternType.PREFIXED)

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = (AclOperation(number) for number in range(3, 9))
CLUSTER_ACTION, IDEMPOTENT_WRITE = AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE
CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS

# The operations that there are on each type of resource.
SUPPORTED: dict[AclResourceType, tuple[AclOperation, ...]] = {
    AclResourceType.TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, *CONFIGS),
    AclResourceType.GROUP: (READ, DELETE, DESCRIBE),
    AclResourceType.CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, *CONFIGS, IDEMPOTENT_WRITE),
    AclResourceType.TRANSACTIONAL_ID: (WRITE, DESCRIBE),
    AclResourceType.DELEGATION_TOKEN: (DESCRIBE,),
    AclResourceType.USER: TOKENS,
}
# An operation is allowed also to a client that may do any of these.
IMPLIED_BY: dict[AclOperation, tuple[AclOperation, ...]] = {
    DESCRIBE: (DESCRIBE, READ, WRITE, DELETE, ALTER),
    AclOperation.DESCRIBE_CONFIGS: CONFIGS,
}


class AclResource(NamedTuple):
    type: AclResourceType
    name: str


CLUSTER = AclResource(AclResourceType.CLUSTER, CLUSTER_NAME)


class ResourcePattern(NamedTuple):
    """What an entry is about: one name, every name, or the names with a prefix."""

    type: AclResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL

    def covers(self, name: str) -> bool:
        if self.pattern is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)


ENTRY_FIELDS = ("principal", "host", "operation", "permission_type")  # of a request or response


class AccessControlEntry(NamedTuple):
    principal: str  # "User:alice", or EVERYBODY
    host: str  # an address, or WILDCARD
    operation: AclOperation
    permission: AclPermissionType

    def concerns(self, principal: str, host: str, operation: AclOperation) -> bool:
        return (
            self.principal in (principal, EVERYBODY)
            and self.host in (host, WILDCARD)
            and self.operation in (operation, AclOperation.ALL)
        )

    @classmethod
    def of(cls, row: Any) -> Self:
        """From the fields of a request or a response."""
        operation, permission = AclOperation(row.operation), AclPermissionType(row.permission_type)
        return cls(row.principal, row.host, operation, permission)

    def fields(self) -> dict[str, Any]:
        return dict(zip(ENTRY_FIELDS, self, strict=True))


class AclBinding(NamedTuple):
    resource: ResourcePattern
    entry: AccessControlEntry

    @classmethod
    def of(cls, kind: int, name: str, pattern: int, row: Any) -> Self:
        """From the fields of a request or a response; `row` has those of the entry."""
        resource = ResourcePattern(AclResourceType(kind), name, PatternType(pattern))
        return cls(resource, AccessControlEntry.of(row))

    @property
    def is_unknown(self) -> bool:
        return 0 in (*self.resource, *self.entry)

    @property
    def is_new(self) -> bool:
        return _is_new(self.resource.type, self.entry.operation)


class AclBindingFilter(NamedTuple):
    """Which bindings to describe or to delete."""

    type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermissionType = AclPermissionType.ANY

    @property
    def is_unknown(self) -> bool:
        return 0 in (self.type, self.pattern, self.operation, self.permission)

    @property
    def is_new(self) -> bool:
        return _is_new(self.type, self.operation)

    def selects(self, resource: ResourcePattern) -> bool:
        if self.type not in (AclResourceType.ANY, resource.type):
            return False
        if self.pattern in PATTERNS and self.pattern is not resource.pattern:
            return False
        if self.name is None:
            return True
        if self.pattern is PatternType.MATCH:
            return resource.covers(self.name)
        return self.name == resource.name

    def selects_entry(self, entry: AccessControlEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (AclPermissionType.ANY, entry.permission)
        )

    @property
    def resources(self) -> tuple[ResourcePattern, ...]:
        """The only resources that it may select, if there are so few; otherwise none."""
        if (
            self.type is AclResourceType.ANY
            or self.name is None
            or self.pattern is PatternType.MATCH
        ):
            return ()
        kinds = PATTERNS if self.pattern is PatternType.ANY else (self.pattern,)
        return tuple(ResourcePattern(self.type, self.name, kind) for kind in kinds)


def _is_new(kind: AclResourceType, operation: AclOperation) -> bool:
    """Whether it is about users or their tokens, which Kafka 2.8 does not know."""
    return kind is AclResourceType.USER or operation in TOKENS


def bits(operations: "tuple[AclOperation, ...] | list[AclOperation]") -> int:
    """Operations in a response: a bit for each, by its number."""
    return sum(1 << operation for operation in operations)


def check_principal(text: str) -> str:
    if ":" not in text:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return text
