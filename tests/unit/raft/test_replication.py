"""Fetch, the high watermark, divergence and snapshots."""

import pytest

from engine.errors import ApiException, ErrorCode
from engine.raft.messages import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    HighWatermarkChange,
    RaftFetchRequest,
    RaftFetchResponse,
)
from engine.raft.model import ElectionState, OffsetAndEpoch, TruncatedBelowHighWatermark
from tests.unit.raft.nodes import CLUSTER, CONFIG, OneNode, batch, epochs_of, log_of
from tests.unit.raft.test_elections import OK, leading


def fetch(node, replica, offset, last, wait=0):
    return node.ask(
        replica, RaftFetchRequest(CLUSTER, node.client.epoch, replica, offset, last, wait)
    )


def test_the_mark_is_what_a_majority_has_on_its_disk():
    node = leading()
    node.client.append(batch(), node.now)  # offset 1, after LeaderChange
    assert fetch(node, 2, 1, 1).high_watermark == 1
    assert fetch(node, 3, 0, 0).high_watermark == 1
    assert fetch(node, 2, 2, 1).high_watermark == 2
    assert HighWatermarkChange(2) in node.effects
    assert fetch(node, 3, 0, 0).high_watermark == 2  # it never goes back


def test_an_observer_does_not_count():
    node = leading()
    assert fetch(node, 9, 1, 1).high_watermark is None


def test_a_record_of_an_older_epoch_is_committed_only_with_one_of_the_leaders_own():
    """Figure 8 of the Raft paper: the record of epoch 2 is on a majority, and yet a voter with a
    record of epoch 3 could be elected and remove it."""
    node = leading("12")
    assert fetch(node, 2, 2, 2).high_watermark is None
    assert node.client.high_watermark == 0
    assert fetch(node, 2, 3, 3).high_watermark == 3


@pytest.mark.parametrize(
    ("theirs", "cut"), [("11", None), ("111", 2), ("1122", 2), ("13", 1), ("1133", 2)]
)
def test_a_follower_truncates_to_where_both_logs_are_the_same(theirs, cut):
    """The leader's log has the epochs 1 1 4, and then its own, 5."""
    leader = leading("114")
    follower = OneNode(theirs, ElectionState(5, leader=1), id=2)
    for _ in range(1 if cut is None else 2):
        request = follower.requests(RaftFetchRequest)[1]
        follower.answer(leader.ask(2, request), 1)
    assert epochs_of(follower.disk) == "1145"
    assert follower.disk.log.cut_to == (cut or 0)


def test_a_leader_that_lacks_what_is_committed_is_not_followed():
    node = OneNode("12", ElectionState(2, leader=2))
    node.answer(RaftFetchResponse(OK, 2, 2, 2), 2)
    assert node.client.high_watermark == 2
    with pytest.raises(TruncatedBelowHighWatermark, match="to offset 1, and everything before 2"):
        node.answer(RaftFetchResponse(OK, 2, 2, 2, diverging=OffsetAndEpoch(1, 1)), 2)


def test_what_a_follower_fetches_is_on_its_disk_before_it_says_so():
    leader = leading()
    node = OneNode(election=ElectionState(1, leader=1), id=2)
    node.answer(fetch(leader, 2, 0, 0), 1)
    assert node.requests(RaftFetchRequest)[1].offset == node.disk.log.recovery_point == 1


def test_records_that_a_killed_process_wrote_are_flushed_before_a_fetch_tells_of_them():
    node = OneNode("11", ElectionState(1, leader=2))
    assert node.disk.log.recovery_point == 2


def test_the_mark_of_a_follower_is_not_beyond_its_log():
    node = OneNode("11", ElectionState(1, leader=2))
    node.answer(RaftFetchResponse(OK, 1, 2, 50), 2)
    assert node.client.high_watermark == 2


def test_a_fetch_with_nothing_new_waits_for_a_record_or_for_its_time():
    node = leading()
    request = RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 500)
    node.receive(2, request, 5)
    assert not node.sent
    node.wait(499)
    assert 5 not in [it.id for it in node.sent]
    node.wait(1)
    assert [it.body.records for it in node.sent if it.id == 5] == [b""]
    node.receive(2, request, 6)
    _, node.effects = node.client.append(batch(), node.now)
    assert [bool(it.body.records) for it in node.sent if it.id == 6] == [True]


def test_a_fetch_that_waits_is_answered_when_the_mark_moves():
    """An observer that has the record is told at once when a majority has it; so is the voter whose
    own Fetch has moved the mark. Nobody is told twice."""
    node = leading(config=CONFIG._replace(prompt_mark=True))
    node.receive(9, RaftFetchRequest(CLUSTER, 1, 9, 1, 1, 500), 5)
    assert not node.sent
    node.receive(2, RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 500), 6)
    assert {it.id: it.body.high_watermark for it in node.sent} == {5: 1, 6: 1}
    node.receive(9, RaftFetchRequest(CLUSTER, 1, 9, 1, 1, 500), 7)
    assert 7 not in [it.id for it in node.sent]


