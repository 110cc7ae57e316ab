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
from widgets.text_column import TextColumn

ROW, HEAD = 18, 48  # heights of a row, and of the heading
GLYPHS = {NEW: ("+", "ok bold"), CHANGED: ("△", "bold"), GONE: ("−", "bad bold")}
SIGN = 20  # the width of a row's sign
COLUMNS = 6  # at most; if there are more, the last says how many
COLUMN = 64  # the least width of a column
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
    title = f"The table after batch {moment.batch}"
    shapes = [
        text("table", x, y + 14, title, look="bold"),
        line("table rule", x, y + 22, x + width, y + 22, look="rule"),
    ]
    if table is None:
        why = "Not looked at: the next batch was done too soon."
        return shapes + TextColumn(x, y + 40, width, 15).write("not looked at", why, "soft").shapes
    whole = _counted(moment, table)
    told = fit(whole, width - width_of(title, 12, bold=True) - 10, 11)
    label = "" if told == whole else whole
    shapes.append(text("how many rows", x + width, y + 14, told, UP_TO, look="soft", label=label))
    keys = {it.key for it in moment.records or ()}
    most = min(COLUMNS, max(int((width - SIGN) // COLUMN), 2))
    grid = Grid(moment, x, y, width, _edges(table, width, most), keys)
    names = list(table.columns[:most])
    if (more := len(table.columns) - most) > 0:
        names[-1] = f"+{more + 1} more"
    for number, name in enumerate(names):
        place, room = x + grid.edges[number], grid.edges[number + 1] - grid.edges[number] - 6
        shapes.append(text(f"column {number}", place, y + 36, fit(name, room, 11), look="tiny"))
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


def _edges(table: TableDiff, width: float, most: int) -> list[float]:
    """The widths that columns need; if there is not enough room, all are narrower."""
    more = len(table.columns) > most  # then the last column only says how many
    needs = [
        max([width_of(name, 11), *(_width(row, place) for row in table.lines)]) + 20
        for place, name in enumerate(table.columns[: most - more])
    ]
    share = min((width - SIGN - COLUMN * more) / max(sum(needs), 1), 1)
    edges = [float(SIGN)]
    for need in needs:
        edges.append(edges[-1] + need * share)
    return [*edges, edges[-1] + COLUMN] if more else edges


def _width(row: TableLine, place: int) -> float:
    return width_of(_cell(row, place), 11.5, bold=row.mark == NEW or place in dict(row.was))


def _row(grid: Grid, number: int, row: TableLine) -> SceneShape:
    label = f"{row.mark or 'as before'}: {', '.join(row.cells)}"
    shared = next((cell for cell in row.cells if cell in grid.keys), row.cells[0])
    inside = [rect("back", 0, 0, grid.width, ROW - 1, 3, look="clear", **kin(shared, label))]
    if row.mark:
        glyph, look = GLYPHS[row.mark]
        glow = rect(f"glow {grid.moment.key}", 0, 0, grid.width, ROW - 1, 3, look="glow still")
        inside = [glow, *inside, text("mark", 4, 13, glyph, look=f"{look} still")]
    was = dict(row.was)
    most = len(grid.edges) - 1
    for place in range(min(len(row.cells), most) - (len(row.cells) > most)):
        bold = " bold" if place in was or row.mark == NEW else ""
        look = "small dim struck still" if row.mark == GONE else f"small{bold} still"
        room = grid.edges[place + 1] - grid.edges[place] - 6
        told = fit(_cell(row, place), room, 11.5, bool(bold))
        inside.append(text(f"cell {place}", grid.edges[place], 13, told, look=look))
    return group(f"row {number}", grid.x, grid.y + HEAD - 6 + ROW * number, inside)
