"""Transactions as an application sees them, with a broker that answers what it is told to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace as Message
from typing import Any

import confluent_kafka
import pytest

from engine.client import values
from engine.client.producer import Producer
from engine.client.values import ConsumerGroupMetadata, KafkaError, KafkaException, TopicPartition
from engine.errors import ErrorCode
from engine.storage.batch import Header
from engine.wire.apis import Api
from tests.limits import ANSWER_S
from tests.unit.client import transacting
from tests.unit.client.answers import found
from tests.unit.client.fake import NOTHING, FakeBroker, metadata, produced

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
GROUP = ConsumerGroupMetadata("billing", 3, "m")
PLACES = [TopicPartition("t", 0, 17)]
BOTH = pytest.mark.parametrize(
    ("producer", "consumer", "codes"),
    [
        (Producer, lambda: GROUP, values.KafkaError),
        (
            confluent_kafka.Producer,
            lambda: confluent_kafka.Consumer(
                NOBODY | {"group.id": "billing"}
            ).consumer_group_metadata(),
            confluent_kafka.KafkaError,
        ),
    ],
    ids=["ours", "confluent"],
)


def answers(code: ErrorCode = ErrorCode.none) -> dict[Api, Any]:
    """All goes well; or it is `code` that a transaction ends with."""
    done = Message(error_code=ErrorCode.none)
    return {
        Api.PRODUCE: produced,
        Api.FIND_COORDINATOR: lambda request: found(1),
        Api.INIT_PRODUCER_ID: lambda request: Message(
            error_code=ErrorCode.none, producer_id=7, producer_epoch=0
        ),
        Api.ADD_PARTITIONS_TO_TXN: lambda request: transacting.added(
            {
                (topic.name, number): ErrorCode.none
                for topic in request.topics
                for number in topic.partitions
            }
        ),
        Api.ADD_OFFSETS_TO_TXN: lambda request: done,
        Api.TXN_OFFSET_COMMIT: committed,
        Api.END_TXN: lambda request: Message(error_code=code),
    }


def committed(request: Any) -> Any:
    row = Message(partition_index=0, error_code=ErrorCode.none)
    return Message(topics=(Message(name=request.topics[0].name, partitions=(row,)),))


@contextmanager
def at_work(more: Any = None, **settings: Any) -> Iterator[tuple[Producer, FakeBroker]]:
    """A producer, and the only broker, which leads the one partition of `t` and coordinates all."""

    def tell(request: Any) -> Any:
        return metadata({1: broker.address}, {"t": [1]}, request)

    given = {
        key if callable(value) else key.replace("_", "."): value for key, value in settings.items()
    }
    with FakeBroker({Api.METADATA: tell} | answers() | (more or {})) as broker:
        mine = {"bootstrap.servers": str(broker.address), "transactional.id": "till-1"}
        producer = Producer(mine | {"retry.backoff.ms": 5} | given)
        yield producer, broker
        producer.close(0)


def raised(call: Any, *arguments: Any) -> Any:
    with pytest.raises((KafkaException, confluent_kafka.KafkaException)) as caught:
        call(*arguments)
    return caught.value.args[0]


def asked(broker: FakeBroker) -> list[Api]:
    beside = (Api.METADATA, Api.API_VERSIONS)
    return [api for api, _, _ in broker.asked if api not in beside]


def test_a_transaction_from_its_begin_to_its_end() -> None:
    told: list[Any] = []
    with at_work() as (producer, broker):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a", on_delivery=lambda error, message: told.append(error))
        producer.send_offsets_to_transaction(PLACES, GROUP, ANSWER_S)
        assert producer.commit_transaction(ANSWER_S) is None
        assert told == [None], "a commit tells of what is delivered"
    order = asked(broker)
    assert order[:2] == [Api.FIND_COORDINATOR, Api.INIT_PRODUCER_ID]
    assert sorted(order[2:-1]) == sorted(
        [
            Api.ADD_PARTITIONS_TO_TXN,
            Api.PRODUCE,
            Api.ADD_OFFSETS_TO_TXN,
            Api.FIND_COORDINATOR,
            Api.TXN_OFFSET_COMMIT,
        ]
    )
    assert order[-1] is Api.END_TXN
    (request,) = broker.requests(Api.PRODUCE)
    assert request.transactional_id == "till-1"
    assert Header.parse(request.topic_data[0].partition_data[0].records).is_transactional
    (request,) = broker.requests(Api.TXN_OFFSET_COMMIT)
    assert (request.generation_id, request.topics[0].partitions[0].committed_offset) == (3, 17)


def test_an_abort_tells_what_was_given_up() -> None:
    told: list[Any] = []
    with at_work({Api.ADD_PARTITIONS_TO_TXN: lambda request: NOTHING}) as (producer, broker):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a", on_delivery=lambda error, message: told.append(error))
        with producer._network.lock:
            producer._network.wait(lambda: broker.requests(Api.ADD_PARTITIONS_TO_TXN), ANSWER_S)
        error = raised(producer.abort_transaction, 0.05)
        assert error == KafkaError._TIMED_OUT and error.retriable()
        assert producer.flush(ANSWER_S) == 0
        assert told == [KafkaError._PURGE_QUEUE]


def test_a_call_whose_time_was_too_short_is_resumed() -> None:
    with at_work(answers(ErrorCode.coordinator_load_in_progress)) as (producer, broker):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a")
        assert producer.flush(ANSWER_S) == 0
        assert raised(producer.commit_transaction, 0) == KafkaError._TIMED_OUT
        core = producer._transactions
        assert core is not None
        with producer._network.lock:
            assert producer._network.wait(lambda: core.trouble, ANSWER_S)
        error = raised(producer.commit_transaction, 0)
        assert error == KafkaError._TIMED_OUT and error.retriable()
        assert "retry call to resume: END_TXN: coordinator_load_in_progress" in error.str()
        assert raised(producer.abort_transaction, 0) == KafkaError._CONFLICT
        assert raised(producer.begin_transaction) == KafkaError._CONFLICT
        broker.answers |= answers()
        producer.commit_transaction(ANSWER_S)
        producer.begin_transaction()
        producer.abort_transaction(ANSWER_S)


def test_records_that_are_not_delivered_in_time_hold_up_a_commit() -> None:
    with at_work({Api.PRODUCE: lambda request: NOTHING}) as (producer, _):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a")
        error = raised(producer.commit_transaction, 0.05)
        assert error == KafkaError._TIMED_OUT and "1 message(s) remaining" in error.str()


def test_two_threads_do_not_make_the_same_call() -> None:
    with at_work({Api.FIND_COORDINATOR: lambda request: NOTHING}) as (producer, _):
        thread = threading.Thread(target=raised, args=(producer.init_transactions, ANSWER_S))
        thread.start()
        core = producer._transactions
        assert core is not None
        with producer._network.lock:
            assert producer._network.wait(lambda: core._call and core._call.awaited, ANSWER_S)
            error = raised(producer.init_transactions, 0)
        assert error == KafkaError._PREV_IN_PROGRESS and error.retriable()
    thread.join()  # the producer is closed, so there is nothing to wait for


def test_a_refused_record_is_made_good_by_an_abort() -> None:
    def refuse(request: Any) -> Any:
        return produced(request, ErrorCode.invalid_record)

    with at_work({Api.PRODUCE: refuse}) as (producer, broker):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a")
        error = raised(producer.commit_transaction, ANSWER_S)
        assert error == KafkaError.INVALID_RECORD and error.txn_requires_abort()
        error = raised(producer.produce, "t", b"b")
        assert error == KafkaError._STATE and error.txn_requires_abort()
        assert raised(producer.begin_transaction).txn_requires_abort()
        producer.abort_transaction(ANSWER_S)
        broker.answers |= answers()
        producer.begin_transaction()
        producer.produce("t", b"c")
        producer.commit_transaction(ANSWER_S)
        first, second = broker.requests(Api.INIT_PRODUCER_ID)
        assert (first.producer_id, second.producer_id) == (-1, 7)


def test_who_is_fenced_off_hears_of_it_everywhere() -> None:
    heard: list[Any] = []
    fenced = answers(ErrorCode.producer_fenced)
    with at_work(fenced, error_cb=heard.append) as (producer, _):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.produce("t", b"a")
        error = raised(producer.commit_transaction, ANSWER_S)
        assert error == KafkaError._FENCED and error.fatal()
        assert raised(producer.abort_transaction, ANSWER_S).fatal()
        assert raised(producer.produce, "t", b"b").fatal()
        producer.poll(0)
        assert heard == [KafkaError._FATAL]


def test_a_producer_is_called_after_its_transactional_id() -> None:
    with at_work() as (producer, _):
        assert producer._settings.client_id == "producer-till-1"


def test_a_closed_producer_begins_nothing() -> None:
    with at_work() as (producer, _):
        producer.close()
        with pytest.raises(RuntimeError, match="closed"):
            producer.begin_transaction()


# -- ours and confluent-kafka's ------------------------------------------------------------------


@BOTH
def test_without_a_transactional_id_there_are_no_transactions(
    producer: Any, consumer: Any, codes: Any
) -> None:
    it = producer(NOBODY)
    calls: list[tuple[Any, ...]] = [
        (it.init_transactions, 0.1),
        (it.begin_transaction,),
        (it.commit_transaction, 0.1),
        (it.abort_transaction, 0.1),
    ]
    for call in calls:
        error = raised(*call)
        assert (error.code(), error.retriable()) == (codes._NOT_CONFIGURED, False)
        assert error.str() == "The Transactional API requires transactional.id to be configured"


@BOTH
def test_calls_that_come_too_early(producer: Any, consumer: Any, codes: Any) -> None:
    it = producer(NOBODY | {"transactional.id": "till-1"})
    place = (values if producer is Producer else confluent_kafka).TopicPartition("t", 0, 17)
    calls: list[tuple[Any, ...]] = [
        (it.begin_transaction,),
        (it.commit_transaction, 0.1),
        (it.abort_transaction, 0.1),
        (it.produce, "t", b"a"),
        (it.send_offsets_to_transaction, [place], consumer(), 0.1),
    ]
    for call in calls:
        error = raised(*call)
        assert (error.code(), error.retriable(), error.fatal()) == (codes._STATE, False, False)


@BOTH
def test_nobody_to_ask(producer: Any, consumer: Any, codes: Any) -> None:
    it = producer(NOBODY | {"transactional.id": "till-1"})
    for _ in range(2):
        error = raised(it.init_transactions, 0.1)
        assert (error.code(), error.retriable()) == (codes._TIMED_OUT, True)
        assert "Timed out waiting for operation to finish, retry call to resume" in error.str()
    error = raised(it.begin_transaction)
    assert (error.code(), error.retriable()) == (codes._CONFLICT, True)


@BOTH
def test_offsets_are_places_and_come_with_the_group(
    producer: Any, consumer: Any, codes: Any
) -> None:
    it = producer(NOBODY | {"transactional.id": "till-1"})
    with pytest.raises(TypeError, match=r"expected .* found"):
        it.send_offsets_to_transaction([], "billing")
    for wrong in ("t", [1]):
        with pytest.raises(TypeError, match="TopicPartition"):
            it.send_offsets_to_transaction(wrong, consumer())


def test_offsets_that_nobody_has_come_to_are_passed_over() -> None:
    with at_work() as (producer, broker):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition("t", 0)], GROUP)
        producer.send_offsets_to_transaction([], GROUP)
        assert Api.ADD_OFFSETS_TO_TXN not in asked(broker)


def test_offsets_wait_no_longer_than_a_transaction_may_take() -> None:
    stuck = {Api.ADD_OFFSETS_TO_TXN: lambda request: NOTHING}
    with at_work(stuck, transaction_timeout_ms=30) as (producer, _):
        producer.init_transactions(ANSWER_S)
        producer.begin_transaction()
        assert raised(producer.send_offsets_to_transaction, PLACES, GROUP) == KafkaError._TIMED_OUT
