"""Time, from left to right: faults and elections as marks, the span without service shaded.

    ━━━━●━━━━━━━━▲▒▒▒▒▒▒▒♛★━━━━━━○──────────
      topic    kill 2   election   16.0 s      the head: drag it, or step from mark to mark

A live run grows, but the axis does so in jumps: while nothing happens nothing moves.
Of marks that would cover each other the heaviest is drawn, with a label that counts the others.
"""

from typing import Any, NamedTuple

from widgets.moment import Moment
from widgets.scene import ABOUT, Act, Shape, circle, group, line, rect, text, width_of
from widgets.story import Line, internal

HEIGHT = 64
LEVEL = 22  # of the line
CLOSE = 11  # marks nearer than this are one
GRIP = 15  # about the head
SPANS = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600)


class Axis(NamedTuple):
    start: int  # ms since 1970
    span: int  # ms
    x: float
    width: float

    def place(self, at: float) -> float:
        return self.x + self.width * min(max((at - self.start) / self.span, 0), 1)

    def time(self, share: float) -> int:
        return round(self.start + self.span * min(max(share, 0), 1))


def axis(start: int, end: int, live: bool, x: float, width: float) -> Axis:
    lasted = max(end - start, 1)
    if live:
        fitting = (span * 1000 for span in SPANS if span * 1000 >= lasted)
        lasted = next(fitting, -(-lasted // 3_600_000) * 3_600_000)
    return Axis(start, lasted, x, width)


class Mark(NamedTuple):
    x: float
    line: Line  # the heaviest of those here
    also: int  # how many more


def marks(lines: list[Line], scale: Axis) -> list[Mark]:
    found: list[Mark] = []
    for told in lines:
        if told.sort.weight < 2 or told.at < scale.start:
            continue
        x = scale.place(told.at)
        if found and x - found[-1].x < CLOSE:
            last = found.pop()
            heavier = told if told.sort.weight > last.line.sort.weight else last.line
            found.append(Mark(last.x, heavier, last.also + 1))
        else:
            found.append(Mark(x, told, 0))
    return found


def drawn(moment: Moment, x: float, y: float, width: float) -> list[Shape]:
    reel = moment.reel
    scale = axis(reel.start, reel.end, reel.live, x, width)
    head, level = scale.place(moment.at), y + LEVEL
    shapes = [
        *_outages(moment, scale, level),
        line("future", x, level, x + width, level, look="future"),
        line("past", x, level, head, level, look="past"),
    ]
    clock = f"{(moment.at - reel.start) / 1000:.1f} s"
    found = _marks(moment, scale, level, head)
    shapes += [mark for mark in found if abs(mark.where[0] - head) < GRIP]
    if "seek" in moment.acts:
        shapes.append(_strip(moment, clock, x, level - 14, width))
    shapes += [mark for mark in found if abs(mark.where[0] - head) >= GRIP]
    shapes.append(circle("head", head, level, 8, look="handle still"))
    shapes.append(text("clock", min(head, x + width - 16), level + 24, clock, ABOUT, look="bold"))
    return shapes


def _strip(moment: Moment, clock: str, x: float, y: float, width: float) -> Shape:
    """What is dragged. It lies above the marks under the head, or one couldn't take hold of it."""
    whole = f"{(moment.reel.end - moment.reel.start) / 1000:.1f} s"
    acts = (Act("back", None, "step back"), Act("forward", None, "step forward"))
    label = f"time: {clock} of {whole}; arrows step"
    more: dict[str, Any] = {"drag": "seek", "acts": acts, "label": label}
    return rect("timeline", x, y, width, 28, look="clear", **more)


def _outages(moment: Moment, scale: Axis, level: float) -> list[Shape]:
    shapes = []
    for number, outage in enumerate(moment.story.outages):
        if all(internal(partition.topic) for partition in outage.partitions):
            continue
        # What goes on may have begun since the last state, which is where the reel ends.
        ended = outage.ended or max(moment.reel.end, outage.began)
        if ended < scale.start:
            continue
        left, right = scale.place(outage.began), scale.place(ended)
        lasted = (ended - outage.began) / 1000
        count = len(outage.partitions)
        whom = "1 partition" if count == 1 else f"{count} partitions"
        label = f"{whom} without a leader for {lasted:.2f} s"
        box = rect(f"outage {number}", left, level - 8, right - left, 16, look="outage still")
        shapes.append(group(f"outage group {number}", 0, 0, [box], label=label))
    return shapes


def _marks(moment: Moment, scale: Axis, level: float, head: float) -> list[Shape]:
    """Labels give way to the clock, and then to those that are heavier or came first."""
    found = marks(moment.story.lines, scale)
    taken = [(head - 26, head + 26)]
    labelled = set()
    for mark in sorted(found, key=lambda it: -it.line.sort.weight):
        half = width_of(_short(mark), 10) / 2 + 3
        if scale.x <= mark.x - half and all(
            mark.x + half < left or mark.x - half > right for left, right in taken
        ):
            taken.append((mark.x - half, mark.x + half))
            labelled.add(mark.x)
    return [_mark(moment, mark, level, mark.x in labelled) for mark in found]


def _short(mark: Mark) -> str:
    return mark.line.short + (f" +{mark.also}" if mark.also else "")


def _mark(moment: Moment, mark: Mark, level: float, labelled: bool) -> Shape:
    sort, at = mark.line.sort, mark.line.at
    shapes = [
        rect("back", -7, -11, 14, 22, look="clear"),
        text("glyph", 0, 4.5, sort.glyph, ABOUT, look=f"mark {sort.look}"),
    ]
    if labelled:
        shapes.append(text("label", 0, 24, _short(mark), ABOUT, look="tiny"))
    more = f", and {mark.also} more" if mark.also else ""
    label = f"{moment.clock(at)} s: {mark.line.words}{more}"
    acts = (Act("goto", at, "go there"),) if "goto" in moment.acts else ()
    key = f"mark {mark.line.kind} {at}"
    return group(key, mark.x, level, shapes, label=label, acts=acts)
