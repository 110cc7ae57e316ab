"""A lab's notebook, made ready to be handed out.

    student     no outputs, no answers; a cell for code in every exercise, and one with its points
    answers     the same with each answer worked out, and the outputs that were saved with the lab

Both carry nbgrader's cell metadata (schema 3): the code cell is a solution, the cell with the
points is graded, and locked. What it ends in is the grade, as nbgrader has it for partial credit:
an exercise that is not solved costs points, and raises nothing.
"""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

from handout import answer
from handout.exercises import LABS, NONE, Exercise, Lab

Cell = Any  # nbformat's own, which has no types
SCHEMA = 3
EMPTY = "# your code"
PLACE = re.compile(r"\[labs/answers/\w+\.py]\(answers/\w+\.py\)|`?labs/answers/\w+\.py`?")
TEACHER = "your teacher's hands"


def student(path: Path) -> Any:
    """Without answers and outputs."""
    notebook = _read(path)
    for cell in _code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    _prepare(notebook, LABS.get(path.stem, NONE))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = without_answers(cell.source)
    return notebook


def answers(path: Path) -> Any:
    """With every exercise solved. What such a cell showed before is no longer what it shows."""
    notebook, lab = _read(path), LABS.get(path.stem, NONE)
    module = path.parent / "answers" / f"{lab.answers}.py"
    for exercise, cell in zip(lab.exercises, _prepare(notebook, lab), strict=True):
        cell.source = answer.cell(module, exercise.answer, cell.source, exercise.call)
        cell.outputs, cell.execution_count = [], None
    return notebook


def without_answers(text: str) -> str:
    """Where it says in which file answers are, they are not in that file any more."""
    return PLACE.sub(TEACHER, text)


def _prepare(notebook: Any, lab: Lab) -> list[Cell]:
    """Name each task, and see that it has a cell for code and one for points. Returns the first."""
    judges = [_find(notebook, each.judge) for each in lab.exercises]
    shared = Counter(_named(judge) for judge in judges)
    codes = []
    for number, (exercise, judge) in enumerate(zip(lab.exercises, judges, strict=True), 1):
        name = _named(judge)
        if shared[name] > 1 or not name:
            name = f"task_{number}"
            _name(judge, name)
        codes.append(_code(notebook, exercise, judge))
        _put_points(notebook, exercise, codes[-1], name)
    return codes


def _code(notebook: Any, exercise: Exercise, judge: Cell) -> Cell:
    """The learner's cell. Where the lab has none it comes behind what is shown with the task."""
    cells = notebook.cells
    code = _find(notebook, exercise.code)
    if code is None:
        code = new_code_cell(EMPTY, id=exercise.code)  # type: ignore[no-untyped-call]
        rest = range(cells.index(judge) + 1, len(cells))
        end = next((it for it in rest if cells[it].cell_type == "markdown"), len(cells))
        cells.insert(end, code)
    code.metadata["nbgrader"] = _metadata(exercise.code, solution=True)
    return code


def _put_points(notebook: Any, exercise: Exercise, code: Cell, name: str) -> None:
    text = f"from points import points\n\npoints({name}, {exercise.points})"
    mark = f"{exercise.code}-points"
    graded = new_code_cell(text, id=mark)  # type: ignore[no-untyped-call]
    graded.metadata["nbgrader"] = _metadata(mark, points=exercise.points)
    notebook.cells.insert(notebook.cells.index(code) + 1, graded)


def _named(judge: Cell) -> str:
    """The name of what the cell ends in; "" if it has none."""
    last = ast.parse(judge.source).body[-1]
    assert isinstance(last, ast.Expr), judge.id
    return last.value.id if isinstance(last.value, ast.Name) else ""


def _name(judge: Cell, name: str) -> None:
    """Its last line, a task that has no name or one that others have too, gets this one."""
    *before, last = judge.source.splitlines()
    judge.source = "\n".join([*before, f"{name} = {last}", name])


def _metadata(name: str, *, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    graded = {} if points is None else {"points": points}
    return {
        "schema_version": SCHEMA,
        "grade_id": name,
        "cell_type": "code",
        "solution": solution,
        "grade": bool(graded),
        "locked": not solution,
        "task": False,
        **graded,
    }


def _find(notebook: Any, name: str) -> Cell | None:
    return next((cell for cell in notebook.cells if cell.id == name), None)


def _code_cells(notebook: Any) -> list[Cell]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _read(path: Path) -> Any:
    return nbformat.read(path, 4)  # type: ignore[no-untyped-call]
