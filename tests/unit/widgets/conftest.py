"""What holds in every test of a view: a usual width to begin with, and pictures that are whole."""

import pytest

from widgets.scene import Scene
from widgets.stage import USUAL, SceneWidget


@pytest.fixture(autouse=True)
def usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view takes the width that another one was told last."""
    monkeypatch.setattr(SceneWidget, "told_last", USUAL)


@pytest.fixture(autouse=True)
def whole_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scene that a test draws keeps the invariants of widgets/scene.py."""
    show = SceneWidget.show

    def checked(view: SceneWidget, picture: Scene, *more: object) -> None:
        check(picture)
        unknown = {act.name for shape in picture.all() for act in shape.acts} - view.ACTS
        assert not unknown, f"{type(view).__name__} has no act {unknown}"
        show(view, picture, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(SceneWidget, "show", checked)


def check(scene: Scene) -> None:
    """Keys are unique among siblings; a shape with acts or drag has a label."""
    groups = [scene.shapes, *(it.content for it in scene.all() if it.kind == "group")]
    for siblings in groups:
        keys = [shape.key for shape in siblings if not isinstance(shape, str)]
        assert len(keys) == len(set(keys)), f"keys twice: {keys}"
    unnamed = [shape.key for shape in scene.all() if shape.does and not shape.label]
    assert not unnamed, f"no label: {unnamed}"
