"""A view takes the width that another one was told last: each test begins with the usual one."""

import pytest

from widgets.stage import USUAL, SceneWidget


@pytest.fixture(autouse=True)
def usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SceneWidget, "told_last", USUAL)
