"""Whole labs in every order that a learner may find, at a real kernel: `make order`.

    .venv/bin/pytest tests/labs/orders.py -k '01_storage and twice'

Invariant: a cell ends in its answer, or in a sentence that says what to do; never in a traceback
from below. Sections that are run in order, each by itself, end in answers only.
"""

from pathlib import Path

import pytest

from tests.labs.order import LABS, Learner, Said, setting_up, shuffled, twice
from tests.labs.test_changes import faults

pytestmark = pytest.mark.timeout(3600)
SEEDS = [1]
LEFT_OUT = "This cell was left out."  # an optional one says so where Kafka's jars are not


@pytest.fixture(params=sorted(LABS.glob("*.ipynb"))[1:], ids=lambda it: it.stem)
def lab(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def bare(said: list[Said]) -> str:
    return "\n\n".join(f"{each.cell.id}: {each.told}" for each in said if each.bare)


def test_twice(lab: Path) -> None:
    """An experiment that was run twice decides its claims as before."""
    with Learner(lab) as learner:
        said = [learner.run(cell) for cell in twice(learner.cells)]
        assert not bare(said)
        assert not [each.told for each in said if each.error == "Contradiction"]


@pytest.mark.parametrize("seed", SEEDS)
def test_shuffled(lab: Path, seed: int) -> None:
    with Learner(lab) as learner:
        assert not bare([learner.run(cell) for cell in shuffled(learner.cells, seed)])


def test_sections_from_the_last_to_the_first(lab: Path) -> None:
    """Each section runs after the cell that sets up, and before the sections in front of it."""
    with Learner(lab) as learner:
        learner.run(setting_up(learner.cells))
        for section in reversed(learner.sections()):
            for cell in section:
                said = learner.run(cell)
                assert not said.error, said
                progress = all(line.endswith(" ...") for line in said.printed.splitlines())
                assert progress or said.printed.startswith(LEFT_OUT), said


def test_interrupted_begun_anew_and_gone_on(lab: Path) -> None:
    """Each cell of the first section is stopped once; then the kernel is new, amid the next."""
    with Learner(lab) as learner:
        first, second = learner.sections()[:2]
        stopped, said = [], []
        for cell in first:
            stopped.append(learner.run(cell, interrupt=True))
            said.append(learner.run(cell))
        said += [learner.run(cell) for cell in second[:2]]
        learner.restart()
        said += [learner.run(cell) for cell in second[2:]]
        assert not bare(said)
        # A cell that is soon done may be stopped in IPython itself, which tells that in its way.
        assert not [each for each in stopped if str(LABS.parent) in each.told]
        for cell in (setting_up(learner.cells), *second):
            again = learner.run(cell)
            assert not again.error, again


def test_each_change_in_a_cluster_has_an_effect(lab: Path) -> None:
    """A learner changes a line where the lab asks for it: no cell fails, and something differs."""
    assert not faults(lab, "real")
