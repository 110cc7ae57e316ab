"""docs/coverage.md: every claim of the articles, its verdict, and the cell that decided it.

    .venv/bin/python -m widgets.ledger.coverage labs > docs/coverage.md

Made from what the saved notebooks hold, and from nothing else: a claim that no cell has decided is
listed as to come. Who changes a lab makes it anew; a test holds the two together.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from widgets.ledger.claims import ArticleClaim, load
from widgets.ledger.ledger import MIME

INTRO = """# What the labs say about the articles

Five articles are the syllabus; their claims are told here in our own words, with the verdict that
the lab finds whenever it is run. *To come* means that no cell decides it yet. Made from the saved
notebooks by `python -m widgets.ledger.coverage`; sources and reasons are in `labs/claims.json`.
"""
TO_COME = "to come"


class Decided(NamedTuple):
    lab: str  # the notebook's name
    section: str  # the heading above the cell
    cell: str
    verdict: str


def decided(notebook: Path) -> dict[str, Decided]:
    """By claim, from the outputs of a saved notebook."""
    found, section = {}, ""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            section = _heading("".join(cell["source"])) or section
        for output in cell.get("outputs", ()):
            for claim, verdict in output.get("data", {}).get(MIME, {}).items():
                found[claim] = Decided(notebook.name, section, cell["id"], verdict)
    return found


def all_decided(labs: Path) -> dict[str, Decided]:
    found: dict[str, Decided] = {}
    for notebook in sorted(labs.glob("*.ipynb")):
        found |= decided(notebook)
    return found


def page(claims: Mapping[str, ArticleClaim], found: Mapping[str, Decided]) -> str:
    lines = [INTRO, *_counts(claims, found)]
    lab = ""
    for key, claim in claims.items():
        if claim.lab != lab:
            lab = claim.lab
            head = "| claim | verdict | what is claimed | where |"
            lines += ["", f"## {lab}", "", head, "|---|---|---|---|"]
        lines.append(_row(claim, found.get(key)))
    return "\n".join([*lines, ""])


def _counts(claims: Mapping[str, ArticleClaim], found: Mapping[str, Decided]) -> Iterator[str]:
    yield "| lab | claims | decided | to come |"
    yield "|---|---:|---:|---:|"
    labs = Counter(claim.lab for claim in claims.values())
    done = Counter(claims[key].lab for key in found)
    for lab, count in labs.items():
        yield f"| {lab} | {count} | {done[lab]} | {count - done[lab]} |"
    yield f"| all | {len(claims)} | {len(found)} | {len(claims) - len(found)} |"


def _row(claim: ArticleClaim, where: Decided | None) -> str:
    verdict = where.verdict if where else TO_COME
    link = ""
    if where:
        place = f"../labs/{where.lab}#{_anchor(where.section)}"
        link = f"[{where.section}]({place}), cell `{where.cell}`"
    return f"| {claim.id} | {verdict} | {claim.claim} | {link} |"


def _heading(source: str) -> str:
    heads = [line.lstrip("# ") for line in source.splitlines() if line.startswith("#")]
    return heads[-1].strip() if heads else ""


def _anchor(section: str) -> str:
    """As Jupyter names headings."""
    return section.replace(" ", "-")


def main(arguments: list[str]) -> None:
    print(page(load(), all_decided(Path(arguments[0]))), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
