"""The text of a learner's class becomes the file that each broker loads."""

import linecache
from pathlib import Path

import pytest

from engine.cluster.rule_files import rule_files
from engine.errors import ApiException
from proof.challenges.source import rule_in
from proof.challenges.table import CHALLENGES

CELL = """import math
from operator import itemgetter

other = 1


class Mine:
    def may_join(self, end, high_watermark, epoch_start):
        return end >= max(high_watermark, math.floor(epoch_start))


class Another:
    pass
"""


def in_a_notebook(text: str, name: str) -> type:
    """As a kernel does: the text of a cell is known by the name of a file that does not exist."""
    made: dict[str, type] = {"__name__": "__main__"}  # type: ignore[dict-item]
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), made)
    return made["Mine"]


def test_a_class_of_a_notebook_comes_with_the_imports_of_its_cell(tmp_path: Path) -> None:
    mine = in_a_notebook(CELL, "<cell 7>")
    files = rule_files({"join-the-isr": mine}, tmp_path / "rules")
    assert files == {"join-the-isr": tmp_path / "rules" / "join-the-isr.py"}
    text = files["join-the-isr"].read_text()
    assert "import math" in text
    assert "Another" not in text
    rule = rule_in(files["join-the-isr"], CHALLENGES["join-the-isr"])()
    assert [rule.may_join(5, 3, at) for at in (5, 6)] == [True, False]


def test_a_file_is_named_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    assert rule_files({"truncate": str(file)}, tmp_path / "rules") == {"truncate": file}
    assert not (tmp_path / "rules").exists()


def test_a_class_whose_text_is_not_known_is_refused(tmp_path: Path) -> None:
    made = type("Mine", (), {"cut": lambda self, *its: its[1]})
    made.__name__ = "Elsewhere"
    with pytest.raises(ApiException, match="the text of Elsewhere is not known"):
        rule_files({"truncate": made}, tmp_path)
