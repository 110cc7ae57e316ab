"""What a learner has done is written down once, is kept whatever happens, and is shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.widgets.cluster import Cluster
from widgets import ClusterView, IdeaMap, Predict, Trial
from widgets.ideas.idea import ideas, lab_places
from widgets.progress import record
from widgets.progress.plan import LABS, lab_plan, lab_plans
from widgets.progress.record import ProgressFile, TaskPlace
from widgets.progress.renamed import ELSEWHERE, NEW_NAMES
from widgets.progress.view import Progress
from widgets.saved import with_outputs
from widgets.scene import SceneShape

KINDS = ("Predict", "Estimate", "Check", "Trial")
PLACE = TaskPlace("01_storage", "topics-predict")
ANSWERS = {"One": "There are three partitions.", "Three": "A partition is a folder."}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of a kernel that JupyterLab has started; it runs the first question of 01."""
    path = tmp_path / "yours" / "progress.json"
    monkeypatch.setenv(record.PATH, str(path))
    monkeypatch.setenv(record.NOTEBOOK, "labs/01_storage.ipynb")
    in_cell(monkeypatch, PLACE.cell)
    yield path
    record._files.clear()


def in_cell(monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    class Shell:
        def get_parent(self) -> dict[str, Any]:
            return {"metadata": {"cellId": cell}}

    monkeypatch.setattr("IPython.core.getipython.get_ipython", Shell)


def kept(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def sign(mark: SceneShape) -> str:
    """What stands in it."""
    assert not isinstance(mark.content, str)
    return "".join(str(shape.content) for shape in mark.content if shape.kind == "text")


def test_a_prediction_is_written_down_with_what_happened(path: Path) -> None:
    guess = Predict("How many folders?", ANSWERS)
    guess.choose("1 One")
    guess.outcome("Three")
    facts = kept(path)["labs"]["01_storage"]["topics-predict"]
    assert facts.pop("on")
    assert facts == {"asked": "How many folders?", "predicted": "One", "happened": "Three"}


def test_who_did_not_answer_has_predicted_nothing(path: Path) -> None:
    Predict("How many folders?", ANSWERS).outcome("Three")
    assert not path.exists()


def test_outside_of_jupyterlab_nothing_is_written_down(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(record.NOTEBOOK)
    guess = Predict("How many folders?", ANSWERS)
    guess.choose("1 One")
    guess.outcome("One")
    assert not path.exists()


def test_an_exercise_is_written_down_when_it_is_passed_and_stays_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_cell(monkeypatch, "name-exercise")
    trial = Trial("Name a segment", lambda code: str(code()))
    in_cell(monkeypatch, "name-try")
    trial.run(lambda: "a zero is missing")
    assert not path.exists()
    trial.run(lambda: "")
    first = kept(path)["labs"]["01_storage"]["name-exercise"]
    assert first["task"] == "Name a segment"
    changed = path.read_text().replace(first["solved"], "2020-01-01")
    path.write_text(changed)
    ProgressFile(path).solved(TaskPlace("01_storage", "name-exercise"), "Name a segment")
    assert path.read_text() == changed


def test_what_the_mouse_breaks_is_counted(path: Path) -> None:
    view = ClusterView(Cluster())
    view.do("kill", "2")
    view.do("kill", "3")
    view.do("cut", "1-2")
    view.do("live")
    assert kept(path)["broken"] == {"kill": 2, "cut": 1}
    view.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "cannot be read"),
        ("[]", "no progress file"),
        ('{"format": 1, "labs": {"a": 3}, "broken": {}}', "no progress file"),
        ('{"format": 1, "labs": {}, "broken": {"kill": "often"}}', "no progress file"),
        ('{"format": 2, "labs": {}, "broken": {}}', "newer version"),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone_and_said_once(
    path: Path, content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.mkdir()
    path.write_text(content)
    for _ in range(2):
        guess = Predict("How many folders?", ANSWERS)
        guess.choose("1 One")
        guess.outcome("One")
    assert path.read_text() == content
    said = capsys.readouterr().err
    assert said.count("Your progress is not written down") == 1
    assert why in said
    assert str(path) in said
    picture = Progress(path)
    assert why in picture.trouble
    picture.close()


def test_a_read_only_file_is_not_replaced(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ProgressFile(path)
    file.broke("kill")
    before = path.read_text()
    path.chmod(0o444)
    file.broke("kill")
    assert path.read_text() == before
    assert "it is read-only" in capsys.readouterr().err


def test_two_labs_write_into_the_same_file(path: Path) -> None:
    one, other = ProgressFile(path), ProgressFile(path)
    one.predicted(PLACE, "How many?", "One", "Three")
    other.solved(TaskPlace("02_replication", "exercise-1"), "Compute the mark")
    one.broke("kill")
    assert set(kept(path)["labs"]) == {"01_storage", "02_replication"}
    assert kept(path)["broken"] == {"kill": 1}


# -- labs that have another name now -------------------------------------------------------------


def mark(day: int, **facts: str) -> dict[str, str]:
    return {**(facts or {"asked": "?", "predicted": "a", "happened": "a"}), "on": f"2026-11-{day}"}


def write(path: Path, labs: dict[str, Any]) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 1, "labs": labs, "broken": {"kill": 3}}))


def test_marks_under_the_old_name_of_a_lab_are_carried_to_the_new_one(path: Path) -> None:
    """One lab was divided, some tasks went to the appendix; no mark is lost, and no other one is
    touched. The file has the new names after the next mark."""
    other = {"topics-predict": mark(3)}
    write(
        path,
        {
            "01_storage": other,
            "05_delivery": {"order-predict": mark(1), "acks-predict": mark(2)},
            "06_speed": {"peers-crash-predict": mark(4), "tail-predict": mark(5)},
            "07_operations": {"books-predict": mark(6), "zk-predict": mark(7)},
            "08_controller": {"exercise-3": mark(8, solved="2026-11-08")},
        },
    )
    expected = {
        "01_storage": other,
        "05_controller": {"exercise-3": mark(8, solved="2026-11-08")},
        "06_sending": {"order-predict": mark(1)},
        "07_promises": {"acks-predict": mark(2)},
        "08_speed": {"tail-predict": mark(5)},
        "09_operations": {"zk-predict": mark(7)},
        "articles": {"peers-crash-predict": mark(4), "books-predict": mark(6)},
    }
    file = ProgressFile(path)
    assert file.read()["labs"] == expected
    file.broke("kill")
    assert kept(path) == {"format": 1, "labs": expected, "broken": {"kill": 4}}


def test_a_mark_under_both_names_is_the_first_solution_or_the_last_prediction(path: Path) -> None:
    first, second = mark(1, solved="2026-11-01"), mark(9, solved="2026-11-09")
    write(
        path,
        {
            "06_speed": {"tail-exercise": first, "tail-predict": mark(1)},
            "08_speed": {"tail-exercise": second, "tail-predict": mark(9)},
        },
    )
    wanted = {"08_speed": {"tail-exercise": first, "tail-predict": mark(9)}}
    assert ProgressFile(path).read()["labs"] == wanted


def test_what_was_carried_over_is_a_task_of_its_new_lab() -> None:
    folder = {path.stem: lab_plan(path) for path in LABS.glob("*.ipynb")}
    assert not NEW_NAMES.keys() & folder.keys()
    assert {*NEW_NAMES.values()} <= folder.keys()
    for cells in ELSEWHERE.values():
        for cell, lab in cells.items():
            assert cell in {task.cell for task in folder[lab].tasks}


def test_the_picture_has_a_mark_for_each_task_and_says_what_comes_next(path: Path) -> None:
    file = ProgressFile(path)
    picture = Progress(path)
    tasks = sum(len(plan.tasks) for plan in lab_plans())
    assert picture.about == f"0 of {tasks} questions and exercises"
    file.predicted(PLACE, "How many folders?", "One", "Three")
    file.predicted(TaskPlace("01_storage", "batches-predict"), "How many?", "One", "One")
    file.broke("cut")
    assert picture.poll()
    assert picture.about == f"2 of {tasks} questions and exercises"
    assert picture.picture is not None
    shapes = {shape.key: shape for shape in picture.picture.all()}
    wrong, right = shapes["topics-predict"], shapes["batches-predict"]
    assert sign(wrong) == "✗"
    assert "You predicted: One. What happened: Three" in wrong.label
    assert sign(right) == "✓"
    words = [shape.content for shape in picture.picture.all() if shape.kind == "text"]
    third = next(plan for plan in lab_plans() if plan.lab == PLACE.lab).sections[2]
    assert f"next: {third.title}" in words
    assert "With the mouse: 1 link cut." in words
    picture.close()


@pytest.mark.parametrize("width", [280, 390, 960, 1100])
def test_nothing_leaves_the_picture(path: Path, width: int) -> None:
    picture = Progress(path)
    picture.fit(width)
    assert picture.picture is not None
    for lab in picture.picture.shapes:
        if not isinstance(lab.content, str):
            assert all(shape.where[0] < width for shape in lab.content)
    picture.close()


@pytest.mark.parametrize("lab", sorted(path.stem for path in LABS.glob("[0-9]*_*.ipynb")))
def test_the_plan_has_every_cell_that_shows_a_question_or_an_exercise(lab: str) -> None:
    """A saved cell that shows one says so in the words of its picture."""
    shown = [
        cell["id"]
        for cell in with_outputs(LABS / f"{lab}.ipynb")["cells"]
        for output in cell.get("outputs", ())
        if "".join(output.get("data", {}).get("text/plain", "")).startswith(KINDS)
    ]
    planned = [task.cell for plan in lab_plans() if plan.lab == lab for task in plan.tasks]
    assert sorted(planned) == sorted(set(shown))


def test_the_map_marks_the_ideas_whose_section_has_an_answer(path: Path) -> None:
    file = ProgressFile(path)
    path.parent.mkdir()
    picture = IdeaMap()
    assert picture.about.startswith("0 of ")
    place = lab_places()[ideas()["high watermark"].cell]
    file.predicted(TaskPlace(place.lab, "marks-predict"), "When?", predicted="a", happened="b")
    picture.poll()
    assert picture.about.startswith("1 of ")
    assert picture.picture is not None
    assert "Answered." in picture.picture["high watermark"].label
    assert "Answered." not in picture.picture["acks"].label
    picture.close()
