"""The timeline of a query: a bar for each batch, and a head that can be dragged.

▂ ▁ █ █ ▁ ▃ ▁ ▂ ○ ─ ─ ─       as high as its rows are many; no rows: a dot
0         4     7             a batch with late rows has a sign above it
"""

from widgets.scene import ABOUT, Act, SceneShape, circle, line, rect, text
from widgets.stream import words
from widgets.stream.history import BatchMoment
from widgets.stream.layout import LEFT, RIGHT, StreamViewState

HEIGHT, LEVEL, HIGH = 84, 52, 34  # of all, of the line, of the highest bar
MOST = 120  # batches that are drawn
WIDEST = 34
NAMED = 40  # pixels between two numbers


def window(view_state: StreamViewState) -> range:
    """The moments that are drawn: the last, or those around the head."""
    count = len(view_state.history.moments)
    first = min(max(count - MOST, 0), max(view_state.at - MOST // 2, 0))
    return range(first, min(first + MOST, count))


def pitch(view_state: StreamViewState) -> float:
    return min((RIGHT - LEFT) / max(len(window(view_state)), 1), WIDEST)


def drawn(view_state: StreamViewState, y: float) -> list[SceneShape]:
    seen, wide = window(view_state), pitch(view_state)
    moments = [view_state.history.moments[at] for at in seen]
    most = max((it.rows for it in moments), default=0) or 1
    level, head = y + LEVEL, LEFT + (view_state.at - seen.start + 0.5) * wide
    shapes = [
        line("future", LEFT, level, RIGHT, level, look="future"),
        line("past", LEFT, level, head, level, look="past"),
    ]
    free = 0.0
    for place, it in enumerate(moments):
        x = LEFT + (place + 0.5) * wide
        shapes += _bar(it, x, level, wide, most)
        if x >= free and abs(x - head) > NAMED:
            number = text(f"number {it.key}", x, level + 22, str(it.batch), ABOUT, look="tiny")
            shapes.append(number)
            free = x + NAMED
    now = view_state.moment
    assert now is not None, "there is a batch, or no picture of batches"
    told = f"batch {now.batch}"
    if "seek" in view_state.acts:
        shapes.append(_strip(view_state, told, y + LEVEL - HIGH, wide * len(seen)))
    shapes.append(circle("head", head, level, 8, look="handle still"))
    about = min(max(head, LEFT + 30), RIGHT - 30)
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
        late = text(f"late {moment.key}", x, level - 8 - high, "▲", ABOUT, look="bad tiny")
        shapes.append(late)
    return shapes


def _label(moment: BatchMoment) -> str:
    late = f", {moment.late} too late" if moment.late else ""
    took = words.seconds(moment.took)
    return f"batch {moment.batch}: {words.many(moment.rows, 'row')} in {took}{late}"


def _strip(view_state: StreamViewState, told: str, y: float, width: float) -> SceneShape:
    acts = (Act("back", None, "a batch back"), Act("forward", None, "a batch on"))
    count = len(view_state.history.moments)
    label = f"{told}, {view_state.at + 1} of {count}; arrows step"
    where = LEFT, y, width, HEIGHT - 38
    return rect("timeline", *where, look="clear", drag="seek", acts=acts, label=label)
