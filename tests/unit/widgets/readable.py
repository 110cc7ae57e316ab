"""Where the texts of a picture are, as its layout estimates it: inside, and none on another.

tests/browser/test_text.py measures the same in a browser, for each view and at each width.
"""

from itertools import combinations

from widgets.scene import width_of
from widgets.text_column import size_of


def extents(shapes, x=0, y=0):
    """Every text with the room it takes, by an estimate that is rather too wide."""
    for shape in shapes:
        if shape.kind == "text":
            left, top, anchor = (*shape.where, -1)[:3]
            width = width_of(shape.content, size_of(shape.look))
            begin = x + left - {-1: 0, 0: width / 2, 1: width}[anchor]
            yield shape, begin, y + top, begin + width
        elif shape.kind == "group":
            yield from extents(shape.content, x + shape.where[0], y + shape.where[1])


def check_texts(scene, slack=4):
    texts = [it for it in extents(scene.shapes) if it[0].content]
    for shape, left, bottom, right in texts:
        assert left >= 0 and right <= scene.width + slack and bottom <= scene.height, shape
    for (one, left, y, right), (other, begin, below, end) in combinations(texts, 2):
        apart = abs(y - below) >= 9 or left >= end - slack or begin >= right - slack
        assert apart, (one.content, other.content)
