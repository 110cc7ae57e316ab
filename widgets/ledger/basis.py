"""What a verdict rests on, in a line: its kind, and where it was seen.

    shown · on this cluster · with Apache Kafka 2.8.2: test_tools.py
    by definition · on this cluster
    told, not tested · by documents
    shown · in the simulator · only our engine · decided with ZooKeeper
    today, without ZooKeeper: wrong. The controllers vote ... (10_kraft active)

The line stands on the card of a verdict. It is the same in every run, so it is no part of what a
run has found: it is put into a card where a learner looks at it, in JupyterLab and on the site, and
is not in what the repository's notebooks have saved.
"""

import re
from collections.abc import Mapping
from html import escape

from widgets.ledger.chips import COLORS
from widgets.ledger.claims import ArticleClaim, Place

KINDS = {"shown": "shown", "definition": "by definition", "told": "told, not tested"}
LINE = "font-size: 85%; opacity: .75; letter-spacing: .01em"
CARD = re.compile(r'(<div id="(\w+)"[^>]*>.*?)(?=<details)', re.S)  # as ledger.py makes it


def line(claim: ArticleClaim) -> str:
    decided = ["decided with ZooKeeper"] if claim.needs == "zookeeper" else []
    return " · ".join([KINDS[claim.kind], *map(_words, claim.seen), *decided])


def html(claim: ArticleClaim) -> str:
    """With the names of the tests for whoever points to it."""
    tests = ", ".join(f"tests/real/{it.test}" for it in claim.seen if it.test)
    kind, _, rest = line(claim).partition(" · ")
    told = f"<b>{escape(kind)}</b> · {escape(rest)}"
    return (
        f'<div class="lab-basis" style="{LINE}" title="{escape(tests)}">{told}{today(claim)}</div>'
    )


def today(claim: ArticleClaim) -> str:
    if claim.today is None:
        return ""
    verdict, words, shown = (escape(it) for it in claim.today)
    color = f"color: {COLORS[verdict]}; font-weight: bold"
    told = f'today, without ZooKeeper: <span style="{color}">{verdict}</span>. {words}'
    return f"<div>{told} <i>({shown})</i></div>"


def with_basis(cards: str, claims: Mapping[str, ArticleClaim]) -> str:
    """Cards as HTML, each with its line above the cases."""
    return CARD.sub(lambda it: it[1] + (html(claims[it[2]]) if it[2] in claims else ""), cards)


def _words(place: Place) -> str:
    return f"{place.words}: {place.file}" if place.test else place.words
