"""A page that points to lines of code points to the right ones, also after the code has moved."""

from pathlib import Path

import pytest

from tests.docs.lines import ANY, LINK, Pointer, pages, pointers, renewed

COMMAND = "run: make docs"
POINTERS = [pointer for page in pages() for pointer in pointers(page)]


def test_the_journey_shows_its_way_in_code() -> None:
    assert len([each for each in POINTERS if each.page.name == "journey.md"]) >= 30


@pytest.mark.parametrize(
    "pointer", POINTERS, ids=lambda it: f"{it.page.stem}-{it.file.stem}-{it.name}"
)
def test_a_link_shows_what_it_names(pointer: Pointer) -> None:
    assert pointer.lines == pointer.true_lines, COMMAND
    first = int(pointer.lines[1:].partition("-")[0])
    line = pointer.file.read_text(encoding="utf-8").splitlines()[first - 1]
    assert pointer.name.rpartition(".")[2] in line


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_whoever_points_to_lines_says_what_is_there(page: Path) -> None:
    """Numbers alone could not be kept."""
    text = page.read_text(encoding="utf-8")
    assert len(ANY.findall(text)) == len(LINK.findall(text))


def test_numbers_follow_the_code(tmp_path: Path) -> None:
    (tmp_path / "log.py").write_text(
        "FIRST = 1\n\n\nclass Log:\n    def append(self):\n        pass\n"
    )
    page = tmp_path / "page.md"
    page.write_text("[`Log.append`](log.py#L1-L2), [`FIRST`](log.py#L9), [`Log`](log.py#L4-L6)\n")
    assert [each.true_lines for each in pointers(page)] == ["L5-L6", "L1", "L4-L6"]
    assert renewed(page) == (
        "[`Log.append`](log.py#L5-L6), [`FIRST`](log.py#L1), [`Log`](log.py#L4-L6)\n"
    )


def test_what_is_gone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "log.py").write_text("class Log:\n    pass\n")
    page = tmp_path / "page.md"
    page.write_text("[`Log.append`](log.py#L1)\n")
    with pytest.raises(LookupError, match=r"Log\.append"):
        renewed(page)
