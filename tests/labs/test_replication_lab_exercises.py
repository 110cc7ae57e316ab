"""The exercises of 02_replication: what they take, and what they refuse."""

from collections.abc import Callable, Iterator
from importlib import import_module as lab
from types import SimpleNamespace
from typing import Any

import pytest

from engine import Cluster
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, ControllerState, PartitionState, Status
from engine.model import TopicPartition
from tests.interop.watch import until

# -- the exercises: code ---------------------------------------------------------------------


def first_in_isr(replicas: Any, isr: Any, live: Any, unclean: bool) -> int:
    return next((it for it in isr if it in live), -1)


def first_alive(replicas: Any, isr: Any, live: Any, unclean: bool) -> int:
    return next((it for it in replicas if it in live), -1)


WRONG: dict[str, list[Callable[..., Any]]] = {
    "settings": [
        lambda: {"acks": "1", "min.insync.replicas": 2},
        lambda: {"acks": "all", "min.insync.replicas": 1},
        lambda: {"acks": "all", "min.insync.replicas": 3},
        lambda: {"acks": "-1", "min.insync.replicas": 3},
        lambda: {"acks": "2", "min.insync.replicas": 2},
        lambda: {"acks": "all", "min.insync.replicas": 0},
    ],
    "leader": [first_in_isr, first_alive],
    "high_watermark": [
        lambda end, known, counted, old: end,
        lambda end, known, counted, old: max(old, min([end, *known.values()])),
        lambda end, known, counted, old: min([end, *(known[it] for it in counted)]),
    ],
    "ended": [
        lambda epochs, log_end, epoch: log_end,
        lambda epochs, log_end, epoch: dict(epochs).get(epoch, log_end),
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_in_code_takes_the_answer_and_no_other(name: str) -> None:
    exercise, answer = (
        getattr(lab("replication.exercises"), name),
        lab("answers.replication"),
    )
    assert exercise().run(getattr(answer, name)).passed
    for wrong in WRONG[name]:
        outcome = exercise().run(wrong)
        assert not outcome.passed
        assert outcome.words.startswith("Not yet: ")


def test_a_wrong_high_watermark_breaks_a_promise_in_a_storm() -> None:
    """The storm finds the wrong rule by itself, without the examples."""
    storm = lab("replication.exercises")._in_a_storm
    eager, *_, falling = WRONG["high_watermark"]
    assert "a promise is broken" in storm(eager)
    assert "a promise is broken" in storm(falling)
    assert storm(lab("answers.replication").high_watermark) == ""
    assert "it raises KeyError: " in storm(
        lambda end, known, counted, old: max(old, min([end, *(known[it] for it in (2, 3))]))
    )


CONTROLLERS = {101: ControllerState(Status.UP, True, 0, 0, "leader")}
LEFT, BACK = ({"topic": "naps", "isr": isr} for isr in ([1, 2], [1, 2, 3]))


@pytest.mark.parametrize(
    ("kind", "facts", "controllers", "ended"),
    [
        ("broker.fenced", {"broker": 3}, CONTROLLERS, True),
        ("broker.killed", {"broker": 3}, CONTROLLERS, True),
        ("controller.elected", {"broker": 102}, CONTROLLERS, False),
        ("controller.elected", {"broker": 2}, {}, True),
        ("broker.down", {"broker": 3}, {}, True),
    ],
)
def test_a_replica_leaves_and_is_back_without_the_end_of_a_session_in_both_modes(
    kind: str, facts: dict[str, Any], controllers: dict[int, ControllerState], ended: bool
) -> None:
    """Without ZooKeeper a session ends when a broker is fenced, and controllers are no brokers."""
    story = [("isr.changed", LEFT), (kind, facts), ("isr.changed", BACK)]
    state, events = ClusterState(0, 1, {}, {}, controllers=controllers), list[ClusterEvent]()
    cluster = SimpleNamespace(state=lambda: state, events=lambda: events)
    check = lab("replication.exercises").quiet_leaver(cluster, "naps")
    events += [ClusterEvent(it, 0, None, data, at) for at, (it, data) in enumerate(story, 1)]
    assert check.check() is not ended
    assert ended == check.missing.startswith("a broker's session has ended")


STOPPED = ("leader.elected", {"topic": "led", "reason": "shutdown"})


@pytest.mark.parametrize(
    ("then", "passed"),
    [
        ([STOPPED], False),
        ([STOPPED, ("broker.started", {"broker": 2})], False),
        ([STOPPED, ("broker.started", {"broker": 1})], True),
        ([("leader.elected", {"topic": "led", "reason": "offline"})], True),
        ([STOPPED, ("leader.elected", {"topic": "led", "reason": "offline"})], True),
    ],
)
def test_a_leader_that_is_stopping_may_be_in_sync_for_a_moment_more(
    then: list[tuple[str, dict[str, Any]]], passed: bool
) -> None:
    """It follows the new leader until its connections are closed."""
    place = TopicPartition("led", 0)
    states = {place: PartitionState(1, 0, (1, 2, 3), (1, 2, 3), {}, {})}
    events = list[ClusterEvent]()
    cluster = SimpleNamespace(state=lambda: ClusterState(0, 2, {}, states), events=lambda: events)
    check = lab("replication.exercises").another_leader(cluster, "led")
    states[place] = PartitionState(2, 1, (2, 3, 1), (1, 2, 3), {}, {})
    events += [ClusterEvent(it, 0, None, data, at) for at, (it, data) in enumerate(then, 1)]
    assert check.check() is passed
    assert passed or check.missing == "broker 1 is stopping"


# -- the exercises: the cluster ---------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("replication.real").cluster()
    yield cluster
    cluster.stop()


def stop_it(cluster: Cluster, topic: str) -> None:
    cluster.stop_broker(cluster.leader(topic))


def bounce_a_follower(cluster: Cluster, topic: str) -> None:
    cluster.stop_broker(3)
    cluster.restart(3)


def cut_for_good(cluster: Cluster, topic: str) -> None:
    cluster.cut(1, 2)
    cluster.write(topic, ["x"])  # stored once the follower is out


HARM: dict[str, dict[Callable[[Cluster, str], None], str]] = {
    "another_leader": {
        stop_it: "in sync is only",
        bounce_a_follower: "is led by broker 1",
    },
    "quiet_leaver": {
        cut_for_good: "not back",
        bounce_a_follower: "a broker's session has ended",
    },
}


def told(check: Any, why: str) -> None:
    """Wait until it says what is missing, or is content."""
    try:
        until(lambda: check.check() or why in check.missing)
    except AssertionError as error:
        raise AssertionError(f"it says only: {check.missing}") from error


@pytest.mark.parametrize(
    "name", ["another_leader", pytest.param("quiet_leaver", marks=pytest.mark.long)]
)
def test_an_exercise_in_the_cluster_takes_the_answer_and_no_other(
    running: Cluster, name: str
) -> None:
    exercise = getattr(lab("replication.exercises"), name)
    running.mend()  # a broker that has only just come back is not in sync with a new topic at once
    for wrong, why in HARM[name].items():
        check = exercise(running, topic := running.topic("wrong", replicas=[1, 2, 3]))
        assert not check.passed
        wrong(running, topic)
        told(check, why)
        assert not check.passed, wrong.__name__
        running.mend()

    check = exercise(running, topic := running.topic("right", replicas=[1, 2, 3]))
    getattr(lab("answers.replication"), name)(running, topic)
    until(check.check)
