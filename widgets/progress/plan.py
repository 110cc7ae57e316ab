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
    title: str
    tasks: tuple[LabTask, ...]


class LabPlan(NamedTuple):
    lab: str
    title: str
    sections: tuple[LabSection, ...]  # those that ask something

    @property
    def tasks(self) -> list[LabTask]:
        return [task for section in self.sections for task in section.tasks]


def lab_plans(folder: Path = LABS) -> list[LabPlan]:
    return [_plan(path) for path in sorted(folder.glob("[0-9]*_*.ipynb"))]


def _plan(path: Path) -> LabPlan:
    title, section = "", ""
    sections: dict[str, list[LabTask]] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            for line in "".join(cell["source"]).splitlines():
                if line.startswith("# ") and not title:
                    title = line[2:].strip()
                elif line.startswith("## "):
                    section = re.sub(r"^[\d. ·]+", "", line[3:]).strip()
        else:
            sections.setdefault(section, []).extend(_tasks(cell["id"]))
    asking = (LabSection(name, tuple(tasks)) for name, tasks in sections.items() if tasks)
    return LabPlan(path.stem, title, tuple(asking))


def _tasks(cell: str) -> Iterator[LabTask]:
    if QUESTION.fullmatch(cell):
        yield LabTask(cell, is_question=True)
    elif EXERCISE.fullmatch(cell):
        yield LabTask(cell, is_question=False)
