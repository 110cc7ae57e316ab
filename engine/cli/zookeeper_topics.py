"""topics --zookeeper HOST:PORT: creates, lists and changes topics by their znodes.

    topics --create --zookeeper localhost:2181 --replication-factor 1 --partitions 5 --topic orders

    /config/topics/orders           what --config says
    /brokers/topics/orders          the replicas of each partition; the controller does the rest
    /admin/delete_topics/orders     a request to delete it

No broker is asked: this command alone checks the values, and it does not wait until leaders are
elected. It chooses the replicas itself, among the brokers that are registered at that
moment: if there is none, no topic can be created. The topic has no id, unless the brokers speak
2.8 (inter.broker.protocol.version): then the controller adds one. Kafka 2.8 calls --zookeeper
deprecated, and 3.0 has removed it.

What is printed is what Kafka 2.8's TopicCommand prints. Its only warning is in its --help; ours is
on stderr.
"""

from argparse import Namespace
from collections.abc import Callable
from random import randrange

from engine.cli.main import UsageError, to_stderr
from engine.cli.options import topic_matcher
from engine.cli.table import comma
from engine.cli.zookeeper_session import ZnodeClient, open_session
from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.topics import (
    INTERNAL,
    check_assignment,
    check_new_name,
    spread,
    spread_further,
)
from engine.zookeeper import znodes

DEPRECATED = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka. "
    "Use --bootstrap-server instead to specify a broker to connect to."
)
GROWS = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or "
    "ordering of the messages will be affected"
)
CONFIG_HERE = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be "
    "removed in future releases.\n"
    "         Going forward, please use kafka-configs.sh for this functionality"
)
ONLY: dict[str, Callable[[znodes.LeaderAndIsr | None, tuple[int, ...], list[int]], bool]] = {
    "under-replicated-partitions": lambda state, replicas, _: (
        state is None or len(state.isr) < len(replicas)
    ),
    "unavailable-partitions": lambda state, _, live: state is None or state.leader not in live,
}


def run(options: Namespace) -> int:
    _check(options)
    to_stderr(DEPRECATED)
    with open_session(options.zookeeper) as session:
        ACTIONS[options.action](session, options)
    return 0


def _check(options: Namespace) -> None:
    if options.only and options.only not in ONLY:
        raise UsageError(f'Option "[{options.only}]" can\'t be used with option "[zookeeper]"')
    if options.action == "create" and options.replica_assignment is None:
        for name, value in (
            ("partitions", options.partitions),
            ("replication-factor", options.replication_factor),
        ):
            if value is None:
                raise UsageError(f'Missing required argument "[{name}]"')


