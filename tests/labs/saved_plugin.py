"""nbval compares what a cell of a lab shows with what is saved in labs/.saved/ (widgets/saved.py).

labs/conftest.py names this plugin, so that it is there wherever pytest is started.

nbval itself would not look at the output of a cell that the notebook has no count for. Here such a
cell fails, if nothing is saved of it either. This is so for all notebooks in a folder with saved
outputs; a learner's copies elsewhere are run as they are.

A lab whose cluster can be made without ZooKeeper is collected twice, the second time with its
switch turned (widgets/metadata_switch.py), as NN_lab.ipynb@kraft. It has to show what is saved, but
for the cells in labs/.saved/kraft.json. `make test` runs the first lab so, and `make advanced` all.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_output
from nbval.plugin import IPyNbCell, IPyNbFile  # type: ignore[import-untyped]

from tests.limits import START_S
from widgets.metadata_switch import KRAFT, has_switch, switched
from widgets.saved import kraft_differences, notebook_with_outputs, saved_outputs, saved_path

pytest_plugins = ["nbval.plugin"]  # which pyproject.toml keeps out of all other runs
FIRST = "00_start"  # the lab that `make test` runs in both modes


class NotebookWithoutZookeeper(IPyNbFile):  # type: ignore[misc]
    """A lab with its switch turned to KRaft."""

    def collect(self) -> Iterator[Any]:
        for item in super().collect():
            item.cell.source = switched(item.cell.source, KRAFT)
            if self.path.stem != FIRST:
                item.add_marker("advanced")
            yield item


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not (parent.config.getoption("nbval") and is_lab(file_path) and can_switch(file_path)):
        return None
    name = f"{file_path.name}@{KRAFT}"
    place = file_path.relative_to(parent.config.rootpath).with_name(name)
    found: pytest.Collector = NotebookWithoutZookeeper.from_parent(
        parent, path=file_path, name=name, nodeid=place.as_posix()
    )
    return found


def can_switch(notebook: Path) -> bool:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return any(has_switch("".join(cell["source"])) for cell in cells)


def pytest_collection_modifyitems(items: Sequence[Any]) -> None:
    for item in items:
        if isinstance(item, IPyNbCell) and item.config.pluginmanager.hasplugin("timeout"):
            # nbval ends a cell by itself; before the first one the kernel starts.
            item.add_marker(pytest.mark.timeout(item.config.option.nbval_cell_timeout + START_S))
        if is_cell_of_a_lab(item) and item.cell.id in saved_outputs_of(item.path):
            item.cell.outputs = saved_outputs_of(item.path)[item.cell.id]
            item.cell.execution_count = 1  # that of the run which was saved
            if isinstance(item.parent, NotebookWithoutZookeeper):
                text = kraft_differences(item.path).get(item.cell.id)
                if text is not None:
                    item.cell.outputs = [said(text)]


def said(text: str) -> Any:
    data = {"text/plain": text}
    return new_output("execute_result", data, execution_count=1)  # type: ignore[no-untyped-call]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    """Run the cell in any case: those behind it need it."""
    result = yield
    if is_cell_of_a_lab(item) and item.cell.execution_count is None:
        place = f"{saved_path(item.path).name} has no output of cell {item.cell.id}"
        pytest.fail(f"{place}: run the lab and save it (tests/labs/pictures.py)")
    return result


def is_cell_of_a_lab(item: Any) -> bool:
    return is_lab(item.path)


def is_lab(path: Path) -> bool:
    return path.suffix == ".ipynb" and saved_path(path).parent.is_dir()


@cache
def saved_outputs_of(path: Path) -> dict[str, Any]:
    """By cell, as nbval has them: as nbformat reads them."""
    names = saved_outputs(path)
    cells = notebook_with_outputs(path).cells
    return {cell.id: cell.outputs for cell in cells if cell.id in names}
