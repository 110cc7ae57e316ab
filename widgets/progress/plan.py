"""What the labs ask: their sections, and the questions and exercises of each, in reading order.

It is read from the notebooks. A cell whose id ends with "predict" shows a question; one whose id
ends with "exercise", or "exercise-2", shows an exercise. A test holds that no other cell does.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LABS = Path(__file__).parents[2] / "labs"
QUESTION = re.compile(r"(.*-)?predict")
EXERCISE = re.compile(r"(.*-)?exercise(-\d+)?")


class LabTask(NamedTuple):
    cell: str
    is_question: bool  # otherwise an exercise


class LabSection(NamedTuple):
    heading: str
    tasks: tuple[LabTask, ...]
    cells: frozenset[str]  # all cells with code

    @property
    def title(self) -> str:
        """Its heading without a number."""
        return re.sub(r"^[\d. ·]+", "", self.heading).strip()

    @property
    def anchor(self) -> str:
        """As JupyterLab names the heading."""
        return self.heading.replace(" ", "-")


class LabPlan(NamedTuple):
    lab: str
    title: str
    sections: tuple[LabSection, ...]  # those that ask something

    @property
    def tasks(self) -> list[LabTask]:
        return [task for section in self.sections for task in section.tasks]


def lab_plans(folder: Path = LABS) -> list[LabPlan]:
    return [lab_plan(path) for path in sorted(folder.glob("[0-9]*_*.ipynb"))]


def lab_plan(path: Path) -> LabPlan:
    title, section = "", ""
    sections: dict[str, list[str]] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            for line in "".join(cell["source"]).splitlines():
                if line.startswith("# ") and not title:
                    title = line[2:].strip()
                elif line.startswith("## "):
                    section = line[3:].strip()
        else:
            sections.setdefault(section, []).append(cell["id"])
    found = (_section(heading, cells) for heading, cells in sections.items())
    return LabPlan(path.stem, title, tuple(section for section in found if section.tasks))


def _section(heading: str, cells: list[str]) -> LabSection:
    tasks = (task for cell in cells for task in _tasks(cell))
    return LabSection(heading, tuple(tasks), frozenset(cells))


def _tasks(cell: str) -> Iterator[LabTask]:
    if QUESTION.fullmatch(cell):
        yield LabTask(cell, is_question=True)
    elif EXERCISE.fullmatch(cell):
        yield LabTask(cell, is_question=False)
