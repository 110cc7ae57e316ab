"""The requests of the quorum as bytes, and back."""

from struct import pack

import pytest

from engine.broker.kraft.wire_messages import (
    APIS_OF_RAFT,
    request_from_wire,
    request_to_wire,
    response_from_wire,
    response_to_wire,
)
from engine.errors import ErrorCode
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import OffsetAndEpoch
from engine.wire.codec import decode_request, decode_response, encode_request, encode_response
from engine.wire.controller_apis import CONTROLLER_APIS, ControllerApi
from engine.wire.errors import Malformed, RequestHeader

END, NONE = OffsetAndEpoch(40, 4), ErrorCode.none
NAME, ID = b"__cluster_metadata", bytes(15) + b"\1"
FLEXIBLE_NAME = b"\x02\x13" + NAME + b"\x02"  # one topic, its name, one partition

REQUESTS = {
    VoteRequest("c", 5, 102, END): (
        b"\x02c" + FLEXIBLE_NAME + pack(">iiiiq", 0, 5, 102, 4, 40) + bytes(3)
    ),
    BeginQuorumEpochRequest("c", 5, 102): (
        pack(">h1sih18sii", 1, b"c", 1, 18, NAME, 1, 0) + pack(">ii", 102, 5)
    ),
    EndQuorumEpochRequest("c", 5, 102, (103, 101)): (
        pack(">h1sih18sii", 1, b"c", 1, 18, NAME, 1, 0) + pack(">iiiii", 102, 5, 2, 103, 101)
    ),
    RaftFetchRequest("c", 5, 102, 40, 4, 500): (
        pack(">iiiibii", 102, 500, 0, 8 * 2**20, 0, 0, -1)
        + (b"\x02" + ID + b"\x02" + pack(">iiqiqi", 0, 5, 40, 4, -1, 0) + bytes(2))
        + (b"\x01\x01" + b"\x01\x00\x02\x02c")
    ),
    FetchSnapshotRequest("c", 5, 102, END, 7, 1000): (
        pack(">ii", 102, 1000)
        + (FLEXIBLE_NAME + pack(">iiqi", 0, 5, 40, 4) + b"\0" + pack(">q", 7) + bytes(2))
        + b"\x01\x00\x02\x02c"
    ),
}
RESPONSES = [
    VoteResponse(NONE, 5, None, True),
    VoteResponse(ErrorCode.fenced_leader_epoch, 6, 103, False),
    VoteResponse(ErrorCode.inconsistent_cluster_id),
    BeginQuorumEpochResponse(NONE, 5, 102),
    EndQuorumEpochResponse(ErrorCode.inconsistent_voter_set, 5, 102),
    RaftFetchResponse(NONE, 5, 102, 41, records=b"batches"),
    RaftFetchResponse(NONE, 5, 102, None, diverging=END),
    RaftFetchResponse(NONE, 5, 102, 41, snapshot=END),
    RaftFetchResponse(ErrorCode.not_leader_or_follower, 5, None),
    RaftFetchResponse(ErrorCode.inconsistent_cluster_id),
    FetchSnapshotResponse(NONE, 5, 102, END, 3000, 1000, b"chunk"),
]


def header_of(request) -> RequestHeader:
    api = APIS_OF_RAFT[type(request)]
    return RequestHeader(api, api.newest, 7, "me")


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda it: type(it).__name__)
def test_a_request_by_its_bytes(request_):
    header = header_of(request_)
    frame = encode_request(header, request_to_wire(request_), CONTROLLER_APIS)
    tags = b"" if "Epoch" in type(request_).__name__ else b"\0"
    head = pack(">hhih2s", header.api_key, header.api_version, 7, 2, b"me") + tags
    tail = REQUESTS[request_]
    assert frame[4:] == head + tail
    found, wire = decode_request(frame[4:], CONTROLLER_APIS, CONTROLLER_APIS)
    assert found == header
    assert request_from_wire(ControllerApi(found.api_key), wire, "other") == request_


@pytest.mark.parametrize("response", RESPONSES, ids=str)
def test_a_response_comes_back_as_it_was(response):
    kind = type(response).__name__.removesuffix("Response")
    (request,) = (it for it in REQUESTS if type(it).__name__ == f"{kind}Request")
    header = header_of(request)
    frame = b"".join(encode_response(header, response_to_wire(response), CONTROLLER_APIS))
    wire = decode_response(header, frame[4:], CONTROLLER_APIS)
    assert response_from_wire(ControllerApi(header.api_key), wire) == response


def test_a_vote_is_granted_in_these_bytes():
    response = VoteResponse(NONE, 5, None, True)
    header = header_of(VoteRequest("c", 5, 102, END))
    frame = b"".join(encode_response(header, response_to_wire(response), CONTROLLER_APIS))
    body = b"\0\0" + FLEXIBLE_NAME + pack(">ihii?", 0, 0, -1, 5, True) + bytes(3)
    assert frame == pack(">ii", 5 + len(body), 7) + b"\0" + body


def test_another_partition_is_not_that_of_the_quorum():
    wire = request_to_wire(VoteRequest("c", 5, 102, END))
    wire.topics[0].partitions[0].partition_index = 1
    wire.topics[0].partitions[0].partition = wire.topics[0].partitions[0].index = 1
    assert request_from_wire(ControllerApi.VOTE, wire, "c") is None
    wire = response_to_wire(VoteResponse(NONE, 5))
    wire.topics = ()
    with pytest.raises(Malformed, match="not about the metadata log"):
        response_from_wire(ControllerApi.VOTE, wire)


def test_a_request_without_a_cluster_id_is_good_for_any_cluster():
    wire = request_to_wire(VoteRequest("c", 5, 102, END))
    wire.cluster_id = None
    found = request_from_wire(ControllerApi.VOTE, wire, "mine")
    assert found is not None and found.cluster_id == "mine"
