"""The numbers of an idempotent producer's records: case by case.

What they are for is shown by chance: test_delivery.py."""

from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.client.core import UNSENT
from engine.client.producing.batch import ProducerBatch, ProducerIdAndEpoch
from engine.client.producing.idempotence import MAX_SEQUENCE, SequenceNumbers
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.producing import Desk, Sent

BIG = 150  # bytes: two of them do not fit in one batch

OUT_OF_ORDER = ErrorCode.out_of_order_sequence_number


def desk(**more: Any) -> Desk:
    """Somebody whom the log knows, and three batches to send: from number 1 on."""
    settings = {key.replace("_", "."): value for key, value in more.items()}
    it = Desk({"enable.idempotence": True} | settings)
    it.add(0, b"0")
    it.identify(7)
    it.step()[0].answer()
    assert told(it) == [("0", None)]
    it.add(0, *(name * BIG for name in (b"1", b"2", b"3")))
    return it


def told(it: Desk) -> list[tuple[str, str | None]]:
    return [(value[0], error) for value, error, _ in it.told]


def values(sent: list[Sent]) -> list[str]:
    return [each.values[0][0][0] for each in sent]


def test_who_it_is_is_asked_before_anything_is_sent() -> None:
    it = Desk({"enable.idempotence": True})
    assert it.step() == [], "nothing to send, nothing to ask"
    it.add(0, b"a", b"b")
    it.identify(7, epoch=3)
    (sent,) = it.step()
    assert sent.numbers == (7, 3, 0)
    sent.answer()
    it.add(0, b"c")
    assert it.step()[0].numbers == (7, 3, 2)


def test_who_it_is_is_asked_again_if_nobody_says() -> None:
    it = Desk({"enable.idempotence": True})
    it.add(0, b"a")
    (asked,) = it.step()
    assert it.step() == []
    asked.fail(UNSENT)
    it.view.is_stale = False
    it.step()
    assert it.view.is_stale, "the brokers may be others"
    assert it.step(0.05) == []
    it.now += 0.05
    it.identify(8)
    assert it.step()[0].numbers == (8, 0, 0)


def test_an_identity_that_is_refused_is_the_end() -> None:
    it = Desk({"enable.idempotence": True})
    it.add(0, b"a")
    (asked,) = it.step()
    response = Message(error_code=ErrorCode.cluster_authorization_failed)
    asked.core.answered(asked.ask, response, it.now)
    assert it.step() == []
    assert it.sender.fatal is not None and it.sender.fatal.fatal()
    assert told(it) == [("a", "_FATAL")]
    assert it.step(1) == []


def test_the_first_goes_alone() -> None:
    """Behind it the log knows us: from then on it takes nothing out of order."""
    it = Desk({"enable.idempotence": True})
    it.add(0, b"1" * BIG, b"2" * BIG)
    it.identify()
    (first,) = it.step()
    assert first.numbers == (7, 0, 0)
    first.answer(ErrorCode.not_enough_replicas)
    (first,) = it.step(0.1)
    first.answer()
    assert it.step()[0].numbers == (7, 0, 1)


def test_five_go_one_after_the_other_with_their_numbers() -> None:
    it = desk()
    assert [each.numbers for each in it.step()] == [(7, 0, 1), (7, 0, 2), (7, 0, 3)]


def test_an_answer_that_was_lost_is_asked_for_again_with_the_same_number() -> None:
    it = desk()
    for each in it.step():
        each.fail()
    (again,) = it.step(0.1)
    assert again.numbers == (7, 0, 1), "the first alone: it has to be known what became of it"
    again.answer(offset=0)
    (second,) = it.step()
    assert second.numbers == (7, 0, 2)
    second.answer(ErrorCode.duplicate_sequence_number, offset=-1)
    it.step()[0].answer(offset=2)
    assert [(value[0], error, offset) for value, error, offset in it.told] == [
        ("1", None, 0),
        ("2", None, -1),
        ("3", None, 2),
    ]


def test_order_is_kept_when_the_first_of_several_is_refused() -> None:
    it = desk()
    first, second, third = it.step()
    first.answer(ErrorCode.not_enough_replicas)
    second.answer(OUT_OF_ORDER)
    third.answer(OUT_OF_ORDER)
    order = []
    for _ in range(3):
        (again,) = it.step(0.1)
        order.append((again.numbers, values([again])))
        again.answer()
    assert order == [((7, 0, 1), ["1"]), ((7, 0, 2), ["2"]), ((7, 0, 3), ["3"])]


