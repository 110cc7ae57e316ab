"""The rows below the lines: the ISR, and answers to producers.

    ISR  1  ● ● ● ● · · · ·       large: in the ISR; small: not      blue: it leads
         2  ● ● ● ● ● ● ● ●                                          grey: it does not answer
     acks     ✓      ✓✓    ✓      the high watermark rose, so producers with acks=all are answered
  answers     ✓      ✗            answers to producers, while brokers are traced

A dot stands for a column of the picture: it is small if the replica was out of the ISR at any time
in it.
"""

from collections.abc import Sequence
from typing import TypeAlias

from engine.errors import ErrorCode
from widgets.replica.layout import COLUMN, GAP, MARGIN, ROW, Column, ReplicaViewState
from widgets.replica.partition_history import ProduceResponse, Rise, during
from widgets.scene import UP_TO, SceneShape, path, text

Row: TypeAlias = tuple[str, float, Sequence[Rise | ProduceResponse], str]
NAMED = 2  # answers listed one by one


def in_sync(view: ReplicaViewState) -> list[SceneShape]:
    shapes = [text("ISR", MARGIN, view.rows + 4, "ISR", look="soft")]
    for place, broker in enumerate(view.brokers):
        y = view.rows + ROW * place
        shapes.append(
            text(f"ISR {broker}", view.left - GAP, y + 4, str(broker), UP_TO, look="soft")
        )
        shapes += _dots(view, broker, y)
    return shapes


def _dots(view: ReplicaViewState, broker: int, y: float) -> list[SceneShape]:
    """A path for each stretch of equal dots; a dash of no length with a round end is a dot."""
    shapes: list[SceneShape] = []
    kinds = [kind(view, column, broker) for column in view.columns]
    if len(kinds) > 1 and view.columns[-1].x + COLUMN / 2 > view.x:
        kinds.pop()  # or its dot would stand behind the head, where nothing has happened yet
    start = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[start]:
            if kinds[start]:
                x, long = (
                    view.left + COLUMN * (start + 0.5),
                    COLUMN * (place - start) - COLUMN / 2,
                )
                key, look = f"dots {broker} {len(shapes)}", f"dots {kinds[start]} still"
                shapes.append(path(key, f"M{x:g} {y:g}h{long:g}", look=look))
            start = place
    return shapes


def kind(view: ReplicaViewState, column: Column, broker: int) -> str:
    """The kind of a replica's dot: its worst moment in this column."""
    inner = [it for it in during(view.past.samples, column.start, column.end) if it.turn]
    kinds = []
    for sample in [view.past.at(column.start), *inner]:
        stands, inside = sample.stands(broker), broker in sample.state.isr
        if stands:
            kinds.append(stands if inside else "out")
    ranks = ("lead", "sync", "lag", "gone", "out")
    return max(kinds, key=ranks.index, default="")


# -- answers ----------------------------------------------------------------------------


def acknowledged(view: ReplicaViewState) -> list[SceneShape]:
    """Only signs: the text of their moment explains them."""
    past, span = view.past, (view.scale.start, view.columns[-1].end)
    rows: list[Row] = [("acks", view.acks, during(past.rises, *span), "rise")]
    if past.answers:
        answers = during(past.answers, *span)
        good = [it for it in answers if it.error is ErrorCode.none]
        rows.append(("answers", view.answers, good, "ok"))
        refused = [it for it in answers if it.error is not ErrorCode.none]
        rows.append(("refusals", view.answers, refused, "bad"))
    shapes: list[SceneShape] = []
    for name, y, found, look in rows:
        if name != "refusals":
            shapes.append(text(name, view.left - GAP, y + 4, name, UP_TO, look="soft"))
        drawn = "".join(_sign(x, y, look) for x in _places(view, found))
        if drawn:
            shapes.append(path(f"{name} signs", drawn, look=f"check {look} still"))
    return shapes


def _places(view: ReplicaViewState, found: Sequence[Rise | ProduceResponse]) -> list[float]:
    """One sign for each column."""
    left = view.left
    taken = {int((view.scale.place(it.at) - left) // COLUMN) for it in found}
    return [left + COLUMN * (place + 0.5) for place in sorted(taken)]


def _sign(x: float, y: float, look: str) -> str:
    """A tick, or a cross."""
    if look == "bad":
        return f"M{x - 3:g} {y - 3:g}l6 6m0 -6l-6 6"
    return f"M{x - 4:g} {y:g}l3 3l5 -6"


def told(view: ReplicaViewState, start: int, end: int) -> str:
    """The text about rises and answers between two times."""
    words = ""
    rises = during(view.past.rises, start, end)
    if rises:
        was, now = rises[0].was, rises[-1].now
        words += f". HW rose from {was:,} to {now:,}: acks=all is answered below it"
    answers = during(view.past.answers, start, end)
    if answers:
        words += f". {_answered(answers)}"
    return words


def _answered(answers: Sequence[ProduceResponse]) -> str:
    answers = sorted(answers, key=lambda it: it.error is ErrorCode.none)  # refusals first
    words = [
        f"{it.client}: offset {it.offset:,} after {it.took} ms"
        if it.error is ErrorCode.none
        else f"{it.client}: {it.error.name.upper()}"
        for it in answers[:NAMED]
    ]
    more = len(answers) - NAMED
    return f"Answers to {', '.join(words)}" + (f", and {more} more" if more > 0 else "")
