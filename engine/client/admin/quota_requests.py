"""Quotas of clients: describe and change them. Any broker does it.

The entities and filters are those of engine/quotas.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kio.schema.alter_client_quotas.v1 import request as alter_v1
from kio.schema.describe_client_quotas.v1.request import ComponentData, DescribeClientQuotasRequest
from kio.static.primitive import f64, i8

from engine.client.admin.operation import TO_ANY, check_row, check_rows, operation
from engine.quotas.alteration import FilterComponent, entity_of
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api


def _described(response: Any) -> dict[ClientQuotaEntity, dict[str, float]]:
    check_row(response)
    return {
        entity_of((part.entity_type, part.entity_name) for part in entry.entity): {
            quota.key: quota.value for quota in entry.values
        }
        for entry in response.entries
    }


@operation(Api.DESCRIBE_CLIENT_QUOTAS, TO_ANY, _described)
def describe_client_quotas(
    components: Iterable[FilterComponent], strict: bool
) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=tuple(
            ComponentData(
                entity_type=component.type,
                match_type=i8(component.match_type),
                match=component.name,
            )
            for component in components
        ),
        strict=strict,
    )


@operation(Api.ALTER_CLIENT_QUOTAS, TO_ANY, lambda response: check_rows(response.entries))
def alter_client_quotas(
    entity: ClientQuotaEntity, changes: Mapping[str, float | None], validate_only: bool = False
) -> alter_v1.AlterClientQuotasRequest:
    entry = alter_v1.EntryData(
        entity=tuple(
            alter_v1.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts()
        ),
        ops=tuple(
            alter_v1.OpData(key=key, value=f64(float(value or 0)), remove=value is None)
            for key, value in changes.items()
        ),
    )
    return alter_v1.AlterClientQuotasRequest(entries=(entry,), validate_only=validate_only)
