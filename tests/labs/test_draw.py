"""The pictures that lab 01 draws by itself: nothing leaves them."""

from importlib import import_module as lab

import pytest


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
