"""Show the quorum of controllers, as kafka-metadata-quorum does.

    metadata-quorum --bootstrap-controller 127.0.0.1:9193 describe --status
    metadata-quorum --bootstrap-server 127.0.0.1:9092 describe --replication

Only the leader knows how far the others are. The command asks the controllers of
--bootstrap-controller, and those that they name, until one answers that it leads. A broker of
--bootstrap-server passes the request on to it.
"""

import asyncio
import time
from argparse import ArgumentParser, Namespace
from types import SimpleNamespace
from typing import Any, NamedTuple

from engine.broker.kraft.wire_messages import NAME, PARTITION
from engine.broker.peer import LoginRefused
from engine.cli.kraft.nodes import Bootstrap, add_bootstrap, bootstrap
from engine.cli.options import add_choice
from engine.config.quorum import VoterAddress
from engine.errors import ApiException, ErrorCode
from engine.quorum_server.describe_quorum import CONTROLLERS
from engine.wire.apis import Api
from engine.wire.kraft_apis import KRaftApi

FIND_LEADER_S = 30.0  # an election may be going on
RETRY_S = 0.1
CLIENT = "metadata-quorum"
WHOLE_CLUSTER = SimpleNamespace(
    include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS
)
METADATA_LOG = SimpleNamespace(
    topics=(
        SimpleNamespace(topic_name=NAME, partitions=(SimpleNamespace(partition_index=PARTITION),)),
    )
)
NO_DIRECTORY = "A" * 22  # the id of a directory that is not known: version 1 does not tell it
_NODE = '{{"id": {}, "directoryId": null}}'
CHOICES = {
    "status": "a short summary: who leads, who votes, how far the slowest one is behind",
    "replication": "how far each replica is",
}
HEADS: tuple[str, ...] = (
    *("NodeId", "DirectoryId", "LogEndOffset", "Lag"),
    *("LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"),
)


class QuorumDescription(NamedTuple):
    cluster_id: str
    partition: Any  # of the response to DescribeQuorum


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    actions = parser.add_subparsers(dest="action", required=True, metavar="describe")
    describe = actions.add_parser("describe", help="show the quorum", allow_abbrev=False)
    add_choice(describe, "what", CHOICES, required=True)


def run(options: Namespace) -> int:
    found = asyncio.run(_find_leader(bootstrap(options)))
    (_print_status if options.what == "status" else _print_replication)(found)
    return 0


# -- requests --------------------------------------------------------------------------------


async def _find_leader(nodes: Bootstrap) -> QuorumDescription:
    deadline = time.monotonic() + FIND_LEADER_S
    while True:
        reason = "none of them is the leader"
        for address in list(nodes.addresses):
            try:
                found = await _describe(address, nodes)
            except LoginRefused as error:  # to try again would not help
                raise ApiException(ErrorCode.sasl_authentication_failed, str(error)) from error
            except OSError as error:
                reason = str(error)
                continue
            if found is not None:
                return found
        if time.monotonic() >= deadline:
            raise ApiException(ErrorCode.broker_not_available, f"no leader was found: {reason}")
        await asyncio.sleep(RETRY_S)


async def _describe(address: VoterAddress, nodes: Bootstrap) -> QuorumDescription | None:
    """The quorum, if this controller leads it, or as the active controller has answered a broker.
    Controllers that a controller names are added to the addresses."""
    peer = nodes.peer(address, CLIENT)
    try:
        cluster = await peer.ask(Api.DESCRIBE_CLUSTER, WHOLE_CLUSTER)
        if nodes.of_controllers:
            named = [VoterAddress(it.host, it.port) for it in cluster.brokers]
            nodes.addresses.extend(each for each in named if each not in nodes.addresses)
        response = await peer.ask(KRaftApi.DESCRIBE_QUORUM, METADATA_LOG)
    finally:
        peer.close()
    error = response.error_code
    if error is ErrorCode.none:
        found = response.topics[0].partitions[0]
        error = found.error_code
    if error is ErrorCode.none:
        # Kafka's controllers refuse DescribeCluster below the level of 3.7, and tell no id then.
        return QuorumDescription(cluster.cluster_id or "unknown", found)
    if error is ErrorCode.not_leader_or_follower:
        return None
    raise ApiException(error, f"{address.host}:{address.port} refuses DescribeQuorum: {error.name}")


# -- output ----------------------------------------------------------------------------------


def _print_status(found: QuorumDescription) -> None:
    quorum = found.partition
    leader = _leader(quorum)
    lags = [leader.log_end_offset - max(0, it.log_end_offset) for it in quorum.current_voters]
    slowest = min(it.last_caught_up_timestamp for it in quorum.current_voters)
    behind = -1 if slowest < 0 else max(0, leader.last_caught_up_timestamp - slowest)
    for head, value in {
        "ClusterId": found.cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": max(lags),
        "MaxFollowerLagTimeMs": behind,
        "CurrentVoters": _listed(quorum.current_voters),
        "CurrentObservers": _listed(quorum.observers),
    }.items():
        print(f"{head + ':':<23} {value}")


def _listed(replicas: Any) -> str:
    """Version 1 of DescribeQuorum tells neither directories nor addresses."""
    return f"[{', '.join(_NODE.format(it.replica_id) for it in replicas)}]"


def _print_replication(found: QuorumDescription) -> None:
    """As a table with tabs: the leader first."""
    quorum = found.partition
    leader = _leader(quorum)
    followers = [it for it in quorum.current_voters if it is not leader]
    states = {"Leader": [leader], "Follower": followers, "Observer": quorum.observers}
    rows = [HEADS]
    for status, replicas in states.items():
        for it in replicas:
            lag = leader.log_end_offset - it.log_end_offset
            row = it.replica_id, NO_DIRECTORY, it.log_end_offset, lag
            times = it.last_fetch_timestamp, it.last_caught_up_timestamp
            rows.append((*map(str, (*row, *times)), status))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        print("".join(f"{cell:{width}}\t" for cell, width in zip(cells, widths, strict=True)))


def _leader(quorum: Any) -> Any:
    return next(it for it in quorum.current_voters if it.replica_id == quorum.leader_id)
