"""Show groups of consumers and change their offsets, as kafka-consumer-groups.sh does.

    consumer-groups --list [--state]
    consumer-groups --describe --group orders       the group's offset and lag in each partition
    consumer-groups --describe --all-groups --members --verbose        the partitions of members
    consumer-groups --reset-offsets --group orders --topic orders:0,1 --to-earliest --dry-run
    consumer-groups --reset-offsets --group orders --all-topics --shift-by -10 --execute
    consumer-groups --delete --group orders
    consumer-groups --delete-offsets --group orders --topic orders

Offsets can be reset, and a group deleted, when it has no members: stop the consumers first. A reset
prints the new offsets; only with --execute it commits them. With --export it prints them as CSV,
which --from-file reads.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence

from engine.cli.connection import RETRY_LIMIT_S, connect
from engine.cli.main import UsageError, to_stderr
from engine.cli.options import Options, add_bootstrap, add_choice, add_options
from engine.cli.reset_offsets import add_scenarios, check, partitions_of, reset
from engine.cli.table import Row, table
from engine.client.admin import group_requests
from engine.client.admin.group_requests import DescribedGroup, DescribedMember
from engine.client.admin.requests import find_offset
from engine.client.cluster import ClusterClient
from engine.client.consuming.offset_lookup import LATEST
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, TopicPartition

ACTIONS = {
    "list": "print the names of all groups",
    "describe": "print the offsets, members or state of groups",
    "reset-offsets": "change the offsets of a group without members",
    "delete": "delete groups and their offsets",
    "delete-offsets": "delete a group's offsets for the named topics",
}
SUBJECTS = {
    "offsets": "--describe: partitions, with the group's offset and lag (the default)",
    "members": "--describe: members, and how many partitions they have",
}
LIMIT_HELP = "how long to wait for a coordinator (default: %(default)s)"
OPTIONS: Options = {
    "verbose": "--members: which partitions, too",
    "timeout MS": (int, int(RETRY_LIMIT_S * 1000), LIMIT_HELP),
}
NOTHING = "-"  # in a column that has no value
ANY_STATE = ""  # --state, without a value
STATES = ["PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty"]


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    add_choice(parser, "action", ACTIONS, required=True)
    which = parser.add_mutually_exclusive_group()
    group = "which; may be given repeatedly"
    add_options(which, {"group G": (str, [], group), "all-groups": "all of them"})
    add_choice(parser, "subject", SUBJECTS).add_argument(
        "--state",
        nargs="?",
        const=ANY_STATE,
        metavar="S,...",
        help="--describe: coordinator, state and strategy; --list: states too, or only these",
    )
    add_options(parser, OPTIONS)
    add_scenarios(parser)


def run(options: Namespace) -> int:
    action, has_groups = options.action, bool(options.group or options.all_groups)
    if action in ("describe", "delete", "reset-offsets") and not has_groups:
        raise UsageError(f"--{action} needs --group or --all-groups")
    if action == "list" and has_groups:
        raise UsageError("--list prints all groups: it takes neither --group nor --all-groups")
    if action == "delete-offsets" and not (len(options.group) == 1 and options.topic):
        raise UsageError("--delete-offsets needs one --group, and --topic")
    if action == "describe" and options.state:
        raise UsageError("--describe --state takes no value: a state is for --list")
    if action == "delete" and options.topic:
        raise UsageError("--delete takes the whole group; for a topic's offsets: --delete-offsets")
    if action == "reset-offsets":
        check(options)
    states = _states(options.state or "")
    with connect(options, patience=options.timeout / 1000) as cluster:
        if action == "list":
            _list(cluster, states, show=options.state is not None)
            return 0
        names = sorted(_found(cluster)) if options.all_groups else options.group
        if action == "reset-offsets":
            return reset(cluster, names, options)
        if action == "describe":
            return _describe(cluster, names, options)
        if action == "delete":
            return _delete(cluster, names)
        return _delete_offsets(cluster, names[0], options.topic)


def _states(text: str) -> list[str]:
    """The states by Kafka's names, from a list in upper or lower case."""
    known = {state.lower(): state for state in STATES}
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not known.keys() >= set(names):
        raise UsageError(f"Invalid state list '{text}'. Valid states are: {', '.join(STATES)}")
    return [known[name] for name in names]


def _found(cluster: ClusterClient, states: Iterable[str] = ()) -> dict[str, str]:
    """The groups of consumers, with the state of each."""
    found, failed = group_requests.list_groups(cluster, states)
    for error in failed.values():
        raise error
    return {
        name: each.state
        for name, each in found.items()
        if each.protocol_type in ("", group_requests.CONSUMER)
    }


def _list(cluster: ClusterClient, states: list[str], show: bool) -> None:
    found = _found(cluster, states)
    if show:
        table([("GROUP", "STATE"), *sorted(found.items())], [15])
    else:
        for name in sorted(found):
            print(name)


# -- describe ----------------------------------------------------------------------------------


