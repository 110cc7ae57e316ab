"""A run to be looked at again: as it is watched, or from a recording."""

from dataclasses import replace

import pytest

from engine.cluster.recording import Recording
from engine.cluster.state import Status
from engine.errors import ApiException, ErrorCode
from tests.interop.watch import until
from tests.unit.widgets.cluster import START, Cluster, partition, state, topic
from widgets import ClusterView, ReplicaView
from widgets.run_source import GAP, LiveRun, RunSource


def recording(*times, events=()):
    return Recording([state(at=START + each) for each in times], list(events))


def test_a_state_is_remembered_when_something_changed():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    for step in range(5):
        cluster.pass_time(100)
        if step == 3:
            cluster.set_partitions(orders_0=partition(2))
        run_source.poll()
    assert (run_source.start, run_source.end) == (START, START + 500)
    assert [each.at - START for each in run_source.between(START, START + 500)] == [0, 400]


def test_the_past_is_as_it_was():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    cluster.pass_time(1000)
    cluster.kill(2)
    run_source.poll()
    assert run_source.at(START + 999).brokers[2].status is Status.UP
    assert run_source.at(START + 1000).brokers[2].status is Status.DOWN
    assert [line.words for line in run_source.story.lines][-1] == "broker 2 killed (SIGKILL)"


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError("reset by peer"), ApiException(ErrorCode.unknown_server_error, "late")],
)
def test_the_recorder_survives_an_error_that_passes(monkeypatch, error):
    """Nobody looks: the run goes on when the cluster answers again, and is stale until then."""
    monkeypatch.setattr("widgets.run_source.RECORD", 0.001)
    cluster = Cluster()
    run_source = LiveRun(cluster)
    answer, fails = cluster.state, [True]

    def state():
        if fails:
            raise error
        return answer()

    cluster.state = state
    run_source.record()
    until(lambda: run_source.stale)
    assert run_source.stale in ("reset by peer", "late")
    cluster.pass_time(1000)
    cluster.kill(2)
    fails.clear()
    until(lambda: not run_source.stale and run_source.at(START + 1000).brokers[2].status)
    assert run_source.at(START + 1000).brokers[2].status is Status.DOWN
    assert run_source._records
    run_source._ended = True


def test_a_picture_says_that_it_is_stale(monkeypatch):
    """As long as the cluster is not reached; then it shows what it has shown before."""
    cluster = Cluster()
    view = ClusterView(cluster)
    view.poll()
    before, answer = view.about, cluster.state

    def state():
        raise TimeoutError("no answer within 5 s")

    cluster.state = state
    assert view.poll()  # more may come
    assert view.about.startswith("not up to date: the cluster did not answer (no answer within")
    cluster.state = answer
    assert view.poll()
    assert view.about == before


