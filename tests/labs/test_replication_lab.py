"""02_replication: section by section in any order, and its exercises."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction
from widgets.stage import Stage

LAB = LABS / "02_replication.ipynb"
SIMULATED = {  # sections that need no cluster: from their first cell to their last
    "sync": ("sync-predict", "waiting", "sync-outcome", "pace", "sync-verdict"),
    "cut": ("cut-predict", "cut", "cut-outcome", "split", "cut-verdict"),
    "five": ("five-predict", "five", "five-outcome", "five-verdict"),
    "race": ("race", "duties", "race-verdict", "takeover", "news", "duties-verdict"),
}


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    for section in (*reversed(SIMULATED), *SIMULATED):
        reader.names.clear()  # as after a restart, or for who begins here
        for name in SIMULATED[section]:
            printed, value = reader.run(reader.cell(name))
            saved = reader.cell(name).outputs[0].data["text/plain"]
            if not isinstance(value, Stage):
                assert repr(value) == saved, name
            assert printed == ""


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.run(reader.cell("five-predict"))
    reader.names["guess"].choose("1 Yes, always")
    reader.run(reader.cell("five"))
    assert reader.run(reader.cell("five-outcome"))[1].right is False


def test_a_wrong_verdict_in_the_ledger_fails_its_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("five-predict", "five"):
        reader.run(reader.cell(name))
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C070"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C070", planted)
    with pytest.raises(Contradiction, match=r"C070 conditional, and .* says holds"):
        reader.run(reader.cell("five-verdict"))


def test_the_table_names_what_was_not_run(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.run(reader.cell("verdicts"))
    ledger = reader.names["ledger"]
    monkeypatch.setattr(ledger, "findings", {})
    told = repr(reader.run(reader.cell("verdicts"))[1])
    assert "2 to come, with several ZooKeeper servers" in told
    assert "Run the cells of C042, C043" in told


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
    """Also without the examples it would be found."""
    storm = lab("replication.exercises")._in_a_storm
    eager, *_, falling = WRONG["high_watermark"]
    assert "a promise is broken" in storm(eager)
    assert "a promise is broken" in storm(falling)
    assert storm(lab("answers.replication").high_watermark) == ""


# -- the exercises: the cluster ---------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("replication.real").cluster()
    yield cluster
    cluster.stop()


def stop_it(cluster: Cluster, topic: Any) -> None:
    cluster.stop_broker(cluster.state().partitions[topic].leader)


def bounce_a_follower(cluster: Cluster, topic: Any) -> None:
    follower = cluster.state().partitions[topic].assignment[-1]
    cluster.stop_broker(follower)
    cluster.restart(follower)


def cut_for_good(cluster: Cluster, topic: Any) -> None:
    leader, follower, _ = cluster.state().partitions[topic].assignment
    cluster.cut(leader, follower)
    lab("replication.real").write(cluster, topic, ["x"])  # stored once the follower is out


HARM: dict[str, dict[Callable[[Cluster, Any], None], str]] = {
    "another_leader": {
        stop_it: "in sync is only",
        bounce_a_follower: "is led by broker 1",
    },
    "quiet_leaver": {
        cut_for_good: "not back",
        bounce_a_follower: "a session with ZooKeeper has ended",
    },
}


def told(check: Any, why: str) -> None:
    """Wait until it says what is missing, or is content."""
    try:
        until(lambda: check.check() or why in check.missing)
    except AssertionError as error:
        raise AssertionError(f"it says only: {check.missing}") from error


@pytest.mark.parametrize("name", HARM)
def test_an_exercise_in_the_cluster_takes_the_answer_and_no_other(
    running: Cluster, name: str
) -> None:
    real, exercise = (
        lab("replication.real"),
        getattr(lab("replication.exercises"), name),
    )
    real.mend(running)  # who has only just come back is not in sync with a new topic at once
    for wrong, why in HARM[name].items():
        topic = real.topic(running, name="wrong")
        check = exercise(running, topic)
        assert not check.passed
        wrong(running, topic)
        told(check, why)
        assert not check.passed, wrong.__name__
        real.mend(running)

    topic = real.topic(running, name="right")
    check = exercise(running, topic)
    getattr(lab("answers.replication"), name)(running, topic)
    until(check.check)
