"""The stream and the table, side by side: the input records, and the table after them.

    What came in                          The table after batch 7
    orders-0 @ 60   funghi  {"n": 3}      △   funghi     12 → 13
    orders-1 @ 60   salami  {"n": 4}      +   salami     1

A record and the row of its key are highlighted together. On a narrow page the table is below.
"""

from widgets.scene import UP_TO, SceneShape, fit, group, line, rect, text
from widgets.stream import grid, words
from widgets.stream.grid import HEAD, ROW, kin
from widgets.stream.history import BatchMoment, SampleRecord
from widgets.stream.layout import StreamColumn, StreamViewState
from widgets.text_width import LEAST, MONO

PLACE, KEY = 100, 110  # widths: orders-0 @ 17, a key


def height(view: StreamViewState) -> float:
    rows = _high(view.rows) if view.has_records or view.has_table else 0
    if view.narrow and view.has_records and view.has_table:
        rows += _high(view.table_rows or view.rows)
    return rows


def _high(rows: int) -> float:
    """The height of one list."""
    return HEAD + ROW * rows + 10


def drawn(view: StreamViewState, moment: BatchMoment, y: float) -> list[SceneShape]:
    shapes: list[SceneShape] = []
    one, other = view.columns
    if view.has_records != view.has_table:  # one list has all the room
        one = other = StreamColumn(view.left, view.right)
    if view.has_records:
        shapes += _records(moment, one, y)
        y += _high(view.rows) if view.narrow else 0
    if view.has_table:
        shapes += grid.drawn(moment, other.left, y, other.width)
    return shapes


def _records(moment: BatchMoment, column: StreamColumn, y: float) -> list[SceneShape]:
    left, right = column.left, column.right
    shapes = [
        text("came in", left, y + 14, "What came in", look="bold"),
        text("how many", right, y + 14, _counted(moment), UP_TO, look="soft"),
        line("records rule", left, y + 22, right, y + 22, look="rule"),
    ]
    for number, it in enumerate(moment.records or ()):
        shapes.append(_record(number, it, column, y + HEAD + ROW * (number - 1)))
    return shapes


def _counted(moment: BatchMoment) -> str:
    if moment.records is None:
        return "not looked at"
    whole, shown = words.many(moment.rows, "row"), len(moment.records)
    if not shown and moment.rows:
        return f"{whole}, none found any more"
    return f"the last {shown} of {whole}" if shown < moment.rows else whole


def _record(number: int, it: SampleRecord, column: StreamColumn, y: float) -> SceneShape:
    place = f"{it.partition} @ {it.offset:,}"
    told, room = f"{place}: {it.key} {it.value}", column.width - PLACE - KEY
    letters = max(int(room / (LEAST * MONO)), 1)
    value = it.value if len(it.value) <= letters else it.value[: letters - 1] + "…"
    shapes = [
        rect("back", 0, 0, column.width, ROW - 1, 3, look="clear", **kin(it.key, told)),
        text("place", 4, 13, fit(place, PLACE - 10, 11), look="tiny still"),
        text("key", PLACE, 13, fit(it.key, KEY - 12, 11.5, bold=True), look="small bold still"),
        text("value", PLACE + KEY, 13, value, look="soft mono still"),
    ]
    return group(f"record {number}", column.left, y, shapes)
