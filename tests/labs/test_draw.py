"""The pictures that lab 01 draws by itself: nothing leaves them."""

from importlib import import_module as lab

import pytest

from widgets.stage import SceneWidget


@pytest.mark.parametrize(
    "row",
    [
        {"broker 1": 9000, "broker 2": 2, "broker 3": 0},
        {"bytes freed": 80, "bytes written": 20},
        {"nothing": 0},
        {f"a part with a long name {number}": 1 for number in range(4)},
    ],
)
def test_bars_and_their_labels_have_room(row):
    draw = lab("storage.draw")
    scale = draw._scale(row, 800)
    end = 0.0
    for part, size in row.items():
        width, label = max(draw.LEAST_BAR, size * scale), draw._label(part)
        end += width + draw.GAP + (0 if label <= width else label)
    assert scale > 0
    assert end <= 800


@pytest.mark.parametrize("page", [960, 462, 320])
def test_a_picture_is_as_wide_as_its_page(page, monkeypatch):
    monkeypatch.setattr(SceneWidget, "told_last", SceneWidget.told_last)
    draw, sizes = lab("storage.draw"), {"broker 1": 9000, "broker 2": 2}
    for view in (draw.bars({"orders": sizes}), draw.rows({"the log": [1, 2, None, *range(9)]})):
        view.fit(page)
        assert view.picture.width == page
        for shape in view.picture.all():
            if shape.kind == "rect":
                assert shape.where[0] + shape.where[2] <= page
        view.close()
