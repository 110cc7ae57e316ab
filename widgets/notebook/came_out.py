"""%%came_out: shows what a cell of a lab has shown when we ran it, and does not run it.

    %%came_out                               above the first line of the cell
    draw.rows({"live": live, ...})

The notebooks tell no outcome; this is for somebody who asks for one. It reads what is saved beside
the lab (saved.py), and finds the cell by the id that JupyterLab gives.
"""

from typing import Any

from IPython.display import display

from widgets.progress.plan import LABS
from widgets.progress.record import running_cell
from widgets.saved import Output, saved_outputs

NOTHING = "Nothing is saved of this cell: it is no cell of a lab, or its lab came without outputs."
SILENT = "This cell showed nothing."


def attach(shell: Any) -> None:
    shell.register_magic_function(came_out, "cell")


def came_out(line: str, cell: str) -> None:
    """What this cell has shown when we ran the lab."""
    place = running_cell()
    outputs = place and saved_outputs(LABS / f"{place.lab}.ipynb").get(place.cell)
    if outputs is None:
        print(NOTHING)
    elif not outputs:
        print(SILENT)
    else:
        for output in outputs:
            show(output)


def show(output: Output) -> None:
    """Show a saved output below the cell that runs."""
    if output["output_type"] == "stream":
        print("".join(output["text"]), end="")
    else:
        data = {kind: _whole(it) for kind, it in output["data"].items()}
        display(data, raw=True)  # type: ignore[no-untyped-call]


def _whole(content: Any) -> Any:
    """A file has texts as lists of lines."""
    return "".join(content) if isinstance(content, list) else content
