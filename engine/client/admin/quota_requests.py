"""Quotas of clients: describe and change them. Any broker does it.

The entities and filters are those of engine/quotas.
"""

from collections.abc import Iterable, Mapping

from kio.schema.alter_client_quotas.v1.request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from kio.schema.describe_client_quotas.v1.request import ComponentData, DescribeClientQuotasRequest
from kio.static.primitive import f64, i8

from engine.client.cluster import ClusterClient, check
from engine.quotas.alteration import FilterComponent, entity_of
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api

Quotas = dict[ClientQuotaEntity, dict[str, float]]


def describe_client_quotas(
    cluster: ClusterClient, components: Iterable[FilterComponent], strict: bool
) -> Quotas:
    request = DescribeClientQuotasRequest(
        components=tuple(
            ComponentData(entity_type=it.type, match_type=i8(it.match_type), match=it.name)
            for it in components
        ),
        strict=strict,
    )
    response = cluster.ask_any(Api.DESCRIBE_CLIENT_QUOTAS, request)
    check(response.error_code, response.error_message)
    return {
        entity_of((it.entity_type, it.entity_name) for it in entry.entity): {
            it.key: it.value for it in entry.values
        }
        for entry in response.entries
    }


def alter_client_quotas(
    cluster: ClusterClient,
    entity: ClientQuotaEntity,
    changes: Mapping[str, float | None],
    validate_only: bool = False,
) -> None:
    entry = EntryData(
        entity=tuple(EntityData(entity_type=kind, entity_name=it) for kind, it in entity.parts()),
        ops=tuple(
            OpData(key=key, value=f64(float(value or 0)), remove=value is None)
            for key, value in changes.items()
        ),
    )
    request = AlterClientQuotasRequest(entries=(entry,), validate_only=validate_only)
    for result in cluster.ask_any(Api.ALTER_CLIENT_QUOTAS, request).entries:
        check(result.error_code, result.error_message)
