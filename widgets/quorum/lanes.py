"""Messages and states over time: each node has a lane, and a message goes from one to another.

             100 ms    200 ms    300 ms
1   ▒follower▒▒▒▒▒▒▒▒▒╱▒▒▒▒▒▒▒▒▒│▒▒▒▒▒
2   ▒▒▒▒▒▒▒candidate▒╱▒▒▒▒leader▒│▒▒▒▒▒
3   ▒follower▒▒▒▒▒▒╲▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒
                               head
"""

from typing import NamedTuple

from proof.quorum.film import FilmedMessage
from widgets.quorum.layout import BAND, LANE, MARGIN, QuorumLayout
from widgets.quorum.words import BANDS, line_of, state_word
from widgets.scene import ABOUT, SceneShape, circle, line, rect, text, width_of

LOST_AT = 14  # px before the lane of its receiver the cross of a lost message stands
LOST_MS = 20  # how long a lost message is drawn to travel
CROSS, APART = 12, 13  # px: the width of its cross; between two lines of words


class LaneArrow(NamedTuple):
    """A message on its way: its line, and where the line begins and ends."""

    key: str
    shapes: list[SceneShape]
    word: str
    start: tuple[float, float]
    end: tuple[float, float]
    is_lost: bool


def lanes(plan: QuorumLayout) -> list[SceneShape]:
    shapes = _ticks(plan)
    for id in plan.laned:
        shapes += _lane(plan, id)
    first, last = plan.window
    arrows = [_arrow(plan, *numbered) for numbered in plan.film.between(first, last)]
    shapes += _lines(arrows)
    x, above = plan.x(plan.at), plan.top - 6
    head = rect("head line", x - 1, above, 2, plan.bottom - above, look="leader still")
    return [*shapes, *_words(plan, arrows), head]


def _lines(arrows: list[LaneArrow]) -> list[SceneShape]:
    """Of crosses that would stand on each other, the first."""
    shapes: list[SceneShape] = []
    crosses: list[tuple[float, float]] = []
    for arrow in arrows:
        x, y = arrow.end
        hidden = arrow.is_lost and any(
            abs(x - other) < CROSS and abs(y - level) < CROSS for other, level in crosses
        )
        if arrow.is_lost and not hidden:
            crosses.append((x, y))
        shapes += [shape for shape in arrow.shapes if not (hidden and shape.kind == "text")]
    return shapes


def _ticks(plan: QuorumLayout) -> list[SceneShape]:
    first, last = plan.window
    shapes: list[SceneShape] = []
    tick = plan.pace.tick_ms
    for at in range(-(-first // tick) * tick, last + 1, tick):
        x = plan.x(at)
        shapes.append(line(f"tick {at}", x, plan.top - 4, x, plan.bottom, look="rule"))
        words = f"{at / 1000:.2f} s" if tick < 1000 else f"{at // 1000} s"
        half = width_of(words, 11) / 2
        room = tick * (plan.right - plan.left) / (last - first)
        if plan.left + 12 <= x <= plan.right - 12 and (2 * half < room or at // tick % 2 == 0):
            shapes.append(text(f"time {at}", x, plan.top - 9, words, ABOUT, look="tiny"))
    return shapes


def _lane(plan: QuorumLayout, id: int) -> list[SceneShape]:
    """The states of a node, each a band."""
    first, last = plan.window
    y = plan.y(id)
    shapes = [text(f"lane {id}", MARGIN, y + 4, str(id), look="bold")]
    moments = plan.film.nodes[id]
    begun = 0
    for place, moment in enumerate(moments):
        after = moments[place + 1] if place + 1 < len(moments) else None
        same = after and (after.state, after.epoch, after.life) == (
            moment.state, moment.epoch, moment.life)  # fmt: skip
        if same:
            continue
        end = min(plan.end, last) if after is None else after.at
        start, begun = moments[begun].at, place + 1
        if end < first or start > last or end <= start:
            continue
        left, right = plan.x(start), plan.x(end)
        look = "out" if moment.state is None else BANDS[moment.state]
        look = "out" if moment.life == "paused" else look
        key = f"band {id} {start}"
        shapes.append(rect(key, left, y - BAND / 2, right - left, BAND, 4, look=look))
        words = state_word(moment) + (f" {moment.epoch}" if moment.epoch and moment.state else "")
        if width_of(words, 11) < right - left - 8:
            shapes.append(text(f"{key} words", left + 5, y + 4, words, look="over"))
    return shapes


def _arrow(plan: QuorumLayout, number: int, message: FilmedMessage) -> LaneArrow:
    look, word, words = line_of(message)
    is_lost = message.came is None and (message.due is None or message.due <= plan.end)
    end = message.came or message.due or message.sent + LOST_MS
    share = 1.0
    if message.came is None and not is_lost:  # it is on its way now
        share = min(1.0, (plan.end - message.sent) / max(1, end - message.sent))
    edge = BAND / 2 if plan.y(message.target) > plan.y(message.source) else -BAND / 2
    x1, y1 = plan.x(message.sent), plan.y(message.source) + edge
    if is_lost:
        share = 1 - LOST_AT / abs(plan.y(message.target) - edge - y1)
    x2 = x1 + (plan.x(end) - x1) * share
    y2 = y1 + (plan.y(message.target) - edge - y1) * share
    key = f"message {number}"
    shapes = [line(key, x1, y1, x2, y2, look=look, label=words if word else "")]
    if is_lost:
        shapes.append(text(f"{key} lost", x2, y2 + 4, "×", ABOUT, look="bad bold still"))
    elif message.came is None:
        shapes.append(circle(f"{key} dot", x2, y2, 3.5, look="traffic still"))
    return LaneArrow(key, shapes, word, (x1, y1), (x2, y2), is_lost)


def _words(plan: QuorumLayout, arrows: list[LaneArrow]) -> list[SceneShape]:
    """A word or two beside a line, between the sender's lane and the next one, where no other
    word stands. The others are in the line's label."""
    taken: list[tuple[float, float, float]] = [
        (it.end[0] - CROSS / 2, it.end[1], CROSS) for it in arrows if it.is_lost
    ]
    shapes: list[SceneShape] = []
    for arrow in arrows:
        if not arrow.word:
            continue
        (x1, y1), (x2, y2) = arrow.start, arrow.end
        y = y1 + (LANE - BAND) / 2 * (1 if y2 > y1 else -1)
        x = x1 + (x2 - x1) * (y - y1) / ((y2 - y1) or 1) + 5
        wide = width_of(arrow.word, 11)
        free = all(abs(y - other) >= APART or x >= left + width or left >= x + wide
                   for left, other, width in taken)  # fmt: skip
        if free and x + wide < plan.right:
            taken.append((x, y, wide))
            shapes.append(text(f"{arrow.key} word", x, y + 4, arrow.word, look="over still"))
    return shapes
