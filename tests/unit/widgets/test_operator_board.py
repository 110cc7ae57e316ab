"""OperatorBoard: what each panel says of states and events; live, in the past, recorded."""

from dataclasses import replace

import pytest

from engine.cluster.state import GroupState, MemberState, Status
from tests.unit.widgets.cluster import START, Cluster, partition, state, topic
from tests.unit.widgets.test_cluster_view import buttons, go, press
from tests.unit.widgets.test_replica_past import failover
from widgets import OperatorBoard
from widgets.board.history import BoardHistory, sample
from widgets.board.panels import PANELS, mean_times, rounded, told

BY_NAME = {panel.name: panel for panel in PANELS}


@pytest.fixture
def cluster():
    return Cluster(partitions={})


@pytest.fixture
def board(cluster):
    view = OperatorBoard(cluster)
    yield view
    view.close()


def words(board, key):
    return next(it.content for it in board.picture.all() if it.key == key)


def series(name, *samples):
    return {it.name: [value for _, value in it.points] for it in BY_NAME[name].series(samples)}


def counted(now, **requests):
    """A state in which broker 1 has answered so many requests, in so many ms."""
    found = state({}, at=now)
    brokers = {**found.brokers, 1: replace(found.brokers[1], requests=requests)}
    return sample(replace(found, brokers=brokers))


def test_a_partition_that_lacks_a_copy_is_under_replicated_and_one_without_a_leader_offline():
    told_of = state(
        {
            **topic("whole", 2),
            **{
                it: partition(1, isr=(1, 2)) for it in topic("short", 3)
            },
            **{it: partition(-1, isr=(2,)) for it in topic("nobody", 1)},
        }
    )  # fmt: skip
    assert sample(told_of).health == (3, 1)


def test_a_leader_that_does_not_answer_leads_nothing():
    found = state(topic("orders", 3))  # a partition for each broker
    silent = {**found.brokers, 2: replace(found.brokers[2], answers=False)}
    assert sample(replace(found, brokers=silent)).health == (0, 1)


def test_a_broker_that_is_late_makes_no_partition_offline():
    """It runs, and its answer may come with the next state; a killed one does not run."""
    history = BoardHistory()
    for seconds, answers in ((0, True), (1, False), (2, False), (3, False), (4, True)):
        found = state(topic("orders", 3), at=START + 1000 * seconds)
        brokers = {**found.brokers, 2: replace(found.brokers[2], answers=answers)}
        history.see(replace(found, brokers=brokers))
    assert [(it.at - START, it.offline) for it in history.samples] == [(0, 0), (3000, 1), (4000, 0)]
    killed = {**found.brokers, 2: replace(found.brokers[2], answers=False, status=Status.DOWN)}
    history.see(replace(found, at=START + 4100, brokers=killed))
    assert history.samples[-1].offline == 1


def test_records_are_a_rate_by_topic_and_a_log_that_was_cut_is_no_negative_one():
    ends = [(0, 0), (500, 10), (300, 10), (400, 12)]
    samples = [
        sample(
            state(
                {
                    **{it: partition(1, ends=(a,) * 3) for it in topic("orders", 1)},
                    **{it: partition(1, ends=(b,) * 3) for it in topic("bills", 1)},
                },
                at=START + 1000 * second,
            )
        )
        for second, (a, b) in enumerate(ends)
    ]
    assert series("Records", *samples) == {"orders": [500, 0, 100], "bills": [10, 0, 2]}


def test_samples_that_are_very_near_make_no_rate():
    samples = [
        sample(
            state({it: partition(1, ends=(end,) * 3) for it in topic("orders", 1)}, at=START + at)
        )
        for at, end in ((0, 0), (5, 100), (1000, 200))
    ]
    assert series("Records", *samples) == {"orders": [200]}


def test_the_lag_of_a_group_is_what_it_has_still_to_read():
    member = MemberState("c1", "/127.0.0.1", None, ("orders-0",), False)
    group = GroupState(*(1, 0, "Stable", START, 1, "range", "c1", {"c1": member}, {"orders-0": 4}))
    found = sample(state(topic("orders", 1), groups={"kitchen": group}))
    assert series("Lag", found) == {"kitchen": [6]}


def test_the_disk_holds_all_replicas_and_kafkas_own_topics_are_one():
    found = sample(state(topic("orders", 2) | topic("__consumer_offsets", 3)))
    assert series("Disk", found) == {"Kafka's own": [900], "orders": [600]}
    assert series("Records", found) == {}


def test_requests_have_a_rate_and_the_mean_time_of_the_last_ones():
    before, after = counted(START, FETCH=(10, 100)), counted(START + 2000, FETCH=(30, 300))
    assert series("Requests", before, after) == {"FETCH 10 ms": [10]}
    assert mean_times([after, after]) == {"FETCH": "10 ms"}
    assert series("Requests", counted(START)) == {}


def test_a_sample_is_kept_each_second_and_when_the_health_changes():
    history = BoardHistory()
    for at in (0, 400, 800, 1200, 1600):
        history.see(state(topic("orders", 1), at=START + at))
    history.see(state({it: partition(-1) for it in topic("orders", 1)}, at=START + 1700))
    assert [it.at - START for it in history.samples] == [0, 1200, 1700]
    assert [it.at - START for it in history.between(START + 1300, START + 1800)] == [1200, 1700]


def test_an_hour_is_thinned_out_and_its_end_is_kept():
    history = BoardHistory()
    for second in range(8000):
        history.see(state({}, at=START + second * 1000))
    assert len(history.samples) < 7200
    assert [it.at - START for it in history.samples][-2:] == [7_998_000, 7_999_000]
    assert history.samples[0].at == START


def test_numbers_have_a_unit_and_a_scale_that_seldom_changes():
    assert [told(value, "/s") for value in (0, 0.25, 7, 1204.4)] == [
        "0/s",
        "0.2/s",
        "7/s",
        "1,204/s",
    ]
    assert [told(it, "bytes") for it in (1, 900, 2048, 5 << 20)] == [
        "1 byte", "900 bytes", "2 KB", "5 MB",
    ]  # fmt: skip
    assert [rounded(it, "") for it in (0, 1, 1.5, 37, 501)] == [1, 1, 2, 50, 1000]
    assert rounded(3000, "bytes") == 4096


# -- the widget ------------------------------------------------------------------------------------


def test_the_board_follows_a_cluster(board, cluster):
    assert board.about == "all partitions have all their replicas"
    cluster.set_partitions(orders_0=partition(1, isr=(1, 2)), orders_1=partition(-1))
    go(board, 1100)
    assert board.about == "1 partition without a leader, 1 partition under-replicated"
    assert words(board, "value Partitions 0") == "1"
    assert words(board, "value Partitions 1") == "1"


def test_an_open_board_has_requests_counted():
    class Counting(Cluster):
        on = False

        def count_requests(self, on=True):
            self.on = on

    cluster = Counting(partitions={})
    OperatorBoard(cluster).close()
    assert cluster.on


def test_a_recorded_failover_has_its_isr_changes_and_can_be_dragged_through():
    board = OperatorBoard(failover())
    assert "shrink" in words(board, "isr told")
    press(board, "begin")
    assert words(board, "isr told") == "0 shrinks, 0 expands"
    assert "back to the beginning" in str(buttons(board))
    assert len(board.figure().data) > 3
    board.close()
