"""labs/ can be imported from, as in a notebook; and a folder as a student gets it."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.labs.conftest import labs_can_be_imported

__all__ = ["labs_can_be_imported"]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def handed_out(labs_can_be_imported: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both folders: student/ and answers/."""
    folder = import_module("handout.folder")
    there = tmp_path_factory.mktemp("handed_out")
    folder.student(ROOT, there / "student")
    folder.answers(ROOT, there / "answers")
    return there
