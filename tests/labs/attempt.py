"""A learner changes one line of a section, and runs the cells that the change concerns.

    with Attempt(LABS / "05_controller.ipynb") as attempt:
        for section in attempt.sections():
            for change in attempt.changes(section):
                attempt.effect(section, change)     Effect(change, seen="death", error="")

Cells that decide claims and cells of exercises are left out. The others run if the changed cell
needs a name of theirs, or if they need one of the changed cell. What a cell shows is its text, or
its picture with all events of the run that it draws. In simulated time it is compared with what the
cells show as they are; with a real cluster, with what nbval compares. A cell that nbval does not
compare has been measured: it was run, and no more can be said.

By hand, over a whole lab, or over one section, with a line for each change:

    .venv/bin/python -m tests.labs.attempt labs/05_controller.ipynb [simulated|real] [TITLE]
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from plotly.graph_objects import Figure  # type: ignore[import-untyped]

from tests.labs.changes import Change, changes_of
from tests.labs.reader import Reader
from widgets.estimate.view import Estimate
from widgets.question.quiz import Quiz
from widgets.stage import SceneWidget

EXERCISE = re.compile(r"(^|-)(exercise|try)(-|$)")
SETUP = "cluster"  # the cell that starts the cluster of a lab
NUMBERED = re.compile(r"-\d+\b")  # the end of a fresh name, of a topic or a group
STARTS = re.compile(r"cluster|lag\.plant", re.IGNORECASE)  # a cell that starts processes
NOTHING, MEASURED = "nothing", "measured: "


class Effect(NamedTuple):
    change: Change
    seen: str  # the first cell that shows something else; NOTHING, or MEASURED and a cell
    error: str  # "" if no cell has failed

    @property
    def is_fault(self) -> bool:
        return bool(self.error) or self.seen == NOTHING

    def __str__(self) -> str:
        return f"{self.error or self.seen} | {self.change.cell} | {self.change.said}"


class Section(NamedTuple):
    title: str
    cells: list[Any]


def uses(cell: Any) -> tuple[set[str], set[str]]:
    """The names that a cell makes, and those that it reads."""
    made: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).split(".")[0])
    return made, read


def concerned(cells: list[Any], changed: Any) -> list[Any]:
    """The changed cell, what needs it, and what these need, in order."""
    at = cells.index(changed)
    wanted, made = {at}, uses(changed)[0]
    for number in range(at + 1, len(cells)):
        makes, reads = uses(cells[number])
        if made & reads:
            wanted.add(number)
            made |= makes
    for number in reversed(range(len(cells))):
        later = set().union(*(uses(cells[it])[1] for it in wanted if it > number))
        if uses(cells[number])[0] & later:
            wanted.add(number)
    return [cells[number] for number in sorted(wanted)]


def in_simulated_time(cells: list[Any]) -> bool:
    """Whether these cells start no process: none of them names a cluster."""
    return not any(STARTS.search(cell.source) for cell in cells)


class Attempt:
    def __init__(self, path: Path) -> None:
        self.lab = path.stem
        self.reader = Reader(path)
        self._usual: dict[tuple[str, ...], dict[str, str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()

    def sections(self) -> list[Section]:
        found: list[Section] = []
        for cell in self.reader.notebook.cells:
            if cell.cell_type == "markdown" and cell.source.startswith("## "):
                found.append(Section(cell.source.split("\n")[0].removeprefix("## "), []))
            elif cell.cell_type == "code" and found and not _left_out(cell):
                found[-1].cells.append(cell)
        return found

    def changes(self, section: Section) -> list[Change]:
        return [change for cell in section.cells for change in changes_of(cell, self.lab)]

    def is_simulated(self, section: Section, change: Change) -> bool:
        return in_simulated_time(self._cells(section, change))

    def effect(self, section: Section, change: Change) -> Effect:
        cells = self._cells(section, change)
        try:
            usual, changed = self._as_they_are(cells), self._run(cells, change)
        except Exception as error:  # it is told, and the other changes are tried, too
            return Effect(change, "", f"{type(error).__name__}: {error}")
        other = [name for name in usual if usual[name] != changed[name]]
        measured = [cell.id for cell in cells if cell.id not in usual and changed[cell.id]]
        unseen = MEASURED + measured[-1] if measured else NOTHING
        return Effect(change, other[0] if other else unseen, "")

    def _as_they_are(self, cells: list[Any]) -> dict[str, str]:
        if not in_simulated_time(cells):
            return {
                cell.id: _saved(cell) for cell in cells if "nbval-ignore-output" not in _tags(cell)
            }
        key = tuple(cell.id for cell in cells)
        if key not in self._usual:
            self._usual[key] = self._run(cells)
        return self._usual[key]

    def _cells(self, section: Section, change: Change) -> list[Any]:
        changed = next(cell for cell in section.cells if cell.id == change.cell)
        cells = concerned(section.cells, changed)
        if in_simulated_time(cells) or any(cell.id == SETUP for cell in section.cells):
            return cells
        return [*(cell for cell in self.reader.cells if cell.id == SETUP), *cells]

    def _run(self, cells: list[Any], change: Change | None = None) -> dict[str, str]:
        self.reader.names.clear()
        found = {}
        for cell in cells:
            source = cell.source
            if change is not None and cell.id == change.cell:
                cell.source = change.source
            try:
                found[cell.id] = _masked(_shown(*self.reader.run(cell)))
            finally:
                cell.source = source
        return found


def _tags(cell: Any) -> list[str]:
    tags: list[str] = cell.metadata.get("tags", [])
    return tags


def _left_out(cell: Any) -> bool:
    return "decides" in _tags(cell) or EXERCISE.search(cell.id) is not None


def _masked(text: str) -> str:
    return NUMBERED.sub("-N", text)


def _saved(cell: Any) -> str:
    texts = [it.get("text") or it.get("data", {}).get("text/plain", "") for it in cell.outputs]
    return _masked("".join("".join(text) for text in texts))


def _shown(printed: str, value: Any) -> str:
    if value is None or isinstance(value, Quiz | Estimate):
        return printed
    if isinstance(value, Figure):
        return printed + str(value.to_json())
    if isinstance(value, SceneWidget):
        value.poll()
        source = getattr(value, "run_source", None)
        return f"{printed}{value.scene}{source.film.events() if source else ''}"
    return printed + repr(value)


def effects(path: Path, kind: str = "", title: str = "") -> Iterator[Effect]:
    """What each change of a lab comes to, or of its sections with these words in their titles."""
    wanted = {"simulated": (True,), "real": (False,)}.get(kind, (True, False))
    with Attempt(path) as attempt:
        for section in attempt.sections():
            for change in attempt.changes(section):
                if title in section.title and attempt.is_simulated(section, change) in wanted:
                    yield attempt.effect(section, change)


if __name__ == "__main__":
    PATH = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(PATH.parent))
    for effect in effects(PATH, *sys.argv[2:]):
        print(effect, flush=True)
