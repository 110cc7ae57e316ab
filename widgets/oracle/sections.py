"""Sections of the labs as links: what was missed leads to where it is shown.

replication#marks-text ──> lab 02, section 5: A record is written: when is it safe?
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from widgets.progress.plan import LABS


class SectionLink(NamedTuple):
    words: str
    address: str  # from a notebook beside the lab


class LabLink:
    """A list of links, as the output of a cell."""

    def __init__(self, links: Sequence[SectionLink]) -> None:
        self.links = links

    def __repr__(self) -> str:
        return "\n".join(link.words for link in self.links) or "Nothing was missed."

    def _repr_html_(self) -> str:
        rows = (f'<li><a href="{it.address}">{escape(it.words)}</a></li>' for it in self.links)
        return f"<ul>{''.join(rows)}</ul>" if self.links else "<p>Nothing was missed.</p>"


def lab_links(folder: Path = LABS) -> Mapping[str, SectionLink]:
    """By the name of the lab and the id of the heading's cell: `replication#marks-text`."""
    found = {}
    for path in sorted(folder.glob("[0-9]*_*.ipynb")):
        number, _, lab = path.stem.partition("_")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            first = "".join(cell["source"]).partition("\n")[0]
            if cell["cell_type"] == "markdown" and first.startswith("## "):
                heading = first.removeprefix("## ").strip()
                words = f"lab {number}, {heading}"
                address = f"{path.name}#{heading.replace(' ', '-')}"
                found[f"{lab}#{cell['id']}"] = SectionLink(words, address)
    return found
