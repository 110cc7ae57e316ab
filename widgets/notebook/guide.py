"""Explains the error of a cell in one sentence, instead of a long traceback of our own code.

    a name is missing       `orders` is made by an earlier cell. Run that one first: ...
    a wrong value           `log` is another section's by now. Run this cell again first: ...
    it failed in our code   the message of the error
    it failed in the cell   Python's traceback, unchanged

Learners run cells out of order and restart kernels, and every section has its `guess`. So a hook of
IPython notes the names that each cell makes, and the saved notebook shows which cell should make
them (cells.py). If a cell has used a value of another section, a line below its result says so: the
result may be right, but for another reason. And when a name gets another cluster, its old cluster
is stopped, unless the sections of a lab share it.

`%tb` shows the whole traceback of the last error. This is an extension of IPython, which every
kernel of the lab's environment loads when it starts (labs/.ipython).

Invariant: when a lab runs from top to bottom, nothing of this is shown.
"""

import builtins
import os
import sys
import traceback
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

from engine.browser import IN_BROWSER
from widgets import background
from widgets.notebook import came_out, cell_without_computer, kernel_log
from widgets.notebook.cell_without_computer import CellsWithoutComputer
from widgets.notebook.cells import IMPORTED, Cell, Code, Notebook
from widgets.progress.plan import LABS
from widgets.progress.record import NOTEBOOK

AGAIN = "What cells have done stays done: this section, from its heading on, is a fresh start."
MORE = "%tb in a cell of its own shows where this comes from."
CELL = "__main__"  # the module that cells are run in
# And the modules beside the notebook.
INSIDE = {"engine", "oracle", "proof", "sparkstreams", "widgets", "kazoo", "pyspark", "py4j"}


shared_clusters: WeakSet[Any] = WeakSet()  # they last as long as the kernel


class Shell(Protocol):
    """The part of IPython that is used here."""

    user_ns: dict[str, Any]
    events: Any

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Any) -> None: ...

    def showtraceback(self, *args: Any, **more: Any) -> None: ...


class Made(NamedTuple):
    """The origin of a name's value."""

    source: str  # the text of the cell
    turn: int  # the number of the run
    value: int  # its identity: a cell that runs again may make the same
    mixed: bool  # it was made from a value of another section, or by a cell that failed


