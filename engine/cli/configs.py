"""Show configurations and change them while the cluster runs, as kafka-configs.sh does.

    configs --describe --entity-type topics --entity-name orders           what was set for it
    configs --describe --entity-type brokers --entity-name 1 --all         every key there is
    configs --alter --entity-type topics --entity-name orders --add-config retention.ms=1000
    configs --alter --entity-type brokers --entity-default --delete-config log.retention.ms
    configs --alter --entity-type broker-loggers --entity-name 1 --add-config root=DEBUG

The synonyms of a key are all the places that have a value for it; the first one counts.
A value with commas in it is written in brackets: cleanup.policy=[compact,delete].
Users, client ids and addresses have quotas (quota_configs.py), users also credentials for SCRAM
(scram_configs.py). --zookeeper HOST:PORT, as in older books, is zookeeper_configs.py.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from importlib import import_module
from typing import Any

from engine.cli import entities, quota_configs, scram_configs
from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import add_bootstrap, add_choice, add_options
from engine.client.admin import requests
from engine.client.admin.values import ConfigResource, ResourceType
from engine.client.cluster import ClusterClient
from engine.config import Source
from engine.errors import ApiException, ErrorCode, invalid_config

NAMES = "a topic, a broker's number, a user, a client id, an address; one for each type"

_COMMA = re.compile(r",(?=[^\]]*(?:\[|$))")  # one that is not in brackets


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser, {"zookeeper": "work on the znodes in this ZooKeeper, and ask no broker"})
    actions = {"describe": "print a configuration", "alter": "change it"}
    add_choice(parser, "action", actions, required=True)
    parser.add_argument(
        "--entity-type",
        required=True,
        action="append",
        choices=entities.TYPES,
        help="the kind of entity that is configured; users and clients may be given together",
    )
    add_options(parser, {"entity-name NAME": (str, [], NAMES)})
    parser.add_argument(
        "--entity-default",
        dest="entity_name",
        action="append_const",
        const=entities.DEFAULT,
        help="instead of a name: the default for all without a setting of their own",
    )
    add_options(
        parser,
        {
            "all": "--describe: also print keys that have their default",
            "add-config KEY=VALUE,...": (_settings, {}, "--alter: set these keys"),
            "delete-config KEY,...": (_keys, {}, "--alter: set these keys back to their defaults"),
        },
    )


def run(options: Namespace) -> int:
    if options.zookeeper:
        # It loads kazoo, which no other command needs.
        status: int = import_module("engine.cli.zookeeper_configs").run(options)
        return status
    entities.check_types(options.entity_type)
    kind = entities.TYPES[options.entity_type[0]]
    if kind.quota:
        return _quotas(options)
    if len(options.entity_name) > 1:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")
    name: Any = options.entity_name[0] if options.entity_name else None
    _check(kind, name, options)
    with connect(options) as cluster:
        if kind.resource is not ResourceType.TOPIC and name:
            _check_alive(cluster, name)
        if options.action == "alter":
            _alter(cluster, kind, name, entities.changes_of(options))
        else:
            for entity in _all_names(cluster, kind) if name is None else [name]:
                _describe(cluster, kind, entity, options.all)
    return 0


def _check(kind: entities.EntityType, name: str | None, options: Namespace) -> None:
    if kind.resource is ResourceType.TOPIC and name == entities.DEFAULT:
        raise UsageError("--entity-default is for brokers: defaults of topics are set there")
    if kind.resource is ResourceType.BROKER_LOGGER and not name:
        raise UsageError("broker-loggers need --entity-name: the number of a broker")
    if kind.resource is not ResourceType.TOPIC and name and not name.isdecimal():
        raise UsageError(f"--entity-name {name}: a broker's name is its number")
    if options.action == "alter" and (name is None or not entities.changes_of(options)):
        raise UsageError(
            "--alter needs --entity-name or --entity-default, and --add-config or --delete-config"
        )


def _check_alive(cluster: ClusterClient, broker: str) -> None:
    if int(broker) not in cluster.metadata.brokers:
        alive = ", ".join(map(str, sorted(cluster.metadata.brokers)))
        raise ApiException(
            ErrorCode.broker_not_available, f"there is no broker {broker}; alive are {alive}"
        )


def _quotas(options: Namespace) -> int:
    """Of users, client ids and addresses; and the credentials of users."""
    changes, of_users = entities.changes_of(options), options.entity_type == ["users"]
    names = options.entity_name
    entity = options.entity_type, names
    if options.action == "alter" and not changes:
        raise UsageError("--alter needs --add-config or --delete-config")
    credentials = []
    if of_users and names and changes.keys() & scram_configs.MECHANISMS.keys():
        credentials = scram_configs.alterations(names, changes)
    else:
        quota_configs.check(*entity, changes)
    with connect(options) as cluster:
        if credentials:
            scram_configs.alter(cluster, credentials)
        elif changes:
            quota_configs.alter(cluster, *entity, changes)
        else:
            quota_configs.describe(cluster, *entity)
            if of_users and entities.DEFAULT not in names:
                scram_configs.describe(cluster, names)
    return 0


def _alter(
    cluster: ClusterClient, kind: entities.EntityType, name: str, changes: entities.Changes
) -> None:
    set_there = {entry.name for entry in _set_there(cluster, kind, name)}
    if kind.resource is ResourceType.BROKER_LOGGER:
        if unknown := changes.keys() - set_there:
            text = f"Invalid broker logger(s): {','.join(sorted(unknown))}"
            raise invalid_config(text)
    else:
        entities.check_deleted(changes, set_there, ": nothing is set here that could be deleted")
    requests.alter_config(cluster, ConfigResource(kind.resource, name), changes)
    what = f"{kind.shown} {name}." if name else "brokers in the cluster."
    print(f"Completed updating {'' if name else 'default '}config for {what}")


def _describe(cluster: ClusterClient, kind: entities.EntityType, name: str, show_all: bool) -> None:
    entries = (
        requests.describe_config(cluster, ConfigResource(kind.resource, name))
        if show_all
        else _set_there(cluster, kind, name)
    )
    if name:
        print(f"{'All' if show_all else 'Dynamic'} configs for {kind.shown} {name} are:")
    else:
        print("Default configs for brokers in the cluster are:")
    for entry in entries:
        synonyms = ", ".join(
            f"{_source(synonym.source)}:{synonym.name}={synonym.value}"
            for synonym in entry.synonyms
        )
        value = "null" if entry.value is None else entry.value
        print(
            f"  {entry.name}={value} sensitive={str(entry.is_sensitive).lower()} "
            f"synonyms={{{synonyms}}}"
        )


def _set_there(cluster: ClusterClient, kind: entities.EntityType, name: str) -> list[Any]:
    """The keys that were set for this entity itself; all loggers, which have no other source."""
    source = Source.DYNAMIC_BROKER if name else Source.DYNAMIC_DEFAULT_BROKER
    if kind.resource is ResourceType.TOPIC:
        source = Source.TOPIC
    entries = requests.describe_config(cluster, ConfigResource(kind.resource, name))
    if kind.resource is ResourceType.BROKER_LOGGER:
        return list(entries)
    return [entry for entry in entries if entry.config_source == source]


def _all_names(cluster: ClusterClient, kind: entities.EntityType) -> list[str]:
    metadata = cluster.describe(None)
    if kind.resource is ResourceType.TOPIC:
        return list(metadata.topics)
    return [*map(str, sorted(metadata.brokers)), entities.DEFAULT]


def _source(number: int) -> str:
    """A source's name as Kafka prints it."""
    name = Source(number).name
    return f"{'DYNAMIC_' if name == 'TOPIC' else ''}{name}_CONFIG"


def _settings(text: str) -> dict[str, str]:
    """`k=v,k=[v,w]`"""
    settings = {}
    for part in _COMMA.split(text):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ArgumentTypeError(f"{part!r} is not KEY=VALUE")
        settings[key.strip()] = value.strip().removeprefix("[").removesuffix("]")
    return settings


def _keys(text: str) -> dict[str, None]:
    return {key.strip(): None for key in text.split(",") if key.strip()}
