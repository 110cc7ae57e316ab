"""DescribeClientQuotas (API 48), versions 0 and 1, and AlterClientQuotas (API 49), versions 0 and
1: how much users, client ids and addresses may use.

    entity    [("user", "alice"), ("client-id", None)]    None: the default, for each other one
    filter    of each part the name, the default, or any name; `strict`: no other parts

Any broker does it. Each entity of AlterClientQuotas succeeds or fails as a whole: nothing of one
with a mistake is changed. An entity stays when its last quota is removed, as in Kafka; then it
is not described. What is refused, and with which words: engine/quotas/alteration.py.

Left out: names of hosts in place of addresses.
"""

from collections.abc import Mapping
from typing import Any

from kio.schema.alter_client_quotas.v1 import response as alter_v1
from kio.schema.describe_client_quotas.v1 import response as describe_v1

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, attempt_each, error_fields
from engine.errors import ApiException, ErrorCode
from engine.metadata.gateway import ControllerGateway
from engine.quotas import alteration
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.primitives import NO_THROTTLE


async def describe(
    gateway: ControllerGateway, call: Call, request: Any
) -> describe_v1.DescribeClientQuotasResponse:
    found = await attempt(_describe(gateway, request))
    entries = None
    if not isinstance(found, ApiException):
        entries = tuple(_entry(entity, quotas) for entity, quotas in found.items())
    return describe_v1.DescribeClientQuotasResponse(
        throttle_time=NO_THROTTLE, **error_fields(found), entries=entries
    )


def _entry(entity: ClientQuotaEntity, quotas: Mapping[str, float]) -> describe_v1.EntryData:
    return describe_v1.EntryData(
        entity=tuple(
            describe_v1.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity.parts()
        ),
        values=tuple(describe_v1.ValueData(key=key, value=value) for key, value in quotas.items()),
    )


async def _describe(
    gateway: ControllerGateway, request: Any
) -> dict[ClientQuotaEntity, Mapping[str, float]]:
    components = [
        alteration.FilterComponent(each.entity_type, each.match_type, each.match)
        for each in request.components
    ]
    if any(it.match_type == alteration.MatchType.EXACT and not it.name for it in components):
        raise ApiException(ErrorCode.unknown_server_error, alteration.UNEXPECTED)
    quotas = await gateway.quotas()
    return {
        each: quotas[each]
        for each in alteration.described(quotas, components, strict=request.strict)
    }


async def alter(
    gateway: ControllerGateway, call: Call, request: Any
) -> alter_v1.AlterClientQuotasResponse:
    validate_only = request.validate_only
    outcomes = await attempt_each(
        gateway, (_alter(gateway, it, validate_only=validate_only) for it in request.entries)
    )
    entries = tuple(
        alter_v1.EntryData(
            **error_fields(outcome),
            entity=tuple(
                alter_v1.EntityData(entity_type=it.entity_type, entity_name=it.entity_name)
                for it in entry.entity
            ),
        )
        for entry, outcome in zip(request.entries, outcomes, strict=True)
    )
    return alter_v1.AlterClientQuotasResponse(throttle_time=NO_THROTTLE, entries=entries)


async def _alter(gateway: ControllerGateway, entry: Any, *, validate_only: bool) -> None:
    entity = alteration.entity_of((each.entity_type, each.entity_name) for each in entry.entity)
    changes = [alteration.Alteration(it.key, None if it.remove else it.value) for it in entry.ops]
    await gateway.alter_quotas(entity, changes, validate_only=validate_only)
