"""The stream and the table, side by side: the input records, and the table after them.

    What came in                          The table after batch 7
    orders-0 @ 60   funghi  {"n": 3}      △   funghi     12 → 13
    orders-1 @ 60   salami  {"n": 4}      +   salami     1

A record and the row of its key are highlighted together.
"""

from widgets.scene import UP_TO, SceneShape, fit, group, line, rect, text
from widgets.stream import grid, words
from widgets.stream.grid import HEAD, ROW, kin
from widgets.stream.history import BatchMoment, SampleRecord
from widgets.stream.layout import GAP, LEFT, MIDDLE, RIGHT, StreamViewState

PLACE, KEY = 100, 110  # widths: orders-0 @ 17, a key


def height(view_state: StreamViewState) -> float:
    return (
        HEAD + ROW * view_state.rows + 10 if view_state.has_records or view_state.has_table else 0
    )


def drawn(view_state: StreamViewState, moment: BatchMoment, y: float) -> list[SceneShape]:
    shapes: list[SceneShape] = []
    middle = RIGHT if not view_state.has_table else MIDDLE - GAP
    if view_state.has_records:
        shapes += _records(moment, y, middle - LEFT)
    if view_state.has_table:
        left = MIDDLE + GAP if view_state.has_records else LEFT
        shapes += grid.drawn(moment, left, y, RIGHT - left)
    return shapes


def _records(moment: BatchMoment, y: float, width: float) -> list[SceneShape]:
    shapes = [
        text("came in", LEFT, y + 14, "What came in", look="bold"),
        text("how many", LEFT + width, y + 14, _counted(moment), UP_TO, look="soft"),
        line("records rule", LEFT, y + 22, LEFT + width, y + 22, look="rule"),
    ]
    for number, it in enumerate(moment.records or ()):
        shapes.append(_record(number, it, y + HEAD + ROW * (number - 1), width))
    return shapes


def _counted(moment: BatchMoment) -> str:
    if moment.records is None:
        return "not looked at"
    whole, shown = words.many(moment.rows, "row"), len(moment.records)
    if not shown and moment.rows:
        return f"{whole}, none found any more"
    return f"the last {shown} of {whole}" if shown < moment.rows else whole


def _record(number: int, it: SampleRecord, y: float, width: float) -> SceneShape:
    place = f"{it.partition} @ {it.offset:,}"
    told, room = f"{place}: {it.key} {it.value}", width - PLACE - KEY
    shapes = [
        rect("back", 0, 0, width, ROW - 1, 3, look="clear", **kin(it.key, told)),
        text("place", 4, 13, fit(place, PLACE - 6, 10), look="tiny still"),
        text("key", PLACE, 13, fit(it.key, KEY - 18, 11.5), look="small bold still"),
        text("value", PLACE + KEY, 13, fit(it.value, room, 11), look="soft mono still"),
    ]
    return group(f"record {number}", LEFT, y, shapes)
