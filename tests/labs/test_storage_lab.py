"""01_storage: its sections by themselves and out of order, and its exercises."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module as lab
from typing import Any

import pytest
from IPython.lib.pretty import pretty

from engine import Cluster
from tests.interop.watch import until
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction
from widgets.stage import Stage

LAB = LABS / "01_storage.ipynb"
BY_HAND = {  # sections that need no broker: from their first cell to their last
    "index": ("index-predict", "index", "index-outcome", "index-bytes", "decide-C026"),
    "shuffled": ("index", "shuffled", "decide-C031", "decide-C032"),
    "time": ("time", "decide-C027", "time-entries", "decide-C030"),
    "speed": ("speed-predict", "speed", "speed-outcome", "decide-C012", "size", "decide-C013"),
}


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    for section in (*reversed(BY_HAND), *BY_HAND):
        reader.names.clear()  # as after a restart, or for who begins here
        for name in BY_HAND[section]:
            printed, value = reader.run(reader.cell(name))
            if value is not None and not isinstance(value, Stage):
                assert pretty(value) == reader.cell(name).outputs[0].data["text/plain"], name
            assert printed == ""


def test_a_guess_is_answered(reader: Reader) -> None:
    for name in ("gaps-predict", "offsets-by-hand", "gaps", "gaps-outcome"):
        if name == "offsets-by-hand":  # the section's first cell, but without its cluster
            exec("from storage import life", reader.names)
            reader.names["guess"].choose("1 They close up: 0, 1, 2")
            continue
        _, value = reader.run(reader.cell(name))
    assert value.right is False


def test_a_wrong_verdict_in_the_ledger_fails_its_cell(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("time", "time-entries"):
        reader.run(reader.cell(name))
    ledger = reader.names["ledger"]
    planted = replace(ledger.claims["C030"], verdict="holds")
    monkeypatch.setitem(ledger.claims, "C030", planted)
    with pytest.raises(Contradiction, match=r"C030 conditional, and .* says holds"):
        reader.run(reader.cell("decide-C030"))


# -- the exercises: code ---------------------------------------------------------------------


def walked(entries: Any, offset: int) -> int:
    """Right, but it looks at every entry."""
    return max((at for found, at in entries if found <= offset), default=0)


def next_one(entries: Any, offset: int) -> int:
    """Halves well, and then takes the entry behind."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if entries[middle][0] < offset else (low, middle)
    return int(entries[min(low, len(entries) - 1)][1])


def whole(data: bytes) -> int:
    """Finds what is torn, and misses what is damaged."""
    from engine.storage.batch import scan  # noqa: PLC0415

    return max((at + header.size for at, header in scan(data)), default=0)


WRONG: dict[str, list[Callable[..., Any]]] = {
    "name": [lambda offset: f"{offset}.log", lambda offset: f"{offset:019d}.log"],
    "compacted": [
        lambda keys: [*{key: offset for offset, key in reversed([*enumerate(keys)])}.values()],
        lambda keys: list(range(len(set(keys)))),
    ],
    "lookup": [walked, next_one, lambda entries, offset: entries[0][1] // 0],
    "recovery": [whole, len],
}
ANSWERS = {"name": "name", "compacted": "kept", "lookup": "lookup", "recovery": "good"}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_exercise_in_code_accepts_the_answer(name: str) -> None:
    trial = getattr(lab("storage.exercises"), name)()
    outcome = trial.run(getattr(lab("answers.storage"), ANSWERS[name]))
    assert outcome.passed, outcome


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, codes in WRONG.items() for wrong in codes]
)
def test_an_exercise_in_code_refuses_what_is_wrong(name: str, wrong: Callable[..., Any]) -> None:
    outcome = getattr(lab("storage.exercises"), name)().run(wrong)
    assert not outcome.passed
    assert repr(outcome).startswith("Not yet: for ")


# -- the exercises: on a cluster -------------------------------------------------------------


def test_the_exercises_on_a_cluster_take_the_answers_and_nothing_less() -> None:
    exercises, answers, real = (
        lab(it) for it in ("storage.exercises", "answers.storage", "storage.real")
    )
    with Cluster(brokers=1, config={"log.retention.check.interval.ms": "200"}) as cluster:
        rolled, emptied = exercises.rolled(cluster), exercises.emptied(cluster)
        assert rolled.missing == emptied.missing == "there is no topic rolls"
        cluster.admin.create_topic("rolls", 2, 1)
        real.send(cluster, "rolls", ["x" * 1000] * 60)
        assert not rolled.check()
        assert rolled.missing == "rolls has more than one partition"
        cluster.admin.delete_topic("rolls")
        until(lambda: not cluster.state().partitions)

        cluster.admin.create_topic("rolls", 1, 1)  # with segments of a gigabyte
        real.send(cluster, "rolls", ["x" * 1000] * 60)
        until(lambda: not rolled.check() and rolled.missing == "its log is in 1 segment")
        cluster.admin.delete_topic("rolls")
        until(lambda: not cluster.state().partitions)

        answers.rolled(cluster)
        until(rolled.check)
        assert not emptied.check()
        assert emptied.missing == "its log begins at offset 0"
        answers.emptied(cluster)
        until(emptied.check)


def test_a_log_that_is_empty_is_emptied_too_much() -> None:
    exercises, real = lab("storage.exercises"), lab("storage.real")
    with Cluster(brokers=1, config={"log.retention.check.interval.ms": "200"}) as cluster:
        cluster.admin.create_topic("rolls", 1, 1)
        real.send(cluster, "rolls", ["x"] * 10, timestamp=1000)
        real.configure(cluster, "rolls", retention_ms=60_000)
        emptied = exercises.emptied(cluster)
        until(lambda: not emptied.check() and emptied.missing == "its log is empty")
