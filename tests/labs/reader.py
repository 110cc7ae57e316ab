"""A lab read by nobody: its cells run one after the other, as a kernel would run them. They have
the outputs that are saved beside the notebook (widgets/saved.py)."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from engine import Cluster
from widgets.saved import notebook_with_outputs
from widgets.stage import SceneWidget

LABS = Path(__file__).resolve().parents[2] / "labs"


class Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.notebook = notebook_with_outputs(path)
        self.cells = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        self.names: dict[str, Any] = {}  # what the cells have made
        self.clusters: list[Cluster] = []

    def cell(self, name: str) -> Any:
        return next(cell for cell in self.cells if cell.id == name)

    def run(self, cell: Any) -> tuple[str, Any]:
        """What a cell prints, and the value it ends in."""
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed, value = StringIO(), None
        try:
            with redirect_stdout(printed):
                exec(compile(tree, cell.id, "exec"), self.names)
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), cell.id, "eval"), self.names)
        finally:
            for cluster in self._named():
                if isinstance(cluster, Cluster) and cluster not in self.clusters:
                    self.clusters.append(cluster)
        return printed.getvalue(), value

    def _named(self) -> Iterator[Any]:
        """The cluster of a lab, the one beside it, and two that are shown side by side."""
        yield from (self.names.get(name) for name in ("cluster", "beside"))
        yield from self.names.get("clusters", {}).values()

    def through(self, *names: str) -> Any:
        """These cells; the value that the last of them shows."""
        return [self.run(self.cell(name))[1] for name in names][-1]

    def check_sections(self, sections: Mapping[str, Sequence[str]]) -> None:
        """In any order and twice, each from its first cell: they show what the notebook has."""
        for section in (*reversed(sections), *sections):
            self.names.clear()  # as after a restart, or for who begins here
            for name in sections[section]:
                printed, value = self.run(self.cell(name))
                if value is not None and not isinstance(value, SceneWidget):
                    assert repr(value) == self.cell(name).outputs[0].data["text/plain"], name
                assert printed == ""

    def close(self) -> None:
        for cluster in self.clusters:
            cluster.stop()
