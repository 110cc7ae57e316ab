"""Create, list, describe, alter and delete topics, as kafka-topics.sh does.

    topics --create --topic orders --partitions 3 --replication-factor 2 --config retention.ms=1000
    topics --describe --topic orders        leader, replicas and in-sync replicas (Isr) of each
    topics --describe --under-min-isr-partitions       only those to which acks=all can't write
    topics --alter --topic orders --partitions 6        there can only be more of them, never less
    topics --list
    topics --delete --topic orders

For --list, --describe, --alter and --delete a topic may be a regular expression, 'lab-.*', or a
list of them: 'orders,lines'. A new topic without these options has the broker's num.partitions and
default.replication.factor.
--zookeeper HOST:PORT instead of --bootstrap-server, as in older books, still works and is
deprecated (zookeeper_topics.py).
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import (
    SHORT_MAX,
    Options,
    add_bootstrap,
    add_choice,
    add_config,
    add_options,
    bounded,
    topic_matcher,
)
from engine.cli.table import comma
from engine.client.admin import requests
from engine.client.admin.values import (
    ConfigResource,
    NewPartitions,
    NewTopic,
    PartitionReassignment,
)
from engine.client.cluster import ClusterClient, unknown_topic
from engine.client.metadata import MetadataSnapshot, PartitionSnapshot, TopicSnapshot
from engine.config import Source
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition, id_text

Assignment = list[list[int]]  # for each partition its replicas, the preferred leader first

FACTOR = "brokers that keep each partition"
KEYS = "with --zookeeper, for --alter: set this key back to its default"
OPTIONS: Options = {
    "delete-config KEY": (str, [], KEYS),
    "if-not-exists": "--create: do nothing if the topic exists",
    "if-exists": "do nothing if there is no such topic",
    "exclude-internal": "leave out __consumer_offsets and the like",
}


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser, {"zookeeper": "work on the znodes in this ZooKeeper, and ask no broker"})
    actions = {name: help for name, (_, help) in ACTIONS.items()}
    add_choice(parser, "action", actions, required=True)
    by_hand = "instead of both numbers: the brokers of partition 0, of partition 1 ..."
    add_options(
        parser,
        {
            "topic T": "which one",
            "partitions N": (bounded(1), None, "how many"),
            "replication-factor R": (bounded(1, SHORT_MAX), None, FACTOR),
            "replica-assignment 1:2,2:3": (_assignment, None, by_hand),
        },
    )
    add_config(parser, "for --create: a key of the topic's configuration")
    add_options(parser, OPTIONS)
    only = {name: f"--describe: {help}" for name, (_, help) in ONLY.items()}
    add_choice(parser, "only", only)


def run(options: Namespace) -> int:
    if options.topic is None and options.action in ("create", "alter", "delete"):
        raise UsageError(f"--{options.action} needs --topic")
    configures = bool(options.config or options.delete_config)
    if options.action == "alter" and configures and not options.zookeeper:
        raise UsageError("--alter changes no configuration: `configs` does; or give --zookeeper")
    if options.action == "alter" and options.partitions is None and not configures:
        raise UsageError("--alter needs --partitions: the new number of partitions")
    if options.only and options.action != "describe":
        raise UsageError(f"--{options.only} can't be used with --{options.action}")
    by_number = options.partitions is not None or options.replication_factor is not None
    if options.action == "create" and options.replica_assignment and by_number:
        raise UsageError("--replica-assignment excludes --partitions and --replication-factor")
    if options.zookeeper:
        # It loads kazoo, which no other command needs.
        status: int = import_module("engine.cli.zookeeper_topics").run(options)
        return status
    with connect(options) as cluster:
        run_action, _ = ACTIONS[options.action]
        run_action(cluster, options)
    return 0


class _Found(NamedTuple):
    """A partition, with all that `--describe` prints of it."""

    partition: PartitionSnapshot
    led: bool
    min_isr: int
    move: PartitionReassignment | None

    @property
    def replication(self) -> int:
        """During a move a partition has more replicas; the new ones don't count yet."""
        if self.move is None:
            return len(self.partition.replicas)
        return len(set(self.move.replicas).difference(self.move.adding_replicas))

    def __str__(self) -> str:
        columns = {
            "Leader": str(self.partition.leader) if self.led else "none",
            "Replicas": comma(self.partition.replicas),
            "Isr": comma(self.partition.isr),
        }
        if self.move:
            columns["Adding Replicas"] = comma(self.move.adding_replicas)
            columns["Removing Replicas"] = comma(self.move.removing_replicas)
        return "".join(f"\t{name}: {value}" for name, value in columns.items())


