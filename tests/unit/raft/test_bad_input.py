"""Requests that no sound voter sends: each has Kafka's answer, and the node goes on as it was."""

import pytest

from engine.errors import ErrorCode
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    RaftFetchRequest,
    RaftFetchResponse,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import ElectionState, OffsetAndEpoch
from tests.unit.raft.nodes import CLUSTER, CONFIG, OneNode
from tests.unit.raft.test_elections import leading
from tests.unit.raft.test_replication import with_snapshot

END, KNOWN = OffsetAndEpoch(9, 5), OffsetAndEpoch(2, 1)
OTHER, STRANGER, FAR = "another cluster", 77, 10**6
LAST = 2**31 - 1  # no epoch comes after it


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (VoteRequest(OTHER, FAR, 2, END), "inconsistent_cluster_id"),
        (VoteRequest(CLUSTER, FAR, STRANGER, END), "inconsistent_voter_set"),
        (VoteRequest(CLUSTER, FAR, -1, END), "invalid_request"),
        (VoteRequest(CLUSTER, FAR, 2, OffsetAndEpoch(-1, 5)), "invalid_request"),
        (VoteRequest(CLUSTER, FAR, 2, OffsetAndEpoch(9, -1)), "invalid_request"),
        (VoteRequest(CLUSTER, FAR, 2, OffsetAndEpoch(9, FAR)), "invalid_request"),
        (VoteRequest(CLUSTER, LAST, 2, END), "invalid_request"),
        (VoteRequest(CLUSTER, 1, 3, OffsetAndEpoch(9, 0)), "fenced_leader_epoch"),
        (BeginQuorumEpochRequest(OTHER, FAR, 2), "inconsistent_cluster_id"),
        (BeginQuorumEpochRequest(CLUSTER, FAR, STRANGER), "inconsistent_voter_set"),
        (BeginQuorumEpochRequest(CLUSTER, 2, 3), "invalid_request"),  # 1 leads epoch 2
        (BeginQuorumEpochRequest(CLUSTER, FAR, 1), "invalid_request"),  # and 1 is this node
        (BeginQuorumEpochRequest(CLUSTER, LAST, 2), "invalid_request"),
        (BeginQuorumEpochRequest(CLUSTER, 1, 3), "fenced_leader_epoch"),
        (EndQuorumEpochRequest(OTHER, FAR, 2, ()), "inconsistent_cluster_id"),
        (EndQuorumEpochRequest(CLUSTER, FAR, STRANGER, (1,)), "inconsistent_voter_set"),
        (EndQuorumEpochRequest(CLUSTER, LAST, 2, ()), "invalid_request"),
        (EndQuorumEpochRequest(CLUSTER, 1, 3, (1,)), "fenced_leader_epoch"),
        (RaftFetchRequest(OTHER, 2, 3, 2, 1, 0), "inconsistent_cluster_id"),
        (RaftFetchRequest(CLUSTER, FAR, 3, 2, 1, 0), "unknown_leader_epoch"),
        (RaftFetchRequest(CLUSTER, 1, 3, 2, 1, 0), "fenced_leader_epoch"),
        (RaftFetchRequest(CLUSTER, 2, 3, -1, 1, 0), "invalid_request"),
        (RaftFetchRequest(CLUSTER, 2, 3, 2, -1, 0), "invalid_request"),
        (RaftFetchRequest(CLUSTER, 2, 3, 2, 3, 0), "invalid_request"),
        (RaftFetchRequest(CLUSTER, 2, 3, 2, 1, -1), "invalid_request"),
        (RaftFetchRequest(CLUSTER, 2, 1, 2, 1, 0), "invalid_request"),
        (FetchSnapshotRequest(OTHER, 2, 3, KNOWN, 0, 9), "inconsistent_cluster_id"),
        (FetchSnapshotRequest(CLUSTER, FAR, 3, KNOWN, 0, 9), "unknown_leader_epoch"),
        (FetchSnapshotRequest(CLUSTER, 1, 3, KNOWN, 0, 9), "fenced_leader_epoch"),
        (FetchSnapshotRequest(CLUSTER, 2, 3, END, 0, 9), "snapshot_not_found"),
        (FetchSnapshotRequest(CLUSTER, 2, 3, KNOWN, -1, 9), "position_out_of_range"),
        (FetchSnapshotRequest(CLUSTER, 2, 3, KNOWN, 10, 9), "position_out_of_range"),
    ],
)
def test_bad_input_has_kafkas_answer_and_changes_nothing(request_, error):
    node = with_snapshot()
    before = node.disk.election, node.client.log.end, node.client.high_watermark
    answer = node.ask(3, request_)
    assert answer.error is ErrorCode[error]
    assert (node.disk.election, node.client.log.end, node.client.high_watermark) == before
    assert node.client.is_leader
    stranger = request_.cluster_id == OTHER
    assert (answer.epoch, answer.leader) == ((-1, None) if stranger else (2, 1))