def _create(session: ZnodeClient, options: Namespace) -> None:
    name, live = options.topic, session.brokers()
    try:
        check_new_name(name, session.children(znodes.TOPICS))
    except ApiException as error:
        if error.code == ErrorCode.topic_already_exists and options.if_not_exists:
            return
        raise
    config = dict(options.config)
    TopicConfig.parse(config)
    if options.replica_assignment is None:
        replicas = spread(
            options.partitions,
            options.replication_factor,
            live,
            start=randrange(1000),
            shift=randrange(1000),
        )
    else:
        replicas = dict(enumerate(options.replica_assignment))
        check_assignment(replicas, live)
    session.set(znodes.config_path("topics", name), znodes.encode_config(config))
    if not session.create(znodes.topic_path(name), _topic(replicas).encode()):
        raise ApiException(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    print(f"Created topic {name}.")


def _topic(replicas: dict[int, list[int]]) -> znodes.Topic:
    """Without an id."""
    each = {number: ReplicaAssignment(tuple(ids)) for number, ids in replicas.items()}
    return znodes.Topic(None, each)


def _list(session: ZnodeClient, options: Namespace) -> None:
    for name in _matching(session, options):
        marked = session.exists(znodes.deleted_topic_path(name))
        print(f"{name} - marked for deletion" if marked else name)


def _describe(session: ZnodeClient, options: Namespace) -> None:
    live = session.brokers()
    for name in _matching(session, options):
        topic = _read(session, name)
        if topic is None:
            continue  # it has been deleted meanwhile
        if not options.only:
            configs = ",".join(f"{k}={v}" for k, v in session.config("topics", name).items())
            marked = session.exists(znodes.deleted_topic_path(name))
            factor = len(topic.partitions[0].replicas) if 0 in topic.partitions else 0
            print(
                f"Topic: {name}\tPartitionCount: {len(topic.partitions)}"
                f"\tReplicationFactor: {factor}\tConfigs: {configs}"
                + ("\tMarkedForDeletion: true" if marked else "")
            )
        for number, placed in sorted(topic.partitions.items()):
            data = session.get(znodes.state_path(TopicPartition(name, number)))
            state = znodes.LeaderAndIsr.decode(data) if data else None
            if not options.only or ONLY[options.only](state, placed.replicas, live):
                leader = "none" if state is None or state.leader < 0 else state.leader
                isr = comma(state.isr) if state else ""
                print(
                    f"\tTopic: {name}\tPartition: {number}\tLeader: {leader}"
                    f"\tReplicas: {comma(placed.replicas)}\tIsr: {isr}"
                )


def _alter(session: ZnodeClient, options: Namespace) -> None:
    for name in _matching(session, options):
        if options.config or options.delete_config:
            print(CONFIG_HERE)
            config = {**session.config("topics", name), **dict(options.config)}
            for key in options.delete_config:
                config.pop(key, None)
            TopicConfig.parse(config)
            session.change_config("topics", name, config)
            print(f"Updated config for topic {name}.")
        if options.partitions is not None:
            print(GROWS)
            _grow(session, name, options)
            print("Adding partitions succeeded!")


def _grow(session: ZnodeClient, name: str, options: Namespace) -> None:
    topic = _read(session, name)
    if topic is None or name in INTERNAL:
        what = "cannot be changed" if topic else "does not exist"
        raise ApiException(
            ErrorCode.invalid_partitions, f"The number of partitions for topic {name} {what}."
        )
    count = len(topic.partitions)
    if options.partitions <= count:
        raise ApiException(
            ErrorCode.invalid_partitions,
            f"The number of partitions for a topic can only be increased. Topic {name} currently "
            f"has {count} partitions, {options.partitions} would not be an increase.",
        )
    live, first = session.brokers(), topic.partitions[0].replicas
    if options.replica_assignment is None:
        added = spread_further(options.partitions, first, live, first_partition=count)
    else:
        added = dict(enumerate(options.replica_assignment[count:], count))
        check_assignment(added, live, count)
    grown = {**topic.partitions, **_topic(added).partitions}
    session.set(znodes.topic_path(name), topic._replace(partitions=grown).encode())


def _delete(session: ZnodeClient, options: Namespace) -> None:
    for name in _matching(session, options):
        if name in INTERNAL:
            raise ApiException(
                ErrorCode.invalid_topic_exception,
                f"Topic {name} is a kafka internal topic and is not allowed to be marked for "
                "deletion.",
            )
        if not session.create(znodes.deleted_topic_path(name)):
            print(f"Topic {name} is already marked for deletion.")
            continue
        print(f"Topic {name} is marked for deletion.")
        print("Note: This will have no impact if delete.topic.enable is not set to true.")


def _read(session: ZnodeClient, name: str) -> znodes.Topic | None:
    data = session.get(znodes.topic_path(name))
    return None if data is None else znodes.Topic.decode(data)


def _matching(session: ZnodeClient, options: Namespace) -> list[str]:
    matches = topic_matcher(options.topic)
    found = [
        name
        for name in session.children(znodes.TOPICS)
        if matches(name) and not (options.exclude_internal and name in INTERNAL)
    ]
    if options.topic is not None and not found and not options.if_exists:
        raise ApiException(
            ErrorCode.unknown_topic_or_partition,
            f"Topic '{options.topic}' does not exist as expected",
        )
    return found


ACTIONS = {
    "create": _create,
    "list": _list,
    "describe": _describe,
    "alter": _alter,
    "delete": _delete,
}
