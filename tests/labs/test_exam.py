"""The teachers' exam: no outcome is in it, the solutions have all, and marks are counted."""

from importlib import import_module as lab
from pathlib import Path

import nbformat
import pytest

from oracle.exam import exam

SEED, COUNT = 5, 6


def text(path: Path) -> str:
    return "\n".join(cell.source for cell in nbformat.read(path, 4).cells)


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
    one = text(tmp_path / "none.ipynb").replace(
        'answer_2 = ""', f'answer_2 = "{"abcdef"[questions[1].right]}"'
    )
    notebook = nbformat.read(tmp_path / "none.ipynb", 4)
    notebook.cells[-1].source = one
    nbformat.write(notebook, tmp_path / "one.ipynb")
    whole = sum(question.level for question in questions)
    rows = {str(name): (points, of, right) for name, points, of, right in made.marks(tmp_path)}
    assert rows == {
        "all.ipynb": (whole, whole, COUNT),
        "none.ipynb": (0, whole, 0),
        "one.ipynb": (questions[1].level, whole, 1),
    }
    assert main(["exam-marks", str(tmp_path)]) == 0
    assert "all.ipynb" in capsys.readouterr().out
