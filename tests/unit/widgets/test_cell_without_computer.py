"""A cell that needs a computer, in a browser tab: why, which names are missing, what is shown."""

import errno
import os

import pytest

from engine.browser import NotInBrowser
from widgets.notebook import cell_without_computer
from widgets.notebook.cell_without_computer import CellsWithoutComputer
from widgets.notebook.cells import Cell, Notebook
from widgets.progress.plan import LABS

SOURCE = "from replication import real\ncluster = real.cluster()\norders = cluster.topic('orders')"


@pytest.fixture
def names():
    return {
        "cluster": "of an earlier section",
        "orders": 7,
        "real": "a module",
        "sim": "left alone",
    }


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NotInBrowser("A cluster needs a computer."), "A cluster needs a computer."),
        (ModuleNotFoundError(name="pyspark"), "The package `pyspark` is not made"),
        (ImportError("no clock", name="time"), "needs a part of `time` that a browser's Python"),
        (ImportError("a bug of ours", name="engine.model"), ""),
        (AttributeError("no sendfile", name="sendfile", obj=os), "needs a part of `os`"),
        (AttributeError("a bug of ours", name="x", obj=Notebook), ""),
        (RuntimeError("can't start new thread"), "needs threads"),
        (OSError(errno.ENOTSUP, "emscripten does not support processes."), "processes or sockets"),
        (OSError(errno.ENOENT, "no such file"), ""),
        (RuntimeError("a bug of ours"), ""),
        (NameError("name 'x' is not defined", name="x"), ""),
    ],
)
def test_only_what_a_browser_lacks_is_a_reason(names, error, words):
    found = CellsWithoutComputer(names).reason(error)
    assert words in found
    assert bool(words) == bool(found)


def test_what_a_left_out_cell_would_have_filled_is_a_reason_in_its_section(names):
    """A picture is made, the cell that fills it is left out, and the next one looks into it. In
    another section, or in a cell that the learner has changed, an error is one."""
    cells, error = CellsWithoutComputer(names), KeyError("acks=all")
    here, elsewhere = Cell(3, "1. Latency", "view.run()"), Cell(9, "2. Select", "ask()")
    cells.leave_out(here.source, here)
    assert "an earlier cell of this section" in cells.reason(error, here)
    assert cells.reason(error, elsewhere) == cells.reason(error) == ""


def test_a_name_of_a_cell_that_was_left_out_is_a_reason_and_has_no_older_value(names):
    cells = CellsWithoutComputer(names)
    cells.leave_out(SOURCE)
    assert names == {"real": "a module", "sim": "left alone"}
    assert "`orders` is made by" in cells.reason(NameError(name="orders"))


def test_the_recorded_run_is_that_of_the_cell(capsys):
    book = Notebook(LABS / "02_replication.ipynb")
    cell = book.find("guess.outcome(questions.copied(len(found)))")
    (output,) = cell_without_computer.recorded(cell, book)
    assert "Each replica is a whole copy" in "".join(output["data"]["text/plain"])
    assert cell_without_computer.recorded(None, book) == []
