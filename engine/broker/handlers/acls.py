"""DescribeAcls, CreateAcls and DeleteAcls (APIs 29 to 31), versions 0 to 3.

Each new entry and each filter succeeds or fails on its own. Without `authorizer.class.name` the
answer is SECURITY_DISABLED. A request with a number that is not known closes the connection, as
Kafka's parser does. Version 3 knows users as resources, and what is done with their tokens.
"""

from collections import defaultdict
from itertools import groupby
from typing import Any

from kio.schema.create_acls.v2 import response as create_v2
from kio.schema.delete_acls.v2 import response as delete_v2
from kio.schema.describe_acls.v2 import response as describe_v2

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, attempt_each, code_of, error_fields
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import ControllerGateway
from engine.security.acls import (
    CLUSTER_NAME,
    PATTERNS,
    TYPES,
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
from engine.security.authorizer import AclAuthorizer, Entries
from engine.wire.errors import Malformed
from engine.wire.primitives import NO_THROTTLE

USERS_SINCE = 3  # the version that knows them
DISABLED = ApiException(ErrorCode.security_disabled, "No Authorizer is configured on the broker.")


async def describe(
    authorizer: AclAuthorizer | None, call: Call, request: Any
) -> describe_v2.DescribeAclsResponse:
    kinds = request.resource_type_filter, request.pattern_type_filter
    wanted = _filter(call.version, request, *kinds)
    found = authorizer.bindings(wanted) if authorizer else ()
    failure = None if authorizer else DISABLED
    return describe_v2.DescribeAclsResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(failure),
        # In this response Kafka's text has no full stop.
        error_message=failure and failure.message.removesuffix("."),
        resources=tuple(
            describe_v2.DescribeAclsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                pattern_type=resource.pattern,
                acls=tuple(describe_v2.AclDescription(**each.entry.fields()) for each in bindings),
            )
            for resource, bindings in groupby(found, lambda binding: binding.resource)
        ),
    )


# -- create ------------------------------------------------------------------------------------


async def create(
    authorizer: AclAuthorizer | None, gateway: ControllerGateway, call: Call, request: Any
) -> create_v2.CreateAclsResponse:
    wanted = [_binding(call.version, each) for each in request.creations]
    failed = ErrorCode.unknown_server_error  # for what selects, and is not one itself
    if gateway.decides_in_order:
        failed = ErrorCode.invalid_request
    refused: dict[int, ApiException] = {}
    by_resource: defaultdict[ResourcePattern, list[int]] = defaultdict(list)
    for number, binding in enumerate(wanted):
        try:
            _check(authorizer, binding, failed)
            by_resource[binding.resource].append(number)
        except ApiException as error:
            refused[number] = error
    added = (
        gateway.alter_acls(resource, frozenset(wanted[each].entry for each in numbers).union)
        for resource, numbers in by_resource.items()
    )
    outcomes = await attempt_each(gateway, added)
    for numbers, outcome in zip(by_resource.values(), outcomes, strict=True):
        if isinstance(outcome, ApiException):
            refused |= dict.fromkeys(numbers, outcome)
    results = tuple(
        create_v2.AclCreationResult(**error_fields(refused.get(number)))
        for number in range(len(wanted))
    )
    return create_v2.CreateAclsResponse(throttle_time=NO_THROTTLE, results=results)


def _binding(version: int, creation: Any) -> AclBinding:
    kind, pattern = creation.resource_type, creation.resource_pattern_type
    binding = AclBinding.of(kind, creation.resource_name, pattern, creation)
    if binding.is_unknown or (binding.is_new and version < USERS_SINCE):
        raise Malformed(f"an access control list has unknown elements: {creation}")
    return binding