ONLY: dict[str, tuple[Callable[[_Found], bool], str]] = {
    "under-replicated-partitions": (
        lambda it: len(it.partition.isr) < it.replication,
        "only partitions with replicas that are not in sync",
    ),
    "unavailable-partitions": (lambda it: not it.led, "only partitions without a leader"),
    "under-min-isr-partitions": (
        lambda it: not it.led or len(it.partition.isr) < it.min_isr,
        "only partitions with fewer replicas in sync than min.insync.replicas",
    ),
    "at-min-isr-partitions": (
        lambda it: len(it.partition.isr) == it.min_isr,
        "only partitions with just min.insync.replicas in sync",
    ),
}


# -- one function an action ------------------------------------------------------------------


def _create(cluster: ClusterClient, options: Namespace) -> None:
    if "." in options.topic or "_" in options.topic:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or "
            "underscore ('_') could collide. To avoid issues it is best to use either, but not "
            "both."
        )
    try:
        topic = NewTopic(
            options.topic,
            options.partitions or -1,
            options.replication_factor or -1,
            options.replica_assignment,
            dict(options.config),
        )
        requests.create_topic(cluster, topic)
    except ApiException as error:
        if error.code != ErrorCode.topic_already_exists:
            raise
        if options.if_not_exists:
            return
        message = error.message.rstrip(".")
        raise ApiException(
            error.code, f"{message}; with --if-not-exists that is no error"
        ) from error
    print(f"Created topic {options.topic}.")


def _list(cluster: ClusterClient, options: Namespace) -> None:
    for topic in _matching(cluster.describe(None), options):
        print(topic.name)


def _describe(cluster: ClusterClient, options: Namespace) -> None:
    metadata = cluster.describe(None)
    topics = _matching(metadata, options)
    moves = _moves(cluster)
    for topic in topics:
        entries = requests.describe_config(cluster, ConfigResource("topic", topic.name))
        found = {
            number: _Found(
                partition,
                partition.leader in metadata.brokers,
                next(int(each.value) for each in entries if each.name == "min.insync.replicas"),
                moves.get(TopicPartition(topic.name, number)),
            )
            for number, partition in topic.partitions.items()
        }
        if not options.only:
            configs = ",".join(
                f"{each.name}={each.value}"
                for each in entries
                if each.config_source != Source.DEFAULT
            )
            known_id = f"\tTopicId: {id_text(topic.id)}" if topic.id else ""
            print(
                f"Topic: {topic.name}{known_id}\tPartitionCount: {len(found)}"
                f"\tReplicationFactor: {found[0].replication if found else 0}\tConfigs: {configs}"
            )
        for number, each in found.items():
            if not options.only or ONLY[options.only][0](each):
                print(f"\tTopic: {topic.name}\tPartition: {number}{each}")


def _moves(cluster: ClusterClient) -> dict[TopicPartition, PartitionReassignment]:
    """The moves in progress; none if the brokers are too old to report them."""
    try:
        return requests.list_reassignments(cluster)
    except ApiException as error:
        if error.code != ErrorCode.unsupported_version:
            raise
        return {}


def _alter(cluster: ClusterClient, options: Namespace) -> None:
    for topic in _matching(cluster.describe(None), options):
        by_hand = options.replica_assignment
        added = None if by_hand is None else by_hand[len(topic.partitions) :]
        requests.create_partitions(cluster, NewPartitions(topic.name, options.partitions, added))


def _delete(cluster: ClusterClient, options: Namespace) -> None:
    for topic in _matching(cluster.describe(None), options):
        requests.delete_topic(cluster, topic.name)


def _matching(metadata: MetadataSnapshot, options: Namespace) -> list[TopicSnapshot]:
    """The topics that --topic means; all of them, without one."""
    matches = topic_matcher(options.topic)
    found = [
        topic
        for topic in metadata.topics.values()
        if matches(topic.name) and not (options.exclude_internal and topic.is_internal)
    ]
    if options.topic is not None and not found and not options.if_exists:
        raise unknown_topic(options.topic or "''", metadata.topics)
    return found


ACTIONS = {
    "create": (_create, "create a topic"),
    "list": (_list, "print the names of all topics"),
    "describe": (_describe, "print the partitions and configuration of one topic, or of all"),
    "alter": (_alter, "give a topic more partitions (its configuration: see `configs`)"),
    "delete": (_delete, "delete a topic and its records"),
}


def _assignment(text: str) -> Assignment:
    wanted = text.replace(" ", "")
    if not re.fullmatch(r"\d+([:,]\d+)*", wanted):
        raise ArgumentTypeError(f"{text!r} is not of the form 1:2,2:3")
    broker_id = bounded(0)
    return [[broker_id(broker) for broker in part.split(":")] for part in wanted.split(",")]
