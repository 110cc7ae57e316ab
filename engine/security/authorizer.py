"""The authorizer: whether somebody may do something, by the access control lists.

    a super user                        may everything
    no entry covers the resource        allow.everyone.if.no.acl.found decides
    an entry denies it                  no, whatever else allows it
    an entry allows it                  yes
    none does                           no

Who may read, write, delete or alter a resource may describe it too; who may alter a configuration
may describe it. A denial implies nothing: a client for which Describe is denied may still read, if
an entry allows that.

Kafka's AclAuthorizer is the model, its oddities included: `allowed_on_any`, the question of an
idempotent producer whether it may write to any topic at all, ignores the operations that imply
others, and with allow.everyone.if.no.acl.found it needs no entry.

Invariant: a decision depends on the rules only. Decisions are remembered until the rules change.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from engine.security.acls import (
    IMPLIED_BY,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResource,
    AclResourceType,
    PatternType,
    ResourcePattern,
)

REMEMBERED = 10_000  # decisions

Entries = frozenset[AccessControlEntry]


class AclAuthorizer:
    def __init__(self, super_users: Iterable[str] = (), *, open_by_default: bool = False) -> None:
        self.super_users = frozenset(super_users)
        self._open = open_by_default
        self._rules: dict[ResourcePattern, Entries] = {}
        self._lengths: dict[AclResourceType, set[int]] = {}  # of the prefixes that there are
        self._decisions: dict[tuple[str, str, AclOperation, AclResource], bool] = {}

    # -- the rules -----------------------------------------------------------------------

    def update(self, resource: ResourcePattern, entries: Iterable[AccessControlEntry]) -> None:
        """Replace the entries of a resource."""
        self._rules.pop(resource, None)
        if found := frozenset(entries):
            self._rules[resource] = found
        self._lengths = {}
        for each in self._rules:
            if each.pattern is PatternType.PREFIXED:
                self._lengths.setdefault(each.type, set()).add(len(each.name))
        self._decisions.clear()

    @property
    def resources(self) -> tuple[ResourcePattern, ...]:
        return tuple(self._rules)

    def entries(self, resource: ResourcePattern) -> Entries:
        return self._rules.get(resource, frozenset())

    def bindings(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        for resource, entries in sorted(self._rules.items()):
            if wanted.selects(resource):
                for entry in sorted(entries):
                    if wanted.selects_entry(entry):
                        yield AclBinding(resource, entry)

    # -- decisions -----------------------------------------------------------------------

    def allowed(
        self, principal: str, host: str, operation: AclOperation, resource: AclResource
    ) -> bool:
        question = principal, host, operation, resource
        decision = self._decisions.get(question)
        if decision is None:
            if len(self._decisions) >= REMEMBERED:
                self._decisions.clear()
            decision = self._decisions[question] = self._decide(*question)
        return decision

    def _decide(
        self, principal: str, host: str, operation: AclOperation, resource: AclResource
    ) -> bool:
        if principal in self.super_users:
            return True
        entries = [each for covering in self._covering(resource) for each in self._rules[covering]]
        if not entries:
            return self._open
        if any(
            each.permission is AclPermissionType.DENY and each.concerns(principal, host, operation)
            for each in entries
        ):
            return False
        return any(
            each.permission is AclPermissionType.ALLOW and each.concerns(principal, host, enough)
            for each in entries
            for enough in IMPLIED_BY.get(operation, (operation,))
        )

    def _covering(self, resource: AclResource) -> Iterator[ResourcePattern]:
        """The patterns with entries that cover a resource."""
        kind, name = resource
        patterns = [ResourcePattern(kind, each) for each in {WILDCARD, name}]
        for length in self._lengths.get(kind, ()):
            if length <= len(name):
                patterns.append(ResourcePattern(kind, name[:length], PatternType.PREFIXED))
        return (each for each in patterns if each in self._rules)

    def allowed_on_any(
        self, principal: str, host: str, operation: AclOperation, kind: AclResourceType
    ) -> bool:
        """Whether there may be a resource of this type on which the operation is allowed."""
        if principal in self.super_users:
            return True
        permitted: defaultdict[AclPermissionType, list[ResourcePattern]] = defaultdict(list)
        for resource, entries in self._rules.items():
            if resource.type is kind:
                for each in entries:
                    if each.concerns(principal, host, operation):
                        permitted[each.permission].append(resource)
        denied = permitted[AclPermissionType.DENY]
        if ResourcePattern(kind, WILDCARD) in denied:
            return False
        if self._open:
            return True
        return any(
            each == ResourcePattern(kind, WILDCARD)
            or not any(_dominates(deny, each) for deny in denied)
            for each in permitted[AclPermissionType.ALLOW]
        )


def _dominates(deny: ResourcePattern, allow: ResourcePattern) -> bool:
    """Whether nothing is left of what one pattern allows, because another one denies it."""
    if deny.pattern is PatternType.PREFIXED:
        return allow.name.startswith(deny.name)
    return allow.pattern is PatternType.LITERAL and deny.name == allow.name
