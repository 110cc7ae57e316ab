"""A learner at a real kernel, who runs the cells of a lab in whatever order.

    with Learner(LABS / "00_start.ipynb") as learner:
        for cell in learner.cells:
            said = learner.run(cell)
            assert not said.bare, said

What a cell says is its answer, or a sentence for people: `Said.bare` finds everything else. By
hand, over a whole lab, with a line for each cell that did not simply answer:

    .venv/bin/python -m tests.labs.order twice labs/01_storage.ipynb
    .venv/bin/python -m tests.labs.order shuffled labs/01_storage.ipynb 7
"""

import os
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Empty
from textwrap import indent
from typing import Any, NamedTuple, Self

import nbformat
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbformat.v4 import new_code_cell

from tests.limits import SPARK_S

LABS = Path(__file__).resolve().parents[2] / "labs"
GUIDE = "--IPKernelApp.extensions=widgets.notebook.guide"  # what make setup has every kernel do
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"^(File |Cell In\[|Traceback )|^-{10,}", re.MULTILINE)


class Said(NamedTuple):
    """What became of one cell."""

    cell: Any
    error: str  # the exception's class; "" where there was none
    told: str  # what stands in red below the cell
    printed: str

    @property
    def bare(self) -> bool:
        """An error that is a traceback, and not a sentence."""
        return bool(self.error) and FRAME.search(self.told) is not None


class Learner:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.notebook = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
        self.cells = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        self.kernel = KernelManager(kernel_name="python3")
        self._client: BlockingKernelClient | None = None

    def cell(self, name: str) -> Any:
        return next(cell for cell in self.cells if cell.id == name)

    def own(self, source: str) -> Said:
        """A cell of the learner's own."""
        return self.run(new_code_cell(source))  # type: ignore[no-untyped-call]

    def ask(self, source: str) -> str:
        """What such a cell prints."""
        said = self.own(source)
        assert not said.error, said.told
        return said.printed

    def sections(self) -> list[list[Any]]:
        """The code cells below each heading of the second level."""
        found: list[list[Any]] = [[]]
        for cell in self.notebook.cells:
            if cell.cell_type == "markdown" and cell.source.startswith("## "):
                found.append([])
            elif cell.cell_type == "code":
                found[-1].append(cell)
        return [each for each in found if each]

    # -- the kernel ----------------------------------------------------------------------

    def __enter__(self) -> Self:
        where = [str(self.path.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.kernel.start_kernel(
            extra_arguments=[GUIDE],
            cwd=str(self.path.parent),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(where)},
        )
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._disconnect()
        self.kernel.shutdown_kernel()

    def restart(self) -> None:
        """As the button does: at once, and everything is forgotten."""
        self._disconnect()
        self.kernel.restart_kernel(now=True)
        self._connect()

    def _connect(self) -> None:
        self._client = self.kernel.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=SPARK_S)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.stop_channels()

    # -- cells ---------------------------------------------------------------------------

    def run(self, cell: Any, *, interrupt: bool = False) -> Said:
        """All that a cell shows until the kernel is idle again; or stop it once it has begun.

        To be stopped it becomes one statement: between two, IPython compiles, and is interrupted
        there with a traceback of its own."""
        assert self._client is not None, "use it in a with statement"
        error, told, printed = "", "", []
        source = cell.source
        if interrupt:
            begun = f"print('begun', flush=True)\n{source}"
            source = f"if True:\n{indent(begun, '    ')}"
        request = self._client.execute(source, allow_stdin=False)
        for kind, content in self._messages(request, cell.source):
            if kind == "stream" and interrupt:
                self.kernel.interrupt_kernel()
                interrupt = False
            elif kind == "error":
                error, told = content["ename"], COLOUR.sub("", "\n".join(content["traceback"]))
            elif kind == "stream":
                printed.append(content["text"])
        return Said(cell, error, told, "".join(printed))

    def _messages(self, request: str, source: str) -> Iterator[tuple[str, Any]]:
        assert self._client is not None
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=SPARK_S)
            except Empty:
                quiet = f"no word from the kernel for {SPARK_S:.0f} s, in this cell:"
                raise TimeoutError(f"{quiet}\n\n{source}") from None
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if (kind, content.get("execution_state")) == ("status", "idle"):
                return
            yield kind, content


# -- orders ----------------------------------------------------------------------------------


def twice(cells: Iterable[Any]) -> Iterator[Any]:
    for cell in cells:
        yield cell
        yield cell


def setting_up(cells: Iterable[Any]) -> Any:
    """The first cell, unless that one plays a recording."""
    return next(cell for cell in cells if cell.id != "film")


def shuffled(cells: list[Any], seed: int) -> list[Any]:
    """The cell that sets up, and then the others in an order that the seed decides."""
    first = setting_up(cells)
    others = [cell for cell in cells if cell is not first]
    random.Random(seed).shuffle(others)
    return [first, *others]


def main(how: str, path: str, seed: str = "1") -> int:
    with Learner(Path(path).resolve()) as learner:
        orders = {"twice": twice(learner.cells), "shuffled": shuffled(learner.cells, int(seed))}
        bare = 0
        for cell in orders[how]:
            said = learner.run(cell)
            bare += said.bare
            if said.error or said.printed:
                mark = "BARE" if said.bare else "says"
                print(f"{mark} {cell.id}: {said.error}\n{said.told}{said.printed}", flush=True)
    print(f"{how} {path} {seed}: {bare} bare")
    return bare > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