def _check(authorizer: AclAuthorizer | None, binding: AclBinding, failed: ErrorCode) -> None:
    resource, entry = binding
    if authorizer is None:
        raise DISABLED
    if resource.type not in TYPES or resource.pattern not in PATTERNS:
        raise ApiException(failed, f"{resource} selects resources, and is not one itself")
    if AclOperation.ANY is entry.operation or AclPermissionType.ANY is entry.permission:
        raise ApiException(failed, f"{entry} selects entries, and is not one itself")
    if resource.type is AclResourceType.CLUSTER and resource.name != CLUSTER_NAME:
        raise invalid_request(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not resource.name:
        raise invalid_request("Invalid empty resource name")
    try:
        check_principal(entry.principal)
    except ValueError as error:
        raise ApiException(ErrorCode.unknown_server_error, str(error)) from None


# -- delete ------------------------------------------------------------------------------------


async def delete(
    authorizer: AclAuthorizer | None, gateway: ControllerGateway, call: Call, request: Any
) -> delete_v2.DeleteAclsResponse:
    """Each entry is deleted once. The first filter that selects it reports it; without ZooKeeper
    each of them does."""
    filters = [
        _filter(call.version, each, each.resource_type_filter, each.pattern_type_filter)
        for each in request.filters
    ]
    results = await attempt(_delete(authorizer, gateway, filters))
    found = {} if isinstance(results, ApiException) else results
    return delete_v2.DeleteAclsResponse(
        throttle_time=NO_THROTTLE,
        filter_results=tuple(
            delete_v2.DeleteAclsFilterResult(
                **error_fields(results), matching_acls=tuple(found.get(number, ()))
            )
            for number in range(len(filters))
        ),
    )


async def _delete(
    authorizer: AclAuthorizer | None, gateway: ControllerGateway, filters: list[AclBindingFilter]
) -> dict[int, list[delete_v2.DeleteAclsMatchingAcl]]:
    if authorizer is None:
        raise DISABLED
    named = (resource for each in filters for resource in each.resources)
    resources = dict.fromkeys((*authorizer.resources, *named))
    deletions = [_Deletion(each, filters) for each in resources]
    deletions = [each for each in deletions if each.matching]
    outcomes = await attempt_each(
        gateway, (gateway.alter_acls(it.resource, it.without) for it in deletions)
    )
    deleted: defaultdict[int, list[delete_v2.DeleteAclsMatchingAcl]] = defaultdict(list)
    for deletion, outcome in zip(deletions, outcomes, strict=True):
        for entry, numbers in sorted(deletion.gone.items()):
            row = delete_v2.DeleteAclsMatchingAcl(
                **error_fields(outcome),
                resource_type=deletion.resource.type,
                resource_name=deletion.resource.name,
                pattern_type=deletion.resource.pattern,
                **entry.fields(),
            )
            for number in numbers if gateway.decides_in_order else numbers[:1]:
                deleted[number].append(row)
    return deleted


class _Deletion:
    """The entries of one resource that filters select."""

    def __init__(self, resource: ResourcePattern, filters: list[AclBindingFilter]) -> None:
        self.resource = resource
        self.matching = [(n, each) for n, each in enumerate(filters) if each.selects(resource)]
        self.gone: dict[AccessControlEntry, list[int]] = {}  # and the filters that select each

    def without(self, before: Entries) -> Entries:
        self.gone.clear()  # it is called again if another broker has changed the list
        for entry in before:
            for number, wanted in self.matching:
                if wanted.selects_entry(entry):
                    self.gone.setdefault(entry, []).append(number)
        return before.difference(self.gone)


def _filter(version: int, asked: Any, kind: int, pattern: int) -> AclBindingFilter:
    found = AclBindingFilter(
        AclResourceType(kind),
        asked.resource_name_filter,
        PatternType(pattern),
        asked.principal_filter,
        asked.host_filter,
        AclOperation(asked.operation),
        AclPermissionType(asked.permission_type),
    )
    if found.is_unknown or (found.is_new and version < USERS_SINCE):
        raise Malformed(f"a filter has unknown elements: {found}")
    return found
