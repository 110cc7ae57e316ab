"""What a lab's page says about its pictures: that they stand still, and where they move."""

import json
from pathlib import Path

NOTE = (
    "*This page shows what an earlier run of the notebook gave; its pictures are stills. "
    "[In the recordings](../recordings/index.md) they move, and after `make lab` they are yours "
    "to click.*"
)


def explain(path: Path) -> None:
    """Put the note below a notebook's title."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title = notebook["cells"][0]
    assert title["cell_type"] == "markdown", f"{path.name} begins with its title"
    first, _, rest = "".join(title["source"]).partition("\n")
    title["source"] = f"{first}\n\n{NOTE}\n{rest}"
    path.write_text(json.dumps(notebook), encoding="utf-8")
