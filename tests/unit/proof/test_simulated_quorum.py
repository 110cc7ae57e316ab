"""A simulated quorum to act on, and its film: what happened stays to be seen."""

import pytest

from engine.errors import ApiException
from engine.raft.states import RaftState
from proof.quorum.simulated_quorum import SimulatedQuorum


@pytest.fixture
def quorum():
    quorum = SimulatedQuorum(voters=3, seed=7)
    assert quorum.until(lambda: quorum.leader)
    quorum.run(0.5)
    return quorum


def kinds(quorum, since=0):
    return [event.kind for event in quorum.film.events if event.at >= since]


def test_an_election_is_told_step_by_step():
    quorum = SimulatedQuorum(voters=3, seed=7)
    quorum.until(lambda: quorum.leader)
    assert kinds(quorum) == [*["started"] * 3, "candidate", "voted", "voted", "leader"]
    assert quorum.leaders == {1: quorum.leader}


def test_the_same_seed_and_acts_make_the_same_run():
    def run():
        quorum = SimulatedQuorum(voters=5, seed=3, observers=[9])
        quorum.until(lambda: quorum.leader)
        quorum.append("one")
        quorum.kill(quorum.leader)
        quorum.run(2)
        return quorum.film.events, len(quorum.film.messages)

    assert run() == run()


def test_what_a_majority_has_is_committed_and_what_one_had_is_truncated(quorum):
    old = quorum.leader
    quorum.append("kept")
    quorum.run(0.3)
    quorum.isolate(old)
    began = quorum.now
    quorum.append("lost", node=old)
    quorum.until(lambda: quorum.leader not in (None, old))
    quorum.append("later")
    quorum.run(0.5)
    assert quorum.log(old) == ["kept", "lost"]
    quorum.heal()
    quorum.run(1)
    assert {tuple(quorum.log(id)) for id in (1, 2, 3)} == {("kept", "later")}
    assert {"resigned", "truncated"} <= {*kinds(quorum, began)}


def test_a_refusal_says_why(quorum):
    away = min({1, 2, 3} - {quorum.leader})
    quorum.isolate(away)
    quorum.append("it lacks this one")
    quorum.run(3)
    quorum.heal()
    quorum.run(2)
    refusals = [it.words for it in quorum.film.events if it.kind == "refused"]
    assert any(f"refuses {away} its vote: the log of {away} is behind" in it for it in refusals)


def test_pre_vote_keeps_the_epoch():
    quorum = SimulatedQuorum(voters=3, seed=7, pre_vote=True)
    quorum.until(lambda: quorum.leader)
    quorum.run(0.5)
    leader, epoch = quorum.leader, quorum.epoch
    away = min({1, 2, 3} - {leader})
    quorum.isolate(away)
    quorum.run(5)
    quorum.heal()
    quorum.run(2)
    assert (quorum.leader, quorum.epoch) == (leader, epoch)
    assert RaftState.PROSPECTIVE in {moment.state for moment in quorum.film.nodes[away]}


def test_an_observer_that_was_away_fetches_a_snapshot():
    quorum = SimulatedQuorum(voters=3, seed=7, observers=[9])
    quorum.until(lambda: quorum.leader)
    quorum.run(0.5)
    quorum.kill(9)
    for number in range(8):
        quorum.append(f"topic {number}")
        quorum.run(0.1)
    quorum.snapshot(quorum.leader)
    quorum.start(9)
    quorum.run(1)
    assert quorum.node(9).start == quorum.node(quorum.leader).start > 0
    assert [it.nodes for it in quorum.film.events if it.kind == "snapshot"][-1] == (9,)


def test_a_moment_of_the_past_is_as_it_was(quorum):
    at, leader = quorum.now, quorum.leader
    quorum.run(0.1)
    quorum.kill(leader)
    quorum.run(3)
    assert quorum.film.moment(leader, at).state is RaftState.LEADER
    assert quorum.film.moment(leader, quorum.now).life == "down"


def test_each_message_came_or_has_a_reason_why_not(quorum):
    killed = quorum.now
    quorum.kill(quorum.leader)
    quorum.run(2)
    dead = next(id for id in (1, 2, 3) if quorum.node(id).life == "down")
    over = [it for it in quorum.film.messages if it.sent >= killed and (it.due or 0) < quorum.now]
    missing = [it for it in over if it.came is None]
    assert missing
    assert {it.target for it in missing} == {dead}


def test_who_does_not_lead_writes_nothing(quorum):
    follower = min({1, 2, 3} - {quorum.leader})
    with pytest.raises(ApiException, match=f"{follower} does not lead"):
        quorum.append("no", node=follower)
    for id in (1, 2):
        quorum.kill(id)
    quorum.run(3)
    with pytest.raises(ApiException, match="no controller leads"):
        quorum.append("no")
    with pytest.raises(ApiException, match="there is no node 7, only 1, 2, 3"):
        quorum.kill(7)
