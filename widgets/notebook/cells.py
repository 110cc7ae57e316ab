"""The cells of a notebook, and the names that each of them makes and needs.

    ## A record
    [3]  producer = ...           makes producer
    ## The plug is pulled
    [7]  guess = ask()            makes guess     <── the nearest one above [9] that makes guess
    [9]  guess.outcome(leader)    needs guess and leader

Several cells of a lab may make the same name (`cluster`, `guess`, `log`). When cells run from top
to bottom, a cell uses the value of the nearest cell above, so that cell counts.

Invariant: no code is run here; a notebook is read as text.
"""

import ast
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

IMPORTED = "imported"  # the same, whatever else is imported with it
FIRST = 60  # of a cell's first line, as much as tells it from the others


class Cell(NamedTuple):
    place: int
    heading: str
    source: str

    @property
    def begins(self) -> str:
        """Its first line of code, without imports if there is other code."""
        lines = [line for line in self.source.splitlines() if line.strip()]
        told = [line for line in lines if not line.startswith(("from ", "import "))]
        line = (told or lines)[0]
        return line if len(line) <= FIRST else line[: FIRST - 1] + "…"


class Code:
    """The names that a piece of code makes, and those that it needs."""

    def __init__(self, source: str) -> None:
        self.makes: set[str] = set()
        self.needs: set[str] = set()
        self.how: dict[str, str] = {}  # the names, and the statements that make them
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a magic of IPython's, or an error that Python reports
            return
        for statement in tree.body:
            made, used = _names(statement)
            self.needs |= used - self.makes
            self.makes |= made
            imported = isinstance(statement, ast.Import | ast.ImportFrom)
            how = IMPORTED if imported else ast.unparse(statement)
            self.how |= dict.fromkeys(made, how)


class Notebook:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0  # the modification time of the file that was read, ns
        self._cells: list[Cell] = []

    @property
    def cells(self) -> list[Cell]:
        """The cells of the saved file, which is read again only when it has changed."""
        try:
            changed = self.path.stat().st_mtime_ns
            if changed != self._read:
                self._read, self._cells = changed, []
                self.__dict__.pop("_makers", None)
                self._cells = list(_cells(json.loads(self.path.read_text("utf-8"))))
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
        ):  # deleted, or not a notebook in a known format
            self._cells = []
        return self._cells

    @cached_property
    def _makers(self) -> dict[str, list[Cell]]:
        found: dict[str, list[Cell]] = {}
        for cell in self._cells:
            for name in Code(cell.source).makes:
                found.setdefault(name, []).append(cell)
        return found

    def find(self, source: str) -> Cell | None:
        """The first cell of this text."""
        wanted = source.strip()
        return next((cell for cell in self.cells if cell.source == wanted), None)

    def maker(self, name: str, above: Cell | None) -> Cell | None:
        """The cell that makes a name for this one: the nearest above, or the first of all."""
        makers = self._makers.get(name, []) if self.cells else []
        if above is not None:
            nearest = [cell for cell in makers if cell.place < above.place]
            if nearest:
                return nearest[-1]
        return makers[0] if makers else None


def _cells(document: dict[str, list[dict[str, object]]]) -> Iterator[Cell]:
    heading = ""
    for place, each in enumerate(document["cells"]):
        source = each["source"]
        text = "".join(source) if isinstance(source, list) else str(source)
        if each["cell_type"] == "markdown":
            titles = [line for line in text.splitlines() if line.startswith("#")]
            heading = titles[-1].lstrip("# ") if titles else heading
        elif each["cell_type"] == "code" and text.strip():
            yield Cell(place, heading, text.strip())


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The notebook's names that a statement binds, and those that it reads."""
    inner = _inner(statement)
    made, used = set(), set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(name, ast.Store()) if name not in inner:
                made.add(name)
            case ast.Name(name, ast.Load()) if name not in inner:
                used.add(name)
            case ast.Import() | ast.ImportFrom():
                made |= {each.asname or each.name.partition(".")[0] for each in node.names}
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}, set()  # the body runs when it is called
    if isinstance(statement, ast.For | ast.While | ast.With | ast.Try):
        used -= made  # what a block makes it can use
    return made, used


def _inner(statement: ast.stmt) -> set[str]:
    """Names of comprehensions, lambdas and errors that are caught: not the notebook's."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.comprehension):
            found |= {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
        elif isinstance(node, ast.Lambda):
            found |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found
