"""Where a consumer is: how it finds its place, keeps it across leaders, and loses it."""

import pytest

from engine.client.consuming.assigned_partition import TRANSITIONS, AssignedPartition, PositionState
from engine.client.consuming.offset_lookup import FoundOffset
from engine.client.values import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.client.logs import P0, P1, Reading


def reading(*values, start=OFFSET_INVALID, **config):
    """A consumer of one partition, and what is in it."""
    it = Reading(partitions=1, **config)
    for value in values:
        it.logs[P0].append(value)
    it.positions.assign({P0: start})
    return it


def test_without_a_group_it_begins_where_auto_offset_reset_says():
    assert reading("a", "b").read() == ["a", "b"]
    late = reading("a", "b", auto_offset_reset="latest")
    assert late.read() == []
    late.logs[P0].append("c")
    assert late.read() == ["c"]


def test_a_consumer_that_knows_the_cluster_begins_at_once():
    """Nothing else has to happen first, such as news of who leads what."""
    it = reading("a")
    it.read()
    it.positions.unassign([P0])
    it.settle()
    it.positions.assign({P0: OFFSET_INVALID})
    assert it.read() == ["a"]


def test_an_explicit_offset_is_taken_as_it_is_and_the_ends_are_looked_up():
    assert reading("a", "b", "c", start=1).read() == ["b", "c"]
    assert reading("a", "b", "c", start=OFFSET_BEGINNING).read() == ["a", "b", "c"]
    end = reading("a", "b", "c", start=OFFSET_END)
    assert end.read() == []
    assert end.place().offset == 3


def test_nothing_to_reset_to_is_told_once_and_waits_for_a_seek():
    it = reading("a", "b", auto_offset_reset="none")
    it.pass_time(10)
    (trouble,) = it.positions.troubles
    assert trouble.code == KafkaError._AUTO_OFFSET_RESET
    assert "auto.offset.reset is none: seek() to go on" in trouble.text
    assert it.place().state is PositionState.STOPPED
    it.positions.seek(P0, 1)
    assert it.read() == ["b"]


def test_what_retention_has_deleted_is_skipped_by_the_policy():
    it = reading("a", "b", "c", "d", start=0)
    assert it.read() == ["a", "b", "c", "d"]
    it.positions.seek(P0, 0)
    it.logs[P0].start = 2
    it.logs[P0].batches = it.logs[P0].batches[2:]
    assert it.read() == ["c", "d"]
    assert "position.reset" in it.told()


def test_an_offset_beyond_the_end_is_out_of_range_too():
    it = reading("a", "b", start=17, auto_offset_reset="latest")
    assert it.read() == []
    assert it.place().offset == 2


def test_a_seek_voids_what_was_fetched():
    it = reading("a", "b", "c")
    it.settle()
    assert it.fetching.fetched[0].is_valid
    it.positions.seek(P0, 2)
    assert not it.fetching.fetched[0].is_valid
    assert it.read() == ["c"]


# -- a new leader ----------------------------------------------------------------------------


def test_a_new_leader_with_the_same_log_is_believed_after_a_question():
    it = reading("a", "b")
    assert it.read() == ["a", "b"]
    it.logs[P0].elect(2)
    it.logs[P0].append("c")
    it.pass_time(2)
    assert it.read() == ["c"]
    (asked,) = it.requests(Api.OFFSET_FOR_LEADER_EPOCH)
    (row,) = asked.topics[0].partitions
    assert (row.leader_epoch, row.current_leader_epoch) == (0, 1)
    assert it.told()[-2:] == ["leader.changed", "position.validated"]


def test_after_a_truncation_it_goes_back_to_where_the_histories_part():
    it = reading("a", "b", "lost", "lost too")
    assert it.read() == ["a", "b", "lost", "lost too"]
    it.logs[P0].elect(2, keep=2)
    it.logs[P0].append("c")
    it.logs[P0].append("d")
    it.logs[P0].append("e")
    it.pass_time(2)
    assert it.read() == ["c", "d", "e"], "the offset alone, 4, would have given e only"
    (event,) = [each for each in it.events if each.kind == "log.truncated"]
    assert (event.data["offset"], event.data["to"]) == (4, 2)


def test_a_truncation_without_a_policy_is_told():
    it = reading("a", "b", "lost", start=0, auto_offset_reset="none")
    assert it.read() == ["a", "b", "lost"]
    it.logs[P0].elect(2, keep=2)
    it.logs[P0].append("c")
    it.pass_time(2)
    (trouble,) = it.positions.troubles
    assert trouble.code == KafkaError._LOG_TRUNCATION
    assert "log truncation detected: offset 2 to 2, read under epoch 0, are gone" in trouble.text
    it.positions.seek(P0, 2, epoch=1)
    assert it.read() == ["c"]


def test_what_was_fetched_from_the_old_leader_is_not_handed_out():
    it = reading("a")
    assert it.read() == ["a"]
    it.logs[P0].append("phantom")
    it.settle()
    assert it.place().ready == 1
    it.logs[P0].elect(2, keep=1)
    it.view.stale()
    it.pass_time(1)
    it.logs[P0].append("true")
    assert it.read() == ["true"]


def test_a_leader_that_remembers_nothing_of_the_epoch_means_the_policy():
    it = reading("a", "b")
    assert it.read() == ["a", "b"]
    it.logs[P0].elect(2, keep=0)
    it.logs[P0].append("c")
    it.pass_time(2)
    assert it.read() == ["c"]
    (reset,) = [each.data["why"] for each in it.events if each.kind == "position.reset"][1:]
    assert reset == "no leader remembers epoch 0"


