"""A producer's transactions: what it asks of whom, in which order, and what it makes of answers."""

import pytest

from engine.client.core import UNSENT
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.client.producing.transaction_manager import BEFORE, ProducerState
from engine.client.values import ConsumerGroupMetadata, KafkaError
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.transacting import COORDINATOR, OF_THE_GROUP, Desk, aborts, raised, started

BIG = 150  # bytes: two of them do not fit in one batch
GROUP = ConsumerGroupMetadata("billing", 3, "m-1", "left")
PLACES = {TopicPartition("in", 2): OffsetAndMetadata(17, 4, "so far")}
FENCED = ErrorCode.producer_fenced


# -- the good path -------------------------------------------------------------------------------


def test_the_coordinator_is_found_and_asked_who_we_are() -> None:
    it = Desk({"transaction.timeout.ms": 5000})
    assert it.asks() == [], "it is the application that begins"
    operation = it.core.init()
    find = it.answer(Api.FIND_COORDINATOR)
    assert (find.request.key, find.request.key_type) == ("till-1", 1)
    init = it.answer(Api.INIT_PRODUCER_ID, producer_id=9, epoch=4)
    assert init.to == COORDINATOR
    assert (init.request.transactional_id, init.request.producer_id) == ("till-1", -1)
    assert init.request.transaction_timeout.total_seconds() == 5
    assert operation.done and operation.error is None
    assert it.core.state is ProducerState.READY and it.core.producer == (9, 4)


def test_batches_wait_until_their_partition_is_added() -> None:
    it = started()
    it.add(0, b"a")
    it.add(1, b"b")
    ask = it.answer(Api.ADD_PARTITIONS_TO_TXN)
    request = ask.request
    assert (ask.to, request.transactional_id) == (COORDINATOR, "till-1")
    assert (request.producer_id, request.producer_epoch) == (7, 0)
    (topic,) = request.topics
    assert (topic.name, topic.partitions) == ("t", (0, 1))
    sent = it.produces()
    assert [each.values for each in sent] == [{0: ["a"]}, {1: ["b"]}]
    for each in sent:
        assert each.ask.request.transactional_id == "till-1"
        assert each.header.is_transactional and each.numbers == (7, 0, 0)


def test_a_partition_is_added_once_in_each_transaction() -> None:
    it = started()
    it.write(b"a")
    it.add(0, b"b")
    it.add(2, b"c")
    sent, add = it.asks()
    assert sent.api is Api.PRODUCE and add.about == {("t", 2)}, "the first need not wait"
    it.say(add)
    it.produced()
    it.sender.reports.clear()


def test_a_commit_ends_the_transaction_when_all_is_delivered() -> None:
    it = started()
    it.add(0, b"1" * BIG, b"2" * BIG)
    operation = it.core.commit()
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    (first,) = it.produces()
    assert it.asks() == []
    first.answer()
    (second,) = it.produces()
    assert it.asks() == [], "what is on the wire is not delivered yet"
    second.answer()
    end = it.answer(Api.END_TXN)
    assert (end.to, end.request.committed) == (COORDINATOR, True)
    assert operation.done and operation.error is None
    it.core.returned(operation)
    it.core.begin()
    it.write(b"3")
    assert it.core.producer == (7, 0)


def test_a_transaction_without_anything_is_never_heard_of() -> None:
    it = started()
    operation = it.core.commit()
    assert it.asks() == []
    assert operation.done and it.core.state is ProducerState.READY


def test_an_abort_gives_up_what_is_not_sent_and_waits_for_what_is() -> None:
    it = started()
    it.add(0, b"1" * BIG, b"2" * BIG)
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    (first,) = it.produces()
    operation = it.core.abort()
    assert it.asks() == []
    assert [(value[0], error) for value, error, _ in it.told] == [("2", "_PURGE_QUEUE")]
    first.answer()
    end = it.answer(Api.END_TXN)
    assert not end.request.committed and operation.done
    it.core.returned(operation)
    assert it.core.state is ProducerState.READY and it.core.producer == (7, 0), (
        "no number is missing"
    )
    it.core.begin()
    it.add(0, b"3")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    assert it.produces()[0].numbers == (7, 0, 1)


