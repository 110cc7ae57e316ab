"""A still is written a moment after a change. A widget that is closed meanwhile leaves none."""

import json
from pathlib import Path

import pytest

from tests.interop.watch import until
from widgets import LatencyView, stills


def test_a_change_is_written_and_a_widget_that_was_closed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(stills.PLACE, str(tmp_path))
    monkeypatch.setattr(stills, "SETTLED", 0.01)
    kept, closed = LatencyView("kept"), LatencyView("closed")
    closed.close()
    name = f"{kept.shown_id}.json"
    assert closed.shown_id is None
    until(lambda: [path.name for path in tmp_path.glob("*/*.json")] == [name])
    (path,) = tmp_path.glob("*/*.json")
    assert "kept" in json.loads(path.read_text())["text/plain"]
    kept.close()
