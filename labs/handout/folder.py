"""A folder with all that a lab needs to run, which can be zipped and given away.

    build/student/
        README.md              how to start, and what to hand in
        Makefile               `make lab`
        labs/                  the notebooks, without answers
        engine/ widgets/       what they run on
        requirements/ pyproject.toml   what is installed for it
        docs/

Invariant: nothing in the student's folder has the answers' text, or says where it is.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from handout import notebook

PACKAGES = ("engine", "oracle", "proof", "sparkstreams", "widgets")
FOLDERS = (*PACKAGES, "labs", "docs", "requirements")
FILES = ("Makefile", "pyproject.toml", "LICENSE")
JUNK = ("__pycache__", ".ipynb_checkpoints", ".hypothesis", "*.egg-info", "build")
OURS = ("yours", ".saved", "conftest.py")  # a teacher's notebooks have the saved outputs in them
TEACHERS = ("answers", "handout", "teaching.md")  # what only a teacher is given
LINK = "[answers/](answers/) has one answer to each"
README = """\
# Broker Lab{title}

Kafka, taken apart in notebooks that run it.

    make lab

installs what is needed into `.venv/`, once and inside this folder, and opens JupyterLab. Python
3.11 to 3.14 and `make` are all it takes, on Linux or macOS. Begin with `labs/00_start.ipynb`,
and read `labs/README.md` for what comes then.

{rest}"""
STUDENT = """\
## What to hand in

The exercises stand in the sections they belong to. Below each one is a cell that says how many
points it has earned. Run it, save the notebook (Ctrl+S or Cmd+S), and hand in that one file,
`labs/01_storage.ipynb` for instance. Leave the cells with the points as they are.
"""
ANSWERS = """\
## For the teacher

The notebooks in `labs/` have a worked answer in each exercise; run them from top to bottom. There
are other right answers: a check looks at what code does, not at how it is written. Pictures and
tables above the exercises are those of the run that was saved. `docs/teaching.md` has plans for
lessons, and how to collect and grade.
"""


def student(root: Path, target: Path) -> None:
    _copy(root, target, (*JUNK, *OURS, *TEACHERS))
    _notebooks(root, target, notebook.student)
    for path in sorted((target / "labs").rglob("*")):
        if path.suffix in (".py", ".md"):
            _keep_to_ourselves(path)
    (target / "README.md").write_text(README.format(title="", rest=STUDENT), encoding="utf-8")


def answers(root: Path, target: Path) -> None:
    _copy(root, target, (*JUNK, *OURS))
    _notebooks(root, target, notebook.answers)
    text = README.format(title=", with answers", rest=ANSWERS)
    (target / "README.md").write_text(text, encoding="utf-8")


def _copy(root: Path, target: Path, left_out: tuple[str, ...]) -> None:
    if target.exists():
        shutil.rmtree(target)
    for name in FOLDERS:
        shutil.copytree(root / name, target / name, ignore=shutil.ignore_patterns(*left_out))
    for name in FILES:
        shutil.copy(root / name, target / name)


def _notebooks(root: Path, target: Path, ready: Callable[[Path], Any]) -> None:
    for path in sorted((root / "labs").glob("*.ipynb")):
        nbformat.write(ready(path), target / "labs" / path.name)  # type: ignore[no-untyped-call]


def _keep_to_ourselves(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    kept = notebook.without_answers(text).replace(LINK, f"answers are in {notebook.TEACHER}")
    if kept != text:
        path.write_text(kept, encoding="utf-8")
