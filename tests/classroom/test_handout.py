"""What students are given: it runs, it has no answers in it, and it says what is not done yet."""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module as lab
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jsonschema import validate  # type: ignore[import-untyped]

from tests.classroom.conftest import ROOT
from tests.labs.reader import LABS, Reader

STEMS = sorted(path.stem for path in LABS.glob("[0-9]*.ipynb"))  # the appendix has no exercises
# As nbgrader publishes it, version 3, with what its validator asks for besides.
NBGRADER = {
    "type": "object",
    "properties": {
        "schema_version": {"const": 3},
        "grade": {"type": "boolean"},
        "locked": {"type": "boolean"},
        "solution": {"type": "boolean"},
        "task": {"const": False},
        "grade_id": {"type": "string", "pattern": r"^[a-zA-Z0-9_\-]+$"},
        "points": {"type": "number", "minimum": 0},
        "cell_type": {"const": "code"},
    },
    "required": ["schema_version", "grade", "locked", "solution", "grade_id"],
    "additionalProperties": False,
    "if": {"properties": {"grade": {"const": True}}},
    "then": {"required": ["points"]},
    "else": {"properties": {"points": False}},
}


def read(path: Path) -> Any:
    return nbformat.read(path, 4)  # type: ignore[no-untyped-call]


def by_id(notebook: Any) -> dict[str, Any]:
    return {cell.id: cell for cell in notebook.cells}


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def graded(notebook: Any) -> list[dict[str, Any]]:
    return [cell.metadata["nbgrader"] for cell in code(notebook) if "nbgrader" in cell.metadata]


# -- the table of exercises ------------------------------------------------------------------


def test_every_lab_has_its_exercises_and_every_answer_belongs_to_one() -> None:
    table = lab("handout.exercises").LABS
    assert sorted(table) == STEMS
    for stem, (module, exercises) in table.items():
        tree = ast.parse((LABS / "answers" / f"{module}.py").read_text())
        functions = [it.name for it in tree.body if isinstance(it, ast.FunctionDef | ast.ClassDef)]
        assert sorted(it.answer for it in exercises) == sorted(functions), stem
        cells = by_id(read(LABS / f"{stem}.ipynb"))
        for it in exercises:
            assert it.judge in cells
            stub = ast.parse(cells[it.code].source if it.code in cells else "")
            written = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in stub.body)
            assert written == (not it.call), f"{stem}: {it.code} is written or called"


def test_a_task_in_a_lab_that_no_exercise_names_would_be_forgotten() -> None:
    """Whatever is judged in a lab is in the table."""
    for stem, (_, exercises) in lab("handout.exercises").LABS.items():
        cells = code(read(LABS / f"{stem}.ipynb"))
        calls = re.compile(r"(?:exercises\.(?!serve|restore)\w+|start\.exercise)\(")
        judges = [cell.id for cell in cells if calls.search(cell.source)]
        assert judges == [it.judge for it in exercises]


# -- notebooks -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["student", "answers"])
@pytest.mark.parametrize("stem", STEMS)
def test_they_are_valid_for_jupyter_and_for_nbgrader(
    handed_out: Path, stem: str, kind: str
) -> None:
    notebook = read(handed_out / kind / "labs" / f"{stem}.ipynb")
    nbformat.validate(notebook)
    found = graded(notebook)
    for each in found:
        validate(each, NBGRADER)
    names = [each["grade_id"] for each in found]
    assert len(set(names)) == len(names)
    assert len([it for it in found if it["solution"]]) == len(names) / 2
    assert sum(it.get("points", 0) for it in found) == (1 if stem == "00_start" else 10)


@pytest.mark.parametrize("stem", STEMS)
def test_points_are_asked_of_a_task_that_no_other_exercise_replaces(
    handed_out: Path, stem: str
) -> None:
    notebook = read(handed_out / "student/labs" / f"{stem}.ipynb")
    asked = re.findall(r"^points\((\w+), ", "\n".join(it.source for it in code(notebook)), re.M)
    assert len(set(asked)) == len(asked) == len(lab("handout.exercises").LABS[stem].exercises)


@pytest.mark.parametrize("stem", STEMS)
def test_a_student_s_notebook_is_the_lab_without_outputs(handed_out: Path, stem: str) -> None:
    mine, given = read(LABS / f"{stem}.ipynb"), read(handed_out / "student/labs" / f"{stem}.ipynb")
    assert all(not cell.outputs and cell.execution_count is None for cell in code(given))
    there = [cell.id for cell in given.cells]
    assert [name for name in there if name in by_id(mine)] == list(by_id(mine))
    predictions = [name for name in by_id(mine) if "predict" in name]
    assert predictions
    for name in predictions:
        assert by_id(given)[name].source == by_id(mine)[name].source


