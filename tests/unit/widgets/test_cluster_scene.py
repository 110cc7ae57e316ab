"""The whole picture: one glance tells who is alive, who leads, what is committed, what it cost."""

import json

import pytest

from engine.cluster.state import GroupState
from engine.model import TopicPartition
from tests.unit.widgets.cluster import Cluster, ensemble, partition, state, topic
from tests.unit.widgets.readable import check_texts
from widgets import replicas
from widgets.broker_card import ANSWERS
from widgets.cluster_scene import about, picture
from widgets.cluster_view import FAULTS, TIME, ClusterView
from widgets.moment import ViewMoment
from widgets.run_source import LiveRun


def drawn(cluster, **facts):
    run_source = LiveRun(cluster)
    return picture(ViewMoment(run_source, run_source.end, True, FAULTS | TIME, **facts))


def clusters():
    many = {f"{count} partitions": Cluster(partitions=topic("orders", count)) for count in COUNTS}
    wide = {f"{count} brokers": Cluster(brokers=count) for count in (1, 2, 5, 7, 12)}
    nothing = {"no topic": Cluster(partitions={})}
    broken = Cluster()
    broken.kill(2)
    broken.pause(3)
    broken.cut(1, 3)
    broken.pass_time(1000)
    servers = {f"{count} servers": Cluster(zookeepers=ensemble(count)) for count in (2, 3, 5, 7)}
    return many | wide | nothing | servers | {"broken": broken}


COUNTS = (1, 3, 12, 60, 1000)


@pytest.mark.parametrize("cluster", clusters().values(), ids=list(clusters()))
def test_every_text_can_be_read(cluster):
    scene = drawn(cluster)
    assert [shape for shape in scene.all() if shape.does]
    check_texts(scene)


def test_sixty_partitions_are_small_enough_for_a_notebook():
    ends = {"ends": (123_456, 123_450, 123_456), "committed": 123_450}
    partitions = {
        key: partition(number % 3 + 1, **ends) for number, key in enumerate(topic("clicks", 60))
    }
    view = ClusterView(Cluster(partitions=partitions))
    assert len(json.dumps(view.get_state(), default=str)) < 73_000


def test_a_thousand_partitions_are_counted():
    scene = drawn(Cluster(partitions=topic("orders", 1000)))
    assert len(scene.all()) < 250
    assert "broker 1: leads 334 of 1000 partitions" in {shape.label for shape in scene.all()}


def test_one_topic_can_be_looked_at_alone():
    cluster = Cluster(partitions=topic("orders", 3) | topic("clicks", 900))
    labels = {shape.label for shape in drawn(cluster, topic="orders").all()}
    assert "orders-0: leader, end 10, committed 10" in labels
    assert not [label for label in labels if "clicks" in label]


def test_kafkas_own_topics_are_one_line():
    cluster = Cluster(partitions=topic("orders", 3) | topic("__consumer_offsets", 50))
    scene = drawn(cluster)
    lines = [it.content for it in scene.all() if it.key == "internal"]
    assert lines[0].startswith("__consumer_offsets: leads 17 of 50")
    assert "3 partitions" in scene.title


@pytest.mark.parametrize(
    ("fault", "status", "acts"),
    [
        (None, "up", ["kill", "pause", "restart", *(name for name, *_ in ANSWERS)]),
        ("kill", "killed", ["restart"]),
        ("pause", "paused", ["resume", "kill"]),
    ],
)
def test_a_broker_offers_what_can_be_done_to_it_now(fault, status, acts):
    cluster = Cluster()
    if fault:
        getattr(cluster, fault)(2)
    broker = drawn(cluster)["broker 2"]
    assert broker.label == f"broker 2: {status}, leads 1"
    assert [act.name for act in broker.acts] == acts
    assert {act.on for act in broker.acts} == {"2"}


