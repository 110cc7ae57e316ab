"""docs/teaching.md names sections and cells that are there, and its minutes add up."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.classroom.conftest import ROOT
from tests.labs.reader import LABS, Reader

PAGE = ROOT / "docs" / "teaching.md"
STEMS = sorted(path.stem for path in LABS.glob("[0-9]*.ipynb"))  # the appendix is no lesson
Rows = list[dict[str, str]]


def chapters(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def tables(chapter: str) -> Iterator[tuple[str, Rows]]:
    """Each with the heading it stands under."""
    for part in re.split(r"^### ", chapter, flags=re.M)[1:]:
        lines = [it[1:-1].split("|") for it in part.splitlines() if it.startswith("|")]
        if lines:
            head, _, *rows = [[cell.strip() for cell in line] for line in lines]
            yield part.splitlines()[0], [dict(zip(head, row, strict=True)) for row in rows]


def sections(lab: Path) -> set[str]:
    """Headings, without what numbers them."""
    texts = (cell.source for cell in Reader(lab).notebook.cells if cell.cell_type == "markdown")
    found = re.findall(r"^#+ (.+)$", "\n".join(texts), re.M)
    return {re.sub(r"^\d+(?: ·|\.) ", "", each) for each in found}


def wrong(text: str, stem: str) -> list[str]:
    """What a chapter says that is not so."""
    found, known = [], sections(LABS / f"{stem}.ipynb")
    cells = {cell.id for cell in Reader(LABS / f"{stem}.ipynb").cells}
    for title, rows in tables(chapters(text)[stem]):
        if minutes := re.match(r"In (\d+) minutes", title):
            total = sum(int(row["minutes"]) for row in rows)
            if total != int(minutes[1]):
                found.append(f"{title}: they are {total}")
        named = [row.get("section", "*") for row in rows]  # in italics: no section of the lab
        found += [name for name in named if not name.startswith("*") and name not in known]
        shown = [row["cell"].strip("`") for row in rows if "cell" in row]
        found += [name for name in shown if name not in cells]
    return found


@pytest.mark.parametrize("stem", STEMS)
def test_a_lab_s_chapter_names_what_is_in_the_lab(stem: str) -> None:
    text = PAGE.read_text()
    titles = [title for title, _ in tables(chapters(text)[stem])]
    plans = ["In 45 minutes", "In 90 minutes", "On the projector", "Misconceptions"]
    assert titles == plans
    assert wrong(text, stem) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("| 5 | It is stored: where? |", "| 5 | Where it lay |", "Where it lay"),
        ("| `cost` |", "| `price` |", "price"),
        (
            "| 3 | Another broker leads: what did it cost? |",
            "| 4 | Another broker leads: what did it cost? |",
            "In 45 minutes: they are 46",
        ),
    ],
)
def test_what_is_not_there_is_reported(before: str, after: str, told: str) -> None:
    text = PAGE.read_text()
    assert before in text
    assert told in wrong(text.replace(before, after, 1), "00_start")


def test_the_points_on_the_page_are_those_of_the_exercises() -> None:
    """In the order of the exercises; labs 01 to 03 share a sentence, in rising order."""
    page = " ".join(PAGE.read_text().split())
    for stem, lab in import_module("handout.exercises").LABS.items():
        points = [each.points for each in lab.exercises]
        if stem[:2] in ("01", "02", "03"):
            points.sort()
        *most, last = map(str, points)
        told = f"worth {', '.join(most)} and {last}" if most else "one exercise, for one point"
        assert told in page, stem


def test_the_commands_on_the_page_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"^    make ([a-z]+)", PAGE.read_text(), re.M))
    assert named == {"student", "answers", "classroom"}
    assert named <= targets
