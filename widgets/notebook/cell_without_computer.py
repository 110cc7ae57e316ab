"""What a cell shows in a browser tab, if it needs a computer: one sentence, and its recorded run.

    cluster = real.cluster()        NotInBrowser: "A cluster needs the processes and sockets ..."
    cluster.kill(1)                 NameError: `cluster` is made by a cell that could not run
    view.latencies["acks=all"]      KeyError: a cell of this section would have filled the view
    import cryptography             ModuleNotFoundError: the package is not there
    from time import thread_time    ImportError: Python has no such clock there

Such a cell has no error: "run all cells" goes on behind it, with the sections that stand on the
simulator. The recorded run is what is saved of the lab (saved.py).

Invariant: a name that such a cell would have made has no value from an earlier section. So no later
cell takes another section's value for it.
"""

import errno
import sys
from types import ModuleType
from typing import Any

from IPython.display import display

from engine.browser import NotInBrowser
from widgets.notebook import came_out
from widgets.notebook.cells import IMPORTED, Cell, Code, Notebook
from widgets.saved import Output, with_outputs

NO_THREAD = "can't start new thread"  # Python's own words
NO_SYSTEM = {errno.ENOTSUP, errno.ENOSYS, errno.EHOSTUNREACH, errno.EAFNOSUPPORT}
RECORDED = "Below is what this cell showed on a computer."
CHANGED = "Nothing is recorded of a cell that was changed."


class CellsWithoutComputer:
    """The cells of one kernel that need a computer, and the names that are missing by them."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names  # of the notebook
        self._absent: set[str] = set()
        self._sections: set[str] = set()  # with a cell that was left out

    def reason(self, error: BaseException, cell: Cell | None = None) -> str:
        """Why the cell cannot run in a browser; "" if it has failed for another reason. `cell`: its
        place, if the learner has not changed it."""
        match error:
            case NotInBrowser():
                return str(error)
            case NameError(name=str(name)) if name in self._absent:
                return f"`{name}` is made by a cell that needs a computer."
            case ModuleNotFoundError(name=str(name)):
                return f"The package `{name}` is not made for a browser tab."
            case ImportError(name=str(name)) if name in sys.stdlib_module_names:
                return f"This cell needs a part of `{name}` that a browser's Python does not have."
            case AttributeError(obj=ModuleType(__name__=name)) if name in sys.stdlib_module_names:
                return f"This cell needs a part of `{name}` that a browser's Python does not have."
            case RuntimeError() if NO_THREAD in str(error):
                return "This cell needs threads, and a browser tab has none."
            case OSError() if error.errno in NO_SYSTEM:
                return "This cell needs the processes or sockets of a computer."
        if cell is not None and cell.heading in self._sections:
            return "It uses what an earlier cell of this section does on a computer."
        return ""

    def leave_out(self, source: str, cell: Cell | None = None) -> None:
        """Take away the names that this cell would have made; what it has imported is right."""
        code = Code(source)
        if cell is not None:
            self._sections.add(cell.heading)
        for name in code.makes:
            self._absent.add(name)
            if code.how[name] != IMPORTED:
                self._names.pop(name, None)


def show(reason: str, cell: Cell | None, book: Notebook | None) -> None:
    """Show why a cell cannot run in a browser tab, and what is recorded of it."""
    outputs = recorded(cell, book)
    more = CHANGED if cell is None else RECORDED if outputs else ""
    words = f"> **Not in a browser tab.** {reason} {more}"
    told = {"text/markdown": words, "text/plain": words}
    display(told, raw=True)  # type: ignore[no-untyped-call]
    for output in outputs:
        came_out.show(output)


def recorded(cell: Cell | None, book: Notebook | None) -> list[Output]:
    if cell is None or book is None:
        return []
    found: list[Output] = with_outputs(book.path)["cells"][cell.place]["outputs"]
    return found
