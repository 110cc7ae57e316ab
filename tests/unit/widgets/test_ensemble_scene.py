"""The servers of an ensemble: which of them leads, who is connected to it, who is cut off."""

from dataclasses import replace

from engine.cluster.state import LinkState
from tests.unit.widgets.cluster import Cluster, ensemble
from tests.unit.widgets.test_cluster_scene import drawn


def words(scene, key):
    return [shape.content for shape in scene[key].content if shape.kind == "text"]


def test_each_server_tells_what_it_is():
    scene = drawn(Cluster(zookeepers=ensemble(4)))
    assert words(scene, "server 1") == ["zookeeper-1", "follower", "brokers 1 3", "0x200000018"]
    assert words(scene, "server 2") == ["zookeeper-2", "leader", "broker 2", "0x200000019"]
    assert words(scene, "server 3") == ["zookeeper-3", "dead", ""]
    assert words(scene, "server 4") == ["zookeeper-4", "looking", ""]
    assert scene["server 3"].label == "zookeeper-3: dead"
    assert "zookeeper-2 leader" in scene["zookeeper"].label


def test_a_session_begins_at_its_server():
    scene = drawn(Cluster(zookeepers=ensemble()))
    starts = [scene[f"session {broker}"].content[0].content.split()[0] for broker in (1, 2, 3)]
    assert starts[0] == starts[2] != starts[1]


def test_a_cut_between_servers_stands_in_both_cards_and_one_to_a_broker_on_its_session():
    cluster = Cluster(zookeepers=ensemble())
    cuts = LinkState("zookeeper-1", "zookeeper-2", True), LinkState("1", "zookeeper-1", True)
    cluster.now = replace(cluster.now, links=cuts)
    scene = drawn(cluster)
    assert words(scene, "server 1")[2] == "brokers 1 3 · cut off from 2"
    assert words(scene, "server 2")[2] == "broker 2 · cut off from 1"
    assert "cut" in scene["session 1"].label
    assert "cut" not in scene["session 3"].label
    slow = LinkState("zookeeper-1", "zookeeper-2", False, 300)
    cluster.now = replace(cluster.now, links=(slow,))
    assert words(drawn(cluster), "server 1")[2] == "brokers 1 3"


def test_on_a_phone_names_are_short_and_cards_side_by_side():
    scene = drawn(Cluster(zookeepers=ensemble()), width=356)
    assert [words(scene, f"server {it}")[0] for it in (1, 2, 3)] == [
        "server 1", "server 2", "server 3",
    ]  # fmt: skip
    assert len({scene[f"server {it}"].where[1] for it in (1, 2, 3)}) == 1


def test_one_server_is_drawn_as_ever():
    keys = [shape.key for shape in drawn(Cluster()).all()]
    assert not [key for key in keys if key.startswith(("server", "foot"))]
