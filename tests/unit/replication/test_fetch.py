"""The leader's side of Fetch: which partitions are looked at, and who waits for what."""

import asyncio
from datetime import timedelta

import pytest
from kio.schema.fetch.v12.request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kio.schema.list_offsets.v6.request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

from engine.broker.call import Call
from engine.broker.fetch_sessions import STALE_MS
from engine.broker.handlers import fetch, offsets
from engine.broker.zookeeper.roles import change_roles
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.errors import RequestHeader
from tests.unit.replication.cluster import LAG_MS, ORDERS, batch, order, state

CALL = Call(RequestHeader(1, 12, 1, "test"), "127.0.0.1:1")
TOPICS = ("a", "b", "c")


def ask(session=(0, 0), wants=(), replica=-1, forget=(), **more):
    """`wants`: (topic, offset) of each partition that is named."""
    given = {"min_bytes": 1, "max_wait": timedelta(), "max_bytes": 1 << 20} | more
    return FetchRequest(
        replica_id=replica,
        session_id=session[0],
        session_epoch=session[1],
        topics=tuple(
            FetchTopic(
                topic=topic,
                partitions=(
                    FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20),
                ),
            )
            for topic, offset in wants
        ),
        forgotten_topics_data=tuple(
            ForgottenTopic(topic=topic, partitions=(0,)) for topic in forget
        ),
        **given,
    )


@pytest.fixture
def broker(cluster):
    rows = {TopicPartition(topic, 0): state(1, 0, (1,), (1, 2)) for topic in TOPICS}
    change_roles(cluster[1].replicas.apply, order(rows))
    return cluster[1]


def append(broker, topic, size=1):
    broker.replicas.append(TopicPartition(topic, 0), batch("x" * size), to_all=False)


def got(response):
    return {
        topic.topic: len(each.records) for topic in response.responses for each in topic.partitions
    }


class Counted:
    """How often the replicas were read."""

    def __init__(self, broker):
        self.count, self._read = 0, broker.replicas.read
        broker.replicas.read = self

    def __call__(self, *args, **more):
        self.count += 1
        return self._read(*args, **more)


