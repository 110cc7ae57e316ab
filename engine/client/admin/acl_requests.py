"""Access control lists: describe, create and delete them. Any broker does it.

The entries and filters are those of engine/security/acls.py.
"""

from collections.abc import Iterable
from typing import Any

from kio.schema.create_acls.v2.request import AclCreation, CreateAclsRequest
from kio.schema.delete_acls.v2.request import DeleteAclsFilter, DeleteAclsRequest
from kio.schema.describe_acls.v2.request import DescribeAclsRequest

from engine.client.cluster import ClusterClient, check
from engine.security.acls import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from engine.wire.apis import Api


def describe_acls(cluster: ClusterClient, wanted: AclBindingFilter) -> list[AclBinding]:
    response = cluster.ask_any(Api.DESCRIBE_ACLS, DescribeAclsRequest(**_fields(wanted)))
    check(response.error_code, response.error_message)
    return [_binding(row, entry) for row in response.resources for entry in row.acls]


def create_acls(cluster: ClusterClient, bindings: Iterable[AclBinding]) -> None:
    """Raises the first error; the others may have been created."""
    creations = tuple(
        AclCreation(
            resource_type=resource.type,
            resource_name=resource.name,
            resource_pattern_type=resource.pattern,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission,
        )
        for resource, entry in bindings
    )
    response = cluster.ask_any(Api.CREATE_ACLS, CreateAclsRequest(creations=creations))
    for result in response.results:
        check(result.error_code, result.error_message)


def delete_acls(cluster: ClusterClient, filters: Iterable[AclBindingFilter]) -> list[AclBinding]:
    """What was deleted."""
    request = DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**_fields(it)) for it in filters))
    deleted = []
    for result in cluster.ask_any(Api.DELETE_ACLS, request).filter_results:
        check(result.error_code, result.error_message)
        for row in result.matching_acls:
            check(row.error_code, row.error_message)
            deleted.append(_binding(row, row))
    return deleted


def _fields(wanted: AclBindingFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": wanted.type,
        "resource_name_filter": wanted.name,
        "pattern_type_filter": wanted.pattern,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }


def _binding(row: Any, entry: Any) -> AclBinding:
    kind, pattern = AclResourceType(row.resource_type), PatternType(row.pattern_type)
    operation, permission = AclOperation(entry.operation), AclPermissionType(entry.permission_type)
    return AclBinding(
        ResourcePattern(kind, row.resource_name, pattern),
        AccessControlEntry(entry.principal, entry.host, operation, permission),
    )
