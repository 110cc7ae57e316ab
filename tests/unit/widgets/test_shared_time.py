"""One clock: where one view of a run goes back, the others of the same run go along."""

import threading

import pytest

from engine.cluster.recording import Recording
from proof.storms.trace import Trace
from tests.unit.widgets.cluster import Cluster
from tests.unit.widgets.test_cluster_view import go
from widgets import (
    ClusterView,
    GroupView,
    HexView,
    ReplicaView,
    SegmentView,
    WireView,
    ZooKeeperTree,
)
from widgets.shared_time import SharedTime

FILM = "labs/recorded/failover.jsonl.gz"


@pytest.fixture(scope="module")
def recording(pytestconfig):
    return Recording.load(pytestconfig.rootpath / FILM)


@pytest.fixture
def views(recording, pytestconfig):
    again = Recording.load(pytestconfig.rootpath / FILM)  # as a second cell does
    made = {
        "cluster": ClusterView(recording),
        "replicas": ReplicaView(again, "orders", 0),
        "group": GroupView(again, "billing"),
        "tree": ZooKeeperTree(recording),
        "wire": WireView(again),
        "log": SegmentView(again, "orders", 0),
        "bytes": HexView(again, "orders", 0),
    }
    yield made
    for view in made.values():
        view.close()


def times(views):
    tree, log, hexes = views["tree"], views["log"]._place.past, views["bytes"]._place.past
    return {
        "cluster": views["cluster"].head,
        "replicas": views["replicas"].head,
        "group": views["group"].head,
        "tree": tree.head and tree.history.changes[tree.head - 1].at,
        "wire": views["wire"].until and views["wire"].until[0],
        "log": log.moments[log.index],
        "bytes": hexes.moments[hexes.index],
    }


ACTS = {
    "cluster": ("seek", 0.5),
    "replicas": ("back",),
    "group": ("seek", 0.4),
    "tree": ("begin",),
    "wire": ("seek", 0.5),
    "log": ("moment", 3),
    "bytes": ("moment", 43),
}


@pytest.mark.parametrize("name", ACTS)
def test_going_back_in_one_takes_the_others_along(views, name):
    views[name].do(*ACTS[name])
    assert not views[name].trouble
    found = times(views)
    at = found.pop(name)
    assert at is not None
    assert at < views["cluster"].run_source.end
    for other in {"cluster", "replicas", "group"} - {name}:
        assert found[other] == at or (at <= views[other].run_source.start == found[other]), other
    if name != "wire":
        assert found["wire"] == at
    steps = [it.at for it in views["tree"].history.steps]
    if name != "tree" and any(step <= at for step in steps):
        # the last change until then, and not one after it
        assert found["tree"] == max(it.at for it in views["tree"].history.changes if it.at <= at)
    for other in {"log", "bytes"} - {name}:
        moments = views[other]._place.past.moments
        assert found[other] == max([it for it in moments if it <= at] or moments[:1])


def test_going_live_brings_all_back(views):
    views["replicas"].do("seek", 0.3)
    assert None not in {it for name, it in times(views).items() if name != "tree"}
    views["tree"].do("live")
    found = times(views)
    assert [found[name] for name in ("cluster", "replicas", "group", "tree", "wire")] == [None] * 5
    assert views["log"]._place.past.index == len(views["log"]._place.past.moments) - 1


def test_one_that_plays_takes_the_others_along(views):
    playing, other = views["cluster"], views["replicas"]
    playing.do("begin")
    playing.do("play")
    for second in range(1, 4):
        playing.advance(100 + second)
        assert other.head == playing.head
    assert other.head > other.run_source.start
    playing.do("play")
    assert other.head == playing.head


def test_views_of_a_cluster_have_one_clock_and_those_of_another_have_theirs():
    cluster = Cluster()
    one, other, alone = (
        ClusterView(cluster),
        ReplicaView(cluster, "orders", 0),
        ClusterView(Cluster()),
    )
    for view in (one, other, alone):
        for second in range(3):
            view.source.pass_time(4000)
            view.advance(second)
    one.do("seek", 0.1)
    assert other.head == one.head is not None
    assert alone.head is None
    other.do("live")
    assert one.head is None
    other.close()
    one.do("begin")
    assert other.head is None


def test_of_two_futures_of_a_trace_each_has_its_clock():
    trace = Trace.of(2, 8.0)
    one, other, wire = ClusterView(trace), ReplicaView(trace, "p", 0), WireView(trace)
    one.do("seek", 0.5)
    assert other.head == one.head
    assert max(row.arrow.at for row in wire.view_state().rows) == pytest.approx(
        one.head - one.run_source.start, abs=500
    )
    at = one.head
    one._turn_to(one.run_source.film.fork(at), at)  # as its thread does
    before = other.head
    one.do("seek", 0.1)
    assert other.head == before


def test_two_views_can_tell_each_other_at_the_same_time(recording):
    views = [ClusterView(recording), ReplicaView(recording, "orders", 0), ZooKeeperTree(recording)]

    def drag(view):
        for share in range(20):
            view.do("seek", share / 20)

    threads = [threading.Thread(target=drag, args=(view,), daemon=True) for view in views]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    for view in views:
        view.close()
    assert not set(views) & set(SharedTime.of(recording)._views)


def test_two_runs_may_share_a_clock():
    """Two clusters are watched at the same time: a view of the one follows a view of the other."""
    left, right = ClusterView(Cluster(partitions={})), ClusterView(Cluster(partitions={}))
    for view in (left, right):
        go(view, 1000)
    left.do("seek", 0.01)
    assert left.head is not None and right.head is None
    right.share_clock(left)
    left.do("seek", 0.05)
    assert right.head == left.head is not None
    right.do("live")
    assert left.head is None
    for view in (left, right):
        view.close()
