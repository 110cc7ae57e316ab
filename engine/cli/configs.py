"""Look at configurations and change them while all runs, as kafka-configs.sh does.

    configs --describe --entity-type topics --entity-name orders           what was set for it
    configs --describe --entity-type brokers --entity-name 1 --all         every key there is
    configs --alter --entity-type topics --entity-name orders --add-config retention.ms=1000
    configs --alter --entity-type brokers --entity-default --delete-config log.retention.ms

The synonyms of a key are all the places where a value for it stands; the first one counts.
A value with commas in it goes into brackets: cleanup.policy=[compact,delete].
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from engine.cli.options import add_bootstrap, connect

if TYPE_CHECKING:
    from engine.client.changes import Resource
    from engine.client.cluster import ClusterView

DEFAULT = ""  # the name of the entity that stands for all brokers

_COMMA = re.compile(r",(?=[^\]]*(?:\[|$))")  # one that is not in brackets


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--describe", action="store_true", help="print a configuration")
    action.add_argument("--alter", action="store_true", help="change it")
    parser.add_argument(
        "--entity-type", required=True, choices=["topics", "brokers"], help="whose it is"
    )
    entity = parser.add_mutually_exclusive_group()
    entity.add_argument("--entity-name", metavar="NAME", help="a topic, or a broker's number")
    entity.add_argument(
        "--entity-default",
        dest="entity_name",
        action="store_const",
        const=DEFAULT,
        help="what holds for all brokers that have nothing else set",
    )
    parser.add_argument(
        "--all", action="store_true", help="--describe: defaults too, not only what was set"
    )
    parser.add_argument(
        "--add-config",
        type=_settings,
        default={},
        metavar="KEY=VALUE,...",
        help="--alter: set these keys",
    )
    parser.add_argument(
        "--delete-config",
        type=_keys,
        default={},
        metavar="KEY,...",
        help="--alter: let these keys have their default again",
    )


def run(options: Namespace) -> int:
    from engine.cli.main import UsageError
    from engine.client.changes import Resource
    from engine.errors import ErrorCode, KafkaError

    kind = Resource.TOPIC if options.entity_type == "topics" else Resource.BROKER
    name = options.entity_name
    if kind is Resource.TOPIC and name == DEFAULT:
        raise UsageError("--entity-default is for brokers: defaults of topics are set there")
    if kind is Resource.BROKER and name and not name.isdecimal():
        raise UsageError(f"--entity-name {name}: a broker's name is its number")
    changes = options.add_config | options.delete_config
    if options.alter and (name is None or not changes):
        raise UsageError(
            "--alter needs --entity-name or --entity-default, and --add-config or --delete-config"
        )
    with connect(options.bootstrap_server) as cluster:
        if kind is Resource.BROKER and name and int(name) not in cluster.metadata.brokers:
            alive = ", ".join(map(str, sorted(cluster.metadata.brokers)))
            raise KafkaError(
                ErrorCode.broker_not_available, f"there is no broker {name}; alive are {alive}"
            )
        if options.alter:
            _alter(cluster, kind, name, changes)
        else:
            names = _all_names(cluster, kind) if name is None else [name]
            for each in names:
                _describe(cluster, kind, each, options.all)
    return 0


def _alter(
    cluster: "ClusterView", kind: "Resource", name: str, wanted: dict[str, str | None]
) -> None:
    from engine.client import changes
    from engine.errors import ErrorCode, KafkaError

    set_there = {each.name for each in _set_there(cluster, kind, name)}
    not_set = [key for key, value in wanted.items() if value is None and key not in set_there]
    if not_set:
        raise KafkaError(
            ErrorCode.invalid_config,
            f"Invalid config(s): {','.join(not_set)}: nothing is set here that could be deleted",
        )
    changes.alter_config(cluster, kind, name, wanted)
    what = f"{kind.name.lower()} {name}." if name else "brokers in the cluster."
    print(f"Completed updating {'' if name else 'default '}config for {what}")


def _describe(cluster: "ClusterView", kind: "Resource", name: str, show_all: bool) -> None:
    from engine.client import changes

    entries = (
        changes.describe_config(cluster, kind, name)
        if show_all
        else _set_there(cluster, kind, name)
    )
    if name:
        print(f"{'All' if show_all else 'Dynamic'} configs for {kind.name.lower()} {name} are:")
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


def _set_there(cluster: "ClusterView", kind: "Resource", name: str) -> list[Any]:
    """What was set for this very entity, and not further down."""
    from engine.client import changes
    from engine.config import Source

    source = Source.DYNAMIC_BROKER if name else Source.DYNAMIC_DEFAULT_BROKER
    if kind is changes.Resource.TOPIC:
        source = Source.TOPIC
    entries = changes.describe_config(cluster, kind, name)
    return [each for each in entries if each.config_source == source]


def _all_names(cluster: "ClusterView", kind: "Resource") -> list[str]:
    from engine.client.changes import Resource

    metadata = cluster.describe(None)
    if kind is Resource.TOPIC:
        return list(metadata.topics)
    return [*map(str, sorted(metadata.brokers)), DEFAULT]


def _source(number: int) -> str:
    """A source's name as Kafka prints it."""
    from engine.config import Source

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
