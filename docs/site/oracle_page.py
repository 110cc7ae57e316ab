"""The site's page of the oracle: recorded situations, which a reader answers one after the other.

    kinds x EACH ── run, as in the lab ──> static/oracle-questions.js ──> docs/oracle.md

Nothing runs on the site, so the outcome of each situation is recorded with it.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from engine.table import words
from oracle.kinds import KINDS
from oracle.situation import ask
from widgets.oracle.sections import lab_links

EACH = 8  # situations of each kind


def write(script: Path, make_id: Callable[[str], str]) -> str:
    """The questions; how many there are, in words. `make_id`: of a heading."""
    wanted = [(name, seed) for name in KINDS for seed in range(EACH)]
    with ProcessPoolExecutor(2) as helpers:
        questions = list(helpers.map(recorded, *zip(*wanted, strict=True), chunksize=4))
    for question in questions:
        lab, heading = question.pop("heading")
        question["address"] = f"../labs/{lab}.html#{make_id(heading)}"
    data = json.dumps(questions, separators=(",", ":"), ensure_ascii=False)
    script.write_text(f"window.oracleQuestions = {data};\n", encoding="utf-8")
    return f"{len(questions)} situations"


def recorded(name: str, seed: int) -> dict[str, Any]:
    question = ask(KINDS[name], name, seed)
    link = lab_links()[question.section]
    return {
        "idea": question.idea,
        "level": question.level,
        "facts": question.facts,
        "table": list(_table(question.table)),
        "happens": question.happens,
        "asks": question.asks,
        "options": [[option.text, option.belief] for option in question.options],
        "right": question.right,
        "why": question.why,
        "section": link.words,
        "heading": (link.address.partition(".ipynb")[0], link.words.partition(", ")[2]),
    }


def _table(table: Any) -> Iterator[list[str]]:
    """The head, then the rows."""
    if table is not None:
        yield table.head
        yield from ([words(cell) for cell in row] for row in table.rows)
