"""Prepare the log directory of a node without ZooKeeper, as kafka-storage does.

    storage random-uuid                                     an id for a new cluster
    storage format -t ID -c server.properties               write meta.properties, and in it the id
                   [-r 3.3-IV0] [-g]                        -g: leave formatted directories alone
    storage info -c server.properties                       show what is there, and what is wrong

A node starts only in a directory that was formatted, with the id of its cluster: so a lost disk is
no empty cluster. The file bootstrap.checkpoint has the first records of the metadata log: the level
of `metadata.version`. It is 7 (3.3-IV3), which each release from 3.3 on reads, or with -r a lower
one, from 3.3-IV0 on; `features upgrade` raises it later.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.broker.wall_clock import clock
from engine.cli.kraft.features import level_named, level_text
from engine.cli.main import FAILED, UsageError
from engine.config.properties import parse_properties
from engine.errors import ApiException
from engine.metadata.meta_properties import MetaProperties, claim, read_meta_properties
from engine.model import id_text, parse_id
from engine.quorum_controller.feature_control import FIRST_WITH_FEATURES
from engine.raft.bootstrap import LEVEL_NAME, METADATA_VERSION, format_directory, random_id


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="format|info|random-uuid")
    format = actions.add_parser("format", help="format the log directories", allow_abbrev=False)
    info = actions.add_parser("info", help="show the log directories", allow_abbrev=False)
    actions.add_parser("random-uuid", help="print a random id")
    for each in (format, info):
        each.add_argument(
            *("-c", "--config"), metavar="FILE", required=True, type=Path, help="server.properties"
        )
    format.add_argument(
        *("-t", "--cluster-id"), metavar="ID", required=True, help="the id of the cluster"
    )
    format.add_argument(
        *("-g", "--ignore-formatted"), action="store_true", help="leave formatted ones alone"
    )
    format.add_argument(
        *("-r", "--release-version"), metavar="RELEASE", default=LEVEL_NAME,
        help="of the first metadata.version: 3.3-IV0 ... (default: %(default)s)",
    )  # fmt: skip


def run(options: Namespace) -> int:
    if options.action == "random-uuid":
        print(random_id())
        return 0
    values = parse_properties(options.config.read_text("latin-1"), escapes=True)
    directories = [Path(name) for name in log_directories(values)]
    return _info(directories) if options.action == "info" else _format(options, values, directories)


def log_directories(values: dict[str, str]) -> list[str]:
    listed = values.get("log.dirs") or values.get("log.dir") or "/tmp/kafka-logs"
    names = [name.strip() for name in listed.split(",") if name.strip()]
    names.append(values.get("metadata.log.dir", ""))
    return sorted({name for name in names if name})


# -- format ----------------------------------------------------------------------------------


def _format(options: Namespace, values: dict[str, str], directories: list[Path]) -> int:
    level = level_named("--release-version", options.release_version, FIRST_WITH_FEATURES)
    node_id, cluster_id = _node_id(values), _cluster_id(options.cluster_id)
    unformatted = []
    for directory in directories:
        if read_meta_properties(directory) is None:
            unformatted.append(directory)
        elif options.ignore_formatted:
            claim(directory, node_id, cluster_id)
        else:
            raise UsageError(
                f"Log directory {directory} is already formatted. Use --ignore-formatted to "
                "ignore this directory and format the others."
            )
    if not unformatted:
        print("All of the log directories are already formatted.")
    for directory in unformatted:
        named = level_text(METADATA_VERSION, level)
        print(f"Formatting {directory} with {METADATA_VERSION} {named}.")
        format_directory(directory, node_id, cluster_id, clock(), level)
    return 0


def _node_id(values: dict[str, str]) -> int:
    text = values.get("node.id", values.get("broker.id", ""))
    if not text.isdigit():
        raise UsageError(f"node.id={text}: a node has a number, 0 or more")
    return int(text)


def _cluster_id(text: str) -> str:
    try:
        if id_text(parse_id(text)) == text:
            return text
    except ValueError:
        pass
    raise UsageError(f"Cluster ID string {text} does not appear to be a valid UUID: random-uuid")


# -- info ------------------------------------------------------------------------------------


def _info(directories: list[Path]) -> int:
    """As Kafka's: the directories, what is in meta.properties, and the problems."""
    problems, found = [], []
    for directory in directories:
        if not directory.is_dir():
            problems.append(f"{directory} does not exist")
            continue
        try:
            meta = read_meta_properties(directory)
        except ApiException as error:
            problems.append(error.message)
            continue
        if meta is None:
            problems.append(f"{directory} is not formatted.")
        else:
            found.append(meta)
    print(_listed("Found log director", "y", "ies", directories))
    if found:
        print(f"Found metadata: {_metadata(found[0])}\n")
    for other in found[1:]:
        if other[:2] != found[0][:2]:
            problems.append(f"Metadata {_metadata(other)} differs from {_metadata(found[0])}")
    if problems:
        print(_listed("Found problem", "", "s", problems))
    sys.stdout.flush()
    return FAILED if problems else 0


def _listed(head: str, one: str, many: str, rows: list[Path] | list[str]) -> str:
    return "\n".join(
        [f"{head}{one if len(rows) == 1 else many}:", *(f"  {row}" for row in rows), ""]
    )


def _metadata(meta: MetaProperties) -> str:
    """The keys in the order of their names, as Kafka prints them."""
    directory = "" if meta.directory_id is None else f"directory.id={id_text(meta.directory_id)}, "
    return f"{{cluster.id={meta.cluster_id}, {directory}node.id={meta.node_id}, version=1}}"