@pytest.mark.parametrize("stem", STEMS)
def test_the_teacher_s_keeps_the_outputs_but_for_what_answers_change(
    handed_out: Path, stem: str
) -> None:
    mine = by_id(Reader(LABS / f"{stem}.ipynb").notebook)
    given = read(handed_out / "answers/labs" / f"{stem}.ipynb")
    solved = {it.code for it in lab("handout.exercises").LABS[stem].exercises}
    for cell in code(given):
        if cell.id in solved:
            assert "# BEGIN SOLUTION" in cell.source and not cell.outputs
        elif cell.id in mine:
            assert cell.outputs == mine[cell.id].outputs


# -- the folder ------------------------------------------------------------------------------


def test_no_answer_is_in_the_student_s_folder(handed_out: Path) -> None:
    """Nor what came out when the labs were run."""
    folder = handed_out / "student"
    assert not list(folder.rglob(".saved"))
    assert not list(folder.rglob("answers")) + list(folder.rglob("handout"))
    text = "".join(path.read_text() for path in (folder / "labs").rglob("*.ipynb"))
    text += (folder / "labs/README.md").read_text()
    for module in (LABS / "answers").glob("*.py"):
        lines = module.read_text().splitlines()
        assert f"answers/{module.name}" not in text
        for function in ast.parse("\n".join(lines)).body:
            if isinstance(function, ast.FunctionDef):
                body = lines[function.body[0].lineno - 1 : function.end_lineno]
                telling = max(body, key=len).strip().replace('"', '\\"')
                assert telling not in text, f"{module.name}, {function.name}"
    assert "answers are in your teacher's hands" in text


