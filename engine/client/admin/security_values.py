"""Access control lists and SCRAM credentials, with confluent-kafka's classes.

AclBinding              one entry: who may, or may not, do what on which resource
AclBindingFilter        which entries to describe or delete; None and ANY match every value
UserScramCredentialUpsertion, UserScramCredentialDeletion     changes of a credential
UserScramCredentialsDescription     a user's mechanisms and iterations; no key is ever sent
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, NoReturn

from engine.client.admin.values import Ordered, ResourceType
from engine.security import acls
from engine.security.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    PatternType,
    ResourcePattern,
)

ResourcePatternType = PatternType
ENUMS: dict[str, type[Enum]] = {
    "restype": ResourceType,
    "resource_pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
}
NAMES = ("name", "principal", "host")
UNNAMED = {AclResourceType.DELEGATION_TOKEN: ResourceType.UNKNOWN}  # confluent-kafka knows none


@dataclass(order=True, unsafe_hash=True, init=False)
class AclBinding:
    restype: ResourceType
    name: str | None
    resource_pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: AclOperation
    permission_type: AclPermissionType

    forbidden: ClassVar[tuple[str, ...]] = ("ANY", "MATCH")

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str | None,
        resource_pattern_type: PatternType | str | int,
        principal: str | None,
        host: str | None,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        self.name, self.principal, self.host = (
            self._text(*each) for each in zip(NAMES, (name, principal, host), strict=True)
        )
        given = restype, resource_pattern_type, operation, permission_type
        for (field, kind), value in zip(ENUMS.items(), given, strict=True):
            setattr(self, field, self._member(field, kind, value))

    def _text(self, field: str, value: object) -> str | None:
        if value is None:
            self._missing(field)
        if not isinstance(value, str):
            raise TypeError(f"{field} must be a string")
        return value

    def _missing(self, field: str) -> NoReturn:
        raise ValueError(f"Expected {field} to be not None")

    def _member(self, field: str, kind: type[Enum], value: Any) -> Enum:
        if value is None:
            self._missing(field)
        if isinstance(value, str):
            if value.upper() not in kind.__members__:
                raise ValueError(f'Unknown value "{value}": should be a {kind.__name__}')
            value = kind[value.upper()]
        found = kind(value)
        if found.name in self.forbidden:
            raise ValueError(f"Cannot use enum {field}, value {found.name} in this class")
        return found

    def binding(self) -> acls.AclBinding:
        """This binding, as a value of the engine."""
        assert self.name is not None and self.principal is not None and self.host is not None
        kind = AclResourceType(self.restype.value)
        return acls.AclBinding(
            ResourcePattern(kind, self.name, self.resource_pattern_type),
            AccessControlEntry(self.principal, self.host, self.operation, self.permission_type),
        )

    @classmethod
    def of(cls, binding: acls.AclBinding) -> "AclBinding":
        resource, entry = binding
        kind = UNNAMED.get(resource.type) or ResourceType(resource.type.value)
        return cls(kind, resource.name, resource.pattern, *entry)


class AclBindingFilter(AclBinding):
    forbidden = ("UNKNOWN",)

    def _text(self, field: str, value: object) -> str | None:
        return None if value is None else super()._text(field, value)

    def filter(self) -> acls.AclBindingFilter:
        return acls.AclBindingFilter(
            AclResourceType(self.restype.value),
            self.name,
            self.resource_pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )


# -- credentials -------------------------------------------------------------------------------


class ScramMechanism(Ordered):
    UNKNOWN, SCRAM_SHA_256, SCRAM_SHA_512 = range(3)


@dataclass
class ScramCredentialInfo:
    mechanism: ScramMechanism
    iterations: int


@dataclass
class UserScramCredentialsDescription:
    user: str
    scram_credential_infos: list[ScramCredentialInfo]


@dataclass
class UserScramCredentialAlteration:
    user: str


@dataclass
class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """A new password, or another one; without a salt a random one is taken."""

    scram_credential_info: ScramCredentialInfo
    password: bytes
    salt: bytes | None = None

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion({self.user!r}, {self.scram_credential_info}, ...)"


@dataclass
class UserScramCredentialDeletion(UserScramCredentialAlteration):
    mechanism: ScramMechanism


def checked(alteration: UserScramCredentialAlteration) -> UserScramCredentialAlteration:
    """As confluent-kafka checks one before it asks a broker."""
    if not isinstance(alteration.user, str):
        raise TypeError("'user' must be a string")
    if not alteration.user:
        raise ValueError("'user' cannot be empty")
    mechanism: Any = getattr(alteration, "mechanism", None)
    if isinstance(alteration, UserScramCredentialUpsertion):
        info = alteration.scram_credential_info
        if not isinstance(alteration.password, bytes):
            raise TypeError("'password' must be bytes")
        if not alteration.password:
            raise ValueError("'password' cannot be empty")
        if not isinstance(info, ScramCredentialInfo):
            raise TypeError("Expected credential_info to be ScramCredentialInfo Type")
        if info.iterations < 1:
            raise ValueError("Iterations should be positive")
        mechanism = info.mechanism
    if not isinstance(mechanism, ScramMechanism):
        raise TypeError("Expected the mechanism to be ScramMechanism Type")
    return replace(alteration)
