"""A table of names and values: a long value goes on below its beginning, and is cut in the end.

brokerid    1
features    {"metadata.version": {"min": 1, "max": 7}, "kraft.version":
            {"min": 0 ...
"""

from collections.abc import Iterable

from widgets.scene import SceneShape, fit, text, width_of
from widgets.text_width import wrap

LINE = 17  # px
SIZE = 11.5  # px, of a value
MOST = 12  # lines
NAMES = 0.45  # the share of the width that names have, at most


def fields_table(
    rows: Iterable[tuple[str, str]], place: tuple[float, float, float], longest: int, gap: float
) -> tuple[list[SceneShape], float]:
    """The shapes of a table of names and values, and the baseline below it. `place`: its left and
    right edge, and the first baseline; `longest`: lines of a value; `gap`: px between the two."""
    left, right, y = place
    told, most = list(rows), (right - left) * NAMES
    wide = max((width_of(name, 11) for name, _ in told), default=0)
    at = left + min(wide + gap if wide else 0, most)
    shapes, last = list[SceneShape](), y + MOST * LINE
    for name, value in told:
        if y >= last:
            shapes.append(text("cut", left, y, "and more, which is left out here", look="soft"))
            return shapes, y + LINE
        short = fit(name, max(at - left - 8, 0), 11)
        shapes.append(text(f"field {name}", left, y, short, look="soft", label=name))
        for number, part in enumerate(_lines(value, right - at, longest)):
            key = f"value {name} {number}"
            shapes.append(text(key, at, y, part, look="mono small", label=value))
            y += LINE
    return shapes, y


def _lines(value: str, width: float, longest: int) -> list[str]:
    found = wrap(value, width, SIZE, mono=True)
    if len(found) <= longest:
        return found
    rest = fit(found[longest - 1] + "  ", width - 1.4 * SIZE, SIZE, mono=True)
    return [*found[: longest - 1], rest.rstrip("… ") + " …"]
