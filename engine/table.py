"""Rows with a head, shown as a text that reads the same in a notebook and in a terminal.

acks   acknowledged   found
───────────────────────────
0      0              0
all    100            100
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

GAP = "   "


class Table:
    def __init__(self, head: str | Iterable[object], rows: Iterable[Iterable[object]]) -> None:
        """`head`: the names of the columns; in one text, each ends at a comma."""
        names = head.split(",") if isinstance(head, str) else head
        self.head = [str(name).strip() for name in names]
        self.rows = [tuple(row) for row in rows]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        if name not in self.head:
            raise KeyError(f"there is no column {name!r}, only {', '.join(self.head)}")
        place = self.head.index(name)
        return [row[place] for row in self.rows]

    def first(self, name: str, least: Any) -> Any:
        """The first cell of the first row in which the column `name` is `least` or more.

        Infinity if there is no such row: the first cells usually are times.
        """
        for row, value in zip(self.rows, self.column(name), strict=True):
            if value is not None and value >= least:
                return row[0]
        return math.inf

    def __repr__(self) -> str:
        lines = [self.head, *([words(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        head, *rows = (
            GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        return "\n".join([head, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)), *rows])


def words(value: object) -> str:
    """yes or no; brokers as 1 2 3; shares as a: 0 1   b: 2 3"""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "-"
        case dict():
            return GAP.join(f"{name}: {words(share)}" for name, share in value.items())
        case set() | frozenset():
            return words(sorted(value))
        case list() | tuple():
            return " ".join(map(str, value)) or "-"
    return str(value)
