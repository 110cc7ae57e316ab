"""What somebody meets who reads the labs: in which order, where one is, what is folded, how long.

labs/path.json names the sections of the two-hour path, by lab and by the cell of their heading, and
how many seconds their cells ran on a virtual machine with two cores.
"""

import json
import re
from itertools import pairwise
from typing import Any, NamedTuple

import nbformat
import pytest

from tests.labs.reader import LABS
from widgets.ledger.coverage import anchor

STEMS = sorted(path.stem for path in LABS.glob("[0-9]*.ipynb"))
PATH = "[the two-hour path](../docs/path.md)"
BADGE = "[`two-hour path`](../docs/path.md)"
LAST = {"The verdicts", "Where to go next"}  # sections that ask nothing
WORDS, LINES = 220, 25  # that are read in a minute: words, lines of code
MINUTES = 120
DECIDES = re.compile(r"\bledger\.decide\(")
CLAIM = re.compile(r"\bC\d{3}\b")
MOST_BETWEEN = 3  # code cells between a prediction and its outcome
Cells = list[Any]


def cells(stem: str) -> Cells:
    found: Cells = nbformat.read(LABS / f"{stem}.ipynb", 4).cells  # type: ignore[no-untyped-call]
    return found


def heading(cell: Any) -> str:
    """Of a section; "" if the cell is not the first of one."""
    is_first = cell.cell_type == "markdown" and cell.source.startswith("## ")
    return cell.source.splitlines()[0].removeprefix("## ") if is_first else ""


def section(stem: str, first: str) -> Cells:
    """From the cell with the heading to the next heading; a whole lab from its title."""
    found = cells(stem)
    place = next(number for number, cell in enumerate(found) if cell.id == first)
    if not heading(found[place]):
        return found
    end = next(it for it in range(place + 1, len(found)) if heading(found[it]))
    return found[place:end]


def number(stem: str, first: str) -> str:
    return heading(section(stem, first)[0]).partition(".")[0]


class PathSection(NamedTuple):
    lab: str
    cell: str
    seconds: float

    @property
    def cells(self) -> Cells:
        return section(self.lab, self.cell)

    @property
    def title(self) -> str:
        return heading(self.cells[0])


def path_sections() -> list[PathSection]:
    found = json.loads((LABS / "path.json").read_text(encoding="utf-8"))
    return [PathSection(**each) for each in found]


# -- where one is --------------------------------------------------------------------------------


def where(place: int) -> str:
    """The line below a lab's title."""
    stem = STEMS[place]
    words = []
    if place:
        words.append(f"Before this lab: {link(STEMS[place - 1])}.")
    more = place + 1 < len(STEMS)
    words.append(f"After it: {link(STEMS[place + 1])}." if more else "It is the last one.")
    on = [number(stem, it.cell) for it in path_sections() if it.lab == stem and it.title]
    *most, last = on or [""]
    if not place:
        words.append(f"It begins {PATH}.")
    elif not on:
        words.append(f"Not on {PATH}.")
    else:
        kind = f"sections {', '.join(most)} and" if most else "section"
        words.append(f"On {PATH}: {kind} {last}.")
    return f"*{' '.join(words)}*"


def link(stem: str) -> str:
    title = cells(stem)[0].source.splitlines()[0].removeprefix("# ")
    return f"[{title}]({stem}.ipynb)"


@pytest.mark.parametrize("place", range(len(STEMS)), ids=STEMS)
def test_a_lab_says_where_one_is_and_leads_to_the_next(place: int) -> None:
    found = cells(STEMS[place])
    title, _, line = found[0].source.splitlines()[:3]
    assert title.startswith(f"# {STEMS[place][:2]} · ")
    assert line == where(place)
    following = link(STEMS[place + 1]) if place + 1 < len(STEMS) else "(../docs/weekend.md)"
    (said,) = [it for it in found[-1].source.splitlines() if it.startswith("**Next:** ")]
    assert following in said


@pytest.mark.parametrize("stem", STEMS)
def test_each_section_is_a_numbered_question(stem: str) -> None:
    """But for the last ones, with the verdicts and the ways on."""
    heads = [head for cell in cells(stem) if (head := heading(cell))]
    asked = [head for head in heads if head not in LAST]
    assert heads == [*asked, *[head for head in heads if head in LAST]]
    for place, head in enumerate(asked, 1):
        assert re.fullmatch(rf"{place}\. .+\?( \(optional\))?", head), head


