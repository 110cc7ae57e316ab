"""nbval and labs/conftest.py: each cell of a lab is compared with what is saved beside the lab."""

import json
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.labs.reader import LABS
from tests.limits import START_S

IGNORED = {"tags": ["nbval-ignore-output"]}
CELLS = {  # source, metadata
    "same": ("1 + 1", {}),
    "other": ("2 + 2", {}),
    "missing": ("None", {}),
    "missing-picture": ("4", IGNORED),
    "picture": ("5", IGNORED),
    "situation": ("6", {"tags": ["nbval-ignore-output", "situation"]}),
    "last": ("7", {}),
}
SWITCH = 'metadata = "zookeeper"  # change me: kraft\nmetadata'
SAVED = {"same": "2", "other": "five", "picture": "nobody looks at it", "last": "7"}


def said(text: str) -> nbformat.NotebookNode:
    return new_output("execute_result", {"text/plain": text}, execution_count=1)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Of a lab, of one of which nothing is saved, and of a learner's copy, by cell."""
    labs = tmp_path_factory.mktemp("labs")
    shutil.copy(LABS / "conftest.py", labs)
    notebook = new_notebook(
        cells=[
            new_code_cell(source, id=name, metadata=facts)
            for name, (source, facts) in CELLS.items()
        ]
    )
    situation = notebook.cells[list(CELLS).index("situation")]
    situation.execution_count, situation.outputs = 0, [said("a picture")]
    nbformat.write(notebook, labs / "01_lab.ipynb")
    saved = {name: [said(text)] for name, text in SAVED.items()}
    (labs / ".saved").mkdir()
    (labs / ".saved/01_lab.json").write_text(json.dumps(saved))
    nbformat.write(notebook, labs / "02_lab.ipynb")  # of which nothing is saved
    switch = new_notebook(cells=[new_code_cell(SWITCH, id="mode"), new_code_cell("3", id="three")])
    nbformat.write(switch, labs / "00_start.ipynb")
    modes = {"mode": [said("'zookeeper'")], "three": [said("3")]}
    (labs / ".saved/00_start.json").write_text(json.dumps(modes))
    (labs / ".saved/kraft.json").write_text(json.dumps({"00_start": {"mode": "'kraft'"}}))
    (labs / "yours").mkdir()
    nbformat.write(notebook, labs / "yours/01_lab.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "-v", "-p", "no:cacheprovider"]
    command += ["-p", "no:nbval", "-p", "tests.lean", "-c", "/dev/null", "--rootdir", str(labs)]
    command += ["--timeout", "0.1"]  # the limit of all other tests: a kernel takes longer to start
    told = subprocess.run(
        [*command, "00_start.ipynb", "01_lab.ipynb", "02_lab.ipynb", "yours/01_lab.ipynb"],
        cwd=labs,
        env=os.environ | {"PYTHONPATH": str(LABS.parent), "PY_COLORS": "0"},
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    ).stdout
    found: dict[str, dict[str, str]] = {"01_lab": {}, "02_lab": {}, "yours/01_lab": {}}
    for lab, place, outcome in re.findall(r"^(\S+?)\W+ipynb::Cell (\d+) (\w+)", told, re.M):
        if lab in found:
            found[lab][list(CELLS)[int(place)]] = outcome
    assert all(each.keys() == CELLS.keys() for each in found.values()), told
    both = re.findall(r"^00_start\W+ipynb(@kraft|)::Cell (\d) (\w+)", told, re.M)
    return found | {"modes": {f"{place}{mode}": outcome for mode, place, outcome in both}}


def test_an_output_that_is_as_saved_passes(outcomes: dict[str, dict[str, str]]) -> None:
    assert outcomes["01_lab"]["same"] == "PASSED"


def test_an_output_that_is_otherwise_fails(outcomes: dict[str, dict[str, str]]) -> None:
    assert outcomes["01_lab"]["other"] == "FAILED"


def test_a_cell_without_a_saved_output_fails(outcomes: dict[str, dict[str, str]]) -> None:
    """A cell without a saved output fails, also if it shows nothing or is not compared."""
    assert outcomes["01_lab"]["missing"] == outcomes["01_lab"]["missing-picture"] == "FAILED"


def test_pictures_and_situations_are_not_compared(outcomes: dict[str, dict[str, str]]) -> None:
    assert outcomes["01_lab"]["picture"] == outcomes["01_lab"]["situation"] == "PASSED"


def test_the_cells_behind_one_that_failed_run(outcomes: dict[str, dict[str, str]]) -> None:
    assert outcomes["01_lab"]["last"] == "PASSED"


def test_a_lab_of_which_nothing_is_saved_fails(outcomes: dict[str, dict[str, str]]) -> None:
    passed = [name for name, outcome in outcomes["02_lab"].items() if outcome == "PASSED"]
    assert passed == ["situation"]


def test_a_learner_s_copy_elsewhere_runs(outcomes: dict[str, dict[str, str]]) -> None:
    assert set(outcomes["yours/01_lab"].values()) == {"PASSED"}


def test_a_cell_has_the_time_of_nbval_and_not_that_of_another_test(
    outcomes: dict[str, dict[str, str]],
) -> None:
    """The first cell waits for its kernel, which takes longer than pytest allows here."""
    assert outcomes["01_lab"]["same"] == outcomes["yours/01_lab"]["same"] == "PASSED"


def test_a_lab_with_a_switch_runs_in_both_modes(outcomes: dict[str, dict[str, str]]) -> None:
    """With the word replaced it shows what is saved, but for the cell that is listed."""
    cells = {"0", "1", "0@kraft", "1@kraft"}
    assert outcomes["modes"] == dict.fromkeys(cells, "PASSED")
