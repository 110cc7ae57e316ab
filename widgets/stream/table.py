"""A table after a batch, compared with the one before: new, changed and deleted rows.

    before            after              Table
    ada    3          ada    5           △ ada    5   was 3
    bob    1          bob    1             bob    1
    eve    2          kim    1           + kim    1
                                         − eve    2

The columns of the key are not known, so they are derived from the rows: the fewest columns, from
the left, that differ between all rows. Duplicates of whole rows are numbered.

Invariant: at most MOST rows are kept, first those with a mark, in the table's order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

MOST = 12  # rows that are kept
LONGEST = 40  # characters of a cell
NEW, CHANGED, GONE = "new", "changed", "gone"

Row: TypeAlias = Mapping[str, Any]
Cells: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableLine:
    mark: str  # new, changed, gone, or "": unchanged
    cells: Cells
    was: tuple[tuple[int, str], ...] = ()  # columns, and their values before


@dataclass(frozen=True, slots=True)
class TableDiff:
    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    count: int  # rows in all
    marked: int  # with a mark
    since: int | None  # the batch of the table before

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "TableDiff":
        lines = tuple(
            TableLine(mark, tuple(cells), tuple((int(at), was) for at, was in before))
            for mark, cells, before in plain["lines"]
        )
        facts = (plain[name] for name in ("count", "marked", "since"))
        return cls(tuple(plain["columns"]), lines, *facts)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        lines = [[it.mark, list(it.cells), [list(each) for each in it.was]] for it in self.lines]
        facts = {name: getattr(self, name) for name in ("count", "marked", "since")}
        return {"columns": list(self.columns), "lines": lines, **facts}


def compared(
    before: Sequence[Row] | None, after: Sequence[Row], since: int | None = None
) -> TableDiff:
    """`before` None: not known, so no row has a mark."""
    columns = list(dict.fromkeys(name for row in (*(before or ()), *after) for name in row))
    new, old = _texts(after, columns), _texts(before or (), columns)
    wide = max(_naming(new, len(columns)), _naming(old, len(columns)))
    now, past = _by_name(new, wide), _by_name(old, wide)
    if before is None:
        past = now
    lines = [_line(cells, past.get(name)) for name, cells in now.items()]
    lines += [TableLine(GONE, cells) for name, cells in past.items() if name not in now]
    lines.sort(key=lambda it: [_order(cell) for cell in it.cells])
    marked = sum(bool(it.mark) for it in lines)
    return TableDiff(tuple(columns), tuple(_chosen(lines)), len(after), marked, since)


def rows_of(answer: Any) -> list[Row]:
    """The rows of a list of dicts or Spark rows, or of a DataFrame of pandas or Spark."""
    if hasattr(answer, "collect"):
        answer = answer.collect()
    elif hasattr(answer, "to_dict"):
        answer = answer.to_dict("records")
    return [it.asDict() if hasattr(it, "asDict") else it for it in answer]


def text(cell: Any) -> str:
    match cell:
        case None:
            told = "null"
        case float() | datetime() if cell != cell:  # pandas' value for "none"
            told = "null"
        case datetime():
            told = cell.isoformat(" ", "milliseconds" if cell.microsecond else "seconds")[:23]
            told = told.partition(" ")[2] if cell.time().isoformat() != "00:00:00" else told[:10]
        case date():
            told = cell.isoformat()
        case float():
            told = f"{cell:g}" if abs(cell) < 1e6 else f"{cell:,.0f}"
        case bytes() | bytearray():
            told = bytes(cell).decode("utf-8", "replace")
        case _ if hasattr(cell, "asDict"):
            told = text(cell.asDict())
        case {"start": start, "end": end, **more} if not more:  # a window
            told = f"{text(start)} – {text(end)}"
        case _:
            told = str(cell)
    return told if len(told) <= LONGEST else told[: LONGEST - 1] + "…"


def _texts(rows: Iterable[Row], columns: list[str]) -> list[Cells]:
    return [tuple(text(row.get(name)) for name in columns) for row in rows]


def _naming(rows: list[Cells], columns: int) -> int:
    """How many columns, from the left, make the rows different."""
    wide = 1
    while wide < columns and len({cells[:wide] for cells in rows}) < len(rows):
        wide += 1
    return wide


def _by_name(rows: list[Cells], wide: int) -> dict[tuple[Cells, int], Cells]:
    """The rows by their key: the first columns, and a number among equal ones."""
    found: dict[tuple[Cells, int], Cells] = {}
    seen: dict[Cells, int] = {}
    for cells in rows:
        seen[cells[:wide]] = seen.get(cells[:wide], 0) + 1
        found[cells[:wide], seen[cells[:wide]]] = cells
    return found


def _line(cells: Cells, before: Cells | None) -> TableLine:
    if before is None:
        return TableLine(NEW, cells)
    pairs = enumerate(zip(before, cells, strict=True))
    was = tuple((place, old) for place, (old, new) in pairs if old != new)
    return TableLine(CHANGED if was else "", cells, was)


def _order(cell: str) -> tuple[bool, float, str]:
    """Numbers by their size, before texts."""
    try:
        return False, float(cell), cell
    except ValueError:
        return True, 0.0, cell


def _chosen(lines: list[TableLine]) -> list[TableLine]:
    kept = [it for it in lines if it.mark][:MOST]
    plain = [it for it in lines if not it.mark][: MOST - len(kept)]
    chosen = {id(it) for it in (*kept, *plain)}
    return [it for it in lines if id(it) in chosen]
