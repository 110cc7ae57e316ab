"""A range of offsets is read from a leader that answers as it is told."""

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage import control
from engine.storage.control import ControlType, Marker
from engine.storage.records import Record, encode
from engine.wire.apis import Api
from sparkstreams.range_reader import RangeReader
from sparkstreams.source_options import ReadOptions
from sparkstreams.splits import Split

NOW = 1_700_000_000_000
ANN, BOB = 7001, 7002  # producers
GONE = ApiException(ErrorCode.network_exception, "the connection broke")


class Leader:
    """The cluster and its only broker: what it was asked, and what it has to say to that."""

    def __init__(self, *answers: Any, log: tuple[int, int] = (0, 100)) -> None:
        self.asked: list[int] = []  # the offsets of fetches
        self.isolation = 0
        self._answers = list(answers)  # the last one it gives again and again
        self._log = log  # first and last offset, for ListOffsets

    def topic(self, name: str) -> None: ...

    def leader(self, partition: Any) -> int:
        return 1

    def retry(self, attempt: Any) -> Any:
        while True:
            try:
                return attempt()
            except ApiException as error:
                if error is not GONE:
                    raise

    def submit(self, broker: int, api: Api, request: Any) -> str:
        assert broker == 1 and api is Api.FETCH
        self.asked.append(request.topics[0].partitions[0].fetch_offset)
        self.isolation = request.isolation_level
        return "a fetch"

    def result(self, sent: Any) -> Any:
        assert sent == "a fetch"
        said = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(said, ApiException):
            raise said
        topics = [SimpleNamespace(topic="orders", partitions=[said])] if said else []
        return SimpleNamespace(error_code=ErrorCode.none, responses=topics)

    def ask(self, broker: int, api: Api, request: Any) -> Any:
        assert broker == 1 and api is Api.LIST_OFFSETS and len(self.asked) > 0
        earliest = request.topics[0].partitions[0].timestamp == -2
        found = SimpleNamespace(
            partition_index=0,
            error_code=ErrorCode.none,
            offset=self._log[not earliest],
            timestamp=-1,
            leader_epoch=0,
        )
        return SimpleNamespace(topics=[SimpleNamespace(name="orders", partitions=[found])])


def answer(
    *batches: bytes,
    end: int = 100,
    stable: int | None = None,
    aborted: tuple[tuple[int, int], ...] = (),
    error: ErrorCode = ErrorCode.none,
) -> Any:
    """Of the leader; the log has offsets below `end`, and what is below `stable` is decided."""
    return SimpleNamespace(
        partition_index=0,
        error_code=error,
        high_watermark=end,
        last_stable_offset=end if stable is None else stable,
        aborted_transactions=[
            SimpleNamespace(producer_id=producer, first_offset=first) for producer, first in aborted
        ],
        records=memoryview(b"".join(batches)),
    )


def orders(first: int, count: int, **more: Any) -> bytes:
    made = [Record(first + n, NOW + n, None, b"order") for n in range(count)]
    return encode(made, base_offset=first, **more)


def of(producer: int, first: int, count: int = 1) -> bytes:
    """A part of a transaction."""
    return orders(first, count, producer_id=producer, transactional=True)


def marker(producer: int, offset: int, kind: ControlType) -> bytes:
    """The end of a transaction; an offset like any other, but no order."""
    record = Record(offset, NOW, *control.encode(Marker(kind, 0)))
    words: dict[str, Any] = {"transactional": True, "control": True}
    return encode([record], base_offset=offset, producer_id=producer, **words)


def reading(leader: Leader, start: int, end: int, **given: str) -> Iterator[Any]:
    options = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "orders"} | given
    split = Split("orders", 0, start, end)
    return RangeReader(leader, split, ReadOptions.of(options)).read()  # type: ignore[arg-type]


def offsets(leader: Leader, start: int, end: int, **given: str) -> list[int]:
    found = reading(leader, start, end, **given)
    return [offset for each in found for offset in each.column("offset").to_pylist()]


COMMITTED = {"kafka.isolation.level": "read_committed"}

