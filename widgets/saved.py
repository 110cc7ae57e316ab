"""What the cells of a lab have shown: kept beside the notebook, so that nobody reads it too early.

    labs/01_storage.ipynb           texts and code; of outputs only those that tell no outcome
    labs/.saved/01_storage.json     {"topics": [output, ...], ...}: those of every other code cell
    labs/.saved/kraft.json          {"01_storage": {"topics": "text", ...}, ...}: cells that show
                                    something else when the lab's cluster has no ZooKeeper

What a cell with the tag `situation` shows tells no outcome: a question, or a picture that opens a
section. Outputs have the form that they have in a notebook's file. A cell that nobody has run has
no count there; one with a situation has 0, because nbval refuses outputs without a count.

Invariant: a code cell's outputs are in one of the two files. In the second one every code cell that
may tell an outcome has an entry, [] if it shows nothing, and no other cell has one.
"""

import json
from pathlib import Path
from typing import Any, TypeAlias

from widgets.metadata_switch import KRAFT

FOLDER = ".saved"
SITUATION = "situation"

Cell: TypeAlias = dict[str, Any]
Output: TypeAlias = dict[str, Any]


def saved_path(notebook: Path) -> Path:
    return notebook.parent / FOLDER / f"{notebook.stem}.json"


def saved_outputs(notebook: Path) -> dict[str, list[Output]]:
    """By cell; nothing if the notebook is no lab of the repository, but a copy of one."""
    path = saved_path(notebook)
    if not path.exists():
        return {}
    found: dict[str, list[Output]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def kraft_differences(notebook: Path) -> dict[str, str]:
    """By cell, the text of an output that is otherwise without ZooKeeper."""
    found: dict[str, dict[str, str]] = json.loads(
        (notebook.parent / FOLDER / f"{KRAFT}.json").read_text(encoding="utf-8")
    )
    return found.get(notebook.stem, {})


def with_outputs(notebook: Path) -> dict[str, Any]:
    """The notebook's own JSON, with the saved outputs in their cells. A cell that was run and saved
    in the notebook itself keeps what it has shown there."""
    content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    saved = saved_outputs(notebook)
    for cell in content["cells"]:
        if cell["id"] in saved and not cell["execution_count"]:
            cell["outputs"] = saved[cell["id"]]
    return content


def notebook_with_outputs(notebook: Path) -> Any:
    """A notebook with its outputs, as a value of nbformat, which is slow to import."""
    import nbformat  # noqa: PLC0415

    return nbformat.reads(json.dumps(with_outputs(notebook)), 4)  # type: ignore[no-untyped-call]


def tells_no_outcome(cell: Cell) -> bool:
    """What this code cell shows may be seen before anybody has run it."""
    return SITUATION in cell["metadata"].get("tags", ())
