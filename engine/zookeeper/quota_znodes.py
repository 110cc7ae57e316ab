"""Quotas in ZooKeeper: below /config, beside the other configurations.

    /config/users/alice               {"version":1,"config":{"producer_byte_rate":"1048576"}}
    /config/users/alice/clients/app
    /config/clients/app
    /config/ips/192.0.2.7             {"version":1,"config":{"connection_creation_rate":"10"}}

Names are written as in a URL; `<default>` stands for everybody else. A note below /config/changes
tells every broker to read an entity again. A quota that is no number is ignored, and logged.
"""

import logging
from collections.abc import Mapping

from engine.quotas.alteration import quotas_of
from engine.quotas.entity import DEFAULT, ClientQuotaEntity, Name
from engine.security.principals import user_of_znode, znode_name

KINDS = "users", "clients", "ips"

log = logging.getLogger(__name__)


def read_quotas(
    overrides: Mapping[tuple[str, str], Mapping[str, str]],
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """The quotas in configurations, each of which comes with the kind and name of its entity."""
    quotas = {}
    for (kind, path), config in overrides.items():
        try:
            if kind in KINDS and (values := quotas_of(config)):
                quotas[entity_at(kind, path)] = values
        except ValueError as error:
            log.warning("the quotas in /config/%s/%s are ignored: %s", kind, path, error)
    return quotas


def entity_at(kind: str, path: str) -> ClientQuotaEntity:
    """Of an entity below /config. Raises a ValueError for a path that Kafka does not write."""
    match kind, path.split("/"):
        case "users", [user]:
            return ClientQuotaEntity(user=_name(user))
        case "users", [user, "clients", client]:
            return ClientQuotaEntity(user=_name(user), client=_name(client))
        case "clients", [client]:
            return ClientQuotaEntity(client=_name(client))
        case "ips", [address]:
            return ClientQuotaEntity(ip=_name(address))
    raise ValueError(f"there is no entity {kind}/{path}")


def place_of(entity: ClientQuotaEntity) -> tuple[str, str]:
    """The kind and name below /config."""
    if entity.ip is not None:
        return "ips", written(entity.ip)
    if entity.user is None:
        assert entity.client is not None
        return "clients", written(entity.client)
    below = "" if entity.client is None else f"/clients/{written(entity.client)}"
    return "users", written(entity.user) + below


def written(name: Name) -> str:
    return znode_name(name) if isinstance(name, str) else name.value


def _name(text: str) -> Name:
    return DEFAULT if text == DEFAULT.value else user_of_znode(text)
