"""nbval compares what a cell of a lab shows with what is saved in labs/.saved/ (widgets/saved.py).

labs/conftest.py names this plugin, so that it is there wherever pytest is started.

nbval itself would not look at the output of a cell that the notebook has no count for. Here such a
cell fails, if nothing is saved of it either. This is so for all notebooks in a folder with saved
outputs; a learner's copies elsewhere are run as they are.
"""

from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from widgets.saved import notebook_with_outputs, saved_outputs, saved_path

pytest_plugins = ["nbval.plugin"]  # which pyproject.toml keeps out of all other runs


LABS = Path(__file__).parent


def pytest_collection_modifyitems(items: Sequence[Any]) -> None:
    for item in items:
        if is_cell_of_a_lab(item) and item.cell.id in saved_outputs_of(item.path):
            item.cell.outputs = saved_outputs_of(item.path)[item.cell.id]
            item.cell.execution_count = 1  # that of the run which was saved


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    """Run the cell in any case: those behind it need it."""
    result = yield
    if is_cell_of_a_lab(item) and item.cell.execution_count is None:
        place = f"{saved_path(item.path).name} has no output of cell {item.cell.id}"
        pytest.fail(f"{place}: run the lab and save it (tests/labs/pictures.py)")
    return result


def is_cell_of_a_lab(item: Any) -> bool:
    return item.path.suffix == ".ipynb" and saved_path(item.path).parent.is_dir()


@cache
def saved_outputs_of(path: Path) -> dict[str, Any]:
    """By cell, as nbval has them: as nbformat reads them."""
    names = saved_outputs(path)
    cells = notebook_with_outputs(path).cells
    return {cell.id: cell.outputs for cell in cells if cell.id in names}