@pytest.mark.parametrize("code", [ErrorCode.unknown_leader_epoch, ErrorCode.not_leader_or_follower])
def test_a_leader_that_is_not_ready_to_say_is_asked_again(code):
    it = reading("a", "b")
    assert it.read() == ["a", "b"]
    it.logs[P0].elect(2)
    it.refusals[Api.OFFSET_FOR_LEADER_EPOCH] = code
    it.pass_time(2)
    assert len(it.requests(Api.OFFSET_FOR_LEADER_EPOCH)) == 2
    it.logs[P0].append("c")
    assert it.read() == ["c"]


def test_a_position_without_an_epoch_is_not_questioned():
    it = reading("a", "b", start=2)
    it.settle()
    it.logs[P0].elect(2)
    it.logs[P0].append("c")
    it.pass_time(2)
    assert it.read() == ["c"]
    assert not it.requests(Api.OFFSET_FOR_LEADER_EPOCH)


def test_a_seek_while_a_position_is_in_question_wins():
    it = reading("a", "b", "c")
    it.read()
    it.logs[P0].elect(2, keep=2)
    it.brokers = {1}  # nobody leads: the question has to wait
    it.pass_time(1)
    it.positions.seek(P0, 1)
    it.brokers = {1, 2}
    it.pass_time(2)
    assert it.read() == ["b"]


# -- what is not there -----------------------------------------------------------------------


def test_an_unknown_topic_is_told_once_after_a_second_and_read_when_it_appears():
    it = reading("a")
    log = it.logs.pop(P0)
    it.pass_time(0.9)
    assert not it.positions.troubles
    it.pass_time(10)
    (trouble,) = it.positions.troubles
    assert (trouble.partition, trouble.code) == (P0, ErrorCode.unknown_topic_or_partition)
    it.logs[P0] = log
    it.pass_time(2)
    assert it.read() == ["a"]


def test_an_unknown_partition_is_told_too():
    it = reading("a")
    it.positions.assign({P1: 0})
    it.pass_time(2)
    it.view.stale()
    it.pass_time(2)
    assert [each.code for each in it.positions.troubles] == [KafkaError._UNKNOWN_PARTITION]
    assert it.read() == ["a"], "the other is none the worse"


# -- the group's offsets ---------------------------------------------------------------------


class Group:
    """What the group has committed; told when the test says so."""

    def __init__(self, it):
        self.asked = []
        it.positions._committed = lambda partitions, then, now: self.asked.append(
            (list(partitions), then)
        )


@pytest.fixture
def grouped():
    it = reading("a", "b", "c")
    it.group = Group(it)
    return it


class Row:
    def __init__(self, offset, epoch=-1):
        self.offset, self.epoch = offset, epoch


def test_a_group_goes_on_where_it_has_committed(grouped):
    assert grouped.read() == []
    ((partitions, then),) = grouped.group.asked
    assert partitions == [P0]
    then({P0: Row(2, epoch=0)})
    assert grouped.read() == ["c"]
    assert grouped.requests(Api.OFFSET_FOR_LEADER_EPOCH), "the commit may be of a lost history"


def test_a_group_that_has_committed_nothing_begins_by_the_policy(grouped):
    grouped.settle()
    grouped.group.asked[0][1]({P0: Row(-1)})
    assert grouped.read() == ["a", "b", "c"]


def test_an_answer_about_committed_offsets_that_comes_after_a_seek_is_too_late(grouped):
    grouped.settle()
    grouped.positions.seek(P0, 2)
    grouped.group.asked[0][1]({P0: Row(0)})
    assert grouped.read() == ["c"]


# -- a pause while an answer is awaited -------------------------------------------------------


def test_a_pause_leaves_the_question_about_committed_offsets_alone(grouped):
    grouped.settle()
    grouped.positions.pause(P0, True)
    grouped.group.asked[0][1]({P0: Row(1)})
    grouped.pass_time(1)
    grouped.positions.pause(P0, False)
    assert grouped.read() == ["b", "c"]


def test_a_pause_leaves_the_question_about_the_beginning_alone(grouped):
    """An application may pause a partition in its on_assign, before anything is known of it."""
    asked = []
    grouped.positions._offsets.find = lambda *question: asked.append(question)
    grouped.settle()
    grouped.group.asked[0][1]({P0: Row(-1)})
    grouped.settle()
    grouped.positions.pause(P0, True)
    ((_, _, then),) = asked
    then(FoundOffset(0))
    grouped.pass_time(1)
    grouped.positions.pause(P0, False)
    assert grouped.read() == ["a", "b", "c"]


def test_a_pause_leaves_the_question_to_a_new_leader_alone():
    it = reading("a", "b", "c")
    it.read()
    answered, answers = it.positions.answered, []
    it.positions.answered = lambda *answer: answers.append(answer)
    it.logs[P0].elect(2)
    it.logs[P0].append("d")
    it.pass_time(2)
    assert it.place().state is PositionState.VALIDATING
    it.positions.pause(P0, True)
    answered(*answers.pop())
    it.pass_time(1)
    it.positions.pause(P0, False)
    assert it.read() == ["d"]


# -- the table -------------------------------------------------------------------------------


def test_an_application_may_seek_from_any_state():
    sought = {PositionState.RESETTING, PositionState.VALIDATING, PositionState.FETCHING}
    assert all(sought <= after for after in TRANSITIONS.values())
    assert set(TRANSITIONS) == set(PositionState)


def test_nobody_forgets_a_position_without_a_new_one():
    assert all(PositionState.UNKNOWN not in after for after in TRANSITIONS.values())
    place = AssignedPartition(P0)
    place.jump(PositionState.FETCHING, 5)
    with pytest.raises(AssertionError, match="t-0"):
        place.become(PositionState.UNKNOWN)
