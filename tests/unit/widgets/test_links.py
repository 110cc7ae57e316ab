"""Links say what is wrong with them, and what moves on them was read off two states."""

from dataclasses import replace

import pytest

from engine.cluster.state import GroupState, LinkState, Status
from engine.model import TopicPartition
from tests.unit.widgets.cluster import Cluster, partition, state
from widgets import links
from widgets.cluster_scene import plan_of
from widgets.links import moves
from widgets.moment import ViewMoment
from widgets.run_source import LiveRun

ORDERS = TopicPartition("orders", 0)
ACTS = frozenset({"cut", "slow", "heal"})


def drawn(cluster):
    run_source = LiveRun(cluster)
    moment = ViewMoment(run_source, run_source.end, True, ACTS)
    return {shape.key: shape for shape in links.drawn(moment, plan_of(moment))}


def words(shape):
    return " ".join(part.content for part in shape.content if part.kind == "text")


def test_a_whole_link_can_be_cut_and_slowed():
    link = drawn(Cluster())["link 1-3"]
    assert link.label == "link between broker 1 and broker 3: whole"
    assert [(act.name, act.on) for act in link.acts] == [("cut", "1-3"), ("slow", "1-3")]


@pytest.mark.parametrize(
    ("wrong", "label", "look"),
    [
        (LinkState("3", "1", True), "cut", "cut broken"),
        (LinkState("1", "3", False, 300), "300 ms", "slow"),
    ],
)
def test_what_is_wrong_is_said_in_words_and_by_the_line(wrong, label, look):
    link = drawn(Cluster(links=[wrong]))["link 1-3"]
    assert f": {label}" in link.label
    assert words(link) == label
    assert link.content[0].look == look
    assert [act.name for act in link.acts] == ["heal"]


def test_of_neighbours_the_line_stays_in_sight():
    link = drawn(Cluster(links=[LinkState("1", "2", False, 300)]))["link 1-2"]
    (pill,) = [part for part in link.content if part.kind == "rect"]
    assert words(link) == "300 ms"
    (line,) = [part for part in link.content if part.key == "way"]
    assert pill.where[1] > float(line.content.split("L")[0].split()[1])


def test_a_session_outlives_its_broker_for_a_while():
    cluster = Cluster()
    cluster.kill(2)
    cluster.pass_time(1500)
    assert words(drawn(cluster)["session 2"]) == "session waits 1.5 s"

    for other in (1, 3):  # they hear that it is gone
        cluster.change(other, brokers=(1, 3))

    shapes = drawn(cluster)
    assert words(shapes["session 2"]) == "expired"
    assert shapes["session 1"].label == "session of broker 1 with ZooKeeper: alive"
    assert shapes["link 1-2"].content[0].look == "quiet away"


def test_a_broker_without_a_session_says_so():
    cluster = Cluster()
    cluster.change(3, session=None)
    assert words(drawn(cluster)["session 3"]) == "no session"


def test_a_cut_from_zookeeper_is_healed_where_it_was_made():
    cluster = Cluster(links=[LinkState("3", "zookeeper", True)])
    session = drawn(cluster)["session 3"]
    assert [act.name for act in session.acts] == ["heal"]
    whole = drawn(cluster)["session 1"].acts[0]
    assert (whole.name, whole.on) == ("cut", "1-zookeeper")


# -- what moves -----------------------------------------------------------------------------------


def at(leader=1, **facts):
    return state({ORDERS: partition(leader, **facts)})


def test_records_that_a_leader_gains_were_produced():
    assert list(moves(at(), at(ends=(12, 10, 10)))) == [("produced", 1, 1)]


def test_what_a_follower_confirms_was_fetched():
    assert list(moves(at(ends=(12, 10, 10)), at(ends=(12, 12, 10)))) == [("fetched", 1, 2)]


def test_what_a_group_commits_was_consumed():
    group = GroupState(1, 0, "Stable", 0, 1, "range", None, {}, {"orders-0": 4})
    before = replace(at(), groups={"g": group})
    after = replace(at(), groups={"g": replace(group, offsets={"orders-0": 9})})
    assert list(moves(before, after)) == [("consumed", 1, 1)]
    assert list(moves(after, after)) == []


def test_another_leader_is_no_traffic():
    assert list(moves(at(), at(2, ends=(10, 12, 10)))) == []


def test_what_moved_lately_is_a_dot_on_its_way_and_then_no_more():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    cluster.pass_time(1000)
    cluster.set_partitions(orders_0=partition(1, ends=(12, 10, 10)))
    run_source.poll()
    when = run_source.end

    def dots(at):
        moment = ViewMoment(run_source, at, True)
        return [shape.key for shape in links.traffic(moment, plan_of(moment))]

    assert dots(when) == [f"produced 1 1 {when}"]
    cluster.pass_time(200)
    run_source.poll()
    assert dots(run_source.end) == [f"produced 1 1 {when}"]  # the same, so it goes on
    cluster.pass_time(100)
    run_source.poll()
    assert dots(run_source.end) == []


def test_nothing_moves_that_is_not_there():
    cluster = Cluster(partitions={})
    cluster.change(1, status=Status.DOWN)
    moment = ViewMoment(LiveRun(cluster), cluster.now.at, True)
    assert links.traffic(moment, plan_of(moment)) == []
