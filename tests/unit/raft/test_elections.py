"""Votes, and the states of a node: who may lead an epoch, and what survives a restart."""

import pytest

from engine.errors import ErrorCode
from engine.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    RaftFetchRequest,
    RaftFetchResponse,
    RaftMessage,
    VoteRequest,
    VoteResponse,
)
from engine.raft.model import ElectionState, OffsetAndEpoch
from engine.raft.states import RaftState
from tests.unit.raft.nodes import CLUSTER, CONFIG, LONG_MS, OneNode, batch

OK = ErrorCode.none
GRANTED, REJECTED = VoteResponse(OK, 1, None, True), VoteResponse(OK, 1, None, False)


def vote(epoch, candidate, offset=0, last=0, **how):
    return VoteRequest(CLUSTER, epoch, candidate, OffsetAndEpoch(offset, last), **how)


def leading(epochs="", **how):
    """A node that has just been elected: in epoch 1 unless its log is newer."""
    node = OneNode(epochs, **how)
    node.wait(LONG_MS)
    node.answer(VoteResponse(OK, node.client.epoch, None, True), 2)
    assert node.client.is_leader
    return node


def test_a_single_voter_leads_at_once_and_commits_what_it_writes():
    node = OneNode(voters=(1,))
    node.wait(LONG_MS)
    assert (node.client.state, node.client.epoch) == (RaftState.LEADER, 1)
    offset, _ = node.client.append(batch(), node.now)
    assert node.client.high_watermark == offset + 1 == 2


def test_a_candidate_with_a_majority_leads_and_tells_everybody():
    node = OneNode()
    node.wait(LONG_MS)
    assert node.client.state is RaftState.CANDIDATE
    assert node.requests(VoteRequest) == dict.fromkeys((2, 3), vote(1, 1))
    assert node.disk.election == ElectionState(1, voted=1)  # before it asks
    node.answer(GRANTED, 3)
    assert node.client.state is RaftState.LEADER
    assert node.disk.election == ElectionState(1, leader=1)
    assert node.requests(BeginQuorumEpochRequest) == dict.fromkeys(
        (2, 3), BeginQuorumEpochRequest(CLUSTER, 1, 1)
    )
    assert node.disk.log.recovery_point == 1  # LeaderChange is the first record of the epoch
    assert node.client.high_watermark == 0


def test_a_candidate_without_a_majority_backs_off_and_begins_the_next_epoch():
    node = OneNode()
    node.wait(LONG_MS)
    node.answer(REJECTED, 2, 3)
    assert (node.client.state, node.client.epoch) == (RaftState.CANDIDATE, 2)


def test_an_observer_never_stands_for_election():
    node = OneNode(id=9)
    for _ in range(10):
        node.wait(LONG_MS)
        assert node.requests(RaftFetchRequest)
    assert (node.client.state, node.client.epoch) == (RaftState.UNATTACHED, 0)


def test_a_leader_that_is_no_voter_any_more_does_not_stand_for_election_either():
    """It was restarted with a configuration that does not name it."""
    node = OneNode("1", ElectionState(4, leader=9), id=9)
    for _ in range(10):
        node.wait(LONG_MS)
        assert node.requests(RaftFetchRequest)
    assert (node.client.state, node.client.epoch) == (RaftState.UNATTACHED, 4)


def test_a_voter_votes_once_in_an_epoch_also_after_a_restart():
    node = OneNode()
    assert node.ask(2, vote(5, 2)).granted
    assert node.disk.election == ElectionState(5, voted=2)
    assert not node.ask(3, vote(5, 3)).granted
    node.start()
    assert not node.ask(3, vote(5, 3)).granted
    assert node.ask(2, vote(5, 2)).granted  # the answer was lost
    assert node.ask(3, vote(6, 3)).granted


def test_a_vote_is_on_the_disk_before_it_is_told():
    node = OneNode()
    told = []
    node.disk.writes = lambda: told.append(any(map(is_message, node.client._outbox)))
    assert node.ask(2, vote(5, 2)).granted
    assert told == [False, False]  # of the epoch, then of the vote


def is_message(effect):
    return isinstance(effect, RaftMessage)


@pytest.mark.parametrize(
    ("offset", "last", "granted"),
    [(2, 3, True), (4, 3, True), (1, 3, False), (9, 2, False), (1, 4, True)],
)
def test_the_log_of_a_candidate_must_not_be_behind(offset, last, granted):
    """The voter's log has two records of epoch 3: the epoch counts first, then the offset."""
    assert OneNode("33").ask(2, vote(5, 2, offset, last)).granted is granted


def test_a_follower_votes_for_nobody_in_the_epoch_of_its_leader():
    node = OneNode()
    node.receive(2, BeginQuorumEpochRequest(CLUSTER, 4, 2))
    assert node.ask(3, vote(4, 3)) == VoteResponse(OK, 4, 2, False)
    assert node.ask(3, vote(5, 3)) == VoteResponse(OK, 5, None, True)
    assert node.client.state is RaftState.UNATTACHED


