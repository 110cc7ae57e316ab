"""A controller that votes alone, in this process, and what it answers."""

import asyncio

import pytest
from kio.schema.api_versions.v3.request import ApiVersionsRequest

from engine.broker.kraft.wire_messages import request_to_wire, response_from_wire
from engine.cluster.ports import free_port
from engine.config.quorum import parse_voters
from engine.errors import ApiException, ErrorCode
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import encode_record
from engine.quorum_server.controller_server import ControllerServer
from engine.raft.bootstrap import format_directory
from engine.raft.messages import BeginQuorumEpochRequest, RaftFetchRequest, VoteRequest
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import OffsetAndEpoch, QuorumConfig, QuorumIdentity
from engine.raft.raft_client import RaftClient
from engine.storage import records
from engine.storage.records import Record
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from tests.unit.quorum_server.running import CLUSTER, NODE, QUICK, controller, describe


def write_level(data):
    """As leader of epoch 1: the record that the application's controller would write."""
    directory = MetadataDirectory(data, [NODE], 0)
    shared = QuorumConfig(), directory.log, directory.quorum_state, lambda below: 0, 0
    client = RaftClient(QuorumIdentity(NODE, CLUSTER, frozenset([NODE])), *shared)
    client.tick(10_000)
    value = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=7))
    client.append(records.encode([Record(0, 1, None, value)]), 10_000)
    directory.close(10_000)


async def ask(peer, api, request):
    return response_from_wire(api, await peer.ask(api, request_to_wire(request)))


@pytest.fixture
def data(tmp_path):
    format_directory(tmp_path, NODE, CLUSTER, 0)
    return tmp_path


def test_api_versions_has_the_versions_of_this_listener_and_the_features(data):
    write_level(data)

    async def run():
        async with controller(data) as peer:
            request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
            return await peer.ask(ControllerApi.API_VERSIONS, request)

    told = asyncio.run(run())
    versions = {row.api_key: (row.min_version, row.max_version) for row in told.api_keys}
    assert versions == {key: (api.oldest, api.newest) for key, api in CONTROLLER_APIS.items()}
    (level,) = told.finalized_features
    assert (level.name, level.max_version_level, level.min_version_level) == (
        *("metadata.version", 7, 7),
    )
    (supported,) = told.supported_features
    assert (supported.name, supported.min_version, supported.max_version) == (
        *("metadata.version", 1, 7),
    )
    assert told.finalized_features_epoch == 2  # the last committed offset


def test_strangers_get_kafkas_answer_and_the_controller_goes_on(data):
    async def run():
        async with controller(data) as peer:
            vote = VoteRequest(CLUSTER, 9, 102, OffsetAndEpoch(0, 0))
            foreign = vote._replace(cluster_id="7iBgancjbi8a8Ky6ppt3ew")
            begin = BeginQuorumEpochRequest(CLUSTER, 0, 101)
            ahead = RaftFetchRequest(CLUSTER, 99, 5, 0, 0, 0)
            other = request_to_wire(vote)
            other.topics[0].topic_name = "orders"
            return (
                (await ask(peer, ControllerApi.VOTE, foreign)).error,
                (await ask(peer, ControllerApi.VOTE, vote)).error,
                (await ask(peer, ControllerApi.BEGIN_QUORUM_EPOCH, begin)).error,
                (await ask(peer, ControllerApi.FETCH, ahead)).error,
                (await peer.ask(ControllerApi.VOTE, other)).error_code,
                (await describe(peer, "orders")).error_code,
                (await describe(peer)).error_code,
            )

    assert asyncio.run(run()) == (
        ErrorCode.inconsistent_cluster_id,
        ErrorCode.inconsistent_voter_set,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.invalid_request,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.none,
    )


def test_an_observer_fetches_and_is_described(data):
    async def run():
        async with controller(data) as peer:
            while (known := (await describe(peer)).topics[0].partitions[0]).high_watermark < 2:
                await asyncio.sleep(0)  # LeaderChange; then the level
            epoch = known.leader_epoch
            fetch = RaftFetchRequest(CLUSTER, epoch, 5, 0, 0, 0)
            first = await ask(peer, ControllerApi.FETCH, fetch)
            again = fetch._replace(offset=2, last_fetched_epoch=epoch)
            await ask(peer, ControllerApi.FETCH, again)
            return first, (await describe(peer)).topics[0].partitions[0]

    fetched, quorum = asyncio.run(run())
    assert fetched.records and fetched.high_watermark == 2
    assert [(it.replica_id, it.log_end_offset) for it in quorum.observers] == [(5, 2)]
    assert quorum.observers[0].last_caught_up_timestamp > 0
    assert [it.replica_id for it in quorum.current_voters] == [NODE]


def test_a_directory_that_another_process_uses_is_refused(data):
    async def run():
        async with controller(data):
            voters = parse_voters(f"{NODE}@127.0.0.1:{free_port()}", NODE)
            await ControllerServer(NODE, 0, voters, data, QUICK).run(lambda port: None)

    with pytest.raises(ApiException, match=r"Failed to acquire lock on file .lock"):
        asyncio.run(run())