class Guide:
    def __init__(self, shell: Shell, folder: Path) -> None:
        self._names = shell.user_ns
        self._folder = folder
        self._books: dict[Path, Notebook] = {}
        self._book: Notebook | None = None  # the one whose cells were run last
        self._made: dict[str, Made] = {}
        self._given: dict[tuple[str, str], int] = {}  # by name and cell: the last value
        self._turn = 0
        self._clusters: dict[str, Any] = {}  # by name, before the cell
        self._before: dict[str, int] = {}  # all names and their values' identities
        self.source = ""  # of the cell that runs

    # -- a cell --------------------------------------------------------------------------

    def begin(self, source: str) -> None:
        self.source = source.strip()
        self._turn += 1
        self._clusters = self._bound()
        self._before = {name: id(value) for name, value in self._names.items()}

    def end(self) -> list[Any]:
        """The cell has ended, with or without an error: the clusters whose name has another one
        now."""
        now = self._bound()
        kept = {id(each) for each in (*now.values(), *shared_clusters)}
        return [it for name, it in self._clusters.items() if name in now and id(it) not in kept]

    def done(self) -> str:
        """The cell has ended without an error; the text to show below it."""
        others = self.others()
        self._note(Code(self.source).makes, bool(others))
        return _others(others) if others else ""

    def failed(self) -> None:
        """The cell has ended with an error, maybe after it had made some of its names: what it has
        imported is right, and the others are to be made anew."""
        how, names = Code(self.source).how, self._names
        made = {name for name in how if id(names.get(name)) != self._before.get(name)}
        imported = {name for name in made if how[name] == IMPORTED}
        self._note(imported, False)
        self._note(made - imported, self._place() is not None)

    def _note(self, makes: Set[str], mixed: bool) -> None:
        for name in makes & self._names.keys():
            made = Made(self.source, self._turn, id(self._names[name]), mixed)
            self._given[name, made.source] = made.value
            last = self._made.get(name)
            if last is None or last._replace(turn=made.turn) != made:
                self._made[name] = made

    def explain(self, error: BaseException) -> str:
        """The explanation of an error; "" if Python's own is better."""
        if isinstance(error, KeyboardInterrupt):
            return "Interrupted. Run this cell again when you like, or go on with another."
        if isinstance(error, NameError) and (missing := self.missing(error.name)):
            return _missing(missing, self._place())
        said = self._own_words(error)
        if others := self.others():
            return "\n".join(filter(None, [said, _others(others)]))
        more = [AGAIN, MORE] if self._place() else [MORE]
        return "\n".join([said, *more]) if said else ""

    def _own_words(self, error: BaseException) -> str:
        """The message of an error below the cell; a bare assert has none, and is a bug of ours."""
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        cells = [n for n, frame in enumerate(frames) if _module(frame) == CELL]
        below = frames[cells[-1] + 1 :] if cells else frames
        if not str(error) or not (any(map(self._inside, below)) or _answered(error, below)):
            return ""
        return f"{type(error).__name__}: {_without_frames(str(error))}"

    def _inside(self, frame: FrameType) -> bool:
        module = _module(frame).partition(".")[0]
        return module in INSIDE or Path(frame.f_code.co_filename).is_relative_to(self._folder)

    # -- its names -----------------------------------------------------------------------

    def missing(self, named: str | None = None) -> dict[str, Cell]:
        """The names that it needs and that do not exist, with the cells that make them. Python has
        named one, which may be in the body of a function."""
        needs = Code(self.source).needs | ({named} if named else set())
        absent = {name for name in needs if name not in self._names and not _builtin(name)}
        return {name: cell for name, cell in self._makers(absent).items() if cell}

    def others(self) -> dict[str, Cell]:
        """The names whose value is from another section, with the cells that should make them."""
        if self._place() is None:  # a cell of the learner's own, or a changed one
            return {}
        makers = self._makers(Code(self.source).needs & self._made.keys())
        return {
            name: meant
            for name, meant in makers.items()
            if meant and (self._strange(name, meant) or self._outdated(name))
        }

    def _strange(self, name: str, meant: Cell) -> bool:
        """Whether another cell of the notebook has made it; cells of the learner's own don't
        count."""
        made = self._made[name]
        if self._book is None or self._book.find(made.source) is None:
            return False
        if made.source in (meant.source, self.source):
            return False
        if Code(made.source).how[name] == Code(meant.source).how[name]:
            return False  # both ask for the lab's cluster, say
        return self._given.get((name, meant.source)) != made.value

    def _outdated(self, name: str) -> bool:
        """Whether a name that it was made from has been made again since, by the right cell."""
        made, book = self._made[name], self._book
        if made.mixed or book is None:
            return made.mixed
        for need in Code(made.source).needs & self._made.keys():
            meant, newer = book.maker(need, book.find(made.source)), self._made[need]
            if meant and newer.source == meant.source and newer.turn > made.turn:
                return True
        return False

    def _bound(self) -> dict[str, Any]:
        """The clusters that have a name; what IPython keeps of results begins with a _."""
        module = sys.modules.get("engine.cluster.cluster")  # without it there is none
        if module is None:
            return {}
        named = [(name, it) for name, it in self._names.items() if not name.startswith("_")]
        return {name: it for name, it in named if isinstance(it, module.Cluster)}

    def _makers(self, names: set[str]) -> dict[str, Cell | None]:
        place = self._place()
        book = self._book
        return {name: book.maker(name, place) if book else None for name in sorted(names)}

    def place(self) -> tuple[Cell | None, Notebook | None]:
        """Where the running cell stands, if it is one of a lab and was not changed."""
        return self._place(), self._book

    def _place(self) -> Cell | None:
        """The place of the running cell; the notebook is found by its cells, the last one first."""
        last = self._book.path if self._book else self._folder / _opened()
        for path in sorted(self._folder.glob("*.ipynb"), key=lambda path: (path != last, path)):
            book = self._books.setdefault(path, Notebook(path))
            if found := book.find(self.source):
                self._book = book
                return found
        return None


