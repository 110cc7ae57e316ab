"""configs --zookeeper HOST:PORT: what was set for topics, users, client ids and addresses.

    configs --zookeeper localhost:2181 --alter --entity-type topics --entity-name orders \\
        --add-config retention.ms=1000
    configs --zookeeper localhost:2181 --describe --entity-type clients --entity-name app

    /config/topics/orders                  {"version":1,"config":{"retention.ms":"1000"}}
    /config/changes/config_change_...      a note: every broker reads that entity again

This is also how the first user of a cluster gets a password, before any broker runs. Brokers
themselves are configured with --bootstrap-server: Kafka 2.8 has ZooKeeper only store their
passwords before they start, encrypted, which is left out here. Kafka 2.8 calls --zookeeper
deprecated, and 3.0 has removed it.

What is printed is what Kafka 2.8's ConfigCommand prints; its warning goes to stderr.
"""

from argparse import Namespace
from collections.abc import Iterator

from engine.cli import entities, scram_configs
from engine.cli.main import UsageError, to_stderr
from engine.cli.zookeeper_session import ZnodeClient, open_session
from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode, invalid_config
from engine.security.principals import user_of_znode, znode_name
from engine.security.scram import ScramCredential
from engine.zookeeper import znodes

DEPRECATED = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.\n"
    "Use --bootstrap-server instead to specify a broker to connect to."
)


def run(options: Namespace) -> int:
    _check(options)
    to_stderr(DEPRECATED)
    with open_session(options.zookeeper) as session:
        if options.action == "alter":
            _alter(session, options)
        else:
            _describe(session, options)
    return 0


def _check(options: Namespace) -> None:
    kinds = options.entity_type
    if options.all:
        raise UsageError("--bootstrap-server must be specified for --all")
    entities.check_types(kinds)
    if refused := [kind for kind in kinds if kind in ("brokers", "broker-loggers")]:
        raise UsageError(
            f"--bootstrap-server option must be specified to describe and alter {refused[0]}"
        )
    if options.action == "alter" and len(options.entity_name) != len(kinds):
        raise UsageError("An entity name must be specified for every entity type")
    if options.action == "alter" and not entities.changes_of(options):
        raise UsageError("--alter needs --add-config or --delete-config")


def _alter(session: ZnodeClient, options: Namespace) -> None:
    kind, path = _place(options)
    config, changes = session.config(kind, path), entities.changes_of(options)
    entities.check_deleted(changes, config)
    for key, value in changes.items():
        if value is None:
            del config[key]
        else:
            config[key] = _value(kind, key, value)
    if kind == "topics":
        if not session.exists(znodes.topic_path(path)):
            raise ApiException(
                ErrorCode.unknown_topic_or_partition, f"Topic '{path}' does not exist."
            )
        TopicConfig.parse(config)
    session.change_config(kind, path, config)
    print(f"Completed updating config for entity: {_words(kind, path)}.")


def _value(kind: str, key: str, value: str) -> str:
    """The value as it is stored: not a password itself, but what a broker needs to check it."""
    if kind == "topics":
        return value
    if kind == "users" and key in scram_configs.MECHANISMS:
        password, iterations = scram_configs.password_of(key, value)
        return ScramCredential.make(key, password, iterations=iterations).text()
    if key not in entities.TYPES[kind].keys:
        raise invalid_config(f"Unknown Dynamic Configuration: {key}.")
    try:
        float(value)
    except ValueError:
        text = f"Invalid value {value} for configuration {key}: Not a number"
        raise invalid_config(text) from None
    return value


def _describe(session: ZnodeClient, options: Namespace) -> None:
    named = len(options.entity_name) == len(options.entity_type)
    for kind, path in [_place(options)] if named else _all(session, options):
        config = session.config(kind, path)
        if named or config:
            values = ",".join(f"{key}={value}" for key, value in config.items())
            print(f"Configs for {_words(kind, path)} are {values}")


def _all(session: ZnodeClient, options: Namespace) -> Iterator[tuple[str, str]]:
    """Every entity of these kinds; of two kinds, every client id of the users."""
    kind = "users" if len(options.entity_type) > 1 else options.entity_type[0]
    for name in session.children(f"{znodes.CONFIG}/{kind}"):
        if len(options.entity_type) == 1:
            yield kind, name
            continue
        for client in session.children(f"{znodes.config_path(kind, name)}/clients"):
            yield kind, f"{name}/clients/{client}"


def _place(options: Namespace) -> tuple[str, str]:
    """The kind and name below /config."""
    names = dict(zip(options.entity_type, options.entity_name, strict=True))
    written = {
        kind: name if kind == "topics" else znode_name(name) if name else znodes.DEFAULT_ENTITY
        for kind, name in names.items()
    }
    if len(written) > 1:
        return "users", f"{written['users']}/clients/{written['clients']}"
    return next(iter(written.items()))


def _words(kind: str, path: str) -> str:
    """user-principal 'alice', client-id 'app'"""
    name, _, client = path.partition("/clients/")
    named = [(kind, name), *([("clients", client)] if client else [])]
    return ", ".join(
        entities.shown(each, None if znode == znodes.DEFAULT_ENTITY else user_of_znode(znode))
        for each, znode in named
    )
