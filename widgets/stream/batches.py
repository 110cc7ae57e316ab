"""The run, a bar a batch, and a head that is dragged from one to the other.

▂ ▁ █ █ ▁ ▃ ▁ ▂ ○ ─ ─ ─       as high as its rows are many; no rows: a dot
0         4     7             a batch with late rows has a sign above it
"""

from widgets.scene import ABOUT, Act, Shape, circle, line, rect, text
from widgets.stream import words
from widgets.stream.history import Moment
from widgets.stream.plan import LEFT, RIGHT, Scenery

HEIGHT, LEVEL, HIGH = 84, 52, 34  # of all, of the line, of the highest bar
MOST = 120  # batches that are drawn
WIDEST = 34
NAMED = 40  # pixels between two numbers


def window(scenery: Scenery) -> range:
    """Which moments are drawn: the last, or those about the head."""
    count = len(scenery.history.moments)
    first = min(max(count - MOST, 0), max(scenery.at - MOST // 2, 0))
    return range(first, min(first + MOST, count))


def pitch(scenery: Scenery) -> float:
    return min((RIGHT - LEFT) / max(len(window(scenery)), 1), WIDEST)


def drawn(scenery: Scenery, y: float) -> list[Shape]:
    seen, wide = window(scenery), pitch(scenery)
    moments = [scenery.history.moments[at] for at in seen]
    most = max((it.rows for it in moments), default=0) or 1
    level, head = y + LEVEL, LEFT + (scenery.at - seen.start + 0.5) * wide
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
    now = scenery.moment
    assert now is not None, "there is a batch, or no picture of batches"
    told = f"batch {now.batch}"
    if "seek" in scenery.acts:
        shapes.append(_strip(scenery, told, y + LEVEL - HIGH, wide * len(seen)))
    shapes.append(circle("head", head, level, 8, look="handle still"))
    about = min(max(head, LEFT + 30), RIGHT - 30)
    shapes.append(text("clock", about, level + 25, told, ABOUT, look="bold"))
    return shapes


def _bar(moment: Moment, x: float, level: float, wide: float, most: int) -> list[Shape]:
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


def _label(moment: Moment) -> str:
    late = f", {moment.late} too late" if moment.late else ""
    took = words.seconds(moment.took)
    return f"batch {moment.batch}: {words.many(moment.rows, 'row')} in {took}{late}"


def _strip(scenery: Scenery, told: str, y: float, width: float) -> Shape:
    acts = (Act("back", None, "a batch back"), Act("forward", None, "a batch on"))
    count = len(scenery.history.moments)
    label = f"{told}, {scenery.at + 1} of {count}; arrows step"
    where = LEFT, y, width, HEIGHT - 38
    return rect("timeline", *where, look="clear", drag="seek", acts=acts, label=label)