# -- what stands between the reader and the matter -----------------------------------------------


@pytest.mark.parametrize("stem", STEMS)
def test_what_decides_a_claim_is_folded_at_the_end_of_its_section(stem: str) -> None:
    """Under a line that says it in words. On the site the tag hide-input folds it."""
    folded, before = False, None
    for cell in cells(stem):
        if is_text(cell) and cell.source.startswith("##"):  # also of a part of a section
            folded = False
        if cell.cell_type == "markdown" and cell.source.startswith("*What decides it.* "):
            folded = True
        tags = cell.metadata.get("tags", [])
        if DECIDES.search(cell.source) and cell.cell_type == "code":
            assert "decides" in tags, cell.id
        if "decides" in tags:
            assert folded, f"{cell.id} has no words above it"
            assert "hide-input" in tags, cell.id
            assert cell.metadata["jupyter"]["source_hidden"], cell.id
        elif folded and cell.cell_type == "code":
            pytest.fail(f"{cell.id} stands behind {before}, which decides")
        before = cell.id


@pytest.mark.parametrize("stem", STEMS)
def test_no_number_of_a_claim_stands_in_a_text(stem: str) -> None:
    found = {cell.id: CLAIM.findall(cell.source) for cell in cells(stem) if is_text(cell)}
    assert not {name: each for name, each in found.items() if each}


def is_text(cell: Any) -> bool:
    return bool(cell.cell_type == "markdown")


@pytest.mark.parametrize("stem", STEMS)
def test_an_outcome_comes_soon_after_its_prediction(stem: str) -> None:
    order = [cell.id for cell in cells(stem) if cell.cell_type == "code"]
    for name in order:
        if name.endswith("predict"):
            between = order.index(name.replace("predict", "outcome")) - order.index(name) - 1
            assert between <= MOST_BETWEEN, name


# -- the two-hour path ---------------------------------------------------------------------------


def test_a_section_of_the_path_has_its_badge_and_leads_to_the_next() -> None:
    sections = path_sections()
    for place, each in enumerate(sections, 1):
        if each.title:
            assert f"\n\n{BADGE} {place} of {len(sections)}\n\n" in each.cells[0].source, each
    for each, following in pairwise(sections):
        target = f"{following.lab}.ipynb#{anchor(following.title)}"
        told = f"{BADGE} next: [lab {following.lab[:2]}, {following.title}](<{target}>)"
        assert each.cells[-1].source.endswith(told), each
    assert f"{BADGE} ends here." in sections[-1].cells[-1].source


def test_no_other_section_has_a_badge() -> None:
    """A section that is taken off the path loses its badge and its link."""
    known = len(path_sections())
    texts = [cell.source for stem in STEMS for cell in cells(stem) if is_text(cell)]
    badges = [it for text in texts for it in re.findall(re.escape(BADGE) + r" (\d+ of|\w+)", text)]
    assert len(badges) == 2 * known - 1  # the first section has its lab's own line


def test_the_page_has_the_sections_in_their_order() -> None:
    page = (LABS.parent / "docs" / "path.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| \[(lab .+?)\]\(<\.\./labs/(.+?)>\) \|", page, re.M)
    for row, each in zip(rows, path_sections(), strict=True):
        target = f"{each.lab}.ipynb" + (f"#{anchor(each.title)}" if each.title else "")
        assert row == (f"lab {each.lab[:2]}, {each.title or 'all of it'}", target)


def minutes(path: PathSection) -> float:
    """To read what is not folded, and to run it."""
    words = lines = 0
    for cell in path.cells:
        if cell.cell_type == "code":
            if "decides" not in cell.metadata.get("tags", []):
                lines += sum(bool(line.strip()) for line in cell.source.splitlines())
        else:
            words += len(re.sub(r"\]\([^)]*\)", "]", cell.source).split())
    return words / WORDS + lines / LINES + path.seconds / 60


def test_the_path_takes_less_than_two_hours() -> None:
    took = {f"{it.lab} {it.cell}": round(minutes(it), 1) for it in path_sections()}
    assert sum(took.values()) < MINUTES, took
    assert all(it.seconds > 0 for it in path_sections())
