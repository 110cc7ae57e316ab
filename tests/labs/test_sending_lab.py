"""06_sending: its exercises, and what would change its verdicts."""

from collections.abc import Callable, Iterator
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_06 import MUTANTS
from tests.labs.reader import LABS, Reader

LAB = LABS / "06_sending.ipynb"


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


def test_a_guess_is_answered(shared: Reader) -> None:
    shared.through("bytes-predict")
    shared.names["guess"].choose("1 The broker")
    shared.through("bytes-send", "bytes-read")
    assert shared.run(shared.cell("bytes-outcome"))[1].right is False


# -- the exercises -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("delivery.shared").cluster()
    yield cluster
    cluster.stop()


def without_bases(response: bytes) -> Any:
    """Each batch begins at 0 again."""
    rows = lab("answers.sending").decode(response)
    return [(offset % 3, key, value) for offset, key, value in rows]


def with_empty_keys(response: bytes) -> Any:
    rows = lab("answers.sending").decode(response)
    return [(offset, key or b"", value) for offset, key, value in rows]


def signed(key: bytes) -> int:
    number: int = lab("answers.sending").my_murmur2(key)
    return -number


def without_the_rest(key: bytes) -> int:
    number: int = lab("answers.sending").my_murmur2(key[: len(key) // 4 * 4])
    return number


WRONG: dict[str, tuple[str, list[Callable[..., Any]]]] = {
    "decoded": ("decode", [without_bases, with_empty_keys, len, lambda response: []]),
    "hashed": ("my_murmur2", [signed, without_the_rest, lambda key: None, len]),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_takes_the_answer_and_no_other(name: str, running: Cluster) -> None:
    exercise, (answer, wrong) = getattr(lab("delivery.sending_exercises"), name), WRONG[name]
    assert exercise(running).run(getattr(lab("answers.sending"), answer)).passed
    for code in wrong:
        outcome = exercise(running).run(code)
        assert not outcome.passed
        assert outcome.words.startswith("Not yet: ")
