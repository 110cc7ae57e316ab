"""A run to be looked at again: as it is watched, or from a recording."""

from dataclasses import replace

import pytest

from engine.cluster.recording import Recording
from engine.cluster.state import Status
from tests.unit.widgets.cluster import START, Cluster, partition, state, topic
from widgets.reel import Live, Reel


def recording(*times, events=()):
    return Recording([state(at=START + each) for each in times], list(events))


def test_a_state_is_remembered_when_something_changed():
    cluster = Cluster()
    reel = Live(cluster)
    for step in range(5):
        cluster.pass_time(100)
        if step == 3:
            cluster.set_partitions(orders_0=partition(2))
        reel.look()
    assert (reel.start, reel.end) == (START, START + 500)
    assert [each.at - START for each in reel.between(START, START + 500)] == [0, 400]


def test_the_past_is_as_it_was():
    cluster = Cluster()
    reel = Live(cluster)
    cluster.pass_time(1000)
    cluster.kill(2)
    reel.look()
    assert reel.at(START + 999).brokers[2].status is Status.UP
    assert reel.at(START + 1000).brokers[2].status is Status.DOWN
    assert [line.words for line in reel.story.lines][-1] == "broker 2 killed (SIGKILL)"


def test_a_clock_alone_is_no_change():
    cluster = Cluster()
    reel = Live(cluster)
    cluster.pass_time(100)
    cluster.change(1, at=5, connections=9)
    reel.look()
    assert len(reel.between(START, reel.end)) == 1


def test_of_a_long_run_every_other_state_is_kept(monkeypatch):
    monkeypatch.setattr("widgets.reel.FEWEST", 10)
    monkeypatch.setattr("widgets.reel.MOST", 0)
    cluster = Cluster()
    reel = Live(cluster)
    for step in range(200):
        cluster.pass_time(100)
        cluster.set_partitions(orders_0=partition(1, ends=(step,) * 3))
        reel.look()
    kept = reel.between(START, reel.end)
    assert len(kept) <= 11
    assert kept[0].at == START
    assert kept[-1].at == reel.end


def test_what_happened_is_seen_in_the_next_state():
    reel = Reel(recording(0, 100, 200))
    assert reel.seen(START + 101) == START + 200
    assert reel.seen(START + 200) == START + 200
    assert reel.seen(START + 201) == START + 201


def test_a_recording_knows_where_something_happened():
    cluster = Cluster()
    cluster.pass_time(150)
    cluster.note("broker.killed", broker=1)
    reel = Reel(recording(0, 100, 200, 900, events=cluster.happened))
    assert [at - START for at in reel.moments()] == [0, 200, 900]


def test_it_is_over_when_the_cluster_was_stopped():
    cluster = Cluster()
    reel = Live(cluster)
    assert reel.look()
    cluster.stop()
    assert reel.look()  # it might be a kill that is not told yet
    assert not reel.look()


def test_killing_everybody_is_not_the_end():
    cluster = Cluster()
    reel = Live(cluster)
    for number in (1, 2, 3):
        cluster.kill(number)
    assert all(reel.look() for _ in range(3))


def test_time_never_goes_back():
    cluster = Cluster()
    reel = Live(cluster)
    cluster.now = replace(cluster.now, at=START - 5000)
    reel.look()
    assert reel.end == START


@pytest.mark.parametrize("count", [1, 1000])
def test_snapshots_share_what_did_not_change(count):
    cluster = Cluster(partitions=topic("orders", count))
    reel = Live(cluster)
    cluster.kill(1)
    reel.look()
    before, after = reel.at(START - 1), reel.at(reel.end)
    assert before.partitions is after.partitions