class TestSession:
    def open(self, broker):
        return broker.serve(ask(wants=[(topic, 0) for topic in TOPICS])).session_id

    def test_idle_partitions_are_not_even_looked_at(self, broker):
        session, reads = self.open(broker), Counted(broker)
        assert got(broker.serve(ask((session, 1)))) == {}
        assert reads.count == 0
        append(broker, "b")
        assert set(got(broker.serve(ask((session, 2))))) == {"b"}
        assert reads.count == 1

    def test_what_was_not_fetched_on_is_sent_again(self, broker):
        session = self.open(broker)
        append(broker, "b")
        first = got(broker.serve(ask((session, 1))))
        assert got(broker.serve(ask((session, 2)))) == first != {}
        assert got(broker.serve(ask((session, 3), [("b", 1)]))) == {}
        assert got(broker.serve(ask((session, 4)))) == {}

    def test_what_had_no_room_comes_next_time(self, broker):
        session = self.open(broker)
        for topic in TOPICS:
            append(broker, topic)
        seen = []
        for epoch in range(1, 4):
            response = broker.serve(ask((session, epoch), max_bytes=10))
            seen += [topic for topic, size in got(response).items() if size]
        assert sorted(seen) == ["a", "b", "c"]

    def test_a_new_high_watermark_is_news_once(self, broker):
        session = self.open(broker)
        broker.replicas.partitions[TopicPartition("b", 0)].high_watermark = 0
        append(broker, "b")
        broker.serve(ask((session, 1), [("b", 1)]))
        assert got(broker.serve(ask((session, 2)))) == {}

    def test_an_error_is_told_each_time_until_it_is_over(self, broker):
        session = self.open(broker)
        gone = TopicPartition("b", 0)
        row = state(2, 1, (2,), (1, 2))
        change_roles(broker.replicas.apply, order({gone: row}))
        for epoch in (1, 2):
            (topic,) = broker.serve(ask((session, epoch)), 10).responses
            assert topic.partitions[0].error_code == ErrorCode.not_leader_or_follower
        change_roles(broker.replicas.apply, order({gone: state(1, 2, (1,), (1, 2))}))
        assert got(broker.serve(ask((session, 3)))) == {"b": 0}
        assert got(broker.serve(ask((session, 4)))) == {}

    def test_what_is_forgotten_is_watched_no_more(self, broker):
        session = self.open(broker)
        broker.serve(ask((session, 1), forget="b"))
        append(broker, "b")
        assert got(broker.serve(ask((session, 2)))) == {}
        broker.serve(ask((session, -1)))
        assert broker.replicas._readers == {}

    def test_a_session_without_partitions_is_closed(self, broker):
        session = broker.serve(ask(wants=[("a", 0), ("b", 0)])).session_id
        assert broker.serve(ask((session, 1), forget="a")).session_id == session
        closed = broker.serve(ask((session, 2), forget="b"))
        assert (closed.error_code, closed.session_id, closed.responses) == (0, 0, [])
        assert (len(broker.sessions), broker.replicas._readers) == (0, {})
        gone = broker.serve(ask((session, 3)))
        assert gone.error_code == ErrorCode.fetch_session_id_not_found

    def test_a_session_vouches_only_for_what_is_in_it(self, broker):
        opened = broker.serve(ask(wants=[("a", 0), ("b", 0)], replica=2)).session_id
        broker.cluster.now += 10
        broker.serve(ask((opened, 1), replica=2))
        since = broker.cluster.now
        broker.serve(ask((opened, 2), replica=2, forget="b"))
        for epoch in range(3, 6):
            broker.cluster.now += 10
            broker.serve(ask((opened, epoch), replica=2))
        append(broker, "a")
        append(broker, "b")
        roles = (broker.replicas.partitions[TopicPartition(topic, 0)] for topic in "ab")
        assert [partition.followers[2].caught_up for partition in roles] == [
            broker.cluster.now,
            since,
        ]

    def test_a_follower_has_one_session(self, broker):
        for _ in range(3):
            opened = broker.serve(ask(wants=[("a", 0)], replica=2))
            assert opened.session_id != 0
        assert len(broker.sessions) == 1
        assert [len(each) for each in broker.replicas._readers.values()] == [1]

    def test_consumers_share_the_slots_and_followers_need_none(self, broker):
        opened = [self.open(broker) for _ in range(11)]
        assert opened[-1] == 0 and 0 not in opened[:-1]
        assert broker.serve(ask(wants=[("a", 0)], replica=2)).session_id != 0
        broker.cluster.now += STALE_MS + 1
        assert self.open(broker) != 0
        assert broker.serve(ask((opened[0], 1))).error_code == ErrorCode.fetch_session_id_not_found

    def test_an_idle_session_keeps_its_follower_in_sync(self, cluster):
        cluster.elect(1)
        cluster.settle()
        for _ in range(4):
            cluster.now += LAG_MS - 1
            cluster.fetch(2)
            cluster.fetch(3)
        cluster.produce("a")
        cluster.now += LAG_MS
        cluster[1].replicas.tick()
        assert cluster[1].replicas.proposals == []
        cluster.now += 1
        cluster[1].replicas.tick()
        assert [each.isr for each in cluster[1].replicas.proposals] == [(1,)]


def services(broker):
    """What the handler uses."""
    return broker.replicas, broker.sessions, broker.metadata, broker.auth


