"""Fetching: what is asked of whom, what is kept ready, and what an error means."""

import pytest

from engine.client.consuming.assigned_partition import PositionState
from engine.client.consuming.fetcher import LANES, PASSING, READY
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.client.logs import P0, P1, Reading


@pytest.fixture
def it():
    """Two partitions, t-0 led by broker 1 and t-1 by broker 2."""
    it = Reading()
    it.logs[P1].leader = 2
    it.positions.assign({P0: 0, P1: 0})
    it.settle()
    return it


def fetches(it):
    return [ask for ask in it.asked if ask.api is Api.FETCH]


def offsets(ask):
    return {
        row.partition: row.fetch_offset for topic in ask.request.topics for row in topic.partitions
    }


def test_each_leader_is_asked_for_what_it_leads(it):
    assert [(ask.to, offsets(ask)) for ask in fetches(it)] == [(1, {0: 0}), (2, {1: 0})]


def test_a_broker_that_leads_all_is_asked_once_for_all():
    it = Reading()
    it.positions.assign({P0: 0, P1: 0})
    it.settle()
    assert [(ask.to, offsets(ask)) for ask in fetches(it)] == [(1, {0: 0, 1: 0})]


def test_the_settings_are_in_the_request():
    it = Reading(
        fetch_min_bytes=7, fetch_max_bytes=1000, fetch_max_wait_ms=123, client_rack="r",
        max_partition_fetch_bytes=77, isolation_level="read_committed",
    )  # fmt: skip
    it.positions.assign({P0: 0})
    it.settle()
    (request,) = it.requests(Api.FETCH)
    assert (request.min_bytes, request.max_bytes, request.rack_id) == (7, 1000, "r")
    assert request.max_wait.total_seconds() == 0.123
    assert request.isolation_level == 1
    assert request.topics[0].partitions[0].partition_max_bytes == 77


def test_two_answers_lie_ready_at_most_and_taking_one_makes_room(it):
    for value in "abcd":
        it.logs[P0].append(value)
        it.settle()
    assert it.place().ready == READY == 2
    before = len(fetches(it))
    it.logs[P0].append("e")
    it.settle()
    assert len(fetches(it)) == before
    assert it.read() == ["a", "b", "c", "d", "e"]


def test_the_fetch_ahead_begins_where_the_last_batch_ends(it):
    it.logs[P0].append("a", "b", "c")
    it.settle()
    assert offsets(fetches(it)[-1]) == {0: 3}
    assert it.place().offset == 0, "the application has seen nothing of it yet"


def test_a_paused_partition_is_not_asked_for_and_goes_on_where_it_was(it):
    it.logs[P0].append("a", "b")
    assert it.read() == ["a", "b"]
    it.positions.pause(P0, True)
    it.logs[P0].append("c")
    before = len(fetches(it))
    it.pass_time(2)
    assert it.read() == []
    assert all(0 not in offsets(ask) for ask in fetches(it)[before:])
    it.positions.pause(P0, False)
    assert it.read() == ["c"]


def test_a_seek_does_not_wait_for_the_long_poll_that_is_on_the_way(it):
    it.logs[P0].append("a", "b")
    assert it.read() == ["a", "b"]
    it.positions.seek(P0, 0)
    assert it.read() == ["a", "b"], "and no time has passed"
    lanes = {ask.lane for ask in fetches(it) if ask.to == 1}
    assert lanes == set(LANES)


def test_nothing_of_a_partition_is_on_the_way_twice(it):
    it.pass_time(3)
    for value in "abcdefgh":
        it.logs[P0].append(value)
        it.settle()
        on_the_way = [key for _, ask, _ in it.held for key in offsets(ask)]
        assert len(on_the_way) == len(set(on_the_way))


def test_an_answer_to_an_earlier_turn_counts_for_nothing(it):
    it.positions.unassign([P0])
    it.logs[P0].append("a")
    it.positions.assign({P0: 1})
    assert it.read() == []
    assert it.place().offset == 1


# -- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(PASSING))
def test_an_error_that_passes_has_the_metadata_asked_for_again(it, code):
    asked = len(it.requests(Api.METADATA))
    it.refusals[Api.FETCH] = code
    it.logs[P0].append("a")
    it.pass_time(1)
    assert it.read() == ["a"]
    assert len(it.requests(Api.METADATA)) > asked
    assert not it.positions.troubles


def test_an_error_that_does_not_pass_is_told_and_stops_that_partition(it):
    it.refusals[Api.FETCH] = ErrorCode.topic_authorization_failed
    it.logs[P0].append("a")
    it.pass_time(2)
    (trouble,) = it.positions.troubles
    assert trouble.code == ErrorCode.topic_authorization_failed
    assert it.place().state is PositionState.STOPPED
    it.logs[P1].append("b")
    assert it.read() == ["b"]


def test_a_broker_that_is_gone_is_asked_again_after_a_pause(it):
    it.brokers = {2}
    it.held = [held for held in it.held if held[1].to != 1]
    it.logs[P0].append("a")
    it.fetching._busy.clear()  # the connection broke
    it.place().asked = -1
    it.pass_time(1)
    failed = len(fetches(it))
    assert it.read() == []
    it.brokers = {1, 2}
    it.pass_time(1)
    assert it.read() == ["a"]
    assert failed < 20, "not in a loop"


# -- where to read ---------------------------------------------------------------------------


def test_the_leader_may_send_a_consumer_to_a_replica_nearby():
    it = Reading(partitions=1, client_rack="here")
    it.logs[P0].preferred = 2
    it.positions.assign({P0: 0})
    it.settle()
    it.logs[P0].append("a")
    assert it.read() == ["a"]
    assert fetches(it)[-1].to == 2
    assert it.place().leader == 1


def test_a_replica_that_lacks_the_offset_sends_it_back_to_the_leader_and_resets_nothing():
    it = Reading(partitions=1, client_rack="here", auto_offset_reset="none")
    it.logs[P0].preferred = 2
    it.positions.assign({P0: 0})
    it.settle()
    it.logs[P0].preferred = -1
    it.refusals[Api.FETCH] = ErrorCode.offset_out_of_range
    it.logs[P0].append("a")
    it.pass_time(1)
    assert it.read() == ["a"]
    assert fetches(it)[-1].to == 1
    assert not it.positions.troubles


def test_what_was_fetched_is_delivered_before_the_position_is_reset():
    """Retention, or DeleteRecords, has come beyond what the application gets next."""
    it = Reading(partitions=1, auto_offset_reset="latest")
    it.positions.assign({P0: 0})
    it.logs[P0].append("a", "b")
    it.settle()
    it.refusals[Api.FETCH] = ErrorCode.offset_out_of_range
    it.logs[P0].append("c")
    it.settle()
    assert it.read() == ["a", "b"]
    assert not [event for event in it.events if event.kind == "position.reset"]
    it.refusals[Api.FETCH] = ErrorCode.offset_out_of_range
    it.pass_time(1)
    assert [event.kind for event in it.events if event.kind == "position.reset"]


# -- the end ---------------------------------------------------------------------------------


def test_the_end_is_told_once_each_time_it_is_reached():
    it = Reading(partitions=1, enable_partition_eof=True)
    it.logs[P0].append("a")
    it.positions.assign({P0: 0})
    assert it.read() == ["a", "END"]
    it.pass_time(3)
    assert it.read() == []
    it.logs[P0].append("b")
    assert it.read() == ["b", "END"]
    it.positions.seek(P0, 1)
    assert it.read() == ["b", "END"]
