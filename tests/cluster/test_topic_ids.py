"""A topic that another program made in ZooKeeper without an id, before and after an upgrade."""

from pathlib import Path

from kazoo.client import KazooClient

from engine.cluster.cluster import Cluster
from engine.model import TopicPartition
from engine.storage import checkpoints
from engine.wire.apis import Api
from engine.zookeeper import znodes
from engine.zookeeper.znodes import ReplicaAssignment, Topic
from tests.interop.raw import Raw, metadata
from tests.interop.watch import until

STATE = znodes.state_path(TopicPartition("old", 0))
CONFIG = "inter.broker.protocol.version"


def topic(cluster: Cluster) -> Topic:
    return Topic.decode(cluster.znode(znodes.topic_path("old")) or b"")


def test_it_gets_an_id_when_the_brokers_speak_2_8(tmp_path: Path) -> None:
    with Cluster(data=tmp_path, config={CONFIG: "2.6"}) as cluster:
        kazoo = KazooClient(cluster.zookeeper)
        kazoo.start()
        made = Topic(None, {0: ReplicaAssignment((1,))})
        kazoo.create(znodes.topic_path("old"), made.encode())
        kazoo.stop()
        kazoo.close()
        until(lambda: cluster.znode(STATE))
        assert topic(cluster).topic_id is None

    with Cluster(data=tmp_path, config={CONFIG: "2.8"}) as cluster:
        found = until(lambda: topic(cluster).topic_id)
        path = cluster.directory(1) / "old-0" / checkpoints.PARTITION
        until(path.exists)
        assert checkpoints.read_topic_id(path) == found
        with Raw(cluster.bootstrap) as client:
            (answer,) = client.ask(Api.METADATA, metadata("old"), 10).topics
        assert answer.topic_id == found
