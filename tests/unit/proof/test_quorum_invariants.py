"""The invariants of a quorum that no planted defect breaks: each fails if it has to."""

import pytest

from proof.quorum.invariants import check_rest, check_step
from proof.quorum.observed_quorum import PendingRecord
from proof.quorum.run import QuorumRun
from proof.storms.invariants import Violation


@pytest.fixture
def observed():
    """Three voters and an observer that are well, after a run without a storm."""
    run = QuorumRun(0, 0.0)
    run.go()
    return run.observed


def broken(observed, node):
    with pytest.raises(Violation) as violation:
        check_step(observed, node)
    return violation.value.invariant


def test_a_mark_that_goes_back_is_noticed(observed):
    leader = observed.world.leader
    observed.last_mark = 100  # of a leader before
    assert broken(observed, leader) == "high_watermarks_only_grow"
    observed.marks[9, 1] = 100
    assert broken(observed, observed.world.nodes[9]) == "high_watermarks_only_grow"


def test_a_record_that_is_not_where_it_was_acknowledged_is_noticed(observed):
    leader = observed.world.leader
    observed.pending.append(PendingRecord(leader.id, 1, leader.client.epoch, 0, b"another"))
    assert broken(observed, leader) == "what_was_acknowledged_is_committed"


def test_a_node_that_follows_nobody_in_the_end_is_noticed(observed):
    observed.world.nodes[9].kill()
    with pytest.raises(Violation, match=r"all_follow_one_leader .*node 9 follows nobody"):
        check_rest(observed)
    observed.world.leader.kill()
    with pytest.raises(Violation, match=r"all_follow_one_leader .*nobody leads"):
        check_rest(observed)