def test_what_may_have_been_stored_is_sent_again_even_in_an_abort() -> None:
    it = started()
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN)
    it.produces()[0].fail()
    it.core.abort()
    (again,) = it.produces(0.1)
    again.answer(ErrorCode.duplicate_sequence_number)
    it.answer(Api.END_TXN)
    assert it.core.state is ProducerState.READY


# -- offsets -------------------------------------------------------------------------------------


def test_offsets_go_to_the_coordinator_of_the_group() -> None:
    it = started()
    operation = it.core.send_offsets(PLACES, GROUP)
    add = it.answer(Api.ADD_OFFSETS_TO_TXN)
    assert (add.to, add.request.group_id, add.request.producer_id) == (COORDINATOR, "billing", 7)
    find = it.answer(Api.FIND_COORDINATOR)
    assert (find.request.key, find.request.key_type) == ("billing", 0)
    assert not operation.done
    commit = it.answer(Api.TXN_OFFSET_COMMIT)
    request = commit.request
    assert (commit.to, request.transactional_id) == (OF_THE_GROUP, "till-1")
    assert (request.group_id, request.generation_id) == ("billing", 3)
    assert (request.member_id, request.group_instance_id) == ("m-1", "left")
    (row,) = request.topics[0].partitions
    assert (row.partition_index, row.committed_offset) == (2, 17)
    assert (row.committed_leader_epoch, row.committed_metadata) == (4, "so far")
    assert operation.done and operation.error is None
    it.core.returned(operation)
    it.core.commit()
    assert it.answer(Api.END_TXN).request.committed, "offsets are something to commit"


@pytest.mark.parametrize("code", ["illegal_generation", "unknown_member_id", "fenced_instance_id"])
def test_offsets_of_somebody_who_owns_them_no_more_end_the_transaction(code: str) -> None:
    it = started()
    operation = it.core.send_offsets(PLACES, GROUP)
    it.answer(Api.ADD_OFFSETS_TO_TXN)
    it.answer(Api.FIND_COORDINATOR)
    it.answer(Api.TXN_OFFSET_COMMIT, ErrorCode[code])
    assert aborts(operation) == ErrorCode[code]
    it.core.returned(operation)
    it.core.abort()
    it.answer(Api.END_TXN)
    assert it.core.state is ProducerState.READY and it.core.producer == (7, 0)


def test_offsets_that_nobody_waits_for_are_given_up_by_an_abort() -> None:
    it = started()
    it.core.send_offsets(PLACES, GROUP)
    it.answer(Api.ADD_OFFSETS_TO_TXN)
    it.core.abort()
    it.answer(Api.END_TXN)
    assert it.core.state is ProducerState.READY


# -- what passes ---------------------------------------------------------------------------------


def test_while_the_last_transaction_is_still_ending_the_first_partition_waits_a_little() -> None:
    it = started()
    it.add(0, b"a")
    it.answer(Api.ADD_PARTITIONS_TO_TXN, ErrorCode.concurrent_transactions)
    assert it.asks(0.015) == [] and it.core.due() == pytest.approx(0.02)
    it.add(1, b"b")
    ask = it.answer(Api.ADD_PARTITIONS_TO_TXN, after=0.02)
    assert ask.about == {("t", 0), ("t", 1)}, "what is true by then"


@pytest.mark.parametrize(
    "code", ["concurrent_transactions", "coordinator_load_in_progress", "request_timed_out"]
)
def test_what_passes_is_asked_again_after_a_pause(code: str) -> None:
    it = started()
    it.write(b"a")
    operation = it.core.commit()
    it.answer(Api.END_TXN, ErrorCode[code])
    assert it.asks(0.09) == [] and not operation.done
    it.answer(Api.END_TXN, after=0.02)
    assert operation.done


@pytest.mark.parametrize("code", ["not_coordinator", "coordinator_not_available"])
def test_another_coordinator_is_looked_for(code: str) -> None:
    it = started()
    it.write(b"a")
    it.core.commit()
    it.answer(Api.END_TXN, ErrorCode[code])
    assert it.asks(0.09) == []
    it.answer(Api.FIND_COORDINATOR, ErrorCode.coordinator_not_available, after=0.02)
    it.answer(Api.FIND_COORDINATOR, after=0.1)
    it.answer(Api.END_TXN)
    assert it.core.state is ProducerState.READY


