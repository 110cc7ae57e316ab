"""Time, from left to right: faults and elections as marks, the span without service shaded.

    ━━━━●━━━━━━━━▲▒▒▒▒▒▒▒♛★━━━━━━○──────────
      topic    kill 2   election   16.0 s      the head: drag it, or step from mark to mark

Where nothing happened for long, time is compressed (time_axis.py): there the line is dotted, and
says how long that was. If marks would overlap, the heaviest is drawn, with a label that counts the
others.
"""

from typing import Any, NamedTuple, TypeAlias

from widgets.moment import ViewMoment
from widgets.scene import ABOUT, Act, SceneShape, circle, group, line, rect, text, width_of
from widgets.story import StoryLine, internal
from widgets.time_axis import Axis, lasted

HEIGHT = 64
LEVEL = 22  # of the line
CLOSE = 11  # marks nearer than this are one
GRIP = 15  # around the head
EDGE = 14  # px: words may stand out so far on both sides


class TimelineMark(NamedTuple):
    x: float
    line: StoryLine  # the heaviest of those here
    also: int  # how many more


def marks(lines: list[StoryLine], scale: Axis) -> list[TimelineMark]:
    found: list[TimelineMark] = []
    for told in lines:
        if told.sort.weight < 2 or told.at < scale.start:
            continue
        x = scale.place(told.at)
        if found and x - found[-1].x < CLOSE:
            last = found.pop()
            heavier = told if told.sort.weight > last.line.sort.weight else last.line
            found.append(TimelineMark(last.x, heavier, last.also + 1))
        else:
            found.append(TimelineMark(x, told, 0))
    return found


def drawn(moment: ViewMoment, x: float, y: float, width: float) -> list[SceneShape]:
    run_source = moment.run_source
    scale = run_source.axis(x, width)
    head, level = scale.place(moment.at), y + LEVEL
    shapes = [
        *_outages(moment, scale, level),
        *_gaps(moment, scale, level),
        line("future", x, level, x + width, level, look="future"),
        line("past", x, level, head, level, look="past"),
        *_folds(scale, level, head),
    ]
    clock = f"{(moment.at - run_source.start) / 1000:.1f} s"
    middle, half = _clock_x(clock, head, scale), width_of(clock, 12, bold=True) / 2 + 4
    taken = [(middle - half, middle + half)]
    found = _marks(moment, scale, level, taken)
    shapes += _durations(moment, scale, level, taken)
    shapes += [mark for mark in found if abs(mark.where[0] - head) < GRIP]
    if "seek" in moment.acts:
        shapes.append(_strip(moment, clock, x, level - 14, width))
    shapes += [mark for mark in found if abs(mark.where[0] - head) >= GRIP]
    shapes.append(circle("head", head, level, 8, look="handle still"))
    shapes.append(
        text("clock", _clock_x(clock, head, scale), level + 24, clock, ABOUT, look="bold")
    )
    return shapes


def _clock_x(clock: str, head: float, scale: Axis) -> float:
    """Its middle: below the head, and never beyond the end of the line."""
    half = width_of(clock, 12, bold=True) / 2
    return min(max(head, scale.x + half - EDGE), scale.x + scale.width - half + EDGE)


def _strip(moment: ViewMoment, clock: str, x: float, y: float, width: float) -> SceneShape:
    """The area that is dragged. It is above the marks under the head, so that it gets the
    clicks."""
    whole = f"{(moment.run_source.end - moment.run_source.start) / 1000:.1f} s"
    acts = (Act("back", None, "step back"), Act("forward", None, "step forward"))
    label = f"time: {clock} of {whole}; arrows step"
    more: dict[str, Any] = {"drag": "seek", "acts": acts, "label": label}
    return rect("timeline", x, y, width, 28, look="clear", **more)


def _outages(moment: ViewMoment, scale: Axis, level: float) -> list[SceneShape]:
    shapes = []
    for number, outage in enumerate(moment.story.outages):
        if all(internal(partition.topic) for partition in outage.partitions):
            continue
        # An outage in progress may have begun after the last state, the end of run_source.
        ended = outage.ended or max(moment.run_source.end, outage.began)
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


def _gaps(moment: ViewMoment, scale: Axis, level: float) -> list[SceneShape]:
    shapes = []
    for number, (began, ended) in enumerate(moment.run_source.gaps):
        left, right = scale.place(began), scale.place(ended)
        box = line(f"gap {number}", left, level, right, level, look="gap still")
        label = f"not watched for {lasted(ended - began)}"
        shapes.append(group(f"gap group {number}", 0, 0, [box], label=label))
    return shapes


def _folds(scale: Axis, level: float, head: float) -> list[SceneShape]:
    """Over the line: dots, so that compressed time looks like no other."""
    shapes = []
    for fold in scale.folds:
        left, right = scale.place(fold.began), scale.place(fold.ended)
        turn = min(max(head, left), right)
        inside = [
            line("cover", left, level, right, level, look="fold still"),
            line("past", left, level, turn, level, look="past dotted still"),
            line("future", turn, level, right, level, look="future dotted still"),
        ]
        words = f"{lasted(fold.ended - fold.began)} without an event, compressed"
        shapes.append(group(f"fold {fold.began}", 0, 0, inside, label=words))
    return shapes


Spans: TypeAlias = list[tuple[float, float]]  # where words stand below the line


def _durations(moment: ViewMoment, scale: Axis, level: float, taken: Spans) -> list[SceneShape]:
    """How long compressed time was, where there is room."""
    shapes = []
    for fold in scale.folds:
        words = lasted(fold.ended - fold.began)
        if moment.run_source.is_gap((fold.began + fold.ended) // 2):
            words += ", not watched"
        middle = (scale.place(fold.began) + scale.place(fold.ended)) / 2
        if _fits(middle, words, scale, taken):
            key = f"lasted {fold.began}"
            shapes.append(text(key, middle, level + 24, words, ABOUT, look="tiny still"))
    return shapes


def _marks(moment: ViewMoment, scale: Axis, level: float, taken: Spans) -> list[SceneShape]:
    """The clock has precedence over labels, then heavier and earlier labels."""
    found = marks(moment.story.lines, scale)
    by_weight = sorted(found, key=lambda it: -it.line.sort.weight)
    labelled = {mark.x for mark in by_weight if _fits(mark.x, _short(mark), scale, taken)}
    return [_mark(moment, mark, level, mark.x in labelled) for mark in found]


def _fits(middle: float, words: str, scale: Axis, taken: Spans) -> bool:
    """Whether there is room for words; then it is taken."""
    half = width_of(words, 11) / 2 + 3
    left, right = middle - half, middle + half
    if left < scale.x - EDGE or right > scale.x + scale.width + EDGE:
        return False
    if any(left <= end and start <= right for start, end in taken):
        return False
    taken.append((left, right))
    return True


def _short(mark: TimelineMark) -> str:
    return mark.line.short + (f" +{mark.also}" if mark.also else "")


def _mark(moment: ViewMoment, mark: TimelineMark, level: float, labelled: bool) -> SceneShape:
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