def test_the_folder_has_what_make_lab_asks_for(handed_out: Path) -> None:
    for kind in ("student", "answers"):
        folder = handed_out / kind
        assert (folder / "labs/.jupyter/jupyter_lab_config.py").is_file()
        plan = subprocess.run(
            ["make", "-n", "lab"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
        assert "jupyter lab" in plan
        for name in re.findall(r"requirements/\w+\.txt", plan):
            assert (folder / name).is_file(), name
        assert "make lab" in (folder / "README.md").read_text()


def test_made_again_it_is_made_anew(tmp_path: Path) -> None:
    folder = lab("handout.folder")
    folder.student(ROOT, tmp_path / "student")
    (tmp_path / "student" / "labs" / "old.txt").write_text("of yesterday")
    folder.student(ROOT, tmp_path / "student")
    assert not (tmp_path / "student" / "labs" / "old.txt").exists()


# -- exercises, run --------------------------------------------------------------------------


def in_code() -> list[tuple[str, str]]:
    """Of every lab the exercises that need neither a cluster nor Spark, as (lab, code cell)."""
    return [
        *(("01_storage", f"{it}-try") for it in ("name", "compacted", "lookup", "recovery")),
        *(("02_replication", f"try-{it}") for it in (1, 3, 5, 6)),
        *(("05_controller", f"try-{it}") for it in (1, 3)),
        *(("03_rebalance", f"exercise-{it}-try") for it in (3, 4, 5)),
        *(("04_streams", f"exercise-{it}-try") for it in (2, 3, 4, 5, 7)),
    ]


def exercise_of(stem: str, name: str) -> Any:
    return next(it for it in lab("handout.exercises").LABS[stem].exercises if it.code == name)


def tried(reader: Reader, stem: str, name: str) -> tuple[str, int]:
    """What the learner's cell says, and what the cell with the points says."""
    exercise = exercise_of(stem, name)
    reader.names["exercises"] = lab(f"{stem[3:]}.exercises")
    reader.run(reader.cell(exercise.judge))
    _, outcome = reader.run(reader.cell(name))
    _, points = reader.run(reader.cell(f"{name}-points"))
    return repr(outcome), points


@pytest.mark.parametrize(("stem", "name"), in_code())
def test_what_is_not_solved_says_so_and_earns_nothing(
    handed_out: Path, stem: str, name: str
) -> None:
    said, points = tried(Reader(handed_out / f"student/labs/{stem}.ipynb"), stem, name)
    assert said.startswith("Not yet: ")
    assert points == 0


@pytest.mark.parametrize(("stem", "name"), in_code())
def test_the_worked_answer_is_done_and_earns_its_points(
    handed_out: Path, stem: str, name: str
) -> None:
    said, points = tried(Reader(handed_out / f"answers/labs/{stem}.ipynb"), stem, name)
    assert said.startswith("Done: ")
    exercise = exercise_of(stem, name)
    assert points == exercise.points > 0


@pytest.mark.parametrize(("stem", "name"), in_code())
def test_without_what_is_between_the_marks_it_is_an_exercise_again(
    handed_out: Path, stem: str, name: str
) -> None:
    """So nbgrader and Otter take the answers out; what is left is code, and it runs."""
    reader = Reader(handed_out / f"answers/labs/{stem}.ipynb")
    cell = reader.cell(name)
    marks = re.compile(r"( *)# BEGIN SOLUTION\n.*?# END SOLUTION\n", re.DOTALL)
    cell.source, count = marks.subn(r"\1...\n", cell.source)
    assert count == 1
    said, points = tried(reader, stem, name)
    assert said.startswith("Not yet: ")
    assert points == 0


# -- what comes back -------------------------------------------------------------------------


def test_what_was_not_run_earns_nothing_and_no_number_is_more_than_its_points(
    handed_out: Path, tmp_path: Path
) -> None:
    notebook = read(handed_out / "student/labs/01_storage.ipynb")
    typed = nbformat.v4.new_output(  # type: ignore[no-untyped-call]
        "execute_result", {"text/plain": "99"}, execution_count=1
    )
    by_id(notebook)["lookup-try-points"].outputs = [typed]
    nbformat.write(notebook, tmp_path / "01_storage-tom.ipynb")  # type: ignore[no-untyped-call]
    (table,) = lab("handout.marks").tables(tmp_path)
    assert table.column("name-try") == [None]
    assert table.column("points") == ["2 of 10"]
    assert "01_storage-tom.ipynb   -  " in repr(table)


def test_the_command_says_what_it_wants_and_what_it_has_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = lab("handout.__main__").main
    assert main(["marks", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"no notebook of a lab in {tmp_path}\n"
    assert main(["student"]) == 2
    assert capsys.readouterr().err.startswith("python -m handout student DIR")


def test_a_damaged_notebook_has_a_row_and_a_checkpoint_has_none(tmp_path: Path) -> None:
    (tmp_path / "tom").mkdir()
    (tmp_path / "tom/01_storage.ipynb").write_text("{")
    (tmp_path / "tom/.ipynb_checkpoints").mkdir()
    (tmp_path / "tom/.ipynb_checkpoints/01_storage-checkpoint.ipynb").write_text("{}")
    (table,) = lab("handout.marks").tables(tmp_path)
    assert [(str(row[0]), row[-1]) for row in table] == [("tom/01_storage.ipynb", "cannot be read")]


def first_of_section(notebook: Any, name: str) -> str:
    """The code cell that sets up the section to which a cell belongs."""
    first = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            first = ""
        elif cell.cell_type == "code":
            first = first or cell.id
        if cell.id == name:
            return first
    raise AssertionError(f"there is no cell {name}")


@pytest.mark.long
@pytest.mark.parametrize("stem", STEMS[1:])
def test_answers_on_a_cluster_earn_their_points(handed_out: Path, stem: str) -> None:
    """Those that are done by commands to a cluster, in a row."""
    reader = Reader(handed_out / f"answers/labs/{stem}.ipynb")
    try:
        for it in lab("handout.exercises").LABS[stem].exercises:
            if it.call:
                reader.run(reader.cell(first_of_section(reader.notebook, it.judge)))
                reader.run(reader.cell(it.judge))
                reader.run(reader.cell(it.code))
                assert reader.run(reader.cell(f"{it.code}-points"))[1] == it.points, it.judge
    finally:
        if team := reader.names.get("team"):
            team.__exit__()
        reader.close()


@pytest.mark.long  # the lab as it is shipped runs in `make test`, and in a browser
@pytest.mark.timeout(300)
def test_a_student_runs_00_start_to_its_end_solves_it_and_hands_it_in(
    handed_out: Path, tmp_path: Path
) -> None:
    """In a real kernel, on the folder's own engine; the answer comes after a first try."""
    folder = tmp_path / "mei"
    shutil.copytree(handed_out / "student", folder)
    path = folder / "labs" / "00_start.ipynb"
    notebook = read(path)
    solved = by_id(read(handed_out / "answers/labs/00_start.ipynb"))
    again = [solved["exercise-try"], solved["exercise-try-points"]]
    first = by_id(notebook)["exercise-try-points"]
    first["id"], first.metadata["nbgrader"]["grade_id"] = "too-soon", "too-soon"
    place = [cell.id for cell in notebook.cells].index("too-soon")
    by_id(notebook)["exercise-try"]["id"] = "stub"
    notebook.cells[place + 1 : place + 1] = again
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]

    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace"]
    told = subprocess.run(
        [*command, str(path)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stderr
    earned = lab("handout.marks").earnings(read(path))
    assert (earned["too-soon"], earned["exercise-try-points"]) == (0, 1)
    handed_in = tmp_path / "in" / "mei"
    handed_in.mkdir(parents=True)
    shutil.copy(path, handed_in)
    (table,) = lab("handout.marks").tables(tmp_path / "in")
    assert list(table) == [(Path("mei/00_start.ipynb"), 1, "1 of 1")]