@pytest.mark.parametrize(
    ("election", "state"),
    [
        (None, RaftState.UNATTACHED),
        (ElectionState(7, leader=1), RaftState.RESIGNED),
        (ElectionState(7, leader=2), RaftState.FOLLOWER),
        (ElectionState(7, voted=1), RaftState.CANDIDATE),
        (ElectionState(7, voted=2), RaftState.UNATTACHED),
    ],
)
def test_the_state_after_a_start_follows_from_the_file(election, state):
    node = OneNode(election=election)
    assert (node.client.state, node.client.epoch) == (state, election.epoch if election else 0)


def test_a_log_with_a_newer_epoch_than_the_file_is_believed():
    assert OneNode("36", ElectionState(2, voted=3)).client.epoch == 6


def test_a_leader_that_starts_again_does_not_lead_its_epoch_again():
    node = OneNode("7", ElectionState(7, leader=1))
    assert not node.ask(2, vote(7, 2, 1, 6)).granted
    node.wait(LONG_MS)
    assert (node.client.state, node.client.epoch) == (RaftState.CANDIDATE, 8)


def test_a_leader_without_a_majority_resigns_and_names_its_successors():
    node = leading()
    fetch = RaftFetchRequest(CLUSTER, 1, 3, 1, 1, 0)
    node.receive(3, fetch)
    node.wait(CONFIG.fetch_timeout_ms * 3 // 2 - 1)
    assert node.client.is_leader
    node.wait(1)
    assert node.client.state is RaftState.RESIGNED
    assert node.requests(EndQuorumEpochRequest)[2].preferred_successors == (3, 2)
    assert node.disk.election == ElectionState(1, leader=1)  # it does not vote in epoch 1


def test_fetches_of_fewer_than_a_majority_do_not_keep_a_leader():
    node = OneNode(voters=(1, 2, 3, 4, 5))
    node.wait(LONG_MS)
    node.answer(GRANTED, 2, 3)
    for _ in range(3):
        assert node.client.is_leader
        node.receive(2, RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 0))
        node.receive(9, RaftFetchRequest(CLUSTER, 1, 9, 1, 1, 0))  # an observer
        node.wait(CONFIG.fetch_timeout_ms // 2)
    assert node.client.state is RaftState.RESIGNED


def test_a_leader_that_stood_still_resigns_before_it_reads_what_has_waited():
    node = leading()
    node.now += 2 * CONFIG.fetch_timeout_ms
    node.receive(2, RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 0))
    assert node.client.state is RaftState.RESIGNED


def test_a_newer_epoch_does_not_put_off_the_election():
    """Otherwise a candidate that cannot win could keep the others from standing for election."""
    node = OneNode("33")
    for epoch in range(4, 13):
        node.wait(CONFIG.election_timeout_ms // 10)
        assert not node.ask(2, vote(epoch, 2)).granted
    node.wait(CONFIG.election_timeout_ms // 10)
    assert (node.client.state, node.client.epoch) == (RaftState.CANDIDATE, 13)


def test_fetches_of_a_majority_keep_a_leader():
    node = leading()
    for _ in range(10):
        node.wait(CONFIG.fetch_timeout_ms)
        node.receive(2, RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 0))
    assert node.client.is_leader


def test_a_follower_that_gets_no_answer_stands_for_election():
    node = OneNode(election=ElectionState(3, leader=2))
    node.wait(CONFIG.fetch_timeout_ms - 1)
    assert node.client.state is RaftState.FOLLOWER
    node.wait(1)
    assert (node.client.state, node.client.epoch) == (RaftState.CANDIDATE, 4)


@pytest.mark.parametrize(("successors", "ms"), [((1, 3), 0), ((3, 1), 500), ((3,), 1000)])
def test_the_best_successor_stands_for_election_first(successors, ms):
    node = OneNode(election=ElectionState(3, leader=2))
    node.receive(2, EndQuorumEpochRequest(CLUSTER, 3, 2, successors))
    if ms:
        node.wait(ms - 1)
        assert node.client.state is RaftState.FOLLOWER
        node.wait(1)
    assert node.client.state is RaftState.CANDIDATE


# -- pre-vote --------------------------------------------------------------------------------

PRE_VOTE = CONFIG._replace(pre_vote=True)


def test_with_pre_vote_a_node_asks_before_its_epoch_grows():
    node = OneNode(election=ElectionState(3, leader=2), config=PRE_VOTE)
    node.wait(CONFIG.fetch_timeout_ms)
    assert (node.client.state, node.client.epoch) == (RaftState.PROSPECTIVE, 3)
    assert node.requests(VoteRequest)[3] == vote(3, 1, pre_vote=True)
    node.answer(VoteResponse(OK, 3, 2, False), 2, 3)
    assert (node.client.state, node.client.epoch) == (RaftState.FOLLOWER, 3)
    node.wait(CONFIG.fetch_timeout_ms)
    node.answer(VoteResponse(OK, 3, 2, True), 3)
    assert (node.client.state, node.client.epoch) == (RaftState.CANDIDATE, 4)


def test_a_follower_that_is_served_refuses_a_pre_vote():
    node = OneNode(election=ElectionState(3, leader=2))
    assert node.ask(3, vote(3, 3, pre_vote=True)).granted  # it has not fetched from 2 yet
    fetched = RaftFetchResponse(OK, 3, 2, 0)
    node.wait(1)
    node.start()
    node.answer(fetched, 2)
    assert not node.ask(3, vote(3, 3, pre_vote=True)).granted
    assert node.disk.election == ElectionState(3, leader=2)
