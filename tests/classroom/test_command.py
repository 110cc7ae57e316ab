"""`python -m handout`: where it writes, what it refuses, and which notebooks it knows again."""

import json
from importlib import import_module as lab
from pathlib import Path

import pytest

from tests.classroom.conftest import ROOT

SAVED = "labs/yours/01_storage.ipynb"  # where JupyterLab keeps a lab that was saved: contents.py


def test_the_students_readme_and_the_teachers_page_name_the_file_that_is_saved() -> None:
    """A lab that is saved goes to labs/yours; the one in labs/ stays as it came."""
    setting = 'LabContentsManager.yours = "labs/yours"'
    assert setting in (ROOT / "labs/.jupyter/jupyter_lab_config.py").read_text()
    for text in (lab("handout.folder").STUDENT, (ROOT / "docs/teaching.md").read_text()):
        told = " ".join(text.split())
        assert SAVED in told
        assert "*File, Download*" in told
        assert "hand in that one file, `labs/01" not in told


@pytest.mark.parametrize("kind", ["student", "answers"])
def test_a_folder_of_somebody_else_is_left_alone(kind: str, tmp_path: Path) -> None:
    """Neither its files are removed, nor is anything written into it."""
    thesis = tmp_path / "thesis.md"
    thesis.write_text("three years of work")
    (tmp_path / "README.md").write_text("# My thesis\n")
    with pytest.raises(SystemExit, match="is not empty, and no labs were written into it"):
        lab("handout.__main__").main([kind, str(tmp_path)])
    assert thesis.read_text() == "three years of work"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(SystemExit, match="mine is a file: name a folder"):
        lab("handout.folder").check_target(ROOT, tmp_path / "mine")


@pytest.mark.parametrize("place", [".", "..", "labs", "labs/new", "engine/cli", ".git"])
def test_the_repository_is_never_written_over(place: str) -> None:
    with pytest.raises(SystemExit, match="is part of this repository: name another folder"):
        lab("handout.folder").check_target(ROOT, ROOT / place)


def test_a_folder_that_is_new_or_empty_or_an_earlier_one_is_taken(tmp_path: Path) -> None:
    folder = lab("handout.folder")
    folder.check_target(ROOT, tmp_path)
    folder.check_target(ROOT, tmp_path / "new")
    folder.check_target(ROOT, ROOT / "build/student")
    text = folder.README.format(title="", rest=folder.STUDENT)
    (tmp_path / "README.md").write_text(text)
    folder.check_target(ROOT, tmp_path)


# -- what was handed in ------------------------------------------------------------------------

EMPTY = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_lab_is_known_by_its_name_anywhere_in_a_files_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Learning platforms put a student's name or number in front."""
    for name in ("01_storage.ipynb", "Mei_9241_01_storage.ipynb", "tom-01_Storage (1).ipynb"):
        (tmp_path / name).write_text(EMPTY)
    assert lab("handout.__main__").main(["marks", str(tmp_path)]) == 0
    (table,) = lab("handout.marks").tables(tmp_path)
    assert [str(path) for path in table.column("file")] == [
        "01_storage.ipynb",
        "Mei_9241_01_storage.ipynb",
        "tom-01_Storage (1).ipynb",
    ]
    assert capsys.readouterr().err == ""


def test_a_notebook_of_no_known_lab_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A student who has renamed the file is not left out without a word."""
    (tmp_path / "mei").mkdir()
    (tmp_path / "mei/homework.ipynb").write_text(EMPTY)
    (tmp_path / "01_storage.ipynb").write_text(EMPTY)
    assert lab("handout.__main__").main(["marks", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert told == "no lab's name, such as 01_storage, is in this file's name: mei/homework.ipynb\n"


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["exam", "solutions"])
@pytest.mark.parametrize(
    ("seed", "count", "told"),
    [
        ("abc", "20", "SEED is a whole number, and not 'abc'\n"),
        ("7", "0", "COUNT is a number from 1 on, and not '0'\n"),
        ("7", "many", "COUNT is a number from 1 on, and not 'many'\n"),
        ("7", "-1", "COUNT is a number from 1 on, and not '-1'\n"),
    ],
)
def test_an_exam_of_no_number_is_told_in_a_sentence(
    kind: str,
    seed: str,
    count: str,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "exam.ipynb"
    assert lab("handout.__main__").main([kind, seed, count, str(file)]) == 2
    assert capsys.readouterr().err == told
    assert not file.exists()