def test_new_batches_wait_behind_those_that_are_sent_again() -> None:
    it = desk()
    first, second, third = it.step()
    third.answer(OUT_OF_ORDER)
    it.add(0, b"4" * BIG)
    assert it.step(0.1) == [], "what became of the first two is not known"
    second.answer(OUT_OF_ORDER)
    first.answer(ErrorCode.not_enough_replicas)
    order = []
    while sent := it.step(0.1):
        order.append(values(sent))
        for each in sent:
            each.answer()
    assert order == [["1"], ["2"], ["3", "4"]]


def test_one_that_is_refused_for_good_leaves_no_gap() -> None:
    """What follows is numbered anew, under a new epoch, once nothing is on the wire."""
    it = desk()
    first, second, third = it.step()
    first.answer(ErrorCode.invalid_record)
    it.add(0, b"4" * BIG)
    assert it.step(0.1) == [], "a new one would only be refused as well"
    second.answer(OUT_OF_ORDER)
    third.answer(OUT_OF_ORDER)
    (again,) = it.step(0.1)
    assert (values([again]), again.numbers) == (["2"], (7, 1, 0))
    again.answer()
    third, last = it.step()
    assert [each.numbers for each in (third, last)] == [(7, 1, 1), (7, 1, 2)]
    third.answer()
    assert told(it) == [("1", "INVALID_RECORD"), ("2", None), ("3", None)]


def test_a_log_that_lost_what_was_acknowledged_gets_a_new_epoch() -> None:
    it = desk()
    first, second, third = it.step()
    first.answer()
    second.answer(OUT_OF_ORDER)
    third.answer(OUT_OF_ORDER)
    (again,) = it.step(0.1)
    assert (values([again]), again.numbers) == (["2"], (7, 1, 0))


def test_a_log_that_forgot_who_we_are_gets_a_new_epoch() -> None:
    it = desk()
    first, second, third = it.step()
    first.answer()
    second.answer(ErrorCode.unknown_producer_id)
    third.answer(ErrorCode.unknown_producer_id)
    assert it.step(0.1)[0].numbers == (7, 1, 0)


def test_one_that_ran_out_of_time_and_was_stored_leaves_no_gap() -> None:
    it = desk(delivery_timeout_ms=1000)
    first, second, third = it.step()
    it.now = 0.5
    it.add(0, b"4" * BIG)
    it.now = 1.0
    assert it.step() == []
    assert told(it) == [(name, "_MSG_TIMED_OUT") for name in "123"]
    for each in (first, second, third):
        each.answer()
    assert it.step()[0].numbers == (7, 0, 4), "now it is known that nothing is missing"


def test_one_that_ran_out_of_time_and_may_be_lost_does_leave_one() -> None:
    it = desk(delivery_timeout_ms=1000)
    sent = it.step()
    it.now = 0.5
    it.add(0, b"4" * BIG)
    it.now = 1.0
    it.step()
    for each in sent:
        each.fail()
    (again,) = it.step()
    assert (values([again]), again.numbers) == (["4"], (7, 1, 0))


def test_retries_that_are_used_up_may_leave_a_gap_as_well() -> None:
    it = desk(retries=1)
    first, second, third = it.step()
    for each in (first, second, third):
        each.fail()
    it.step(0.1)[0].fail()
    assert told(it) == [("1", "_TRANSPORT")]
    (again,) = it.step(0.1)
    assert (values([again]), again.numbers) == (["2"], (7, 0, 2))
    again.answer(OUT_OF_ORDER)
    assert told(it) == [("2", "OUT_OF_ORDER_SEQUENCE_NUMBER")], "this was its last attempt, too"
    (last,) = it.step(0.1)
    assert (values([last]), last.numbers) == (["3"], (7, 1, 0))


def test_pieces_take_over_the_numbers_of_the_whole() -> None:
    it = Desk({"enable.idempotence": True, "batch.size": 1000})
    it.add(0, *[b"%d" % number * 50 for number in range(8)])
    it.identify()
    it.step()[0].answer(ErrorCode.message_too_large)
    found: list[str] = []
    while pieces := it.step():
        (piece,) = pieces
        assert piece.numbers == (7, 0, len(found))
        assert 0 < len(piece.values[0]) < 8
        found += piece.values[0]
        piece.answer()
    assert [value[0] for value in found] == list("01234567")
    it.add(0, b"more")
    assert it.step()[0].numbers == (7, 0, 8)


