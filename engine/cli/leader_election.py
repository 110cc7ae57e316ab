"""Elect leaders again, as kafka-leader-election.sh does.

    leader-election --election-type preferred --all-topic-partitions
    leader-election --election-type preferred --path-to-json-file partitions.json
    leader-election --election-type unclean --topic orders --partition 0

    partitions.json     {"partitions": [{"topic": "orders", "partition": 0}]}

preferred   the first replica becomes leader again, if it is in sync. After a broker was down, other
            brokers lead its partitions, until this command or auto.leader.rebalance.enable
unclean     a partition without a leader may get one that is not in sync: records that it lacks are
            lost
"""

from argparse import ArgumentParser, Namespace

from engine.cli.connection import connect
from engine.cli.main import UsageError
from engine.cli.options import add_bootstrap, add_options, bounded
from engine.cli.reassign_partitions import listed, twice
from engine.client.admin import requests
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import TopicPartition

SUBJECTS = {
    "topic T": "one partition: of this topic",
    "path-to-json-file F": "the partitions of this file",
    "all-topic-partitions": "all that need such an election",
}


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    parser.add_argument(
        "--election-type",
        required=True,
        type=str.lower,
        choices=["preferred", "unclean"],
        help="which kind",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    add_options(which, SUBJECTS)
    add_options(parser, {"partition N": (bounded(0), None, "with --topic: its number")})


def run(options: Namespace) -> int:
    if (options.topic is None) != (options.partition is None):
        raise UsageError("--topic and --partition go together")
    kind = options.election_type.upper()
    partitions = _partitions(options)
    with connect(options) as cluster:
        outcomes = requests.elect_leaders(cluster, partitions, unclean=kind == "UNCLEAN")
    done, needless = list[str](), list[str]()
    failed: dict[TopicPartition, ApiException] = {}
    for partition, error in sorted(outcomes.items()):
        if not error:
            done.append(str(partition))
        elif error.code == ErrorCode.election_not_needed:
            needless.append(str(partition))
        else:
            failed[partition] = error
    if done:
        print(f"Successfully completed leader election ({kind}) for partitions {', '.join(done)}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(needless)}")
    for partition, error in failed.items():
        print(
            f"Error completing leader election ({kind}) for partition: {partition}: {error.message}"
        )
    if failed:
        code = next(iter(failed.values())).code
        raise ApiException(code, f"{len(failed)} replica(s) could not be elected")
    return 0


def _partitions(options: Namespace) -> list[TopicPartition] | None:
    """None: all of them."""
    if options.topic is not None:
        return [TopicPartition(options.topic, options.partition)]
    if options.path_to_json_file is None:
        return None
    entries = listed(options.path_to_json_file, "partitions", partition=int)
    partitions = [TopicPartition(each["topic"], each["partition"]) for each in entries]
    if again := twice(partitions):
        raise invalid_request(f"Replica election data contains duplicate partitions: {again}")
    return partitions
