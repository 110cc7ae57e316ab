"""Who ends by itself is told of, and a cluster ends whole, whatever its clients do."""

import gc
import os
import signal
import weakref

import pytest

from engine.cluster.cluster import Cluster
from tests.interop.watch import until


@pytest.fixture(scope="module")
def cluster():
    with Cluster(1) as cluster:
        yield cluster


def test_a_zookeeper_server_that_is_alone_is_missed(cluster):
    server = cluster.child("zookeeper")
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.alive)
    ((name, why),) = cluster.deaths()
    assert name == "zookeeper"
    assert why.startswith("ZooKeeper has ended")
    assert cluster.deaths() == []
    cluster.restart("zookeeper")
    assert cluster.deaths() == []


def test_a_client_that_was_closed_is_forgotten(cluster):
    consumer, producer = cluster.consumer({}), cluster.producer({})
    closed = [weakref.ref(consumer), weakref.ref(producer)]
    consumer.close()
    producer.close()
    del consumer, producer
    with cluster.producer({}):
        gc.collect()
        assert [each() for each in closed] == [None, None]


def test_a_cluster_ends_although_a_callback_fails():
    cluster = Cluster(1, metadata="kraft", controllers=1).start()
    children = [cluster.child(1), cluster.child("controller-1")]
    topic, producer = cluster.topic("orders"), cluster.producer({})

    def fail(error, message):
        raise RuntimeError("of a student")

    for value in "abc":
        producer.produce(topic, value, on_delivery=fail)
    with pytest.raises(RuntimeError, match="of a student"):
        cluster.stop()
    assert not any(child.alive for child in children)
    assert not cluster.data.exists()
