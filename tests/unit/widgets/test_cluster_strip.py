"""The strip in a dock above the cells: low, whole, and with the words of the large picture."""

import pytest

from tests.unit.widgets.cluster import Cluster, topic
from tests.unit.widgets.readable import extents
from tests.unit.widgets.test_cluster_scene import clusters
from widgets.cluster_strip import LOW, picture
from widgets.cluster_view import FAULTS, TIME, ClusterView
from widgets.moment import ViewMoment
from widgets.run_source import LiveRun

WIDTHS = (296, 420, 560, 780, 960)


def drawn(cluster, **facts):
    run_source = LiveRun(cluster)
    return picture(ViewMoment(run_source, run_source.end, True, FAULTS | TIME, **facts))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("cluster", clusters().values(), ids=list(clusters()))
def test_everything_is_within_it(cluster, width):
    scene = drawn(cluster, width=width, height=170)
    found = list(extents(scene.shapes))
    assert all(left > -2 and right < width + 2 and y < scene.height for _, left, y, right in found)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("height", [190, 240, 320])
def test_of_three_brokers_it_is_as_high_as_the_dock(width, height):
    assert drawn(Cluster(), width=width, height=height).height == height


def test_a_broker_says_and_offers_what_it_does_in_the_large_picture():
    cluster = Cluster(partitions=topic("orders", 2))
    views = low, _ = ClusterView(cluster), ClusterView(cluster)
    low.fit(500, 200)
    cluster.kill(2)
    cluster.pass_time(1000)
    for view in views:
        view.poll()
    for number in (1, 2, 3):
        here, there = (view.picture[f"broker {number}"] for view in views)
        assert (here.label, here.acts) == (there.label, there.acts)
    killed = [shape for shape in low.picture.shapes if "broker 2 killed" in shape.label]
    assert killed[0].acts[0].name == "goto"


def test_many_replicas_are_counted():
    scene = drawn(Cluster(partitions=topic("orders", 60)), width=500, height=200)
    words = {shape.content for shape, *_ in extents(scene.shapes)}
    assert "leads 20 of 60" in words


def test_links_that_are_cut_are_named():
    cluster = Cluster()
    cluster.cut(1, 3)
    scene = drawn(cluster, width=780, height=200)
    assert scene["zookeeper"].label == "ZooKeeper: 3 of 3 sessions · cut: 1–3"


def test_a_low_frame_gets_the_strip_and_a_high_one_the_large_picture():
    view = ClusterView(Cluster())
    view.fit(500, LOW - 1)
    assert view.picture.height == LOW - 1
    assert "/controller" not in view.scene
    view.fit(500, LOW)
    assert "/controller" in view.scene