def _without_frames(said: str) -> str:
    """A message that brings along a traceback, as Spark's does of a function that it has called: of
    that only the error at its end. Frames are indented."""
    head, *tracebacks = said.split("Traceback (most recent call last):\n")
    if not tracebacks:
        return said
    return head + next((line for line in tracebacks[-1].splitlines() if line[:1].strip()), "")


def _opened() -> str:
    """The notebook that this kernel was started for; Jupyter's server says so, editors do not."""
    return Path(os.environ.get(NOTEBOOK, "")).name


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _answered(error: BaseException, frames: list[FrameType]) -> bool:
    """Whether a future has raised an error that the engine has put into it."""
    by_future = any(_module(frame) == "concurrent.futures._base" for frame in frames)
    return by_future and type(error).__module__.partition(".")[0] == "engine"


def _builtin(name: str) -> bool:
    return hasattr(builtins, name) or name in ("get_ipython", "display")


def _missing(names: dict[str, Cell], place: Cell | None) -> str:
    near = place and {cell.heading for cell in names.values()} == {place.heading}
    verb, them = ("is", "It is") if len(names) == 1 else ("are", "They are")
    return (
        f"{_and(names)} {verb} not there yet. {them} made by {_cells(names)}\n"
        f"Run {_those(names)} first{', or this section from its heading on' if near else ''}."
    )


def _others(names: dict[str, Cell]) -> str:
    verb, them = ("comes", "it is") if len(names) == 1 else ("come", "they are")
    return (
        f"Mind: {_and(names)} {verb} from elsewhere by now. For this cell {them} made by "
        f"{_cells(names)}\n"
        f"Run {_those(names)} first, and then this one again."
    )


def _cells(names: dict[str, Cell]) -> str:
    places = dict.fromkeys(names.values())  # each but once
    lines = [f"\n    {cell.begins}    (in “{cell.heading}”)" for cell in places]
    return f"the cell{'s' if len(places) > 1 else ''} with{''.join(lines)}"


def _those(names: dict[str, Cell]) -> str:
    return "that one" if len(set(names.values())) == 1 else "those"


def _and(names: dict[str, Cell]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


# -- IPython ---------------------------------------------------------------------------------


def load_ipython_extension(shell: Shell) -> None:
    kernel_log.attach(shell)
    came_out.attach(shell)
    guide = Guide(shell, LABS if IN_BROWSER else Path.cwd())
    without_computer = CellsWithoutComputer(shell.user_ns)

    def begin(info: Any) -> None:
        guide.begin(info.raw_cell or "")
        if IN_BROWSER and (book := guide.place()[1]):  # no server has told the kernel its notebook
            os.environ[NOTEBOOK] = book.path.name

    def done(result: Any) -> None:
        with suppress(KeyboardInterrupt):  # too late: the cell has ended
            for cluster in guide.end():  # this takes some time, in a thread
                background.once(cluster.stop)
            if not result.success:
                guide.failed()
            elif said := guide.done():
                print(said, file=sys.stderr)

    def failed(
        shell: Shell,
        kind: type[BaseException],
        error: Any,
        where: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        if IN_BROWSER:
            cell, book = guide.place()
            if reason := without_computer.reason(error, cell):
                without_computer.leave_out(guide.source, cell)
                return cell_without_computer.show(reason, cell, book)
        if said := guide.explain(error):
            error._render_traceback_ = lambda: [said]  # as IPython lets an exception show itself
        ran = any(_module(frame) == CELL for frame, _ in traceback.walk_tb(where))
        shell.showtraceback((kind, error, where), tb_offset, running_compiled_code=ran)
        if said:
            del error._render_traceback_  # %tb shows it all

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", done)
    shell.set_custom_exc((Exception, KeyboardInterrupt), failed)