def test_alive_paused_and_dead_differ_in_shape():
    cluster = Cluster()
    cluster.kill(2)
    cluster.pause(3)
    scene = drawn(cluster)
    lights = [
        [part.kind for part in scene[f"broker {number}"].content if part.key in {"light", "cross"}]
        for number in (1, 2, 3)
    ]
    assert lights == [["circle"], ["circle", "path"], ["path"]]


def test_the_controller_wears_the_crown():
    scene = drawn(Cluster())
    assert scene["broker 1"].label.endswith(", controller")
    assert "♛" in [part.content for part in scene["broker 1"].content]
    assert "/controller → broker 1 · epoch 1" in scene["zookeeper"].label


def test_the_header_says_what_is_there_and_what_is_missing():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    assert (
        about(ViewMoment(run_source, run_source.end, True))
        == "orders · 3 partitions · replication 3"
    )
    cluster.kill(2)
    run_source.poll()
    assert about(ViewMoment(run_source, run_source.end, True)).endswith(
        "replication 3 · 1 without a leader"
    )


def test_groups_and_their_lag_are_reported():
    group = GroupState(1, 0, "Stable", 0, 1, "range", None, {}, {"orders-0": 4, "orders-1": 10})
    scene = drawn(Cluster(groups={"g1": group}))
    assert scene["consumers"].label == "consumer groups: g1: 0 members · Stable · lag 6"


def test_the_rate_is_that_of_the_last_second():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    cluster.pass_time(5000)
    cluster.set_partitions(orders_0=partition(1, ends=(30, 30, 30)))
    run_source.poll()
    scene = picture(ViewMoment(run_source, run_source.end, True))
    assert scene["producers"].label == "producers: 50 records · 20 a second"


def test_what_happened_is_read_aloud():
    cluster = Cluster()
    cluster.kill(2)
    assert drawn(cluster).says == "broker 2 killed (SIGKILL)"


def test_no_brokers_no_picture_of_them():
    assert state(brokers=0).brokers == {}
    assert drawn(Cluster(brokers=0, partitions={})).shapes


DOCKED = {"width": 509, "height": 540}  # px, at 1366 by 768


def test_in_the_dock_it_shows_who_leads_the_legend_and_eight_events():
    cluster = Cluster(partitions={TopicPartition("orders", 0): partition(1)}, brokers=3)
    view = ClusterView(cluster)
    for number in range(12):
        cluster.pass_time(1000)
        cluster.note("broker.started", broker=1 + number % 3, pid=number)
        view.advance(number)
    view.fit(**DOCKED)
    scene = view.picture
    roles = [it for it in scene.all() if it.key == "role"]
    assert [it.content for it in roles] == ["L", "F", "F"]
    words = {it.content for it in scene["legend"].content for it in it.content}
    assert {"leader", "in sync", "out of sync", "high watermark", "not committed yet"} <= words
    assert "click" not in {it.content for it in scene.all() if it.kind == "text"}
    told = [it for it in scene.all() if it.key.startswith("broker.started ")]
    assert len(told) >= 8
    assert scene.height == DOCKED["height"]
    view.close()


@pytest.mark.parametrize(
    ("count", "width", "badges"), [(1, 80, "LFF"), (2, 92, "LLFFFF"), (2, 91, "010101")]
)
def test_a_line_has_a_letter_where_there_is_room(count, width, badges):
    partitions = {TopicPartition("orders", each): partition(1) for each in range(count)}
    found = [it for number in (1, 2, 3) for it in replicas.drawn(number, partitions, width)]
    rows = [it.content for it in found if it.kind == "group"]
    assert "".join(it.content for row in rows for it in row if it.key == "role") == badges


@pytest.mark.parametrize("fate", ["killed", "paused"])
def test_a_broker_that_was_just_killed_or_paused_is_not_starting(fate):
    """A state that was asked for before may come after it: then the broker does not answer."""
    cluster = Cluster()
    cluster.note(f"broker.{fate}", broker=2)
    cluster.change(2, answers=False)
    assert drawn(cluster)["broker 2"].label.startswith(f"broker 2: {fate}")
