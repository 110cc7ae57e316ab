"""Where the labs decide each claim: read from what the notebooks have saved, and from nothing else.

labs/*.ipynb ──> Decided("02_replication.ipynb", "Leader and followers", "roles-verdict", ...)
"""

import json
from pathlib import Path
from typing import NamedTuple

from widgets.ledger.ledger import MIME


class Decided(NamedTuple):
    lab: str  # the notebook's name
    section: str  # the heading above the cell
    cell: str
    source: str  # of the cell
    verdict: str


def decided(notebook: Path) -> dict[str, Decided]:
    """By claim, from the outputs of a saved notebook."""
    found, section = {}, ""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            section = _heading(source) or section
        for output in cell.get("outputs", ()):
            for claim, verdict in output.get("data", {}).get(MIME, {}).items():
                found[claim] = Decided(notebook.name, section, cell["id"], source, verdict)
    return found


def all_decided(labs: Path) -> dict[str, Decided]:
    found: dict[str, Decided] = {}
    for notebook in sorted(labs.glob("*.ipynb")):
        found |= decided(notebook)
    return found


def anchor(section: str) -> str:
    """As Jupyter names headings."""
    return section.replace(" ", "-")


def _heading(source: str) -> str:
    heads = [line.lstrip("# ") for line in source.splitlines() if line.startswith("#")]
    return heads[-1].strip() if heads else ""
