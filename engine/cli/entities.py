"""The kinds of entities that `configs` configures, by the value of --entity-type.

    topics, brokers, broker-loggers     their configuration: configs.py
    users, clients, ips                 their quotas: quota_configs.py; of users also the
                                        credentials for SCRAM: scram_configs.py

--zookeeper (zookeeper_configs.py) takes all of them but brokers and their loggers.
"""

from argparse import Namespace
from collections.abc import Collection, Mapping
from typing import NamedTuple

from engine.cli.main import UsageError
from engine.client.admin.values import ResourceType
from engine.errors import invalid_config
from engine.quotas.alteration import CLIENT_KEYS, IP_KEYS

Changes = Mapping[str, str | None]  # None: back to the default

DEFAULT = ""  # the name of the entity that stands for all without a setting of their own


class EntityType(NamedTuple):
    shown: str  # before its name, in a description
    resource: ResourceType = ResourceType.UNKNOWN  # that has a configuration
    quota: str = ""  # the type of a quota's entity
    keys: Collection[str] = ()  # of its quotas


TYPES = {
    "topics": EntityType("topic", ResourceType.TOPIC),
    "brokers": EntityType("broker", ResourceType.BROKER),
    "broker-loggers": EntityType("broker-logger", ResourceType.BROKER_LOGGER),
    "users": EntityType("user-principal", quota="user", keys=CLIENT_KEYS),
    "clients": EntityType("client-id", quota="client-id", keys=CLIENT_KEYS),
    "ips": EntityType("ip", quota="ip", keys=IP_KEYS),
}


def changes_of(options: Namespace) -> Changes:
    """What --alter is to change; --describe changes nothing."""
    return options.add_config | options.delete_config if options.action == "alter" else {}


def check_types(kinds: list[str]) -> None:
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")


def check_deleted(changes: Changes, there: Collection[str], why: str = "") -> None:
    """Only what is set can be deleted."""
    missing = [key for key, value in changes.items() if value is None and key not in there]
    if missing:
        raise invalid_config(f"Invalid config(s): {','.join(missing)}{why}")


def shown(kind: str, name: str | None) -> str:
    """user-principal 'alice'; None: the default entity."""
    word = TYPES[kind].shown
    return f"the default {word}" if name is None else f"{word} '{name}'"