def test_a_bug_ends_the_recorder_with_its_name(monkeypatch):
    """It is no error that passes: the thread prints it, and the pictures name it."""
    cluster, loud = Cluster(), []
    run_source = LiveRun(cluster)
    monkeypatch.setattr("threading.excepthook", lambda told: loud.append(told.exc_type))
    monkeypatch.setattr(cluster, "state", lambda: 1 // 0)
    run_source.record()
    until(lambda: loud)
    assert loud == [ZeroDivisionError]
    assert run_source.stale.startswith("ZeroDivisionError")


def test_a_clock_alone_is_no_change():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    cluster.pass_time(100)
    cluster.change(1, at=5, connections=9)
    run_source.poll()
    assert len(run_source.between(START, run_source.end)) == 1


def test_of_a_long_run_every_other_state_is_kept(monkeypatch):
    monkeypatch.setattr("widgets.run_source.FEWEST", 10)
    monkeypatch.setattr("widgets.run_source.MOST", 0)
    cluster = Cluster()
    run_source = LiveRun(cluster)
    for step in range(200):
        cluster.pass_time(100)
        cluster.set_partitions(orders_0=partition(1, ends=(step,) * 3))
        run_source.poll()
    kept = run_source.between(START, run_source.end)
    assert len(kept) <= 11
    assert kept[0].at == START
    assert kept[-1].at == run_source.end


def test_more_is_dropped_where_more_changes(monkeypatch):
    monkeypatch.setattr("widgets.run_source.MOST", 1_000_000)
    kept = []
    for changing in (1, 12):
        cluster = Cluster(partitions=topic("orders", 12))
        run_source = LiveRun(cluster)
        for step in range(400):
            cluster.pass_time(100)
            ends = {f"orders_{it}": partition(1, ends=(step,) * 3) for it in range(changing)}
            cluster.set_partitions(**ends)
            run_source.poll()
        kept.append(len(run_source.between(START, run_source.end)))
    assert kept[0] > 250 > 100 > kept[1]


def test_what_is_beside_an_event_is_kept(monkeypatch):
    monkeypatch.setattr("widgets.run_source.FEWEST", 40)
    monkeypatch.setattr("widgets.run_source.MOST", 0)
    cluster = Cluster()
    run_source = LiveRun(cluster)
    for step in range(400):
        cluster.pass_time(100)
        if step == 17:
            cluster.kill(2)
            killed = cluster.now.at
        cluster.set_partitions(orders_0=partition(1, ends=(step,) * 3))
        run_source.poll()
    assert len(run_source.between(START, run_source.end)) <= 42
    before, after = run_source.at(killed - 1), run_source.at(killed)
    assert (before.at, after.at) == (killed - 100, killed)
    assert (before.brokers[2].answers, after.brokers[2].answers) == (True, False)


def test_what_happened_is_seen_in_the_next_state():
    run_source = RunSource(recording(0, 100, 200))
    assert run_source.seen(START + 101) == START + 200
    assert run_source.seen(START + 200) == START + 200
    assert run_source.seen(START + 201) == START + 201


def test_a_recording_knows_where_something_happened():
    cluster = Cluster()
    cluster.pass_time(150)
    cluster.note("broker.killed", broker=1)
    run_source = RunSource(recording(0, 100, 200, 900, events=cluster.happened))
    assert [at - START for at in run_source.moments()] == [0, 200, 900]


def test_it_is_over_when_the_cluster_was_stopped():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    assert run_source.poll()
    cluster.stop()
    assert run_source.poll()  # it might be a kill that is not told yet
    assert not run_source.poll()


def test_killing_everybody_is_not_the_end():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    for number in (1, 2, 3):
        cluster.kill(number)
    assert all(run_source.poll() for _ in range(3))


def test_time_never_goes_back():
    cluster = Cluster()
    run_source = LiveRun(cluster)
    cluster.now = replace(cluster.now, at=START - 5000)
    run_source.poll()
    assert run_source.end == START


@pytest.mark.parametrize("count", [1, 1000])
def test_snapshots_share_what_did_not_change(count):
    cluster = Cluster(partitions=topic("orders", count))
    run_source = LiveRun(cluster)
    cluster.kill(1)
    run_source.poll()
    before, after = run_source.at(START - 1), run_source.at(run_source.end)
    assert before.partitions is after.partitions


def test_all_views_of_a_cluster_share_one_run():
    cluster = Cluster()
    one, other = ClusterView(cluster), ReplicaView(cluster, "orders")
    assert one.run_source is other.run_source
    assert ClusterView(Cluster()).run_source is not one.run_source
    cluster.pass_time(100)
    cluster.kill(2)
    one.poll()
    other.poll()
    assert [line.kind for line in one.run_source.story.lines].count("broker.killed") == 1


def test_what_happens_out_of_sight_is_recorded_once_a_view_is_displayed(monkeypatch):
    monkeypatch.setattr("widgets.run_source.RECORD", 0.01)
    cluster = Cluster()
    view = ClusterView(cluster)
    view._repr_mimebundle_()  # no page has said that it shows it
    before, picture = cluster.now.at, view.picture
    cluster.pass_time(1000)
    cluster.kill(2)
    until(lambda: view.run_source.end == before + 1000)
    cluster.pass_time(9000)
    cluster.restart(2)
    until(lambda: view.run_source.end == before + 10_000)
    assert view.picture is picture  # nothing is drawn that nobody sees
    view.goto(before + 1000)
    assert view.picture["broker 2"].label.startswith("broker 2: killed")
    cluster.stop()
    cluster.pass_time(100)
    until(lambda: not view.run_source._records)


def test_a_place_is_one_of_the_timeline_that_is_seen():
    cluster = Cluster()
    view = ClusterView(cluster)
    for _ in range(9):
        cluster.pass_time(1000)
        view.poll()
    view.seek(0.2)  # of 10 s; the picture stands still now
    for _ in range(4):
        cluster.pass_time(1000)
        view.poll()
    view.seek(0.4)
    assert view.head == START + 4000


def test_where_nothing_was_recorded_is_a_gap_and_no_picture_of_it():
    cluster = Cluster()
    view = ClusterView(cluster)
    cluster.pass_time(GAP)
    view.poll()
    assert view.run_source.gaps == []
    cluster.pass_time(GAP + 1)
    cluster.kill(2)
    view.poll()
    ((began, ended),) = view.run_source.gaps
    assert (began, ended) == (START + GAP, START + 2 * GAP + 1)
    assert view.picture["gap group 0"].label == "not watched for 5 s"
    view.seek((GAP + 2000) / 15_000)
    assert view.about.startswith("not watched at this time")
    view.live()
    assert not view.about.startswith("not watched")
