"""Create, list, describe, alter and delete topics, as kafka-topics.sh does.

    topics --create --topic orders --partitions 3 --replication-factor 2 --config retention.ms=1000
    topics --describe --topic orders        leader, replicas and in-sync replicas (Isr) of each
    topics --describe --under-min-isr-partitions       only those to which acks=all can't write
    topics --alter --topic orders --partitions 6        there can only be more of them, never less
    topics --list
    topics --delete --topic orders

For --describe, --alter and --delete a topic may be a regular expression: 'lab-.*'. What is not
said about a new topic is left to the broker: num.partitions, default.replication.factor.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from engine.cli.options import add_bootstrap, add_config, connect
from engine.model import TopicPartition

if TYPE_CHECKING:
    from engine.client.changes import Reassignment
    from engine.client.cluster import ClusterView
    from engine.client.metadata import Metadata, Partition, Topic

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
    only = parser.add_mutually_exclusive_group()
    for name, (_, help) in ONLY.items():
        only.add_argument(
            f"--{name}", dest="only", action="store_const", const=name, help=f"--describe: {help}"
        )


def run(options: Namespace) -> int:
    from engine.cli.main import UsageError

    if options.topic is None and options.action in ("create", "alter", "delete"):
        raise UsageError(f"--{options.action} needs --topic")
    if options.action == "alter" and options.partitions is None:
        raise UsageError("--alter needs --partitions: how many there are to be")
    if options.only and options.action != "describe":
        raise UsageError(f"--{options.only} can't be used with --{options.action}")
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


class _Found(NamedTuple):
    """A partition, and what else there is to know to describe it."""

    partition: "Partition"
    led: bool
    min_isr: int
    move: "Reassignment | None"

    @property
    def replication(self) -> int:
        """While it moves, it has more replicas for a time; those that are new don't count yet."""
        if self.move is None:
            return len(self.partition.replicas)
        return len(set(self.move.replicas).difference(self.move.adding))

    def __str__(self) -> str:
        columns = {
            "Leader": str(self.partition.leader) if self.led else "none",
            "Replicas": _comma(self.partition.replicas),
            "Isr": _comma(self.partition.isr),
        }
        if self.move:
            columns["Adding Replicas"] = _comma(self.move.adding)
            columns["Removing Replicas"] = _comma(self.move.removing)
        return "".join(f"\t{name}: {value}" for name, value in columns.items())


ONLY: "dict[str, tuple[Callable[[_Found], bool], str]]" = {
    "under-replicated-partitions": (
        lambda it: len(it.partition.isr) < it.replication,
        "only partitions with replicas that are not in sync",
    ),
    "unavailable-partitions": (lambda it: not it.led, "only partitions that nobody leads"),
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


def _create(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import changes
    from engine.errors import ErrorCode, KafkaError

    if "." in options.topic or "_" in options.topic:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or "
            "underscore ('_') could collide. To avoid issues it is best to use either, but not "
            "both."
        )
    try:
        changes.create_topic(
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
    from engine.client import changes
    from engine.config import Source
    from engine.model import id_text

    metadata = cluster.describe(None)
    topics = _matching(metadata, options)
    moves = _moves(cluster)
    for topic in topics:
        entries = changes.describe_config(cluster, changes.Resource.TOPIC, topic.name)
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


def _moves(cluster: "ClusterView") -> "dict[TopicPartition, Reassignment]":
    """What is under way, unless the brokers are so old that they can't tell."""
    from engine.client import changes
    from engine.errors import ErrorCode, KafkaError

    try:
        return changes.list_reassignments(cluster)
    except KafkaError as error:
        if error.code != ErrorCode.unsupported_version:
            raise
        return {}


def _alter(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import changes

    for topic in _matching(cluster.describe(None), options):
        by_hand = options.replica_assignment
        added = None if by_hand is None else by_hand[len(topic.partitions) :]
        changes.create_partitions(cluster, topic.name, options.partitions, added)


def _delete(cluster: "ClusterView", options: Namespace) -> None:
    from engine.client import changes

    for topic in _matching(cluster.describe(None), options):
        changes.delete_topic(cluster, topic.name)


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


def _comma(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
