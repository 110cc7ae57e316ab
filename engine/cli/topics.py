"""Create, list, describe, alter and delete topics, as kafka-topics.sh does.

    topics --create --topic orders --partitions 3 --replication-factor 2 --config retention.ms=1000
    topics --describe --topic orders        leader, replicas and in-sync replicas (Isr) of each
    topics --alter --topic orders --partitions 6        there can only be more of them, never less
    topics --list
    topics --delete --topic orders

For --describe, --alter and --delete a topic may be a regular expression: 'lab-.*'. What is not
said about a new topic is left to the broker: num.partitions, default.replication.factor.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from engine.cli.options import add_bootstrap, add_config, connect

if TYPE_CHECKING:
    from engine.client.cluster import ClusterView
    from engine.client.metadata import Metadata, Topic

Assignment = list[list[int]]  # for each partition its replicas, the preferred leader first


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    for name, help in (
        ("create", "make a new topic"),
        ("list", "print the names of all topics"),
        ("describe", "print what there is to say about a topic, or about all of them"),
        ("alter", "give a topic more partitions (its configuration: see `configs`)"),
        ("delete", "delete a topic and its records"),
    ):
        action.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=help)
    parser.add_argument("--topic", metavar="T", help="which one")
    parser.add_argument("--partitions", type=_count, metavar="N", help="how many")
    parser.add_argument(
        "--replication-factor", type=_count, metavar="R", help="brokers that keep each partition"
    )
    parser.add_argument(
        "--replica-assignment",
        type=_assignment,
        metavar="1:2,2:3",
        help="instead of both numbers: the brokers of partition 0, of partition 1 ...",
    )
    add_config(parser, "for --create: a key of the topic's configuration")
    parser.add_argument(
        "--if-not-exists", action="store_true", help="--create: leave a topic that is there alone"
    )
    parser.add_argument(
        "--if-exists", action="store_true", help="do nothing if there is no such topic"
    )
    parser.add_argument(
        "--exclude-internal", action="store_true", help="leave out __consumer_offsets and the like"
    )
    parser.add_argument(
        "--under-replicated-partitions",
        action="store_true",
        help="--describe: only partitions with replicas that are not in sync",
    )
    parser.add_argument(
        "--unavailable-partitions",
        action="store_true",
        help="--describe: only partitions that nobody leads",
    )


def run(options: Namespace) -> int:
    from engine.cli.main import UsageError

    if options.topic is None and options.action in ("create", "alter", "delete"):
        raise UsageError(f"--{options.action} needs --topic")
    if options.action == "alter" and options.partitions is None:
        raise UsageError("--alter needs --partitions: how many there are to be")
    by_number = options.partitions is not None or options.replication_factor is not None
    if options.action == "create" and options.replica_assignment and by_number:
        raise UsageError("--replica-assignment says it all: leave the numbers out")
    with connect(options.bootstrap_server) as cluster:
        actions = {
            "create": _create,
            "list": _list,
            "describe": _describe,
            "alter": _alter,
            "delete": _delete,
        }
        actions[options.action](cluster, options)
    return 0


# -- one function an action ------------------------------------------------------------------


def _create(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import admin
    from engine.errors import ErrorCode, KafkaError

    if "." in options.topic or "_" in options.topic:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or "
            "underscore ('_') could collide. To avoid issues it is best to use either, but not "
            "both."
        )
    try:
        admin.create_topic(
            cluster,
            options.topic,
            options.partitions or -1,
            options.replication_factor or -1,
            options.replica_assignment or [],
            dict(options.config),
        )
    except KafkaError as error:
        if error.code != ErrorCode.topic_already_exists:
            raise
        if options.if_not_exists:
            return
        message = error.message.rstrip(".")
        raise KafkaError(error.code, f"{message}; with --if-not-exists that is no error") from error
    print(f"Created topic {options.topic}.")


def _list(cluster: "ClusterView", options: Namespace) -> None:
    for topic in _matching(cluster.describe(None), options):
        print(topic.name)


def _describe(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import admin
    from engine.config import Source
    from engine.model import id_text

    metadata = cluster.describe(None)
    topics = _matching(metadata, options)
    only_some = options.under_replicated_partitions or options.unavailable_partitions
    for topic in topics:
        if not only_some:
            configs = ",".join(
                f"{each.name}={each.value}"
                for each in admin.describe_config(cluster, admin.Resource.TOPIC, topic.name)
                if each.config_source != Source.DEFAULT
            )
            first = topic.partitions.get(0)
            known_id = f"\tTopicId: {id_text(topic.id)}" if topic.id else ""
            print(
                f"Topic: {topic.name}{known_id}\tPartitionCount: {len(topic.partitions)}"
                f"\tReplicationFactor: {len(first.replicas) if first else 0}\tConfigs: {configs}"
            )
        for number, partition in topic.partitions.items():
            led = partition.leader in metadata.brokers
            behind = len(partition.isr) < len(partition.replicas)
            if (
                not only_some
                or (options.under_replicated_partitions and behind)
                or (options.unavailable_partitions and not led)
            ):
                print(
                    f"\tTopic: {topic.name}\tPartition: {number}"
                    f"\tLeader: {partition.leader if led else 'none'}"
                    f"\tReplicas: {','.join(map(str, partition.replicas))}"
                    f"\tIsr: {','.join(map(str, partition.isr))}"
                )


def _alter(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import admin

    for topic in _matching(cluster.describe(None), options):
        by_hand = options.replica_assignment
        added = None if by_hand is None else by_hand[len(topic.partitions) :]
        admin.create_partitions(cluster, topic.name, options.partitions, added)


def _delete(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import admin

    for topic in _matching(cluster.describe(None), options):
        admin.delete_topic(cluster, topic.name)


def _matching(metadata: "Metadata", options: Namespace) -> "list[Topic]":
    """The topics that --topic means; all of them, without one."""
    from engine.cli.main import UsageError
    from engine.client.cluster import unknown_topic

    try:
        matches = re.compile(options.topic or ".*").fullmatch
    except re.error as error:
        raise UsageError(f"--topic {options.topic}: not a regular expression: {error}") from error
    found = [
        topic
        for topic in metadata.topics.values()
        if matches(topic.name) and not (options.exclude_internal and topic.is_internal)
    ]
    if options.topic and not found and not options.if_exists:
        raise unknown_topic(options.topic, metadata.topics)
    return found


# -- kinds of values -------------------------------------------------------------------------


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _assignment(text: str) -> Assignment:
    try:
        return [[int(broker) for broker in part.split(":")] for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not of the form 1:2,2:3") from None
