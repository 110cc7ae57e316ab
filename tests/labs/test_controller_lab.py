"""05_controller: sections in any order, exercises, and what would change its verdicts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module as lab
from pathlib import Path
from typing import Any

import pytest

from engine import Cluster
from engine.zookeeper import znodes
from engine.zookeeper.requests import CheckVersion, Set
from tests.interop.watch import until
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_05 import MUTANTS
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "05_controller.ipynb"
SIMULATED = {  # sections that need no cluster: from their first cell to their last
    "race": ("race-predict", "race", "race-outcome", "race-late", "race-verdict"),
    "without": (
        "without-predict",
        "without-work",
        "without",
        "without-done",
        "without-outcome",
        "without-verdict",
    ),
    "told": (
        *("told-predict", "told", "told-outcome", "told-watches"),
        *("told-verdict", "told-verdict-2"),
    ),
    "death": ("death-predict", "death", "death-outcome", "death-verdict", "exercise-1", "try-1"),
    "isr": ("isr-predict", "isr", "isr-outcome", "isr-verdict"),
    "takeover": ("takeover-predict", "takeover", "takeover-outcome", "takeover-verdict"),
    "herd": (
        *("herd-predict", "herd", "herd-outcome", "herd-each"),
        *("queue", "queue-run", "herd-verdict", "queue-verdict"),
    ),
}


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    reader.check_sections(SIMULATED)


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.run(reader.cell("race-predict"))
    reader.names["guess"].choose("1 Broker 1: it is started first")
    reader.run(reader.cell("race"))
    assert reader.run(reader.cell("race-outcome"))[1].right is False


def test_a_wrong_verdict_in_the_ledger_fails_its_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.through("race-predict", "race", "race-late")
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C073"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C073", planted)
    with pytest.raises(Contradiction, match=r"C073 conditional, and .* says holds"):
        reader.through("race-verdict")


def test_the_table_names_what_was_not_run(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.through("verdicts")
    ledger = reader.names["ledger"]
    monkeypatch.setattr(ledger, "findings", {})
    told = repr(reader.through("verdicts"))
    assert told.startswith("16 claims of 05_controller: 16 not run yet.")
    assert "Run the cells of C072, C073" in told


def test_without_kafkas_jars_the_cell_beside_a_real_broker_says_so(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """tests/real runs it with the jars."""
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    printed, value = reader.run(reader.cell("real"))
    assert printed.startswith("This cell was left out. Apache Kafka's jars, release 2.8, are ")
    assert printed.count("\n") == 1
    assert value is None
    assert "cluster" not in reader.names


# -- what would change a verdict -----------------------------------------------------------------


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


# -- the exercises -------------------------------------------------------------------------------


def first_in_isr(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    return {
        n: (isr[isr[0] == dead], epoch + 1, [it for it in isr if it != dead])
        for n, (leader, epoch, isr) in states.items()
        if dead in isr and len(isr) > 1
    }


def only_where_it_led(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    written = lab("answers.controller").after(states, replicas, dead, live)
    return {n: state for n, state in written.items() if states[n][0] == dead}


def with_an_empty_isr(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    written = lab("answers.controller").after(states, replicas, dead, live)
    return {
        n: (who, age, [it for it in isr if it != dead]) for n, (who, age, isr) in written.items()
    }


EPOCH = znodes.CONTROLLER_EPOCH
WRONG: dict[str, list[Callable[..., Any]]] = {
    "after": [first_in_isr, only_where_it_led, with_an_empty_isr, lambda *known: None],
    "fenced": [
        lambda path, data, version, epoch_version: [Set(path, data, version)],
        lambda path, data, version, epoch_version: [CheckVersion(EPOCH, epoch_version)],
        lambda path, data, version, epoch_version: [
            CheckVersion(EPOCH, epoch_version),
            Set(path, data),
        ],
        lambda path, data, version, epoch_version: [
            Set(EPOCH, b"7", epoch_version),
            Set(path, data, version),
        ],
        lambda path, data, version, epoch_version: None,
    ],
}


def with_the_lists_that_it_was_given(states: Any, replicas: Any, dead: int, live: Any) -> Any:
    """Right, and it takes the dead broker out of the lists of replicas."""
    written = lab("answers.controller").after(states, replicas, dead, live)
    for each in replicas.values():
        if dead in each:
            each.remove(dead)
    return written


def test_an_answer_may_change_what_it_is_given() -> None:
    exercises = lab("controller.exercises")
    before = [list(each) for each in exercises.REPLICAS]
    assert exercises.after().run(with_the_lists_that_it_was_given).passed
    assert before == exercises.REPLICAS


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_in_code_takes_the_answer_and_no_other(name: str) -> None:
    exercise, answer = getattr(lab("controller.exercises"), name), lab("answers.controller")
    assert exercise().run(getattr(answer, name)).passed
    for wrong in WRONG[name]:
        outcome = exercise().run(wrong)
        assert not outcome.passed
        assert outcome.words.startswith("Not yet: ")


# -- the real cluster ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("controller.shared").cluster()
    yield cluster
    cluster.stop()


def test_who_shall_be_controller(running: Cluster) -> None:
    exercises, answers = lab("controller.exercises"), lab("answers.controller")
    named = lab("controller.shared").controller
    wanted = next(each for each in running.brokers if each != named(running))
    check = exercises.chosen(running, wanted)
    assert check.missing == f"broker {wanted} is not the controller"
    other = next(each for each in running.brokers if each not in (wanted, named(running)))
    running.stop_broker(other)
    assert not check.check()
    running.restart(other)
    answers.chosen(running, wanted)
    until(check.check)
