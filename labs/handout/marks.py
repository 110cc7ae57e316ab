"""The points in notebooks that were handed in: one line for each file, read and not run.

    file                  name-try   rolled-try   ...   points
    ──────────────────────────────────────────────────────────
    mei/01_storage.ipynb  1          1                  10 of 10
    tom/01_storage.ipynb  1          -                  4 of 10

"-": the cell with the points was not run. A number in a file can be typed by hand; who must be sure
runs the notebook again: `jupyter nbconvert --execute`. A damaged file has a row, too, and says so;
what Jupyter keeps in .ipynb_checkpoints has none. A notebook belongs to the lab whose name stands
anywhere in the file's name: mei-01_storage.ipynb, too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from engine.table import Table
from handout.exercises import LABS

CHECKPOINTS = ".ipynb_checkpoints"  # copies that Jupyter keeps beside notebooks


def tables(folder: Path) -> list[Table]:
    """One for each lab of which something came back."""
    found: dict[str, list[tuple[Path, Any]]] = {lab: [] for lab in LABS}
    for path in handed_in(folder):
        if lab := lab_of(path):
            found[lab].append((path, _read(folder / path)))
    return [_table(lab, notebooks) for lab, notebooks in found.items() if notebooks]


def handed_in(folder: Path) -> list[Path]:
    """Every notebook in the folder, by its place there."""
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*.ipynb")))
    return [path for path in found if CHECKPOINTS not in path.parts]


def lab_of(path: Path) -> str | None:
    """The lab whose name is in the file's name; None if there is none."""
    name = path.name.lower()
    return next((lab for lab in LABS if lab in name), None)


def returned(folder: Path) -> Iterator[tuple[Path, Any]]:
    """The notebooks that were handed in, by their place in the folder; None for a damaged one."""
    return ((path, _read(folder / path)) for path in handed_in(folder))


def _read(path: Path) -> Any:
    """None if there is anything but a notebook with cells in the file."""
    try:
        notebook = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
        is_whole = all({"source", "metadata"} <= cell.keys() for cell in notebook.cells)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, nbformat.ValidationError):
        return None
    return notebook if is_whole and isinstance(notebook.metadata, dict) else None


def _table(lab: str, notebooks: list[tuple[Path, Any]]) -> Table:
    exercises = LABS[lab].exercises
    most = sum(each.points for each in exercises)
    rows = list[tuple[object, ...]]()
    for path, notebook in notebooks:
        if notebook is None:
            rows.append((path, *(None for _ in exercises), "cannot be read"))
            continue
        earned = earnings(notebook)
        each = [earned.get(f"{it.code}-points") for it in exercises]
        total = sum(min(got or 0, it.points) for got, it in zip(each, exercises, strict=True))
        rows.append((path, *each, f"{total} of {most}"))
    return Table(("file", *(it.code for it in exercises), "points"), rows)


def earnings(notebook: Any) -> dict[str, int]:
    """By the cell's name, where there is a number."""
    found = {}
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        for output in cell.get("outputs", ()):
            text = output.get("data", {}).get("text/plain", "")
            if name and text.isdecimal():
                found[name] = int(text)
    return found
