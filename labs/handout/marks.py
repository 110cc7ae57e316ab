"""The points in notebooks that were handed in: one line for each file, read and not run.

    file                  name-try   rolled-try   ...   points
    ──────────────────────────────────────────────────────────
    mei/01_storage.ipynb  1          1                  10 of 10
    tom/01_storage.ipynb  1          -                  4 of 10

"-": the cell with the points was not run. A number in a file can be typed by hand; who must be sure
runs the notebook again: `jupyter nbconvert --execute`.
"""

from pathlib import Path
from typing import Any

import nbformat

from engine.table import Table
from handout.exercises import LABS


def tables(folder: Path) -> list[Table]:
    """One for each lab of which something came back."""
    found = {lab: sorted(folder.rglob(f"{lab}*.ipynb")) for lab in LABS}
    return [_table(folder, lab, paths) for lab, paths in found.items() if paths]


def _table(folder: Path, lab: str, paths: list[Path]) -> Table:
    exercises = LABS[lab].exercises
    most = sum(each.points for each in exercises)
    rows = []
    for path in paths:
        earned = earnings(nbformat.read(path, 4))  # type: ignore[no-untyped-call]
        each = [earned.get(f"{it.code}-points") for it in exercises]
        total = sum(min(got or 0, it.points) for got, it in zip(each, exercises, strict=True))
        rows.append((path.relative_to(folder), *each, f"{total} of {most}"))
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
