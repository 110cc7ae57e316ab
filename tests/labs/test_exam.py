"""The teachers' exam: no outcome is in it, the solutions have all, and marks are counted."""

from importlib import import_module as lab
from pathlib import Path

import nbformat
import pytest

from oracle.exam import exam
from oracle.situation import OracleQuestion

SEED, COUNT = 5, 6


def text(path: Path) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, 4).cells)


def letter(question: OracleQuestion) -> str:
    return "ABCDEF"[question.right]


def answered(folder: Path, name: str, sources: dict[int, str], *, ids: bool = True) -> None:
    """A student's notebook, with these texts in the cells of these answers."""
    notebook = nbformat.read(folder / "none.ipynb", 4)
    for cell in notebook.cells:
        number = int(cell.id.removeprefix("answer-")) if cell.id.startswith("answer-") else 0
        cell.source = sources.get(number, cell.source)
        cell.id = cell.id if ids else f"other-{cell.id}"
    nbformat.write(notebook, folder / f"{name}.ipynb")


def test_an_exam_has_all_questions_and_no_outcome(tmp_path: Path) -> None:
    made = lab("handout.exam")
    made.write(tmp_path / "exam.ipynb", SEED, COUNT)
    made.write(tmp_path / "solutions.ipynb", SEED, COUNT, solved=True)
    asked, solved = text(tmp_path / "exam.ipynb"), text(tmp_path / "solutions.ipynb")
    for number, question in enumerate(exam(SEED, COUNT), 1):
        assert question.asks in asked
        assert all(option.text in asked for option in question.options)
        assert question.why not in asked
        assert question.why in solved
        assert f'answer_{number} = ""' in asked
        assert f'answer_{number} = "{"ABCDEF"[question.right]}"' in solved
    nbformat.validate(nbformat.read(tmp_path / "exam.ipynb", 4))


def test_a_question_has_as_many_points_as_its_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, main = lab("handout.exam"), lab("handout.__main__").main
    assert main(["exam", str(SEED), str(COUNT), str(tmp_path / "none.ipynb")]) == 0
    assert main(["solutions", str(SEED), str(COUNT), str(tmp_path / "all.ipynb")]) == 0
    questions = exam(SEED, COUNT)
    answered(tmp_path, "one", {2: f'answer_2 = "{letter(questions[1]).lower()}"'})
    whole = sum(question.level for question in questions)
    rows = {str(name): its for name, *its in made.marks(tmp_path)}
    assert rows == {
        "all.ipynb": [whole, whole, COUNT, 0],
        "none.ipynb": [0, whole, 0, 0],
        "one.ipynb": [questions[1].level, whole, 1, 0],
    }
    assert main(["exam-marks", str(tmp_path)]) == 0
    assert "all.ipynb" in capsys.readouterr().out


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize(
    "written",
    [
        'answer_1 = "{0} "',
        "answer_1 = '{0})'",
        'answer_1 = " {0}."  # not answer_1 = "F"',
        "answer_1={0}",
        '# answer_1 = "F"\nanswer_1 = "F"\nanswer_1 = "{0}"\n',
    ],
)
def test_an_answer_is_read_as_students_write_it(written: str, ids: bool, tmp_path: Path) -> None:
    made, question = lab("handout.exam"), exam(SEED, COUNT)[0]
    made.write(tmp_path / "none.ipynb", SEED, COUNT)
    answered(tmp_path, "one", {1: written.format(letter(question))}, ids=ids)
    rows = {str(name): its for name, *its in made.marks(tmp_path)}
    points, _, right, unread = rows["one.ipynb"]
    assert (points, right, unread) == (question.level, 1, 0)


def test_what_stands_in_another_cell_is_no_answer(tmp_path: Path) -> None:
    made, question = lab("handout.exam"), exam(SEED, COUNT)[0]
    made.write(tmp_path / "none.ipynb", SEED, COUNT)
    answered(tmp_path, "one", {2: f'answer_2 = ""\nanswer_1 = "{letter(question)}"'})
    assert made.marks(tmp_path).column("right answers") == [0, 0]


def test_what_cannot_be_read_is_counted_and_stops_nothing(tmp_path: Path) -> None:
    """A letter too many, an answer without its name, a file that is cut off, other texts."""
    made = lab("handout.exam")
    made.write(tmp_path / "none.ipynb", SEED, COUNT)
    answered(tmp_path, "two", {1: 'answer_1 = "A or B"', 2: '"B"'})
    whole = (tmp_path / "none.ipynb").read_text()
    (tmp_path / "cut.ipynb").write_text(whole[:200])
    others = {"list": "[]", "empty": "{}", "bare": '{"nbformat": 4, "cells": [1]}'}
    for name, content in others.items():
        (tmp_path / f"{name}.ipynb").write_text(content)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints/two-checkpoint.ipynb").write_text(whole)
    rows = {str(name): its for name, *its in made.marks(tmp_path)}
    damaged = {f"{name}.ipynb" for name in (*others, "cut")}
    assert set(rows) == damaged | {"none.ipynb", "two.ipynb"}
    assert all(rows[name] == [None, None, None, "the file"] for name in damaged)
    assert rows["two.ipynb"][-1] == 2