class TestWaiting:
    """In a real event loop, with a long wait that a test would not sit out."""

    def run(self, broker, request, *steps, version=12):
        async def story():
            call = CALL._replace(header=RequestHeader(1, version, 1, "test"))
            work = asyncio.ensure_future(fetch.handle(*services(broker), call, request))
            for step in steps:
                for _ in range(3):
                    await asyncio.sleep(0)
                assert not work.done()
                step()
            return await asyncio.wait_for(work, 30)

        response = asyncio.run(story())
        return {
            topic.topic: each.error_code or each.records.size
            for topic in response.responses
            for each in topic.partitions
        }

    def wait(self, **more):
        wants = [(topic, 0) for topic in TOPICS]
        return ask(wants=wants, max_wait=timedelta(hours=1), **more)

    def test_until_there_is_something(self, broker):
        assert self.run(broker, self.wait(), lambda: append(broker, "b"))["b"] > 0

    def test_until_there_is_enough_of_all(self, broker):
        size = len(batch("x" * 100))
        steps = [lambda topic=topic: append(broker, topic, 100) for topic in "abb"]
        found = self.run(broker, self.wait(min_bytes=3 * size), *steps)
        assert found == {"a": size, "b": 2 * size, "c": 0}

    def test_a_follower_does_not_wait_for_what_is_committed(self, cluster):
        cluster.elect(1)
        wait = ask(wants=[("orders", 0)], replica=2, max_wait=timedelta(hours=1))
        assert self.run(cluster[1], wait, lambda: cluster.produce("a"))["orders"] > 0
        assert cluster[1].partition.high_watermark == 0

    def test_a_consumer_does(self, cluster):
        cluster.elect(1)
        wait = ask(wants=[("orders", 0)], max_wait=timedelta(hours=1))
        follow = [lambda: cluster.fetch(2)] * 2 + [lambda: cluster.fetch(3)] * 2
        found = self.run(cluster[1], wait, lambda: cluster.produce("a"), *follow)
        assert found["orders"] > 0

    def test_until_another_leads(self, broker):
        row = {TopicPartition("b", 0): state(2, 1, (2,), (1, 2))}
        found = self.run(
            broker, self.wait(), lambda: change_roles(broker.replicas.apply, order(row)), version=10
        )
        assert found["b"] == ErrorCode.not_leader_or_follower

    def test_a_consumer_of_a_follower_hears_of_its_high_watermark(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        for _ in range(2):
            cluster.fetch(2)
            cluster.fetch(3)
        assert cluster[2].partition.high_watermark == 0
        wait = ask(wants=[("orders", 0)], max_wait=timedelta(hours=1))
        assert self.run(cluster[2], wait, lambda: cluster.fetch(2))["orders"] > 0

    def test_nothing_is_left_behind(self, broker):
        async def story():
            work = asyncio.ensure_future(
                fetch.handle(*services(broker), CALL, self.wait(session=(0, -1)))
            )
            await asyncio.sleep(0)
            assert len(broker.replicas._readers) == 3
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

        asyncio.run(story())
        assert broker.replicas._readers == {}

    def test_no_longer_than_asked(self, broker):
        request = ask(wants=[("a", 0)], max_wait=timedelta(milliseconds=20))
        assert self.run(broker, request) == {"a": 0}


class TestOffsets:
    def request(self, replica, timestamp=-1, isolation=0, rows=1):
        row = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        return ListOffsetsRequest(
            replica_id=replica,
            isolation_level=isolation,
            topics=(ListOffsetsTopic(name="orders", partitions=(row,) * rows),),
        )

    def end(self, cluster, replica, version=6, isolation=0, broker=1):
        request = self.request(replica, isolation=isolation)
        (answer,) = cluster[broker].serve(request, version).topics[0].partitions
        return answer.error_code or answer.offset

    def test_a_follower_hears_of_all_and_a_consumer_of_what_is_committed(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        cluster.produce("b", "c")
        assert (self.end(cluster, -1), self.end(cluster, 2)) == (1, 3)

    def test_a_new_leader_does_not_know_yet(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.elect(2)
        cluster.elect(1)
        assert self.end(cluster, -1) == ErrorCode.offset_not_available
        assert self.end(cluster, -1, version=4) == ErrorCode.leader_not_available
        assert self.end(cluster, 2) == 1
        cluster.settle()
        assert self.end(cluster, -1) == 1

    def test_a_debugging_consumer_reads_the_log_end_of_any_replica(self, cluster):
        cluster.elect(1)
        cluster.produce("a")
        cluster.settle()
        cluster.produce("b", "c")
        assert self.end(cluster, -2, isolation=1) == 3
        assert self.end(cluster, -2, broker=2) == 1
        assert self.end(cluster, -1, broker=2) == ErrorCode.not_leader_or_follower
        assert self.end(cluster, 3, broker=2) == ErrorCode.not_leader_or_follower

    def test_a_partition_that_is_named_twice_is_refused_in_each_row(self, cluster):
        cluster.elect(1)
        rows = asyncio.run(served(cluster[1], self.request(-1, rows=2))).topics[0].partitions
        assert [row.error_code for row in rows] == [ErrorCode.invalid_request] * 2

    def test_others_are_served_between_many_lookups(self, cluster):
        async def story():
            asking = asyncio.ensure_future(served(cluster[1], self.request(-1, 5, rows=20_000)))
            turns = 0
            while not asking.done():
                await asyncio.sleep(0)
                turns += 1
            return turns

        cluster.elect(1)
        assert asyncio.run(story()) > 3


async def served(broker, request):
    return await offsets.list_offsets(broker.replicas, CALL, request)


def test_the_broker_tells_producers_when_it_is_committed(cluster):
    cluster.elect(1)
    cluster.settle()
    woken = []
    cluster[1].replicas.changed.append(woken.append)
    cluster.produce("a")
    cluster.fetch(2)
    cluster.fetch(2)
    assert woken == []
    cluster.settle()
    assert woken == [ORDERS]