def test_an_observer_gives_no_vote():
    node = OneNode(id=9)
    answer = node.ask(2, VoteRequest(CLUSTER, 5, 2, END._replace(epoch=4)))
    assert answer.error is ErrorCode.inconsistent_voter_set
    assert node.client.epoch == 0


def test_a_node_that_does_not_lead_says_who_does():
    node = OneNode(election=ElectionState(3, leader=2))
    answer = node.ask(3, RaftFetchRequest(CLUSTER, 3, 3, 0, 0, 0))
    assert answer == RaftFetchResponse(ErrorCode.not_leader_or_follower, 3, 2)


def test_a_fetch_beyond_the_end_of_the_log_is_told_where_the_log_ends():
    node = leading("1")
    answer = node.ask(3, RaftFetchRequest(CLUSTER, 2, 3, 100, 2, 0))
    assert answer.diverging == OffsetAndEpoch(2, 2)


@pytest.mark.parametrize(
    "response",
    [
        RaftFetchResponse(ErrorCode.inconsistent_cluster_id),
        RaftFetchResponse(ErrorCode.invalid_request, 3, 2),
        RaftFetchResponse(ErrorCode.none, 3, 3),  # another leader of the same epoch
        RaftFetchResponse(ErrorCode.none, 4, 1),  # "you lead epoch 4"
        RaftFetchResponse(ErrorCode.not_leader_or_follower, 4, STRANGER),
        RaftFetchResponse(ErrorCode.unknown_leader_epoch, 2, None),
        VoteResponse(ErrorCode.none, 3, 2, True),
    ],
)
def test_a_senseless_response_is_dropped_and_the_next_request_waits(response):
    node = OneNode(election=ElectionState(3, leader=2))
    node.answer(response, 2)
    assert node.disk.election == ElectionState(3, leader=2)
    assert node.client.leader == 2


def test_a_response_that_comes_twice_or_late_is_ignored():
    node = OneNode(election=ElectionState(3, leader=2))
    ((peer, id, _),) = node.sent
    node.receive(peer, RaftFetchResponse(ErrorCode.none, 3, 2, 0), id)
    sent = len(node.sent)
    node.receive(peer, RaftFetchResponse(ErrorCode.none, 3, 2, 0), id)
    assert (sent, len(node.sent)) == (1, 0)


def test_a_connection_that_breaks_is_no_response():
    """A voter waits for the backoff and asks the leader again: no other voter, which may stand
    still and cost it the rest of the fetch timeout."""
    node = OneNode(election=ElectionState(3, leader=2))
    ((_, id, _),) = node.sent
    node.effects = node.client.request_failed(2, id, node.now)
    assert not node.sent
    node.wait(CONFIG.retry_backoff_ms)
    assert [it.peer for it in node.sent] == [2]


def test_an_observer_asks_another_voter_meanwhile_and_does_not_wait_for_it():
    node = OneNode(election=ElectionState(3, leader=2), id=4)
    ((_, id, _),) = node.sent
    node.effects = node.client.request_failed(2, id, node.now)
    ((peer, _, _),) = node.sent
    assert peer in (1, 3)
    node.wait(CONFIG.retry_backoff_ms)
    assert [it.peer for it in node.sent] == [2]


def test_a_leader_that_is_no_voter_is_not_followed():
    """The file of a former cluster, or of an older format, which does not name the voters."""
    node = OneNode(election=ElectionState(3, leader=7))
    assert node.client.quorum.election == ElectionState(3)
    assert 7 not in [it.peer for it in node.sent]
