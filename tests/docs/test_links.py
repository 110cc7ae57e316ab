"""Every link in every page leads somewhere: the file is there, and so is the heading."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.lines import ROOT, pages
from widgets.ledger import coverage

LINK = re.compile(r"\[[^]]*]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|(?:src|srcset|href)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z]+:|//")  # the network is not asked
LINES = re.compile(r"L(\d+)(?:-L(\d+))?")


class Link(NamedTuple):
    page: Path
    line: int
    target: str


def links(page: Path) -> Iterator[Link]:
    """All but those in code, which are text."""
    for number, line in enumerate(prose(page.read_text(encoding="utf-8")).splitlines(), 1):
        for markdown, html in LINK.findall(line):
            target = markdown or html
            if not ELSEWHERE.match(target):
                yield Link(page, number, target)


def prose(text: str) -> str:
    """A page with its code blanked out; a link's own words, which may be code, stay."""
    return re.sub(r"(?<!\[)`[^`\n]*`(?!])", "", unfenced(text))


def unfenced(text: str) -> str:
    fenced = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
    return fenced.sub(lambda found: "\n" * found[0].count("\n"), text)


def anchors(page: Path) -> set[str]:
    """What GitHub makes of headings; of several alike, the later ones are numbered."""
    seen: Counter[str] = Counter()
    text = unfenced(page.read_text(encoding="utf-8"))
    found = set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M):
        words = re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def sections(notebook: Path) -> set[str]:
    """What Jupyter makes of a notebook's headings."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = "\n".join("".join(it["source"]) for it in cells if it["cell_type"] == "markdown")
    return {coverage.anchor(it) for it in re.findall(r"^#{1,6} +(.+?) *$", texts, re.M)}


def fault(link: Link) -> str | None:
    path, _, anchor = link.target.partition("#")
    file = (link.page.parent / path).resolve() if path else link.page
    if not file.exists():
        return "there is no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"no such heading; there are: {', '.join(sorted(anchors(file)))}"
    if anchor and file.suffix == ".ipynb" and anchor not in sections(file):
        return "the lab has no such section"
    if anchor and file.suffix == ".py":
        lines = LINES.fullmatch(anchor)
        total = len(file.read_text(encoding="utf-8").splitlines())
        if not lines or not all(1 <= int(each) <= total for each in lines.groups() if each):
            return f"no such lines: it has {total}"
    return None


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = [
        f"{page.relative_to(ROOT)}:{link.line}: {link.target}: {why}"
        for link in links(page)
        if (why := fault(link))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("[a](there.md)", 0),
        ("[a](there.md#a-heading-of-it)", 0),
        ("[a](there.md#a-heading-of-it-1)", 0),
        ("[a](#here-too)\n\n## Here, too!", 0),
        ("[a](code.py#L1-L2)", 0),
        ("[a](<lab.ipynb#1.-Who-leads?>)", 0),
        ("[a](https://example.org/nowhere)", 0),
        ("`[a](gone.md)`", 0),
        ("```\n[a](gone.md)\n```", 0),
        ("[a](gone.md)", 1),
        ("![a](gone.svg)", 1),
        ('<img src="gone.png">', 1),
        ("[`a`](gone.md)", 1),
        ("[a](there.md#another)", 1),
        ("[a](#nowhere)", 1),
        ("[a](<lab.ipynb#2.-Who-leads?>)", 1),
        ("[a](code.py#L1-L9)", 1),
    ],
)
def test_a_planted_link_is_judged(text: str, faults: int, tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading of it\n\n## A `heading` of it\n")
    (tmp_path / "code.py").write_text("a = 1\nb = 2\n")
    cell = {"cell_type": "markdown", "source": ["## 1. Who leads?"]}
    (tmp_path / "lab.ipynb").write_text(json.dumps({"cells": [cell]}))
    page = tmp_path / "page.md"
    page.write_text(text)
    assert len([link for link in links(page) if fault(link)]) == faults
