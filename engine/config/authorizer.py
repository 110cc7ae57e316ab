"""The keys of the authorizer: who checks what clients may do, and who may do everything."""

from dataclasses import dataclass
from typing import Any

from engine.config.key import Config, invalid, key

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"


def _authorizer(name: str, value: Any) -> None:
    if value not in ("", ACL_AUTHORIZER):
        raise invalid(name, value, f"there is one authorizer, {ACL_AUTHORIZER}")


def _principals(name: str, value: Any) -> None:
    for each in principals(value):
        if ":" not in each:
            raise invalid(
                name,
                value,
                f"expected a string in format principalType:principalName but got {each}",
            )


def principals(value: str) -> tuple[str, ...]:
    """User:admin;User:CN=broker,O=lab: semicolons, because names of certificates have commas."""
    return tuple(each.strip() for each in value.split(";") if each.strip())


@dataclass(frozen=True, kw_only=True)
class AuthorizerConfig(Config):
    authorizer_class_name: str = key(
        "", "The class that checks ACLs; without one everything is allowed.", _authorizer
    )
    super_users: str = key(
        "", "Who may do everything, separated by semicolons: User:admin;User:ops.", _principals
    )
    allow_everyone_if_no_acl_found: bool = key(
        False, "Whether everyone may use a resource that no ACL is about."
    )
