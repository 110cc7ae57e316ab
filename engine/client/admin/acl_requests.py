"""Access control lists: describe, create and delete them. Any broker does it.

The entries and filters are those of engine/security/acls.py.
"""

from collections.abc import Iterable
from typing import Any

from kio.schema.create_acls.v2.request import AclCreation, CreateAclsRequest
from kio.schema.delete_acls.v2.request import DeleteAclsFilter, DeleteAclsRequest
from kio.schema.describe_acls.v2.request import DescribeAclsRequest

from engine.client.admin.operation import TO_ANY, check_row, check_rows, operation
from engine.security.acls import AclBinding, AclBindingFilter
from engine.wire.apis import Api


def _described(response: Any) -> list[AclBinding]:
    check_row(response)
    return [_binding(row, entry) for row in response.resources for entry in row.acls]


def _binding(row: Any, entry: Any) -> AclBinding:
    return AclBinding.of(row.resource_type, row.resource_name, row.pattern_type, entry)


@operation(Api.DESCRIBE_ACLS, TO_ANY, _described)
def describe_acls(wanted: AclBindingFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(**_fields(wanted))


@operation(Api.CREATE_ACLS, TO_ANY, lambda response: check_rows(response.results))
def create_acls(bindings: Iterable[AclBinding]) -> CreateAclsRequest:
    """Raises the first error; the others may have been created."""
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=resource.type,
                resource_name=resource.name,
                resource_pattern_type=resource.pattern,
                **entry.fields(),
            )
            for resource, entry in bindings
        )
    )


def _deleted(response: Any) -> list[AclBinding]:
    check_rows(response.filter_results)
    rows = [row for result in response.filter_results for row in result.matching_acls]
    check_rows(rows)
    return [_binding(row, row) for row in rows]


@operation(Api.DELETE_ACLS, TO_ANY, _deleted)
def delete_acls(filters: Iterable[AclBindingFilter]) -> DeleteAclsRequest:
    """What was deleted."""
    return DeleteAclsRequest(
        filters=tuple(DeleteAclsFilter(**_fields(wanted)) for wanted in filters)
    )


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
