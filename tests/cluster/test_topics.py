"""What a lab's cell does with a cluster in one line: topics, records, leaders, single requests."""

import time
from functools import partial

import psutil
import pytest
from kazoo.client import KazooClient

from engine.client.admin.client import AdminClient
from engine.client.consumer import Consumer
from engine.client.values import TopicPartition
from engine.cluster import single_requests
from engine.cluster.zookeepers import zookeeper_view
from engine.errors import ApiException, ErrorCode
from engine.wire.apis import Api
from tests.interop.watch import until


@pytest.fixture(autouse=True)
def whole(cluster):
    """As a lab begins: other modules use this cluster too."""
    cluster.mend()


def test_a_topic_its_records_and_its_leader(cluster):
    name = cluster.topics.create("lines", replicas=[1, 2, 3], retention_ms=86_400_000)
    again = cluster.topics.create("lines", partitions=2)
    assert (name, again) == ("lines", "lines-2")
    assert cluster.topics.write(name, ["a", "b"], acks="all") == [0, 1]
    assert cluster.topics.read(name) == ["a", "b"]
    assert cluster.topics.read(again, partition=1) == []
    assert (cluster.topics.leader(name), set(cluster.topics.isr(name))) == (1, {1, 2, 3})
    assert b'"retention.ms":"86400000"' in cluster.znode(f"/config/topics/{name}")
    with pytest.raises(ApiException, match="there is no partition nothing-0"):
        cluster.topics.isr("nothing")


def test_records_of_all_partitions_with_their_keys(cluster):
    name = cluster.topics.create("keyed", partitions=2)
    assert not cluster.topics.records(name).rows
    cluster.topics.write(name, ["a=1", "b=1", "a=2"], key=lambda value: value[0], timestamp=1000)
    found = cluster.topics.records(name)
    assert found.head == ["partition", "offset", "key", "value"]
    assert sorted(found.column("value")) == ["a=1", "a=2", "b=1"]
    assert all(key == value[0] for _, _, key, value in found)
    assert [row[3] for row in found if row[2] == "a"] == ["a=1", "a=2"]


def test_two_requests_on_the_way(cluster):
    name = cluster.topics.create("pair", replicas=[1])
    with single_requests.connection(cluster, 1) as one:
        one.send(Api.PRODUCE, single_requests.produce_request(name, "tea"))
        one.send(Api.FETCH, single_requests.fetch_request(name, wait_ms=1000))
        one.send(Api.LIST_OFFSETS, single_requests.list_offsets_request(name, 0))
        stored = one.receive().responses[0].partition_responses[0]
        read = one.receive().responses[0].partitions[0]
        found = one.receive().topics[0].partitions[0]
    assert (stored.base_offset, read.high_watermark, found.offset) == (0, 1, 0)


def test_after_a_kill_mend_makes_everything_whole(cluster):
    name = cluster.topics.create("mended", replicas=[1, 2, 3])
    cluster.topics.write(name, ["a"])
    cluster.kill(1)
    cluster.wait("a new leader", lambda: cluster.topics.leader(name) in (2, 3))
    cluster.drop_next_answer(2, Api.PRODUCE)
    cluster.drop_next_answer(3, Api.PRODUCE)
    cluster.mend()
    assert cluster.topics.write(name, ["b"]) == [1]  # stored once: no answer was lost
    cluster.pause(3)
    cluster.mend()
    assert set(cluster.topics.isr(name)) == {1, 2, 3}
    assert cluster.topics.read(name) == ["a", "b"]


def test_a_thousand_records_are_read_at_once(cluster):
    name = cluster.topics.create("many", replicas=[1, 2, 3])
    cluster.topics.write(name, (str(number) for number in range(1000)))
    began = time.monotonic()
    assert len(cluster.topics.read(name)) == 1000
    assert time.monotonic() - began < 10  # not a pause of PAUSE after each


def pause_zookeeper(cluster):
    """Pause ZooKeeper, and wait until it has stopped: on a busy machine it goes on for a moment."""
    cluster.pause("zookeeper")
    process = psutil.Process(cluster.child("zookeeper").pid)
    until(lambda: process.status() == psutil.STATUS_STOPPED)


def test_zookeeper_can_be_paused(cluster):
    name = cluster.topics.create("quiet", replicas=[1, 2, 3])
    reader = KazooClient(cluster.zookeeper)
    pause_zookeeper(cluster)
    connected = reader.start_async()
    try:
        assert cluster.topics.write(name, ["a"]) == [0]
        assert not connected.wait(0.3)
        cluster.mend()
        assert connected.wait(20)
    finally:
        cluster.resume("zookeeper")
        reader.stop()
        reader.close()
    with pytest.raises(ApiException, match="there is no 'zoo' in this cluster, only brokers"):
        cluster.pause("zoo")


def test_a_zookeeper_that_does_not_answer_is_named(cluster, monkeypatch):
    name = cluster.topics.create("asked", replicas=[1, 2, 3])
    pause_zookeeper(cluster)
    try:
        with monkeypatch.context() as sooner:
            sooner.setattr(zookeeper_view, "ZOOKEEPER_WAIT_S", 0.5)
            with pytest.raises(ApiException, match=r"no answer from ZooKeeper at .* in 0\.5 s: is"):
                cluster.topics.isr(name)
    finally:
        cluster.resume("zookeeper")
    assert cluster.topics.isr(name) == (1, 2, 3)


def test_single_requests_go_to_the_broker_that_is_named(cluster):
    name = cluster.topics.create("by-hand", replicas=[1, 2, 3])
    refused = single_requests.produce(cluster, 2, name, "no")
    assert (refused.ok, refused.code) == (False, ErrorCode.not_leader_or_follower)
    assert single_requests.produce(cluster, 1, name, "yes").offset == 0
    fetch = partial(single_requests.fetch, cluster, 3, name)
    found = cluster.wait("a copy", lambda: fetch(version=11).values)
    assert found == ("yes",)
    assert fetch(version=10).code == ErrorCode.not_leader_or_follower
    assert single_requests.leaders(cluster, 2, name) == {0: 1}


def test_what_does_not_come_is_named(cluster):
    with pytest.raises(TimeoutError, match=r"a miracle: not within 0\.1 seconds"):
        cluster.wait("a miracle", lambda: False, seconds=0.1)


def test_a_session_with_zookeeper_that_has_ended_is_made_again(cluster):
    before = cluster.znode("/controller")
    cluster.view._kazoo.stop()
    assert cluster.znode("/controller") == before
    cluster.view._kazoo.stop()
    assert cluster.children("/brokers/ids") == ["1", "2", "3"]


def test_records_that_are_deleted_while_a_topic_is_read_are_passed_over(cluster, monkeypatch):
    name = cluster.topics.create("shrinking", replicas=[1, 2, 3])
    cluster.topics.write(name, "abcdef")
    look = Consumer.get_watermark_offsets

    def look_and_delete(consumer, place):
        """Retention comes between a look at the ends and the first Fetch."""
        found = look(consumer, place)
        end = TopicPartition(name, 0, 3)
        with AdminClient({"bootstrap.servers": cluster.bootstrap}) as admin:
            admin.delete_records([end])[end].result()
        return found

    monkeypatch.setattr(Consumer, "get_watermark_offsets", look_and_delete)
    assert cluster.topics.read(name) == ["d", "e", "f"]
