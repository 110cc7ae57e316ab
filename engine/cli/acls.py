"""Show, add and remove access control lists, as kafka-acls.sh does.

    acls --list --topic orders
    acls --add --allow-principal User:alice --operation Read --topic orders
    acls --add --allow-principal User:bob --producer --topic o --resource-pattern-type prefixed
    acls --add --allow-principal User:bob --consumer --topic orders --group billing
    acls --remove --allow-principal User:alice --topic orders --force

--producer allows what a producer needs on its topic (Write, Describe, Create), and on its
transactional id; --consumer what a consumer needs (Read, Describe) and Read on its group. With one
of them --operation, --deny-principal and --deny-host are refused, as in Kafka.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import Options, add_bootstrap, add_choice, add_options
from engine.client.admin.acl_requests import create_acls, delete_acls, describe_acls
from engine.client.cluster import ClusterClient
from engine.security.acls import (
    CLUSTER_NAME,
    PATTERNS,
    SUPPORTED,
    TOKENS,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    PatternType,
    ResourcePattern,
    check_principal,
)

NAMES = {  # the options that name resources
    "topic": AclResourceType.TOPIC,
    "group": AclResourceType.GROUP,
    "transactional-id": AclResourceType.TRANSACTIONAL_ID,
    "delegation-token": AclResourceType.DELEGATION_TOKEN,
}
OPTIONS: Options = {
    **{f"{name} NAME": (str, [], "the resource; * for all of this type") for name in NAMES},
    "cluster": "the resource: the cluster itself",
    "producer": "what a producer needs, on --topic and --transactional-id",
    "consumer": "what a consumer needs, on --topic and --group",
    "idempotent": "with --producer: IdempotentWrite on the cluster, too",
    "force": "--remove: do not ask",
    "operation OPERATION": (str, [], "Read, Write, Describe ... (default: All)"),
    "allow-principal User:NAME": (str, [], "whom to allow it"),
    "allow-host HOST": (str, [], "from where (default: *)"),
    "deny-principal User:NAME": (str, [], "whom to deny it"),
    "deny-host HOST": (str, [], "from where (default: *)"),
    "principal User:NAME": (str, [], "--list: entries about them only"),
}
PRODUCER = AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE
CONSUMER = AclOperation.READ, AclOperation.DESCRIBE
OF_ROLE = "operation", "deny-principal", "deny-host"  # what a role says by itself, or cannot say
EXCLUDED = {  # an option, and those that Kafka's AclCommand does not take with it
    "list": (
        "producer",
        "consumer",
        "allow-host",
        "allow-principal",
        "deny-host",
        "deny-principal",
    ),
    "producer": OF_ROLE,
    "consumer": OF_ROLE,
}

Resources = list[tuple[AclResourceType, str]]


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    actions = {"list": "print the lists", "add": "add entries", "remove": "remove entries"}
    add_choice(parser, "action", actions, required=True)
    add_options(parser, OPTIONS)
    parser.add_argument(
        "--resource-pattern-type",
        type=PatternType.named,
        choices=list(PatternType)[1:],
        default=PatternType.LITERAL,
        metavar="TYPE",
        help="literal, prefixed; to list and remove also any, match (default: literal)",
    )


def run(options: Namespace) -> int:
    _check(options)
    with connect(options) as cluster:
        if options.action == "add":
            for resource, entries in _bindings(options).items():
                print(f"Adding ACLs for resource `{_resource(resource)}`:")
                _print(entries)
                create_acls(cluster, [AclBinding(resource, entry) for entry in entries])
        elif options.action == "remove":
            _remove(cluster, options)
        _list(cluster, options)
    return 0


def _check(options: Namespace) -> None:
    _check_together(options)
    for principal in (*options.allow_principal, *options.deny_principal, *options.principal):
        try:
            check_principal(principal)
        except ValueError as error:
            raise UsageError(str(error)) from None
    if options.action == "list":
        return
    if not _resources(options):
        raise UsageError(
            "You must specify at least one resource: --topic <topic> or --cluster or "
            "--group <group> or --transactional-id <transactional id>"
        )
    if options.action == "remove":
        return
    if options.resource_pattern_type not in PATTERNS:
        raise UsageError(
            f"A '--resource-pattern-type' value of '{options.resource_pattern_type.name}' is not "
            "valid when adding acls."
        )
    if not options.allow_principal and not options.deny_principal:
        raise UsageError(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    _operations(options)


def _check_together(options: Namespace) -> None:
    """Refuse the combinations that AclCommand.checkArgs refuses, in its words."""
    named = {name.replace("_", "-") for name, value in vars(options).items() if value}
    given = named | {options.action}
    for used, excluded in EXCLUDED.items():
        for other in excluded:
            if used in given and other in given:
                raise UsageError(f'Option "[{used}]" can\'t be used with option "[{other}]"')
    if "principal" in given and "list" not in given:
        raise UsageError("The --principal option is only available if --list is set")
    if "producer" in given and "topic" not in given:
        raise UsageError("With --producer you must specify a --topic")
    if "idempotent" in given and "producer" not in given:
        raise UsageError("The --idempotent option is only available if --producer is set")
    others = given & {"cluster", "transactional-id"} if "producer" not in given else None
    if "consumer" in given and (not {"topic", "group"} <= given or others):
        raise UsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or "
            "--transactional-id option should be specified."
        )


def _resources(options: Namespace) -> Resources:
    found = [
        (kind, name)
        for option, kind in NAMES.items()
        for name in getattr(options, option.replace("-", "_"))
    ]
    if options.cluster or options.idempotent:
        found.append((AclResourceType.CLUSTER, CLUSTER_NAME))
    return found


def _operations(options: Namespace) -> dict[AclResourceType, tuple[AclOperation, ...]]:
    """The operations to allow or deny on each type of resource."""
    kinds = {kind for kind, _ in _resources(options)}
    if not options.producer and not options.consumer:
        operations = tuple(map(_operation, options.operation)) or (AclOperation.ALL,)
        for kind in kinds:
            for each in operations:
                if each not in (AclOperation.ALL, *SUPPORTED[kind]):
                    known = ", ".join(it.title for it in SUPPORTED[kind])
                    raise UsageError(
                        f"ResourceType {kind.name} only supports operations {known}, All"
                    )
        return dict.fromkeys(kinds, operations)
    topics = (PRODUCER if options.producer else ()) + (CONSUMER if options.consumer else ())
    wanted = {
        AclResourceType.TOPIC: tuple(dict.fromkeys(topics)),
        AclResourceType.GROUP: (AclOperation.READ,) if options.consumer else (),
        AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
        AclResourceType.CLUSTER: (AclOperation.IDEMPOTENT_WRITE,) if options.idempotent else (),
    }
    return {kind: wanted.get(kind, ()) for kind in kinds}


def _operation(text: str) -> AclOperation:
    found, known = AclOperation.named(text), [*AclOperation][2 : -len(TOKENS)]
    if found not in known:
        names = ", ".join(it.title for it in known)
        raise UsageError(f"--operation {text}: there is no such operation, only {names}")
    return found


def _entries(options: Namespace, operations: Iterable[AclOperation]) -> list[AccessControlEntry]:
    return [
        AccessControlEntry(principal, host, operation, permission)
        for permission in (AclPermissionType.ALLOW, AclPermissionType.DENY)
        for principal in getattr(options, f"{permission.name.lower()}_principal")
        for host in getattr(options, f"{permission.name.lower()}_host") or [WILDCARD]
        for operation in operations
    ]


def _bindings(options: Namespace) -> dict[ResourcePattern, list[AccessControlEntry]]:
    operations, found = _operations(options), {}
    for kind, name in _resources(options):
        is_literal = kind is AclResourceType.CLUSTER  # it has one name only
        pattern = PatternType.LITERAL if is_literal else options.resource_pattern_type
        if entries := _entries(options, operations[kind]):
            found[ResourcePattern(kind, name, pattern)] = entries
    return found


def _filters(options: Namespace) -> list[AclBindingFilter]:
    """Of the resources that are named; of all if none is."""
    return [
        AclBindingFilter(kind, name, options.resource_pattern_type)
        for kind, name in _resources(options)
    ]


def _remove(cluster: ClusterClient, options: Namespace) -> None:
    operations = _operations(options)
    for wanted in _filters(options):
        entries = _entries(options, operations[wanted.type])
        if options.force or _confirms(wanted, len(entries)):
            narrow = [wanted._replace(**entry._asdict()) for entry in entries]
            delete_acls(cluster, narrow or [wanted])


def _confirms(wanted: AclBindingFilter, count: int) -> bool:
    what = f"remove {count} ACLs from" if count else "delete all ACLs for"
    resources = f"resource filter `{wanted.type.name} {wanted.name}`"
    print(f"Are you sure you want to {what} {resources}? (y/n)")
    return sys.stdin.readline().strip().lower() == "y"


def _list(cluster: ClusterClient, options: Namespace) -> None:
    found: dict[ResourcePattern, set[AccessControlEntry]] = {}
    for wanted in _filters(options) or [AclBindingFilter()]:
        for resource, entry in describe_acls(cluster, wanted):
            if not options.principal or entry.principal in options.principal:
                found.setdefault(resource, set()).add(entry)
    for resource, entries in sorted(found.items()):
        print(f"Current ACLs for resource `{_resource(resource)}`:")
        _print(sorted(entries))


def _resource(resource: ResourcePattern) -> str:
    return (
        f"ResourcePattern(resourceType={resource.type.name}, name={resource.name}, "
        f"patternType={resource.pattern.name})"
    )


def _print(entries: Iterable[AccessControlEntry]) -> None:
    for each in entries:
        print(
            f"\t(principal={each.principal}, host={each.host}, operation={each.operation.name}, "
            f"permissionType={each.permission.name})"
        )
    print()