def _describe(cluster: ClusterClient, names: Sequence[str], options: Namespace) -> int:
    unknown: list[str] = []
    for name in names:
        found = group_requests.describe(cluster, name)
        if found.state == group_requests.DEAD:
            unknown.append(f"Consumer group '{name}' does not exist.")
            continue
        if found.state == group_requests.EMPTY:
            to_stderr(f"\nConsumer group '{name}' has no active members.")
        elif found.state != group_requests.STABLE:
            to_stderr(f"\nWarning: Consumer group '{name}' is rebalancing.")
        if options.state is not None:
            _print_state(cluster, name, found)
        elif options.subject == "members":
            _print_members(name, found.members, options.verbose)
        else:
            _print_offsets(cluster, name, found)
    return _refused(unknown)


def _refused(why: Sequence[str]) -> int:
    if why:
        raise ApiException(ErrorCode.group_id_not_found, " ".join(why))
    return 0


def _print_state(cluster: ClusterClient, name: str, found: DescribedGroup) -> None:
    at = cluster.metadata.brokers[found.coordinator]
    coordinator = f"{at} ({found.coordinator})"
    columns = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    row = (name, coordinator, found.protocol, found.state, len(found.members))
    print()
    table([columns, row], [25, 25, 20, 15])


def _print_members(name: str, members: Sequence[DescribedMember], verbose: bool) -> None:
    """The instance id is a column where a member has one."""
    columns: dict[str, tuple[int, Callable[[DescribedMember], object]]] = {
        "GROUP": (15, lambda it: name),
        "CONSUMER-ID": (15, lambda it: it.id),
        "GROUP-INSTANCE-ID": (17, lambda it: it.instance_id or ""),
        "HOST": (15, lambda it: it.host),
        "CLIENT-ID": (15, lambda it: it.client_id),
        "#PARTITIONS": (15, lambda it: len(it.partitions)),
        "ASSIGNMENT": (0, lambda it: _shown(it.partitions)),
    }
    if not any(it.instance_id for it in members):
        del columns["GROUP-INSTANCE-ID"]
    if not verbose:
        del columns["ASSIGNMENT"]
    if members:
        print()
        rows = [[cell(it) for _, cell in columns.values()] for it in members]
        table([list(columns), *rows], [width for width, _ in columns.values()][:-1])


def _shown(partitions: Iterable[TopicPartition]) -> str:
    """orders(0,1), payments(2)"""
    numbers: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(str(number))
    return ", ".join(f"{topic}({','.join(them)})" for topic, them in numbers.items()) or NOTHING


def _print_offsets(cluster: ClusterClient, name: str, found: DescribedGroup) -> None:
    """Partitions that a member reads, then those that only have a committed offset."""
    committed = group_requests.committed_offsets(cluster, name)
    readers: list[tuple[TopicPartition, Row]] = [
        (partition, (each.id, each.host, each.client_id))
        for each in sorted(found.members, key=lambda each: -len(each.partitions))
        for partition in sorted(each.partitions)
    ]
    taken = {partition for partition, _ in readers}
    readers += [(it, (NOTHING,) * 3) for it in sorted(committed.keys() - taken)]
    ends = _ends(cluster, [partition for partition, _ in readers])
    columns = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    rows: list[Row] = [(*columns, "CONSUMER-ID", "HOST", "CLIENT-ID")]
    for partition, reader in readers:
        offset, end = committed.get(partition), ends.get(partition)
        lag = None if offset is None or end is None else end - offset
        numbers = [NOTHING if each is None else each for each in (offset, end, lag)]
        rows.append((name, *partition, *numbers, *reader))
    if readers:
        print()
        table(rows, [15, 15, 10, 15, 15, 15, 15, 15])


def _ends(
    cluster: ClusterClient, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """The ends of the logs; a deleted topic, or a partition without a leader, has none."""
    metadata = cluster.describe({each.topic for each in partitions})
    led = [each for each in partitions if metadata.leader(each) != NO_BROKER]
    for topic in {each.topic for each in led}:
        cluster.topic(topic)
    return {each: find_offset(cluster, each, LATEST).offset for each in led}


# -- delete ------------------------------------------------------------------------------------


def _delete(cluster: ClusterClient, names: Sequence[str]) -> int:
    done: list[str] = []
    failed: list[ApiException] = []
    for name in names:
        try:
            group_requests.delete(cluster, name)
            done.append(f"'{name}'")
        except ApiException as error:
            text = f"Group '{name}' could not be deleted due to: {error.message}"
            failed.append(ApiException(error.code, text))
    if failed:
        if done:
            print(f"These consumer groups were deleted successfully: {', '.join(done)}")
        why = "; ".join(error.message for error in failed)
        raise ApiException(failed[0].code, f"Deletion of some consumer groups failed: {why}")
    print(f"Deletion of requested consumer groups ({', '.join(done)}) was successful.")
    return 0


def _delete_offsets(cluster: ClusterClient, name: str, topics: Sequence[str]) -> int:
    outcomes = group_requests.delete_offsets(cluster, name, partitions_of(cluster, topics))
    failed = [error for error in outcomes.values() if error]
    if not failed:
        print(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {name}\n")
    rows: list[Row] = [("TOPIC", "PARTITION", "STATUS")]
    for partition, error in sorted(outcomes.items(), key=lambda each: each[0]):
        rows.append((*partition, f"Error: {error.message}" if error else "Successful"))
    table(rows, [30, 15])
    if failed:
        counts = f"{len(failed)} of {len(outcomes)}"
        raise ApiException(failed[0].code, f"the offsets of {counts} partitions were not deleted")
    return 0