def test_nothing_is_added_to_a_piece() -> None:
    it = Desk({"enable.idempotence": True, "batch.size": 1000})
    it.add(0, *[b"%d" % number * 50 for number in range(8)])
    it.identify()
    it.step()[0].answer(ErrorCode.message_too_large)
    it.add(0, b"more")
    found: list[tuple[int, str]] = []
    while pieces := it.step():
        for piece in pieces:
            _, _, first = piece.numbers
            found += [(first + n, value[0]) for n, value in enumerate(piece.values[0])]
            piece.answer()
    assert found == list(enumerate("01234567m"))
    it.add(0, b"next")
    assert it.step()[0].numbers == (7, 0, 9)


def test_partitions_count_for_themselves() -> None:
    it = Desk({"enable.idempotence": True}, leaders=[1, 1])
    it.add(0, b"a", b"b")
    it.add(1, b"c")
    it.identify()
    (sent,) = it.step()
    assert {n: header.base_sequence for n, (header, _) in sent.batches.items()} == {0: 0, 1: 0}
    sent.answer()
    it.add(0, b"d")
    it.add(1, b"e")
    (sent,) = it.step()
    assert {n: header.base_sequence for n, (header, _) in sent.batches.items()} == {0: 2, 1: 1}


def test_another_partition_takes_the_new_epoch_when_it_is_at_rest() -> None:
    it = Desk({"enable.idempotence": True}, leaders=[1, 2])
    it.add(0, b"a")
    it.add(1, b"b")
    it.identify()
    first, other = it.step()
    other.answer()
    it.add(1, b"c")
    (other,) = it.step()
    first.answer(ErrorCode.invalid_record)
    it.add(1, b"d")
    (after,) = it.step()
    assert after.numbers == (7, 0, 2), "one of it is still on the wire"
    other.answer()
    after.answer()
    it.add(1, b"e")
    assert it.step()[0].numbers == (7, 1, 0)


def test_after_the_last_epoch_comes_a_new_producer() -> None:
    it = Desk({"enable.idempotence": True})
    it.add(0, b"a")
    it.identify(7, epoch=2**15 - 1)
    it.step()[0].answer(ErrorCode.invalid_record)
    it.add(0, b"b")
    (asked,) = it.step()
    assert asked.ask.api is Api.INIT_PRODUCER_ID
    response = Message(error_code=ErrorCode.none, producer_id=9, producer_epoch=0)
    asked.core.answered(asked.ask, response, it.now)
    assert it.step()[0].numbers == (9, 1, 0)


@pytest.mark.parametrize(
    "code", [ErrorCode.cluster_authorization_failed, ErrorCode.unsupported_version]
)
def test_what_an_idempotent_producer_cannot_survive(code: ErrorCode) -> None:
    it = desk()
    first, *_ = it.step()
    first.answer(code)
    assert it.sender.fatal is not None and it.sender.fatal.fatal()
    assert {error for _, error in told(it)} <= {"_FATAL", ApiException(code).code.name.upper()}
    assert it.accumulator.records == 0


def test_a_purge_leaves_no_gap() -> None:
    it = desk()
    sent = it.step()
    it.sender.purge(queued=True, in_flight=True, now=0)
    for each in sent:
        each.fail()
    it.add(0, b"4" * BIG)
    assert it.step(0.1)[0].numbers == (7, 1, 0)


def test_after_the_last_number_comes_0() -> None:
    numbers, who = SequenceNumbers(), ProducerIdAndEpoch(7, 0)
    numbers.restart(who)
    numbers._next, numbers._stored = MAX_SEQUENCE, MAX_SEQUENCE - 1
    batches = [ProducerBatch(TopicPartition("t", 0), 0.0) for _ in range(2)]
    for batch in batches:
        batch.builder.append(None, b"a", 0)
        batch.builder.append(None, b"b", 0)
        numbers.assign(batch, who)
    assert [batch.sequence for batch in batches] == [MAX_SEQUENCE, 1]
    for batch in batches:
        numbers.stored(batch)
    numbers.unsure = True
    numbers.settle()
    assert not numbers.gap


def test_two_that_are_too_large_are_split_in_the_order_of_their_numbers() -> None:
    it = Desk({"enable.idempotence": True, "batch.size": 1000})
    it.add(0, b"first")
    it.identify()
    it.step()[0].answer()
    sent = []
    for first in (0, 8):
        it.add(0, *[b"%02d" % number * 25 for number in range(first, first + 8)])
        sent += it.step()
    assert len(sent) == 2
    for each in sent:
        each.answer(ErrorCode.message_too_large)
    found: list[str] = []
    while pieces := it.step():
        (piece,) = pieces
        assert piece.numbers == (7, 0, 1 + len(found))
        found += piece.values[0]
        piece.answer()
    assert [value[:2] for value in found] == [f"{number:02}" for number in range(16)]