# -- the usual -------------------------------------------------------------------------------


def test_the_next_fetch_is_on_its_way_before_records_are_handed_out() -> None:
    leader = Leader(answer(orders(0, 5)), answer(orders(5, 5)), answer(orders(10, 5)))
    found = reading(leader, 0, 12)
    assert next(found).num_rows == 5 and leader.asked == [0, 5]
    assert next(found).num_rows == 5 and leader.asked == [0, 5, 10]
    assert next(found).num_rows == 2
    assert next(found, None) is None and leader.asked == [0, 5, 10]


def test_a_batch_may_begin_before_the_range_and_end_behind_it() -> None:
    assert offsets(Leader(answer(orders(0, 10))), 3, 7) == [3, 4, 5, 6]


def test_what_was_read_is_not_read_again_when_the_leader_is_gone() -> None:
    leader = Leader(answer(orders(0, 5)), GONE, GONE, answer(orders(0, 5), orders(5, 5)))
    assert offsets(leader, 0, 10) == list(range(10))
    assert leader.asked == [0, 5, 5, 5]


def test_a_broker_that_holds_us_back_answers_nothing() -> None:
    with pytest.raises(ApiException, match=r"orders-0: offsets 0 to 4 .* throttles"):
        offsets(Leader(None), 0, 5)


def test_an_error_that_does_not_pass_names_what_was_not_read() -> None:
    refused = answer(error=ErrorCode.topic_authorization_failed)
    with pytest.raises(ApiException, match=r"orders-0: offsets 3 to 8 .* topic authorization"):
        offsets(Leader(refused), 3, 9)


# -- what is not there -----------------------------------------------------------------------


def test_compaction_took_the_rest_of_the_range() -> None:
    """The log goes on behind the range, and between there is nothing."""
    assert offsets(Leader(answer(orders(0, 2)), answer(orders(50, 3))), 0, 40) == [0, 1]
    assert offsets(Leader(answer(orders(0, 2)), answer()), 0, 40) == [0, 1]


def test_a_follower_that_became_leader_may_not_know_yet_how_far_the_log_goes() -> None:
    assert offsets(Leader(answer(end=3), answer(orders(0, 10))), 0, 10) == list(range(10))


def test_control_records_are_never_shown() -> None:
    leader = Leader(answer(of(ANN, 0), marker(ANN, 1, ControlType.ABORT), orders(2, 1)))
    assert offsets(leader, 0, 3) == [0, 2] and leader.isolation == 0


def test_transactions_that_came_to_nothing_are_left_out_if_wanted() -> None:
    """Ann gives up her first transaction and commits her second; Bob is not concerned."""
    log = (
        of(ANN, 0, 2),
        of(BOB, 2),
        orders(3, 1, producer_id=ANN),  # not in a transaction
        marker(ANN, 4, ControlType.ABORT),
        of(ANN, 5),
        marker(BOB, 6, ControlType.COMMIT),
        marker(ANN, 7, ControlType.COMMIT),
        orders(8, 1),
    )
    leader = Leader(answer(*log, aborted=((ANN, 0),)))
    assert offsets(leader, 0, 9, **COMMITTED) == [2, 3, 5, 8] and leader.isolation == 1
    assert offsets(Leader(answer(*log, aborted=((ANN, 0),))), 1, 9, **COMMITTED) == [2, 3, 5, 8]


def test_an_aborted_transaction_goes_on_in_the_next_answer() -> None:
    first = answer(orders(0, 1), of(ANN, 1), aborted=((ANN, 1),))
    then = answer(of(ANN, 2), marker(ANN, 3, ControlType.ABORT), of(ANN, 4), aborted=((ANN, 1),))
    assert offsets(Leader(first, then), 0, 5, **COMMITTED) == [0, 4]


def test_a_marker_that_compaction_emptied() -> None:
    empty = encode([], base_offset=1, last_offset=1, producer_id=ANN, transactional=True)
    bare = encode(
        [], base_offset=2, last_offset=2, producer_id=ANN, transactional=True, control=True
    )
    leader = Leader(answer(of(ANN, 0), empty, bare, orders(3, 1), aborted=((ANN, 0),)))
    assert offsets(leader, 0, 4, **COMMITTED) == [3]


