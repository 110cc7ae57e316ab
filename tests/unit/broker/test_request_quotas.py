"""The time that a request takes of the event loop, and what a throttled consumer gets."""

import asyncio
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest
from kio.schema.fetch.v12.request import FetchRequest

from engine.broker import request_quotas
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.request_quotas import TimedWork, limited
from engine.model import TopicPartition
from engine.wire.fetch import FetchAnswer, FetchedPartition, FetchedTopic

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock is a nanosecond later."""
    monkeypatch.setattr(request_quotas, "perf_counter_ns", count().__next__)


def test_a_request_that_waits_takes_no_time(clock):
    async def work():
        for _ in range(3):
            await asyncio.sleep(0)
        return "done"

    async def run():
        timed = TimedWork(work())
        assert await timed == "done"
        return timed.spent

    assert asyncio.run(run()) == 4  # the steps between three waits


def test_an_error_comes_through(clock):
    async def work():
        await asyncio.sleep(0)
        raise ValueError("no")

    async def run():
        timed = TimedWork(work())
        with pytest.raises(ValueError, match="no"):
            await timed
        return timed.spent

    assert asyncio.run(run()) == 2


def test_a_cancellation_goes_in_and_may_be_caught(clock):
    cleaned = []

    async def work():
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    async def wait(timed):
        return await timed

    async def run():
        task = asyncio.create_task(wait(TimedWork(work())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert cleaned == [True]


def fetched(session_id):
    topic = FetchedTopic("orders", [FetchedPartition(0, records=b"...")])
    return FetchAnswer([topic], session_id=session_id)


def sessions(epoch):
    """With one session, at the request of that epoch; nothing is due in it."""
    made = FetchSessions(10, Random(1))
    replicas = SimpleNamespace(watch=lambda *_: None, unwatch=lambda *_: None)
    row = SimpleNamespace(
        partition=0,
        fetch_offset=0,
        partition_max_bytes=1,
        current_leader_epoch=-1,
        log_start_offset=-1,
        last_fetched_epoch=-1,
    )
    request = SimpleNamespace(
        session_id=0,
        session_epoch=0,
        replica_id=-1,
        topics=[SimpleNamespace(topic="orders", partitions=[row])],
        forgotten_topics_data=(),
    )
    session = made.begin(request, replicas, 0)
    session.is_news(ORDERS, 5, 0)
    if epoch:
        request.session_id, request.session_epoch, request.topics = session.id, epoch, []
        assert made.begin(request, replicas, 0) is session
        assert not session.is_news(ORDERS, 5, 0)
    session.due.clear()
    return made, session


def test_what_is_not_sent_is_due_again():
    made, session = sessions(epoch=1)
    empty = made.withhold(fetched(session.id))
    assert (empty.responses, empty.session_id) == ([], session.id)
    assert list(session.due) == [ORDERS]
    assert session.is_news(ORDERS, 5, 0)  # the client has not heard of it


def test_a_session_without_a_first_answer_is_closed():
    made, session = sessions(epoch=0)
    empty = made.withhold(fetched(session.id))
    assert (empty.responses, empty.session_id, len(made)) == ([], 0, 0)


@pytest.mark.parametrize(
    ("most", "max_bytes", "min_bytes"),
    [(None, 1000, 500), (2000.0, 1000, 500), (700.9, 700, 500), (100.0, 100, 100), (0.0, 0, 0)],
)
def test_a_consumer_asks_for_no_more_than_its_quota_can_allow(most, max_bytes, min_bytes):
    request = FetchRequest(
        replica_id=-1,
        max_wait=0,
        min_bytes=500,
        max_bytes=1000,
        topics=(),
        forgotten_topics_data=(),
    )
    got = limited(request, most)
    assert (got.max_bytes, got.min_bytes) == (max_bytes, min_bytes)
