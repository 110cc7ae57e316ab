"""Move partitions to other brokers while the cluster runs, as kafka-reassign-partitions.sh does.

    reassign-partitions --generate --topics-to-move-json-file topics.json --broker-list 1,2,3
    reassign-partitions --execute --reassignment-json-file moves.json --throttle 1000000
    reassign-partitions --list
    reassign-partitions --verify --reassignment-json-file moves.json
    reassign-partitions --cancel --reassignment-json-file moves.json

    topics.json     {"version": 1, "topics": [{"topic": "orders"}]}
    moves.json      {"version": 1, "partitions":
                        [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]}

--generate proposes a moves.json and changes nothing. --execute begins the moves: the new replicas
copy the log while the old ones serve, and the old ones are removed when all new ones are in sync.
--throttle limits the copying, in bytes per second of each broker; --verify prints the progress, and
removes the throttle when no move is in progress any more.

The proposal has each partition in as many racks as possible, if every broker has one.
Left out: moves from one directory of a broker to another ("log_dirs" other than "any").
The throttle of a broker that is down stays as it is: only the broker itself can change it.
"""

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from pathlib import Path
from random import randrange
from typing import Any, NamedTuple, TypeVar

from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import add_bootstrap, add_choice, add_options, is_given
from engine.cli.table import comma
from engine.client.admin import requests
from engine.client.admin.operation import Outcomes
from engine.client.admin.requests import alter_config
from engine.client.admin.values import ConfigResource, PartitionReassignment
from engine.client.cluster import ClusterClient, unknown_topic
from engine.errors import ApiException, invalid_request
from engine.model import TopicPartition
from engine.topics import spread

T = TypeVar("T", bound=Hashable)
Placement = dict[TopicPartition, Sequence[int]]  # the replicas of each partition

VERSION = 1  # of both files
BROKER_THROTTLES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
TOPIC_THROTTLES = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)


class Action(NamedTuple):
    run: Callable[[ClusterClient, Namespace], None]
    help: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    actions = {name: action.help for name, action in ACTIONS.items()}
    add_choice(parser, "action", actions, required=True)
    add_options(
        parser,
        {
            "topics-to-move-json-file F": "--generate: which topics",
            "broker-list 1,2,3": (_brokers, None, "--generate: where they may be"),
            "reassignment-json-file F": "which partitions, and where they go",
            "throttle N": (int, None, "--execute: bytes per second, 1000 or more"),
            "additional": "--execute: while other moves are in progress, or to change their "
            "throttle",
            "preserve-throttles": "--verify, --cancel: leave all throttles as they are",
        },
    )


def run(options: Namespace) -> int:
    action = ACTIONS[options.action]
    every = {name for each in ACTIONS.values() for name in (*each.needs, *each.takes)}
    given = {name for name in every if is_given(options, name)}
    for name in action.needs:
        if name not in given:
            raise UsageError(f"--{options.action} needs --{name}")
    for name in sorted(given.difference(action.needs, action.takes)):
        raise UsageError(f"--{name} can't be used with --{options.action}")
    with connect(options) as cluster:
        action.run(cluster, options)
    return 0


# -- one function an action ------------------------------------------------------------------


def _generate(cluster: ClusterClient, options: Namespace) -> None:
    if again := twice(options.broker_list):
        raise invalid_request(f"Broker list contains duplicate entries: {again}")
    topics = [each["topic"] for each in listed(options.topics_to_move_json_file, "topics")]
    if again := twice(topics):
        raise invalid_request(f"List of topics to reassign contains duplicate entries: {again}")
    current, proposed = _current(cluster, topics), dict[TopicPartition, Sequence[int]]()
    alive = sorted(cluster.metadata.brokers.keys() & options.broker_list)
    for topic in topics:
        at = [replicas for partition, replicas in current.items() if partition.topic == topic]
        racks, start, shift = cluster.metadata.racks, randrange(1000), randrange(1000)
        placed = spread(len(at), len(at[0]), alive, racks=racks, start=start, shift=shift)
        for number, to in placed.items():
            proposed[TopicPartition(topic, number)] = to
    print(f"Current partition replica assignment\n{_json(current)}\n")
    print(f"Proposed partition reassignment configuration\n{_json(proposed)}")


