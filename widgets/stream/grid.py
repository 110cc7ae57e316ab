"""The table after a batch: new, changed and deleted rows have a sign and are highlighted.

The table after batch 7          4 rows, 3 changed
    pizza      count
△   funghi     12 → 13
    salami      9
+   tuna        1
−   old         2
"""

from dataclasses import dataclass

from widgets.scene import UP_TO, SceneShape, fit, group, line, rect, text, width_of
from widgets.stream import words
from widgets.stream.history import BatchMoment
from widgets.stream.table import CHANGED, GONE, NEW, TableDiff, TableLine

ROW, HEAD = 18, 48  # heights of a row, and of the heading
GLYPHS = {NEW: ("+", "ok bold"), CHANGED: ("△", "bold"), GONE: ("−", "bad bold")}
SIGN = 20  # the width of a row's sign
COLUMNS = 6  # at most; if there are more, the last says how many
LABEL = 120  # characters


@dataclass(frozen=True, slots=True)
class Grid:
    moment: BatchMoment
    x: float
    y: float
    width: float
    edges: list[float]  # where columns begin, and the last one ends
    keys: set[str]  # of the records that came in


def drawn(moment: BatchMoment, x: float, y: float, width: float) -> list[SceneShape]:
    table = moment.table
    told = _counted(moment, table) if table else "not looked at: the next batch was done too soon"
    title = f"The table after batch {moment.batch}"
    told = fit(told, width - 1.1 * width_of(title) - 10, 11)
    shapes = [
        text("table", x, y + 14, title, look="bold"),
        text("how many rows", x + width, y + 14, told, UP_TO, look="soft"),
        line("table rule", x, y + 22, x + width, y + 22, look="rule"),
    ]
    if table is None:
        return shapes
    keys = {it.key for it in moment.records or ()}
    grid = Grid(moment, x, y, width, _edges(table, width), keys)
    names = list(table.columns[:COLUMNS])
    if (more := len(table.columns) - COLUMNS) > 0:
        names[-1] = f"and {more + 1} more"
    for number, name in enumerate(names):
        place, room = x + grid.edges[number], grid.edges[number + 1] - grid.edges[number] - 6
        shapes.append(text(f"column {number}", place, y + 36, fit(name, room, 10), look="tiny"))
    return shapes + [_row(grid, number, row) for number, row in enumerate(table.lines)]


def kin(key: str, label: str) -> dict[str, str]:
    """A record and the row of its key are highlighted together."""
    return {"kin": f"key {key}", "label": label[:LABEL]}


def _counted(moment: BatchMoment, table: TableDiff) -> str:
    shown = len([it for it in table.lines if it.mark != GONE])
    told = words.many(table.count, "row")
    if shown < table.count:
        told = f"{shown} of {told}"
    since = "" if table.since in (None, moment.batch - 1) else f" since batch {table.since}"
    marked = f"{table.marked} changed" if table.marked else "unchanged"
    return f"{told}, {marked}{since}"


def _cell(row: TableLine, place: int) -> str:
    was = dict(row.was)
    return f"{was[place]} → {row.cells[place]}" if place in was else row.cells[place]


def _edges(table: TableDiff, width: float) -> list[float]:
    """The widths that columns need; if there is not enough room, all are narrower."""
    needs = [
        max([width_of(name, 10), *(width_of(_cell(row, place), 11.5) for row in table.lines)]) + 20
        for place, name in enumerate(table.columns[:COLUMNS])
    ]
    share = min((width - SIGN) / max(sum(needs), 1), 1)
    edges = [float(SIGN)]
    for need in needs:
        edges.append(edges[-1] + need * share)
    return edges


def _row(grid: Grid, number: int, row: TableLine) -> SceneShape:
    label = f"{row.mark or 'as before'}: {', '.join(row.cells)}"
    shared = next((cell for cell in row.cells if cell in grid.keys), row.cells[0])
    inside = [rect("back", 0, 0, grid.width, ROW - 1, 3, look="clear", **kin(shared, label))]
    if row.mark:
        glyph, look = GLYPHS[row.mark]
        glow = rect(f"glow {grid.moment.key}", 0, 0, grid.width, ROW - 1, 3, look="glow still")
        inside = [glow, *inside, text("mark", 4, 13, glyph, look=f"{look} still")]
    was = dict(row.was)
    for place in range(min(len(row.cells), COLUMNS) - (len(row.cells) > COLUMNS)):
        bold = " bold" if place in was or row.mark == NEW else ""
        look = "small dim struck still" if row.mark == GONE else f"small{bold} still"
        told = fit(_cell(row, place), grid.edges[place + 1] - grid.edges[place] - 6, 11.5)
        inside.append(text(f"cell {place}", grid.edges[place], 13, told, look=look))
    return group(f"row {number}", grid.x, grid.y + HEAD - 6 + ROW * number, inside)