def test_those_who_wait_hear_that_the_leader_has_resigned():
    node = leading()
    node.receive(2, RaftFetchRequest(CLUSTER, 1, 2, 1, 1, 500), 5)
    node.effects = node.client.resign(node.now)
    (answer,) = [it.body for it in node.sent if it.id == 5]
    assert answer.error is ErrorCode.not_leader_or_follower
    with pytest.raises(ApiException, match="node 1 does not lead the quorum"):
        node.client.append(batch(), node.now)


# -- snapshots -------------------------------------------------------------------------------


def with_snapshot(data=b"0123456789"):
    """A leader that has a snapshot of its first two records, and not the records."""
    node = leading("11")
    fetch(node, 2, 3, 2)
    node.client.snapshot(OffsetAndEpoch(2, 1), data, node.now)
    return node


def test_a_follower_that_is_behind_the_log_start_is_told_a_snapshot():
    node = with_snapshot()
    assert node.client.log.start_offset == 2
    for offset, last in ((0, 0), (1, 1), (2, 0)):
        assert fetch(node, 3, offset, last).snapshot == OffsetAndEpoch(2, 1)
    assert fetch(node, 3, 2, 1).records


def test_a_snapshot_comes_in_chunks_and_the_log_begins_after_it():
    leader = with_snapshot()
    config = CONFIG._replace(snapshot_max_bytes=4)
    node = OneNode("1", ElectionState(2, leader=1), id=3, config=config)
    node.answer(RaftFetchResponse(OK, 2, 1, 3, snapshot=OffsetAndEpoch(2, 1)), 1)
    for position in (0, 4, 8):
        request = node.requests(FetchSnapshotRequest)[1]
        assert (request.position, node.client.log.start_offset) == (position, 0)
        node.answer(leader.ask(3, request), 1)
    assert node.disk.snapshots.whole == {OffsetAndEpoch(2, 1): b"0123456789"}
    assert node.client.high_watermark == node.client.log.start_offset == 2
    assert node.requests(RaftFetchRequest)[1][3:5] == (2, 1)


def test_a_new_follower_gets_a_snapshot_even_if_the_log_has_all_records():
    node = leading("11")
    node.disk.snapshots.whole[OffsetAndEpoch(2, 1)] = b"0123456789"
    assert fetch(node, 3, 0, 0).snapshot == OffsetAndEpoch(2, 1)
    assert fetch(node, 3, 1, 1).records


def test_a_follower_with_an_epoch_from_before_the_snapshot_gets_the_snapshot():
    node = leading("33")
    node.disk.snapshots.whole[OffsetAndEpoch(2, 3)] = b"0123456789"
    assert fetch(node, 3, 3, 1).snapshot == OffsetAndEpoch(2, 3)
    assert fetch(node, 3, 3, 3).diverging == OffsetAndEpoch(2, 3)


def test_an_epoch_from_before_the_snapshot_ended_where_the_snapshot_ends():
    node = OneNode()
    node.client.log.restart_after(OffsetAndEpoch(5, 3), 0)
    node.disk.snapshots.whole[OffsetAndEpoch(5, 3)] = b"x"
    log_of(node.disk, "4")
    assert node.client.log.end_of(2) == node.client.log.end_of(3) == OffsetAndEpoch(5, 3)
    assert node.client.log.end_of(4) == node.client.log.end_of(9) == OffsetAndEpoch(6, 4)


def test_a_chunk_of_another_place_is_not_used():
    node = OneNode(election=ElectionState(2, leader=1), id=3)
    snapshot = OffsetAndEpoch(2, 1)
    node.answer(RaftFetchResponse(OK, 2, 1, 3, snapshot=snapshot), 1)
    node.answer(FetchSnapshotResponse(OK, 2, 1, snapshot, 10, 4, b"456789"), 1)
    assert node.requests(RaftFetchRequest)[1].offset == 0
    assert node.disk.snapshots.whole == {}


def test_a_snapshot_that_the_leader_has_no_more_is_asked_for_anew():
    node = OneNode(election=ElectionState(2, leader=1), id=3)
    node.answer(RaftFetchResponse(OK, 2, 1, 3, snapshot=OffsetAndEpoch(2, 1)), 1)
    node.answer(FetchSnapshotResponse(ErrorCode.snapshot_not_found, 2, 1), 1)
    assert node.requests(RaftFetchRequest)[1].offset == 0


def test_a_process_that_died_before_its_log_began_anew_finishes_that():
    node = OneNode("11")
    node.disk.snapshots.whole[OffsetAndEpoch(5, 3)] = b"x"
    node.start()
    assert (node.client.log.start_offset, node.client.log.end) == (5, OffsetAndEpoch(5, 3))
    log_of(node.disk, "4")
    assert node.client.log.end == OffsetAndEpoch(6, 4)


def test_a_node_that_died_before_it_cut_its_log_has_the_mark_of_its_snapshot():
    """The snapshot is whole, and the records before its end are still there: the next process
    knows that they are committed, and can make the next snapshot."""
    node = OneNode("1112", ElectionState(2, leader=2))
    node.client.log.write_snapshot(OffsetAndEpoch(3, 1), 0, b"state")
    node.client.log.finish_snapshot(OffsetAndEpoch(3, 1))
    node.start()
    assert (node.client.log.start_offset, node.client.high_watermark) == (0, 3)
