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

from engine.cli import quota_configs, scram_configs
from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import add_bootstrap, add_choice, add_options
from engine.client.admin import requests
from engine.client.admin.values import ConfigResource, ResourceType
from engine.client.cluster import ClusterClient
from engine.config import Source
from engine.errors import ApiException, ErrorCode

KINDS = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
}
NAMES = "a topic, a broker's number, a user, a client id, an address; one for each type"
DEFAULT = ""  # the name of the entity that stands for all brokers

_COMMA = re.compile(r",(?=[^\]]*(?:\[|$))")  # one that is not in brackets


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser, {"zookeeper": "work on the znodes in this ZooKeeper, and ask no broker"})
    actions = {"describe": "print a configuration", "alter": "change it"}
    add_choice(parser, "action", actions, required=True)
    parser.add_argument(
        "--entity-type",
        required=True,
        action="append",
        choices=[*KINDS, *quota_configs.KINDS],
        help="the kind of entity that is configured; users and clients may be given together",
    )
    add_options(parser, {"entity-name NAME": (str, [], NAMES)})
    parser.add_argument(
        "--entity-default",
        dest="entity_name",
        action="append_const",
        const=DEFAULT,
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
    if set(options.entity_type) & quota_configs.KINDS.keys():
        return _quotas(options)
    if len(options.entity_type) > 1 or len(options.entity_name) > 1:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")
    kind = KINDS[options.entity_type[0]]
    name: Any = options.entity_name[0] if options.entity_name else None
    if kind is ResourceType.TOPIC and name == DEFAULT:
        raise UsageError("--entity-default is for brokers: defaults of topics are set there")
    if kind is ResourceType.BROKER_LOGGER and not name:
        raise UsageError("broker-loggers need --entity-name: the number of a broker")
    if kind is not ResourceType.TOPIC and name and not name.isdecimal():
        raise UsageError(f"--entity-name {name}: a broker's name is its number")
    changes = options.add_config | options.delete_config
    if options.action == "alter" and (name is None or not changes):
        raise UsageError(
            "--alter needs --entity-name or --entity-default, and --add-config or --delete-config"
        )
    with connect(options) as cluster:
        if kind is not ResourceType.TOPIC and name and int(name) not in cluster.metadata.brokers:
            alive = ", ".join(map(str, sorted(cluster.metadata.brokers)))
            raise ApiException(
                ErrorCode.broker_not_available, f"there is no broker {name}; alive are {alive}"
            )
        if options.action == "alter":
            _alter(cluster, kind, name, changes)
        else:
            names = _all_names(cluster, kind) if name is None else [name]
            for each in names:
                _describe(cluster, kind, each, options.all)
    return 0


def _quotas(options: Namespace) -> int:
    """Of users, client ids and addresses; and the credentials of users."""
    changes = options.add_config | options.delete_config
    kinds, names = entity = options.entity_type, options.entity_name
    altered, of_users = options.action == "alter", kinds == ["users"]
    if altered and not changes:
        raise UsageError("--alter needs --add-config or --delete-config")
    credentials = []
    if altered and of_users and names and changes.keys() & scram_configs.MECHANISMS.keys():
        credentials = scram_configs.alterations(names, changes)
    else:
        quota_configs.check(*entity, changes if altered else {})
    with connect(options) as cluster:
        if credentials:
            scram_configs.alter(cluster, credentials)
        elif altered:
            quota_configs.alter(cluster, *entity, changes)
        else:
            quota_configs.describe(cluster, *entity)
            if of_users and "" not in names:
                scram_configs.describe(cluster, names)
    return 0


def _alter(
    cluster: ClusterClient, kind: ResourceType, name: str, wanted: dict[str, str | None]
) -> None:
    set_there = {each.name for each in _set_there(cluster, kind, name)}
    if kind is ResourceType.BROKER_LOGGER:
        if unknown := wanted.keys() - set_there:
            text = f"Invalid broker logger(s): {','.join(sorted(unknown))}"
            raise ApiException(ErrorCode.invalid_config, text)
    elif not_set := [key for key, it in wanted.items() if it is None and key not in set_there]:
        raise ApiException(
            ErrorCode.invalid_config,
            f"Invalid config(s): {','.join(not_set)}: nothing is set here that could be deleted",
        )
    requests.alter_config(cluster, ConfigResource(kind, name), wanted)
    what = f"{_word(kind)} {name}." if name else "brokers in the cluster."
    print(f"Completed updating {'' if name else 'default '}config for {what}")


def _describe(cluster: ClusterClient, kind: ResourceType, name: str, show_all: bool) -> None:
    entries = (
        requests.describe_config(cluster, ConfigResource(kind, name))
        if show_all
        else _set_there(cluster, kind, name)
    )
    if name:
        print(f"{'All' if show_all else 'Dynamic'} configs for {_word(kind)} {name} are:")
    else:
        print("Default configs for brokers in the cluster are:")
    for entry in entries:
        synonyms = ", ".join(
            f"{_source(each.source)}:{each.name}={each.value}" for each in entry.synonyms
        )
        value = "null" if entry.value is None else entry.value
        print(
            f"  {entry.name}={value} sensitive={str(entry.is_sensitive).lower()} "
            f"synonyms={{{synonyms}}}"
        )


def _word(kind: ResourceType) -> str:
    return kind.name.lower().replace("_", "-")


def _set_there(cluster: ClusterClient, kind: ResourceType, name: str) -> list[Any]:
    """The keys that were set for this entity itself; all loggers, which have no other source."""
    source = Source.DYNAMIC_BROKER if name else Source.DYNAMIC_DEFAULT_BROKER
    if kind is ResourceType.TOPIC:
        source = Source.TOPIC
    entries = requests.describe_config(cluster, ConfigResource(kind, name))
    if kind is ResourceType.BROKER_LOGGER:
        return list(entries)
    return [each for each in entries if each.config_source == source]


def _all_names(cluster: ClusterClient, kind: ResourceType) -> list[str]:
    metadata = cluster.describe(None)
    if kind is ResourceType.TOPIC:
        return list(metadata.topics)
    return [*map(str, sorted(metadata.brokers)), DEFAULT]


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
