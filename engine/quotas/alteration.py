"""Quotas as they are stored, described and changed: keys, texts, entities.

    /config/users/alice/clients/app    {"version":1,"config":{"producer_byte_rate":"1048576"}}

    whole numbers   producer_byte_rate, consumer_byte_rate, connection_creation_rate
    numbers         request_percentage, controller_mutation_rate

Where Kafka 2.8 wants a whole number it refuses a fraction, a negative number and an infinite one;
NaN becomes 0 there. For the other keys it accepts every number.
"""

import ipaddress
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from engine.errors import ApiException, ErrorCode, invalid_request
from engine.quotas import connection_quotas
from engine.quotas.client_quota_manager import QuotaKind
from engine.quotas.entity import DEFAULT, TYPES, ClientQuotaEntity, Name

CLIENT_KEYS = tuple(kind.value for kind in QuotaKind)
IP_KEYS = (connection_quotas.KEY,)

_LONGS = QuotaKind.PRODUCE.value, QuotaKind.FETCH.value
_EPSILON = 1e-6
_LONG, _INT = 2**63, 2**31

# What Kafka answers to a filter that it did not expect.
UNEXPECTED = "The server experienced an unexpected error when processing the request."


class Alteration(NamedTuple):
    """One key of an entity. None: remove it."""

    key: str
    value: float | None


class MatchType(IntEnum):
    """How a part of an entity is matched."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2  # any name, and the default


class FilterComponent(NamedTuple):
    type: str
    match_type: int = MatchType.SPECIFIED
    name: str | None = None


def entity_of(parts: Iterable[tuple[str, str | None]]) -> ClientQuotaEntity:
    """An entity in a request, if Kafka knows such a one."""
    given: dict[str, Name] = {}
    for kind, name in parts:
        if kind not in TYPES:
            raise invalid_request(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise invalid_request(f"Empty {kind} not supported")
        given[kind] = DEFAULT if name is None else name
    if not given:
        raise invalid_request("Invalid empty client quota entity")
    entity = ClientQuotaEntity(*(given.get(kind) for kind in TYPES))
    if entity.ip is not None and len(given) > 1:
        raise invalid_request(
            "Invalid quota entity combination, IP entity should not be used with user/client ID "
            "entity."
        )
    return entity


def check_address(name: str) -> None:
    """Refuse a name that is no address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise invalid_request(f"{name} is not a valid IP or resolvable host.") from None


def altered(
    config: Mapping[str, str], entity: ClientQuotaEntity, changes: Iterable[Alteration]
) -> dict[str, str]:
    """What is set for an entity, after these changes."""
    changed, keys = dict(config), IP_KEYS if entity.ip is not None else CLIENT_KEYS
    for key, value in changes:
        if value is None:
            changed.pop(key, None)
        elif key not in keys:
            raise invalid_request(f"Invalid configuration key {key}")
        elif key in _LONGS:
            changed[key] = str(_whole(key, value, _LONG, "LONG"))
        elif key in IP_KEYS:
            changed[key] = str(_whole(key, value, _INT, "INT"))
        else:
            changed[key] = java_text(value)
    return changed


def _whole(key: str, value: float, limit: int, kind: str) -> int:
    """Java's conversion to a whole number, if it is one but for the rounding."""
    near = value + _EPSILON
    whole = 0 if math.isnan(value) else int(max(-limit, min(near, limit)))
    whole = min(whole, limit - 1)
    if abs(float(whole) - value) > _EPSILON:
        raise invalid_request(f"Configuration {key} must be a {kind} value")
    return whole


def quotas_of(config: Mapping[str, str]) -> dict[str, float]:
    """The quotas among what is set for an entity. Raises a ValueError if one is no number."""
    return {key: float(config[key]) for key in (*CLIENT_KEYS, *IP_KEYS) if key in config}


def described(
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]],
    components: Iterable[FilterComponent],
    *,
    strict: bool,
) -> Iterator[ClientQuotaEntity]:
    """The entities that a filter matches. `strict`: those with exactly these parts."""
    wanted = _components(components)
    for entity in quotas:
        for kind, name in zip(TYPES, entity, strict=True):
            component = wanted.get(kind)
            if not (_fits(component, name) if component else name is None or not strict):
                break
        else:
            yield entity


def _components(components: Iterable[FilterComponent]) -> dict[str, FilterComponent]:
    wanted: dict[str, FilterComponent] = {}
    for each in components:
        if each.match_type not in list(MatchType):
            raise ApiException(ErrorCode.unknown_server_error, UNEXPECTED)
        if each.type == "":
            raise invalid_request("Unexpected empty filter component entity type")
        if each.type not in TYPES:
            raise ApiException(
                ErrorCode.unsupported_version, f"Custom entity type '{each.type}' not supported"
            )
        if each.type in wanted:
            short = each.type.removesuffix("-id")
            raise invalid_request(f"Duplicate {short} filter component entity type")
        wanted[each.type] = each
    if "ip" in wanted and len(wanted) > 1:
        raise invalid_request(
            "Invalid entity filter component combination, IP filter component should not be used "
            "with user or clientId filter component."
        )
    return wanted


def _fits(component: FilterComponent, name: Name | None) -> bool:
    if component.match_type == MatchType.SPECIFIED:
        return name is not None
    return name == (DEFAULT if component.match_type == MatchType.DEFAULT else component.name)


def java_text(value: float) -> str:
    """A number as Java prints it: 1048576.0, 1.0E7, NaN."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python writes an exponent later than Java
        shortest = (f"{value:.{places}e}" for places in range(1, 17))
        digits, _, exponent = next(it for it in shortest if float(it) == value).partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
