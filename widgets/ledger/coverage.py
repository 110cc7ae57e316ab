"""Where the labs decide each claim: read from what was saved of them, and from nothing else.

labs/*.ipynb, labs/.saved/
  ──> Decided("02_replication.ipynb", "Leader and followers", "roles-verdict", ...)
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from widgets.ledger.ledger import MIME
from widgets.saved import with_outputs


class Decided(NamedTuple):
    lab: str  # the notebook's name
    section: str  # the heading above the cell
    cell: str
    source: str  # of the cell
    verdict: str


def decided(notebook: Path) -> dict[str, Decided]:
    """By claim, from the outputs that are saved with a notebook."""
    found = {}
    for section, cell in _with_sections(notebook):
        source = "".join(cell["source"])
        for output in cell.get("outputs", ()):
            for claim, verdict in output.get("data", {}).get(MIME, {}).items():
                found[claim] = Decided(notebook.name, section, cell["id"], source, verdict)
    return found


def section_of(notebook: Path, name: str) -> str:
    """The heading above the cell with this id."""
    return next(section for section, cell in _with_sections(notebook) if cell["id"] == name)


def _with_sections(notebook: Path) -> Iterator[tuple[str, Any]]:
    """Each cell, and the heading above it."""
    section = ""
    for cell in with_outputs(notebook)["cells"]:
        if cell["cell_type"] == "markdown":
            section = _heading("".join(cell["source"])) or section
        yield section, cell


def all_decided(labs: Path) -> dict[str, Decided]:
    """Where a claim is decided first: a later lab may see it once more."""
    found: dict[str, Decided] = {}
    for notebook in sorted(labs.glob("*.ipynb")):
        found = decided(notebook) | found
    return found


def anchor(section: str) -> str:
    """As Jupyter names headings."""
    return section.replace(" ", "-")


def _heading(source: str) -> str:
    heads = [line.lstrip("# ") for line in source.splitlines() if line.startswith("#")]
    return heads[-1].strip() if heads else ""
