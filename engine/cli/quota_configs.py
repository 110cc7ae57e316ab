"""configs for users, client ids and addresses: their quotas, with the words of kafka-configs.sh.

    configs --alter --entity-type users --entity-name alice --add-config producer_byte_rate=1048576
    configs --alter --entity-type users --entity-name alice \\
        --entity-type clients --entity-default --add-config request_percentage=50
    configs --describe --entity-type clients                       all client ids, and the default
    configs --alter --entity-type ips --entity-name 192.0.2.7 \\
        --add-config connection_creation_rate=5

Users have credentials for SCRAM, too: scram_configs.py.
"""

from collections.abc import Sequence
from itertools import zip_longest

from engine.cli import entities
from engine.cli.main import UsageError
from engine.client.admin.quota_requests import alter_client_quotas, describe_client_quotas
from engine.client.cluster import ClusterClient
from engine.quotas.alteration import FilterComponent, MatchType, entity_of, java_text
from engine.quotas.entity import ClientQuotaEntity


def check(kinds: list[str], names: Sequence[str], changes: entities.Changes) -> None:
    """Refuse options that make no sense, before a broker is asked."""
    if len(names) > len(kinds):
        raise UsageError("More entity names specified than entity types")
    if changes and len(names) < len(kinds):
        raise UsageError("An entity name must be specified for every entity type")
    if unknown := [key for key in changes if key not in entities.TYPES[kinds[0]].keys]:
        what = "connection quota" if "ips" in kinds else "quota"
        what = "quota and SCRAM credential" if kinds == ["users"] else what
        raise UsageError(
            f"Only {what} configs can be added for '{kinds[0]}' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )


def alter(
    cluster: ClusterClient, kinds: Sequence[str], names: Sequence[str], changes: entities.Changes
) -> None:
    values = {key: None if text is None else _number(key, text) for key, text in changes.items()}
    found = describe_client_quotas(cluster, _components(kinds, names), strict=True)
    entities.check_deleted(changes, next(iter(found.values()), {}))
    parts = [
        (entities.TYPES[kind].quota, name or None) for kind, name in zip(kinds, names, strict=True)
    ]
    alter_client_quotas(cluster, entity_of(parts), values)
    if names[0]:
        print(f"Completed updating config for {kinds[0][:-1]} {names[0]}.")
    else:
        print(f"Completed updating default config for {kinds[0]} in the cluster.")


def describe(cluster: ClusterClient, kinds: Sequence[str], names: Sequence[str]) -> None:
    found = describe_client_quotas(cluster, _components(kinds, names), strict=True)
    for entity, quotas in found.items():
        values = ", ".join(f"{key}={java_text(value)}" for key, value in quotas.items())
        print(f"Quota configs for {_text(entity)} are {values}")


def _components(kinds: Sequence[str], names: Sequence[str]) -> list[FilterComponent]:
    components = []
    for kind, name in zip_longest(kinds, names):
        match = MatchType.SPECIFIED if name is None else MatchType.EXACT
        match = MatchType.DEFAULT if name == "" else match
        components.append(FilterComponent(entities.TYPES[kind].quota, match, name or None))
    return components


def _text(entity: ClientQuotaEntity) -> str:
    kinds = {kind.quota: name for name, kind in entities.TYPES.items()}
    return ", ".join(entities.shown(kinds[quota], name) for quota, name in entity.parts())


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"Cannot parse quota configuration value for {key}: {text}") from None