@pytest.mark.parametrize("api", [Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN])
def test_what_may_have_been_done_is_repeated_though_it_is_to_be_aborted(api: Api) -> None:
    it = started()
    if api is Api.ADD_PARTITIONS_TO_TXN:
        it.add(0, b"a", told=False)
    else:
        it.core.send_offsets(PLACES, GROUP)
    ask = it.ask(api)
    it.lose(ask)
    it.core.abort()
    it.answer(Api.FIND_COORDINATOR, after=0.1)
    it.answer(api, ErrorCode.coordinator_load_in_progress)  # which tells nothing of the first time
    assert it.answer(api, after=0.11).request == ask.request
    assert not it.answer(Api.END_TXN).request.committed
    assert it.core.state is ProducerState.READY


def test_what_was_never_sent_need_not_be_ended() -> None:
    it = started()
    it.add(0, b"a", told=False)
    it.lose(it.ask(Api.ADD_PARTITIONS_TO_TXN), UNSENT)
    it.core.abort()
    assert it.asks(0.1) == []
    assert it.core.state is ProducerState.READY


def test_an_end_whose_answer_was_lost_is_asked_for_again() -> None:
    it = started()
    it.write(b"a")
    operation = it.core.commit()
    it.lose(it.ask(Api.END_TXN))
    it.answer(Api.FIND_COORDINATOR, after=0.1)
    assert it.answer(Api.END_TXN).request.committed
    assert operation.done and operation.error is None


# -- calls ---------------------------------------------------------------------------------------


def test_calls_come_in_their_order() -> None:
    it = Desk()
    for call in (it.core.begin, it.core.commit, it.core.abort, it.core.check_open):
        error = raised(call)
        assert error == KafkaError._STATE and "Uninitialized" in error.str()
    assert raised(it.core.send_offsets, PLACES, GROUP) == KafkaError._STATE
    it.start()
    for call in (it.core.begin, it.core.init):
        assert "InTransaction" in raised(call).str()


def test_a_call_that_is_not_over_is_resumed_and_no_other_comes_between() -> None:
    it = Desk()
    operation = it.core.init()
    assert it.core.init() is operation
    error = raised(it.core.begin)
    assert error == KafkaError._CONFLICT and error.retriable()
    assert error.str() == "Conflicting init_transactions API call is already in progress"
    it.answer(Api.FIND_COORDINATOR)
    it.answer(Api.INIT_PRODUCER_ID)
    assert raised(it.core.begin) == KafkaError._CONFLICT, "the application has not heard of it yet"
    assert it.core.init() is operation and operation.done
    it.core.returned(operation)
    it.core.begin()
    it.write(b"a")
    operation = it.core.commit()
    assert raised(it.core.abort) == KafkaError._CONFLICT
    assert it.core.commit() is operation


def test_the_same_offsets_are_sent_once_and_others_after_them() -> None:
    it = started()
    first = it.core.send_offsets(PLACES, GROUP)
    assert it.core.send_offsets(PLACES, GROUP) is first
    second = it.core.send_offsets({TopicPartition("in", 2): OffsetAndMetadata(18)}, GROUP)
    assert second is not first
    assert raised(it.core.commit) == KafkaError._CONFLICT
    it.answer(Api.ADD_OFFSETS_TO_TXN)
    it.answer(Api.FIND_COORDINATOR)
    it.answer(Api.TXN_OFFSET_COMMIT)
    assert first.done and not second.done
    it.answer(Api.ADD_OFFSETS_TO_TXN)
    it.answer(Api.TXN_OFFSET_COMMIT)
    assert second.done


def test_every_state_has_a_way_in_and_all_but_one_a_way_out() -> None:
    assert BEFORE.keys() == set(ProducerState)
    starts = {state for state in ProducerState if not BEFORE[state]}
    sources = frozenset().union(*BEFORE.values())
    ends = set(ProducerState) - sources
    assert (starts, ends) == ({ProducerState.UNINITIALIZED}, {ProducerState.FATAL_ERROR})
