"""%%came_out: a learner asks what a cell has shown, without running it."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from widgets.notebook import came_out
from widgets.progress import record

TABLE = {"text/plain": ["a\n", "b"], "image/png": "AAAA"}
SAVED = {
    "table": [{"output_type": "execute_result", "data": TABLE}],
    "said": [{"output_type": "stream", "text": ["one\n", "two\n"]}],
    "silent": [],
}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is displayed in a kernel of 01_storage."""
    (tmp_path / ".saved").mkdir()
    (tmp_path / ".saved/01_storage.json").write_text(json.dumps(SAVED))
    monkeypatch.setattr(came_out, "LABS", tmp_path)
    monkeypatch.setenv(record.NOTEBOOK, "labs/01_storage.ipynb")
    displayed: list[Any] = []
    monkeypatch.setattr(came_out, "display", lambda data, raw: displayed.append((data, raw)))
    return displayed


def ask(monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    shell = SimpleNamespace(get_parent=lambda: {"metadata": {"cellId": cell}})
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    came_out.came_out("", "1 / 0")


def test_the_saved_output_is_shown_and_the_cell_is_not_run(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, "table")
    assert shown == [({"text/plain": "a\nb", "image/png": "AAAA"}, True)]


def test_what_a_cell_has_printed_is_printed(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(monkeypatch, "said")
    assert capsys.readouterr().out == "one\ntwo\n"
    assert shown == []


@pytest.mark.parametrize(
    ("cell", "told"), [("silent", came_out.SILENT), ("my-own", came_out.NOTHING)]
)
def test_where_nothing_is_saved_it_says_so(
    shown: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cell: str,
    told: str,
) -> None:
    ask(monkeypatch, cell)
    assert capsys.readouterr().out == f"{told}\n"
    assert shown == []
