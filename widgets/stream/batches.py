"""The timeline of a query: a bar for each batch, and a head that can be dragged.

▂ ▁ █ █ ▁ ▃ ▁ ▂ ○ ─ ─ ─       as high as its rows are many; no rows: a dot
0         4     7             a batch with late rows has a sign above it
"""

from widgets.scene import ABOUT, Act, SceneShape, circle, line, path, rect, text, width_of
from widgets.stream import words
from widgets.stream.history import BatchMoment
from widgets.stream.layout import StreamViewState

HEIGHT, LEVEL, HIGH = 84, 52, 34  # of all, of the line, of the highest bar
MOST = 120  # batches that are drawn
WIDEST, FINEST = 34, 7.5  # pixels from one batch to the next
NAMED = 40  # pixels between two numbers


def window(view: StreamViewState) -> range:
    """The moments that are drawn: the last, or those around the head."""
    count = len(view.history.moments)
    most = min(MOST, int(view.room // FINEST))
    first = min(max(count - most, 0), max(view.at - most // 2, 0))
    return range(first, min(first + most, count))


def pitch(view: StreamViewState) -> float:
    return min(view.room / max(len(window(view)), 1), WIDEST)


def drawn(view: StreamViewState, y: float) -> list[SceneShape]:
    seen, wide = window(view), pitch(view)
    moments = [view.history.moments[at] for at in seen]
    most = max((it.rows for it in moments), default=0) or 1
    left, right = view.left, view.right
    level, head = y + LEVEL, left + (view.at - seen.start + 0.5) * wide
    shapes = [
        line("future", left, level, right, level, look="future"),
        line("past", left, level, head, level, look="past"),
    ]
    now = view.moment
    assert now is not None, "there is a batch, or no picture of batches"
    told = f"batch {now.batch}"
    half = width_of(told, 12, bold=True) / 2
    about = min(max(head, left + half), right - half)
    free = 0.0
    for place, it in enumerate(moments):
        x = left + (place + 0.5) * wide
        shapes += _bar(it, x, level, wide, most)
        if x >= free and abs(x - about) > half + width_of(str(it.batch), 11) / 2 + 4:
            number = text(f"number {it.key}", x, level + 22, str(it.batch), ABOUT, look="tiny")
            shapes.append(number)
            free = x + NAMED
    if "seek" in view.acts:
        shapes.append(_strip(view, told, y + LEVEL - HIGH, wide * len(seen)))
    shapes.append(circle("head", head, level, 8, look="handle still"))
    shapes.append(text("clock", about, level + 25, told, ABOUT, look="bold"))
    return shapes


def _bar(moment: BatchMoment, x: float, level: float, wide: float, most: int) -> list[SceneShape]:
    width, key, label = max(wide - 3, 1.5), f"batch {moment.key}", _label(moment)
    if not moment.rows:
        return [circle(key, x, level - 8, min(width / 2, 2), look="tick", label=label)]
    high = max(HIGH * (moment.rows / most) ** 0.5 - 6, 3)
    where = x - width / 2, level - 6 - high, width, high, 1
    shapes = [rect(key, *where, look="span now", label=label)]
    if moment.late:
        half = min(wide / 2 - 0.5, 4.5)
        drawn = f"M{-half:g} 0h{2 * half:g}L0 -8z"
        shapes.append(path(f"late {moment.key}", drawn, x, level - 9 - high, look="bad"))
    return shapes


def _label(moment: BatchMoment) -> str:
    late = f", {moment.late} too late" if moment.late else ""
    took = words.seconds(moment.took)
    return f"batch {moment.batch}: {words.many(moment.rows, 'row')} in {took}{late}"


def _strip(view: StreamViewState, told: str, y: float, width: float) -> SceneShape:
    acts = (Act("back", None, "a batch back"), Act("forward", None, "a batch on"))
    count = len(view.history.moments)
    label = f"{told}, {view.at + 1} of {count}; arrows step"
    where = view.left, y, width, HEIGHT - 38
    return rect("timeline", *where, look="clear", drag="seek", acts=acts, label=label)
