"""A section runs by itself: it needs no name that another section makes."""

import ast
import builtins
from typing import Any

import pytest

from tests.labs.attempt import uses
from tests.labs.reader import LABS, Reader

STORIES = {"00_start", "oracle"}  # one experiment from the first cell to the last
ALONE = sorted(path.stem for path in LABS.glob("*.ipynb") if path.stem not in STORIES)


def bound(cell: Any) -> set[str]:
    """The parameters and the exceptions that a cell gives a name."""
    found = set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def missing(cells: list[Any], known: set[str]) -> list[tuple[str, str]]:
    """By cell, the names that are made neither by these cells nor before them."""
    known = known.union(*(uses(cell)[0] for cell in cells))
    return [
        (cell.id, name) for cell in cells for name in sorted(uses(cell)[1] - bound(cell) - known)
    ]


@pytest.mark.parametrize("stem", ALONE)
def test_a_section_uses_only_its_own_names_and_those_of_the_first_cells(stem: str) -> None:
    sections: list[list[Any]] = [[]]
    for cell in Reader(LABS / f"{stem}.ipynb").notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            sections.append([])
        elif cell.cell_type == "code":
            sections[-1].append(cell)
    first, *others = sections
    known = {*dir(builtins)}.union(*(uses(cell)[0] for cell in first))
    assert not [name for cells in others for name in missing(cells, known)]
