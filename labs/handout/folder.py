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
MARK = "Kafka, taken apart in notebooks that run it."  # in the README.md of each folder
README = f"""\
# Broker Lab{{title}}

{MARK}

    make lab

installs what is needed into `.venv/`, once and inside this folder, and opens JupyterLab. Python
3.11 to 3.14 and `make` are all it takes, on Linux or macOS. Begin with `labs/00_start.ipynb`,
and read `labs/README.md` for what comes then.

{{rest}}"""
STUDENT = """\
## What to hand in

The exercises stand in the sections they belong to. Below each one is a cell that says how many
points it has earned. Run it, save the notebook (Ctrl+S or Cmd+S), and hand in that one file: choose
*File, Download*, or take it from `labs/yours/`, where your version of a lab is saved,
`labs/yours/01_storage.ipynb` for instance. Keep the lab's name in the name of the file, and leave
the cells with the points as they are.
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


def check_target(root: Path, target: Path) -> None:
    """Refuse what must not be removed: the repository, a file, the folder of somebody else."""
    place = target.resolve()
    ours = [root / name for name in (*FOLDERS, ".git")]
    if root.is_relative_to(place) or any(place.is_relative_to(it) for it in ours):
        raise SystemExit(f"{target} is part of this repository: name another folder.")
    if target.exists() and not target.is_dir():
        raise SystemExit(f"{target} is a file: name a folder that is yet to be made.")
    if not target.exists() or not any(target.iterdir()):
        return
    readme = target / "README.md"
    if not readme.is_file() or MARK not in readme.read_text(encoding="utf-8"):
        raise SystemExit(
            f"{target} is not empty, and no labs were written into it: name a folder that is yet "
            "to be made."
        )


def _copy(root: Path, target: Path, left_out: tuple[str, ...]) -> None:
    check_target(root, target)
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
