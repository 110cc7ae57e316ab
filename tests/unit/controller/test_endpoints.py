"""A real broker may list other listeners before ours."""

from engine.broker.metadata import AliveBroker, Metadata
from engine.broker.zookeeper import roles
from engine.model import TopicPartition
from engine.wire.messages.leader_and_isr import LeaderAndIsrRequest
from engine.wire.messages.update_metadata import UpdateMetadataRequest
from engine.zookeeper.requests import Set
from engine.zookeeper.znodes import BrokerEndPoint, BrokerInfo, broker_path
from tests.unit.controller.cluster import Cluster

OTHER = BrokerEndPoint("EXTERNAL", "far.away", 1234)
OURS = BrokerEndPoint("PLAINTEXT", "127.0.0.1", 9002)


def test_leaders_and_metadata_have_the_address_of_our_own_listener():
    cluster = Cluster(1, 2)
    cluster.put(Set(broker_path(2), BrokerInfo((OTHER, OURS), 0).encode()))
    cluster.run()
    cluster.create("t", [[2, 1]])
    assert cluster.state(TopicPartition("t", 0)).leader == 2
    (leader,) = cluster.told(LeaderAndIsrRequest, to=1)[-1].live_leaders
    assert (leader.host_name, leader.port) == ("127.0.0.1", 9002)
    metadata = Metadata()
    metadata.apply(roles.news(cluster.told(UpdateMetadataRequest, to=1)[-1]))
    node = metadata.node(2)
    assert (node.host, node.port) == ("127.0.0.1", 9002)
    assert node.at("PLAINTEXT") == AliveBroker(2, "127.0.0.1", 9002)
    assert node.at("EXTERNAL") == AliveBroker(2, "far.away", 1234)
    assert node.at("INTERNAL") is None
    assert metadata.at("EXTERNAL").keys() == {2}  # broker 1 has no such listener
