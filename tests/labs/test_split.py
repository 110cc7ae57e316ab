"""A lab that was saved with all its outputs is split: who opens it sees no outcome, and none is
lost."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.labs.reader import Reader
from tests.labs.split import split
from widgets.ledger.coverage import decided
from widgets.ledger.ledger import MIME
from widgets.saved import saved_outputs, saved_path, with_outputs

ASK = 'from widgets import Predict\n\nPredict("2 < 3?", {"no": "It is.", "yes": "It is."})'


def picture(of: str) -> Any:
    return new_output("display_data", {"image/png": "AAAA", "text/plain": of})


def said(text: str, **more: Any) -> Any:
    return new_output("execute_result", {"text/plain": text, **more}, execution_count=1)


def code(name: str, *outputs: Any, source: str = "1", tags: tuple[str, ...] = ()) -> Any:
    metadata = {"tags": list(tags)} if tags else {}
    facts = {"id": name, "outputs": list(outputs), "execution_count": 1, "metadata": metadata}
    return new_code_cell(source, **facts)


@pytest.fixture
def cells() -> list[Any]:
    """Of a lab as it was saved by whoever had run it."""
    verdict = said("C001 holds", **{MIME: {"C001": "holds"}})
    return [
        new_markdown_cell("# A lab", id="title"),
        code("cluster", picture("ClusterView")),
        new_markdown_cell("## 1. Numbers", id="numbers"),
        code("before", picture("ClusterView")),
        code("words", said("this is no picture")),
        code("predict", picture("Predict"), source=ASK, tags=("nbval-ignore-output",)),
        code("after", picture("ClusterView")),
        code("outcome", said("You have not chosen an answer. What happened: yes. It is.")),
        code("verdict", verdict),
        new_markdown_cell("## 2. What it cost", id="cost"),
        code("end", picture("ClusterView")),
        code("nothing"),
    ]


@pytest.fixture
def lab(tmp_path: Path, cells: list[Any]) -> Path:
    path = tmp_path / "01_numbers.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def shown(path: Path) -> dict[str, list[Any]]:
    """What somebody sees who opens the notebook."""
    found = json.loads(path.read_text())["cells"]
    return {cell["id"]: cell["outputs"] for cell in found if cell.get("outputs")}


def files(path: Path) -> tuple[str, str]:
    return path.read_text(), saved_path(path).read_text()


def test_questions_and_opening_pictures_stay_and_the_rest_goes_beside(lab: Path) -> None:
    split(lab)
    assert list(shown(lab)) == ["cluster", "before", "predict"]
    assert list(saved_outputs(lab)) == ["words", "after", "outcome", "verdict", "end", "nothing"]
    assert 'execution_count": 1' not in lab.read_text()


def test_a_question_is_kept_in_words_and_an_outcome_without_a_complaint(lab: Path) -> None:
    split(lab)
    words = shown(lab)["predict"][0]["data"]["text/html"]
    assert "".join(words).endswith('2 &lt; 3?</b></p><ol type="A"><li>no</li><li>yes</li></ol>')
    outcome = saved_outputs(lab)["outcome"][0]["data"]["text/plain"]
    assert outcome == ["What happened: yes. It is."]


def test_the_author_s_situations_count_and_no_rule_adds_to_them(
    lab: Path, cells: list[Any]
) -> None:
    cells[4].metadata["tags"] = ["situation"]
    nbformat.write(new_notebook(cells=cells), lab)
    split(lab)
    assert list(shown(lab)) == ["words", "predict"]


def test_a_lab_that_is_ready_stays_as_it_is(lab: Path) -> None:
    split(lab)
    before = files(lab)
    split(lab)
    assert files(lab) == before


def test_a_lab_that_was_run_again_replaces_what_is_saved(lab: Path, cells: list[Any]) -> None:
    """A cell that shows nothing any more has nothing saved."""
    split(lab)
    cells[4].outputs, cells[6].outputs = [said("something else")], []
    nbformat.write(new_notebook(cells=cells), lab)
    split(lab)
    saved = saved_outputs(lab)
    assert saved["words"][0]["data"]["text/plain"] == ["something else"]
    assert saved["after"] == []


def test_a_cell_that_was_never_run_gets_no_saved_output(lab: Path, cells: list[Any]) -> None:
    split(lab)
    notebook = nbformat.read(lab, 4)
    notebook.cells.append(new_code_cell("2", id="new"))
    nbformat.write(notebook, lab)
    split(lab)
    assert "new" not in saved_outputs(lab)
    assert "nothing" in saved_outputs(lab)


def test_put_together_again_nothing_is_missing(lab: Path, cells: list[Any]) -> None:
    split(lab)
    together = {cell["id"]: cell for cell in with_outputs(lab)["cells"]}
    for cell in cells[1:]:
        assert len(together[cell.id].get("outputs", ())) == len(cell.get("outputs", ()))
    assert decided(lab)["C001"].cell == "verdict"
    assert Reader(lab).cell("after").outputs[0].data["image/png"] == "AAAA"
