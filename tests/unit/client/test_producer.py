"""The application's side of a producer, with a broker that says what no real one would."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace as Message
from typing import Any
from unittest.mock import patch

import pytest

from engine.client.producer import Producer
from engine.client.values import KafkaError, KafkaException
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, metadata, produced


@contextmanager
def at_work(answers: Any = None, **settings: Any) -> Iterator[tuple[Producer, FakeBroker]]:
    """A producer, and the only broker, which leads the one partition of `t`."""

    def tell(request: Any) -> Any:
        return metadata({1: broker.address}, {"t": [1]}, request)

    given = {
        key if callable(value) else key.replace("_", "."): value for key, value in settings.items()
    }
    with FakeBroker({Api.METADATA: tell, Api.PRODUCE: produced} | (answers or {})) as broker:
        producer = Producer({"bootstrap.servers": str(broker.address)} | given)
        yield producer, broker
        producer.close(0)


def identity(code: ErrorCode) -> Any:
    return lambda request: Message(error_code=code, producer_id=-1, producer_epoch=-1)


def test_a_fatal_error_ends_a_producer_and_everybody_hears_of_it() -> None:
    heard: list[Any] = []
    told: list[Any] = []
    answers = {Api.INIT_PRODUCER_ID: identity(ErrorCode.cluster_authorization_failed)}
    with at_work(answers, enable_idempotence=True, error_cb=heard.append) as (producer, _):
        producer.produce("t", b"a", on_delivery=lambda error, _: told.append(error))
        assert producer.flush(20) == 0
        assert told == [KafkaError._FATAL] and told[0].fatal()
        producer.poll(0)
        assert heard == [KafkaError._FATAL]
        with pytest.raises(KafkaException) as caught:
            producer.produce("t", b"b")
        assert caught.value.args[0].fatal()


def test_a_full_buffer_is_told_after_max_block_ms_and_room_comes_back() -> None:
    stuck = True

    def refuse(request: Any) -> Any:
        code = ErrorCode.not_enough_replicas if stuck else ErrorCode.none
        return produced(request, code)

    settings = {"buffer_memory": 400, "max_block_ms": 50, "retry_backoff_ms": 1}
    with at_work({Api.PRODUCE: refuse}, **settings) as (producer, _):
        producer.produce("t", bytes(200))
        with pytest.raises(BufferError, match=r"the buffer is full: 1 records wait .*max.block.ms"):
            producer.produce("t", bytes(200))
        stuck = False
        assert producer.flush(20) == 0
        producer.produce("t", bytes(200))
        assert producer.flush(20) == 0


def test_a_fatal_error_while_a_call_waits_is_raised_by_it() -> None:
    def refuse(request: Any) -> Any:
        waits = producer._accumulator.log.waiting
        return produced(
            request,
            ErrorCode.cluster_authorization_failed if waits else ErrorCode.not_enough_replicas,
        )

    identified = Message(error_code=ErrorCode.none, producer_id=1, producer_epoch=0)
    answers = {Api.PRODUCE: refuse, Api.INIT_PRODUCER_ID: lambda request: identified}
    settings = {"buffer_memory": 400, "retry_backoff_ms": 1, "enable_idempotence": True}
    with at_work(answers, **settings) as (producer, _):
        producer.produce("t", bytes(200))
        with pytest.raises(KafkaException) as caught:
            producer.produce("t", bytes(200))
        assert caught.value.args[0].fatal()
        assert len(producer) <= 1, "the second record is not in the buffer"


def test_a_call_that_waits_for_room_hears_that_the_producer_was_closed() -> None:
    answers = {Api.PRODUCE: lambda request: produced(request, ErrorCode.not_enough_replicas)}
    with at_work(answers, buffer_memory=400, retry_backoff_ms=1) as (producer, _):
        producer.produce("t", bytes(200))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(producer.produce, "t", bytes(200))
            with producer._network.lock:
                assert producer._network.wait(lambda: producer._accumulator.log.waiting, 20)
            producer.close(0)
            with pytest.raises(RuntimeError, match="closed"):
                waiting.result(20)


def test_a_partition_that_brokers_do_not_know_yet_is_asked_for_again() -> None:
    counts = iter([1] * 5)

    def tell(request: Any) -> Any:
        return metadata({1: broker.address}, {"t": [1] * next(counts, 2)}, request)

    with at_work(retry_backoff_ms=1) as (producer, broker):
        broker.answers[Api.METADATA] = tell
        producer.produce("t", b"a", partition=1)
        assert producer.flush(20) == 0


def test_max_block_ms_counts_once_for_metadata_and_room() -> None:
    """The second wait gets what the first one has left."""
    waits: list[float] = []
    with at_work(buffer_memory=400, max_block_ms=60_000) as (producer, _):
        producer.produce("t", b"a")
        assert producer.flush(20) == 0
        began = time.monotonic()
        with (
            producer._network.lock,
            patch.object(producer._network, "wait", lambda holds, timeout: waits.append(timeout)),
        ):
            for until in (began + 5, began - 5):
                with pytest.raises(BufferError):
                    producer._await_room(300, until)
    assert waits[0] <= 5 and waits[1] <= 0


def test_without_a_leader_a_record_waits_for_one_and_is_given_up() -> None:
    def tell(request: Any) -> Any:
        return metadata({1: broker.address}, {"t": [-1]}, request)

    told: list[Any] = []
    with at_work(delivery_timeout_ms=100) as (producer, broker):
        broker.answers[Api.METADATA] = tell
        producer.produce("t", b"a", on_delivery=lambda error, _: told.append(error))
        assert producer.flush(20) == 0
    assert told == [KafkaError._MSG_TIMED_OUT]


def test_metadata_grows_old() -> None:
    """A producer asks for metadata after metadata.max.age.ms, also without an error."""
    with at_work(metadata_max_age_ms=10, retry_backoff_ms=1) as (producer, _):
        producer.produce("t", b"a")
        producer.flush(20)
        with producer._network.lock:
            seen = producer._view.version
            assert producer._network.wait(lambda: producer._view.version > seen + 2, 20)


def test_a_configuration_may_come_as_words_and_none_at_all_is_refused() -> None:
    with pytest.raises(KafkaException, match="Missing required configuration"):
        Producer()
    with pytest.raises(TypeError):
        Producer(5)  # type: ignore[arg-type]
