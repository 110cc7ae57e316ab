"""What a lab asks to change can be changed: no line ends in an error, or does nothing.

Here are the changes of sections in simulated time; `make order` tries those of real clusters.
"""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.labs.attempt import concerned, effects
from tests.labs.changes import Unclear, changes_of
from tests.labs.in_words import IN_WORDS, NOT_TRIED, SAME
from tests.labs.reader import LABS, Reader

LINES = {  # a line, and what a learner makes of it
    "sim.slow(1, 3, ms=250)  # change me: 1?": ["sim.slow(1, 3, ms=1)"],
    "seed(7)  # change me: 1, 2, 8": ["seed(1)", "seed(2)", "seed(8)"],
    "topic('a')  # change me: replicas=2": ["topic('a', replicas=2)"],
    "topic('a', replicas=1)  # change me: replicas=2": ["topic('a', replicas=2)"],
    "kill(1)  # the leader; change me: leave it out": ["pass"],
    "kill(1)  # change me: stop(1)": ["stop(1)"],
    "ways = {'one': 1}  # change me: 'two': 2": ["ways = {'one': 1, 'two': 2}"],
    "at = {1: 53}  # change me: 1: 49? 1: 80 (far)?": ["at = {1: 49}", "at = {1: 80}"],
    "for each in names: pass  # change me: [2]": ["for each in [2]: pass"],
    "data[:40]  # change me: [:100]": ["data[:100]"],
    "write()  # change me: add flush()": ["flush()"],
    "# change me: commit()": ["commit()"],
    "# commit()  # change me": ["commit()"],
    "def wait(seconds=3): ...  # change me: seconds=1": ["def wait(seconds=1): ..."],
}


@pytest.fixture(params=sorted(LABS.glob("*.ipynb")), ids=lambda it: it.stem)
def lab(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_as_a_learner_reads_it(line: str) -> None:
    cell = new_code_cell(line, id="cell")  # type: ignore[no-untyped-call]
    made = [change.source.split("\n")[-1].partition("  #")[0] for change in changes_of(cell, "lab")]
    assert made == LINES[line]


@pytest.mark.parametrize("line", ["x = 1  # change me", "x = 1  # change me: other values"])
def test_a_line_that_does_not_say_what_to_write_is_refused(line: str) -> None:
    cell = new_code_cell(line, id="cell")  # type: ignore[no-untyped-call]
    with pytest.raises(Unclear):
        changes_of(cell, "lab")


def test_every_change_that_a_lab_asks_for_can_be_read(lab: Path) -> None:
    for cell in Reader(lab).cells:
        changes_of(cell, lab.stem)


def test_what_is_said_about_single_cells_is_about_cells_that_ask_for_a_change() -> None:
    asking = {
        (lab.stem, cell.id)
        for lab in LABS.glob("*.ipynb")
        for cell in Reader(lab).cells
        if "change me" in cell.source
    }
    assert {*IN_WORDS, *SAME, *NOT_TRIED} <= asking


def test_only_cells_that_a_change_concerns_are_run() -> None:
    sources = {"a": "x = 1", "b": "y = 2", "c": "z = x + y", "d": "w = 3", "e": "z"}
    cells = [
        new_code_cell(source, id=name)  # type: ignore[no-untyped-call]
        for name, source in sources.items()
    ]
    assert [cell.id for cell in concerned(cells, cells[0])] == ["a", "b", "c", "e"]


def written(folder: Path, sources: list[str]) -> Path:
    """A notebook of one section, with these cells."""
    cells = [new_markdown_cell("## 1. What comes out?")]  # type: ignore[no-untyped-call]
    for number, source in enumerate(sources):
        cells.append(new_code_cell(source, id=str(number)))  # type: ignore[no-untyped-call]
    path = folder / "lab.ipynb"
    nbformat.write(new_notebook(cells=cells), path)  # type: ignore[no-untyped-call]
    return path


def faults(lab: Path, kind: str) -> list[str]:
    """The changes of a lab that fail, or that have no effect and should have one."""
    found = (effect for effect in effects(lab, kind) if effect.is_fault)
    return [str(it) for it in found if it.error or (lab.stem, it.change.cell) not in SAME]


def test_each_change_of_a_simulated_quorum_has_an_effect() -> None:
    assert not faults(LABS / "10_kraft.ipynb", "simulated")


@pytest.mark.advanced
@pytest.mark.timeout(900)
def test_each_change_in_simulated_time_has_an_effect(lab: Path) -> None:
    assert not faults(lab, "simulated")


def test_a_change_without_effect_is_found(tmp_path: Path) -> None:
    cells = ["x = 1  # change me: 2", "y = 1  # change me: 2", "print(y)", "{}[1]  # change me: 1"]
    told = [str(effect) for effect in effects(written(tmp_path, cells))]
    assert told == [
        "nothing | 0 | 2",
        "2 | 1 | 2",
        "KeyError: 1 | 3 | 1",
    ]