def test_an_open_transaction_holds_up_who_waits_for_it() -> None:
    leader = Leader(answer(orders(0, 2), stable=2), answer(stable=2))
    impatient = {"kafkaConsumer.pollTimeoutMs": "1"}
    with pytest.raises(ApiException, match="open since offset 2 held up offsets 2 to 9"):
        offsets(leader, 0, 10, **COMMITTED, **impatient)


# -- what is gone ----------------------------------------------------------------------------

BEYOND = answer(error=ErrorCode.offset_out_of_range)


def test_retention_took_records_before_they_were_read(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(
        ApiException, match="orders-0: offsets 0 to 5 are gone: the log begins at 6"
    ):
        offsets(Leader(BEYOND, log=(6, 20)), 0, 10)
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        leader = Leader(BEYOND, answer(orders(6, 6)), log=(6, 20))
        assert offsets(leader, 0, 10, failOnDataLoss="false") == [6, 7, 8, 9]
        assert offsets(Leader(BEYOND, log=(50, 60)), 0, 10, failOnDataLoss="false") == []
    assert [each.getMessage() for each in caplog.records] == [
        "orders-0: offsets 0 to 5 are gone: the log begins at 6 now",
        "orders-0: offsets 0 to 9 are gone: the log begins at 50 now",
    ]


def test_the_log_became_shorter() -> None:
    """Its topic was made anew, or a replica that lacked the records became leader."""
    with pytest.raises(ApiException, match="offsets 8 to 9 are gone: the log ends at 3 now"):
        offsets(Leader(BEYOND, log=(0, 3)), 8, 10)
    impatient = {"kafkaConsumer.pollTimeoutMs": "1"}
    short = [answer(orders(0, 3), end=3), answer(end=3)]
    with pytest.raises(ApiException, match=r"offsets 3 to 9 are gone: for 0.001 s .* ended at 3"):
        offsets(Leader(*short), 0, 10, **impatient)
    assert offsets(Leader(*short), 0, 10, **impatient, failOnDataLoss="false") == [0, 1, 2]


def test_leaders_changed_between_two_questions() -> None:
    assert offsets(Leader(BEYOND, answer(orders(0, 5)), log=(0, 20)), 0, 5) == [0, 1, 2, 3, 4]
    with pytest.raises(ApiException, match=r"offset 3 is refused, although the log has .* 0 to 20"):
        offsets(Leader(BEYOND, log=(0, 20)), 3, 5, **{"kafkaConsumer.pollTimeoutMs": "1"})


# -- what is wrong ---------------------------------------------------------------------------


def test_a_batch_with_a_flipped_bit() -> None:
    damaged = bytearray(orders(3, 2))
    damaged[-1] ^= 1
    with pytest.raises(
        ApiException, match="orders-0: the batch at offset 3 does not match its CRC"
    ):
        offsets(Leader(answer(orders(0, 3), bytes(damaged))), 0, 5)
    trusting = {"kafka.check.crcs": "false"}
    with pytest.raises(ApiException, match=r"orders-0, offsets 0 to 4: record at byte"):
        offsets(Leader(answer(orders(0, 3), bytes(damaged))), 0, 5, **trusting)


def test_a_batch_of_an_older_format() -> None:
    old = bytearray(orders(0, 1))
    old[16] = 1
    with pytest.raises(ApiException, match="orders-0: the batch has magic 1"):
        offsets(Leader(answer(bytes(old))), 0, 5)


@pytest.mark.parametrize("nothing", [b"x" * 70, orders(0, 3), orders(0, 2)])
def test_an_answer_that_leads_nowhere_is_not_asked_for_again_and_again(nothing: bytes) -> None:
    with pytest.raises(ApiException, match="bytes at offset 3, and no batch in them"):
        offsets(Leader(answer(nothing)), 3, 5)