def _execute(cluster: ClusterClient, options: Namespace) -> None:
    target = _target(options)
    under_way = requests.list_reassignments(cluster)
    if under_way and not options.additional:
        raise invalid_request(
            "Cannot execute because there is an existing partition assignment.  Use --additional "
            "to override this and create a new partition assignment in addition to the existing "
            "one. The --additional flag can also be used to change the throttle by resubmitting "
            "the current reassignment."
        )
    unknown = {broker for to in target.values() for broker in to} - cluster.metadata.brokers.keys()
    if unknown:
        raise invalid_request(f"Unknown broker id {min(unknown)}")
    known = _current(cluster, {partition.topic for partition in target})
    current = {partition: at for partition, at in known.items() if partition in target}
    print(f"Current partition replica assignment\n\n{_json(current)}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    if options.throttle is not None and options.throttle >= 0:
        print(
            "Warning: You must run --verify periodically, until the reassignment completes, to "
            "ensure the throttle is removed."
        )
        _throttle(cluster, options.throttle, _copies(under_way, target, current))
    _check("Error reassigning partition(s)", requests.alter_reassignments(cluster, target))
    print(f"Successfully started partition reassignment{_s(target)} for {comma(sorted(target))}")


def _verify(cluster: ClusterClient, options: Namespace) -> None:
    target = _target(options)
    under_way = requests.list_reassignments(cluster)
    topics = cluster.describe(None).topics
    print("Status of partition reassignment:")
    for partition, to in sorted(target.items()):
        topic = topics.get(partition.topic)
        found = topic.partitions.get(partition.partition) if topic else None
        at = found.replicas if found else ()
        if partition in under_way:
            print(f"Reassignment of partition {partition} is still in progress.")
        elif list(at) == list(to):
            print(f"Reassignment of partition {partition} is complete.")
        else:
            print(
                f"There is no active reassignment of partition {partition}, but replica set is "
                f"{comma(at)} rather than {comma(to)}."
            )
    print()  # here Kafka prints moves between directories
    if not under_way and not options.preserve_throttles:
        _clear_throttles(cluster, target)


def _cancel(cluster: ClusterClient, options: Namespace) -> None:
    target = _target(options)
    active = requests.list_reassignments(cluster, target)
    if active:
        outcomes = requests.alter_reassignments(cluster, dict.fromkeys(active))
        _check(f"Error cancelling partition reassignment{_s(active)} for", outcomes)
        done = comma(sorted(active))
        print(f"Successfully cancelled partition reassignment{_s(active)} for: {done}")
    else:
        print("None of the specified partition reassignments are active.")
    print("None of the specified partition moves are active.")  # between directories, again
    if not options.preserve_throttles:
        _clear_throttles(cluster, target)


def _list(cluster: ClusterClient, options: Namespace) -> None:
    under_way = sorted(requests.list_reassignments(cluster).items())
    print("Current partition reassignments:" if under_way else "No partition reassignments found.")
    for partition, (replicas, adding, removing) in under_way:
        print(
            f"{partition}: replicas: {comma(replicas)}."
            + (f" adding: {comma(adding)}." if adding else "")
            + (f" removing: {comma(removing)}." if removing else "")
        )


_FILE = ("reassignment-json-file",)
_KEEP = ("preserve-throttles",)
ACTIONS = {
    "generate": Action(
        _generate,
        "propose how the partitions of some topics could be spread, and change nothing",
        ("topics-to-move-json-file", "broker-list"),
    ),
    "execute": Action(_execute, "begin the moves", _FILE, ("throttle", "additional")),
    "verify": Action(_verify, "print their progress; remove throttles at the end", _FILE, _KEEP),
    "cancel": Action(_cancel, "cancel the moves, and remove throttles", _FILE, _KEEP),
    "list": Action(_list, "print the moves in progress"),
}


# -- throttles -------------------------------------------------------------------------------


class Copies(NamedTuple):
    """The brokers that a moving partition is copied from, and those that copy it."""

    sources: frozenset[int]
    destinations: frozenset[int]


def _copies(
    under_way: Mapping[TopicPartition, PartitionReassignment], target: Placement, current: Placement
) -> dict[TopicPartition, Copies]:
    """The copies of each partition, also of moves in progress: a topic has one throttle."""
    copies = {
        partition: Copies(
            frozenset(each.replicas) - {*each.adding_replicas}, frozenset(each.adding_replicas)
        )
        for partition, each in under_way.items()
    }
    for partition, to in target.items():
        known = copies.get(partition)
        sources = known.sources if known else frozenset(current.get(partition, ()))
        copies[partition] = Copies(sources, frozenset(to) - sources)
    return copies


def _throttle(cluster: ClusterClient, rate: int, copies: Mapping[TopicPartition, Copies]) -> None:
    """Limit sources as leaders and destinations as followers; other replicas have no limit."""
    for topic in sorted({partition.topic for partition in copies}):
        held = [
            sorted(
                f"{partition.partition}:{broker}"
                for partition, sides in copies.items()
                if partition.topic == topic
                for broker in sides[side]
            )
            for side in range(len(TOPIC_THROTTLES))
        ]
        changes = dict(zip(TOPIC_THROTTLES, map(comma, held), strict=True))
        alter_config(cluster, ConfigResource("topic", topic), changes)
    brokers = {broker for sides in copies.values() for side in sides for broker in side}
    for broker in sorted(brokers & cluster.metadata.brokers.keys()):
        rates = dict.fromkeys(BROKER_THROTTLES, str(rate))
        alter_config(cluster, ConfigResource("broker", str(broker)), rates)
    print(f"The inter-broker throttle limit was set to {rate} B/s")


def _clear_throttles(cluster: ClusterClient, target: Placement) -> None:
    """On all brokers, since it is not known any more which ones were sources."""
    brokers = sorted(cluster.metadata.brokers)
    print(f"Clearing broker-level throttles on broker{_s(brokers)} {comma(brokers)}")
    for broker in brokers:
        unlimited = dict.fromkeys(BROKER_THROTTLES)
        alter_config(cluster, ConfigResource("broker", str(broker)), unlimited)
    topics = sorted({partition.topic for partition in target})
    print(f"Clearing topic-level throttles on topic{_s(topics)} {comma(topics)}")
    for topic in topics:
        alter_config(cluster, ConfigResource("topic", topic), dict.fromkeys(TOPIC_THROTTLES))


# -- files -----------------------------------------------------------------------------------


def listed(path: str, key: str, **fields: type) -> list[dict[str, Any]]:
    """The list under a key of a JSON file: objects with a topic, and with these fields."""
    try:
        document = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise invalid_request(f"{path} is not valid JSON: {error}") from error
    entries = document.get(key) if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise invalid_request(f'{path} is missing the list "{key}"')
    if (version := document.get("version", VERSION)) != VERSION:
        raise invalid_request(f"{path}: Not supported version field value {version}")
    for entry in entries:
        for name, kind in {"topic": str, **fields}.items():
            if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
                raise invalid_request(f'{path}: no good "{name}" in {json.dumps(entry)}')
    return entries


def twice(values: Iterable[T]) -> str:
    """The values that occur more than once."""
    return comma(value for value, count in Counter(values).items() if count > 1)


def _target(options: Namespace) -> Placement:
    """The new replicas of each partition, by --reassignment-json-file."""
    path = options.reassignment_json_file
    entries = listed(path, "partitions", partition=int, replicas=list)
    target: Placement = {}
    for entry in entries:
        partition, to = TopicPartition(entry["topic"], entry["partition"]), entry["replicas"]
        directories = entry.get("log_dirs", ["any"] * len(to))
        if not all(isinstance(broker, int) for broker in to):
            raise invalid_request(
                f"{path}: the replicas of {partition} are not all numbers of brokers"
            )
        if not to:
            raise invalid_request("Partition replica list cannot be empty")
        if again := twice(to):
            raise invalid_request(
                "Partition replica lists may not contain duplicate entries: "
                f"{partition} contains multiple entries for {again}"
            )
        if directories != ["any"] * len(to):
            raise invalid_request(f'{path}: log_dirs of {partition} is not {len(to)} times "any"')
        target[partition] = to
    if not target:
        raise invalid_request("Partition reassignment list cannot be empty")
    if again := twice(TopicPartition(each["topic"], each["partition"]) for each in entries):
        raise invalid_request(
            f"Partition reassignment contains duplicate topic partitions: {again}"
        )
    return target


def _json(placement: Placement) -> str:
    """What --reassignment-json-file takes."""
    listed = [
        {**partition._asdict(), "replicas": list(at), "log_dirs": ["any"] * len(at)}
        for partition, at in sorted(placement.items())
    ]
    return json.dumps({"version": VERSION, "partitions": listed}, separators=(",", ":"))


def _current(cluster: ClusterClient, topics: Iterable[str]) -> Placement:
    known, placement = cluster.describe(None).topics, dict[TopicPartition, Sequence[int]]()
    for name in topics:
        if name not in known:
            raise unknown_topic(name, known)
        for number, partition in known[name].partitions.items():
            placement[TopicPartition(name, number)] = partition.replicas
    return placement


def _check(what: str, outcomes: Outcomes) -> None:
    failed = [(partition, error) for partition, error in sorted(outcomes.items()) if error]
    if failed:
        why = "; ".join(f"{partition}: {error.message}" for partition, error in failed)
        raise ApiException(failed[0][1].code, f"{what}: {why}")


def _brokers(text: str) -> list[int]:
    try:
        return [int(broker) for broker in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not of the form 1,2,3") from None


def _s(values: Sized) -> str:
    return "" if len(values) == 1 else "s"
