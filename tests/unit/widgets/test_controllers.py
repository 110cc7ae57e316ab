"""The controllers of a cluster without ZooKeeper, in the picture of the cluster."""

from dataclasses import replace

import pytest

from tests.unit.widgets.cluster import Cluster, event, quorum
from tests.unit.widgets.readable import check_texts
from tests.unit.widgets.test_cluster_scene import drawn
from widgets.story import Story


def acts(scene, key):
    return [(act.name, act.on) for act in scene[key].acts]


def test_each_controller_has_a_card_and_one_leads():
    scene = drawn(Cluster(controllers=quorum()))
    assert scene["controllers"].label == (
        "Controllers: epoch 3 · controller-2 leads; "
        "controller-1 follower, controller-2 leader, controller-3 down"
    )
    assert scene["server 101"].label == "controller-1, node 101: follower; log ends at 42"
    assert "zookeeper" not in scene.by_key


def test_what_can_be_done_to_one():
    scene = drawn(Cluster(controllers=quorum()))
    assert acts(scene, "server 102")[:2] == [("kill", "controller-2"), ("pause", "controller-2")]
    assert acts(scene, "server 103") == [("restart", "controller-3")]


def test_heartbeats_go_to_the_one_that_leads_and_a_fenced_broker_is_named():
    cluster = Cluster(controllers=quorum())
    assert drawn(cluster)["session 1"].label == "session of broker 1 with the controllers: alive"
    cluster.change(1, fenced=True)
    assert drawn(cluster)["session 1"].label.endswith("with the controllers: fenced")
    assert ("cut", "1-controllers") in acts(drawn(cluster), "session 1")


def test_a_broker_that_was_killed_is_fenced_once_the_others_know():
    cluster = Cluster(controllers=quorum())
    cluster.kill(2)
    for other in (1, 3):
        cluster.change(other, brokers=(1, 3))
    assert drawn(cluster)["session 2"].label.endswith("with the controllers: fenced")


def test_without_a_majority_nobody_leads():
    known = {node: replace(it, role="candidate") for node, it in quorum().items()}
    assert "nobody leads" in drawn(Cluster(controllers=known))["controllers"].label


@pytest.mark.parametrize("width", [356, 462, 928])
def test_texts_have_room(width):
    scene = drawn(Cluster(controllers=quorum()), width=width)
    check_texts(scene)


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (event("controller.killed", controller=101), "controller-1 killed (SIGKILL)"),
        (
            event("controller.elected", broker=102, epoch=4),
            "controller-2 leads the controllers, epoch 4",
        ),
        (event("controller.elected", broker=2, epoch=4), "broker 2 is controller, epoch 4"),
        (event("broker.fenced", broker=3, epoch=9), "broker 3 is fenced: it was silent"),
        (event("broker.unfenced", broker=3, epoch=9), "broker 3 is fenced no more"),
    ],
)
def test_what_happens_is_told(happened, words):
    story = Story()
    story.add([happened])
    assert [line.words for line in story.lines] == [words]
