"""Below the lines: who is in sync, and who could be answered.

    ISR  1  ● ● ● ● · · · ·       large: in the ISR; small: not      blue: it leads
         2  ● ● ● ● ● ● ● ●                                          grey: it does not answer
     acks     ✓      ✓✓    ✓      the high watermark rose, so producers with acks=all are answered
  answers     ✓      ✗            answers to producers, while brokers tell them

A dot stands for a column of the picture: whoever was out of the ISR for a moment of it is out.
"""

from collections.abc import Sequence
from typing import TypeAlias

from engine.errors import ErrorCode
from widgets.replica.past import Answer, Rise, during
from widgets.replica.plan import COLUMN, LEFT, ROW, Column, Scenery
from widgets.scene import UP_TO, Shape, path, text

Row: TypeAlias = tuple[str, float, Sequence[Rise | Answer], str]
NAMED = 2  # answers told one by one


def in_sync(scenery: Scenery) -> list[Shape]:
    shapes = [text("ISR", LEFT - 56, scenery.rows + 4, "ISR", look="soft")]
    for place, broker in enumerate(scenery.brokers):
        y = scenery.rows + ROW * place
        shapes.append(text(f"ISR {broker}", LEFT - 12, y + 4, str(broker), UP_TO, look="soft"))
        shapes += _dots(scenery, broker, y)
    return shapes


def _dots(scenery: Scenery, broker: int, y: float) -> list[Shape]:
    """A path for each stretch of equal dots; a dash of no length with a round end is a dot."""
    shapes: list[Shape] = []
    kinds = [kind(scenery, column, broker) for column in scenery.columns]
    start = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[start]:
            if kinds[start]:
                x, long = LEFT + COLUMN * (start + 0.5), COLUMN * (place - start) - COLUMN / 2
                key, look = f"dots {broker} {len(shapes)}", f"dots {kinds[start]} still"
                shapes.append(path(key, f"M{x:g} {y:g}h{long:g}", look=look))
            start = place
    return shapes


def kind(scenery: Scenery, column: Column, broker: int) -> str:
    """How a replica's dot looks: its worst moment in this column."""
    inner = [it for it in during(scenery.past.samples, column.start, column.end) if it.turn]
    kinds = []
    for sample in [scenery.past.at(column.start), *inner]:
        stands, inside = sample.stands(broker), broker in sample.state.isr
        if stands:
            kinds.append(stands if inside else "out")
    ranks = ("lead", "sync", "lag", "gone", "out")
    return max(kinds, key=ranks.index, default="")


# -- who is answered ----------------------------------------------------------------------------


def acknowledged(scenery: Scenery) -> list[Shape]:
    """Only signs: what they mean is told with all else of their moment."""
    past, span = scenery.past, (scenery.scale.start, scenery.columns[-1].end)
    rows: list[Row] = [("acks", scenery.acks, during(past.rises, *span), "rise")]
    if past.answers:
        answers = during(past.answers, *span)
        good = [it for it in answers if it.error is ErrorCode.none]
        rows.append(("answers", scenery.answers, good, "ok"))
        refused = [it for it in answers if it.error is not ErrorCode.none]
        rows.append(("refusals", scenery.answers, refused, "bad"))
    shapes: list[Shape] = []
    for name, y, found, look in rows:
        if name != "refusals":
            shapes.append(text(name, LEFT - 12, y + 4, name, UP_TO, look="soft"))
        drawn = "".join(_sign(x, y, look) for x in _places(scenery, found))
        if drawn:
            shapes.append(path(f"{name} signs", drawn, look=f"check {look} still"))
    return shapes


def _places(scenery: Scenery, found: Sequence[Rise | Answer]) -> list[float]:
    """One sign a column is enough."""
    taken = {int((scenery.scale.place(it.at) - LEFT) // COLUMN) for it in found}
    return [LEFT + COLUMN * (place + 0.5) for place in sorted(taken)]


def _sign(x: float, y: float, look: str) -> str:
    """A tick, or a cross."""
    if look == "bad":
        return f"M{x - 3:g} {y - 3:g}l6 6m0 -6l-6 6"
    return f"M{x - 4:g} {y:g}l3 3l5 -6"


def told(scenery: Scenery, start: int, end: int) -> str:
    """Who could be answered in a while, and who was."""
    words = ""
    rises = during(scenery.past.rises, start, end)
    if rises:
        was, now = rises[0].was, rises[-1].now
        words += f". HW rose from {was:,} to {now:,}: acks=all is answered below it"
    answers = during(scenery.past.answers, start, end)
    if answers:
        words += f". {_answered(answers)}"
    return words


def _answered(answers: Sequence[Answer]) -> str:
    answers = sorted(answers, key=lambda it: it.error is ErrorCode.none)  # refusals first
    words = [
        f"{it.client}: offset {it.offset:,} after {it.took} ms"
        if it.error is ErrorCode.none
        else f"{it.client}: {it.error.name.upper()}"
        for it in answers[:NAMED]
    ]
    more = len(answers) - NAMED
    return f"Answers to {', '.join(words)}" + (f", and {more} more" if more > 0 else "")
