"""Rows with a head, shown as a text that reads the same in a notebook and in a terminal.

acks  acknowledged  found
0     0             0
1     100           0
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class Table:
    def __init__(self, head: str, rows: Iterable[Sequence[Any]]) -> None:
        """`head`: the columns' names, each ending at a comma."""
        self.head = [name.strip() for name in head.split(",")]
        self.rows = [tuple(row) for row in rows]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        place = self.head.index(name)
        return [row[place] for row in self.rows]

    def __repr__(self) -> str:
        lines = [self.head, *([shown(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (
            [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
        )
        return "\n".join("  ".join(line).rstrip() for line in padded)


def shown(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "-"
        case list() | tuple() | set() | frozenset():
            return " ".join(map(str, sorted(value) if isinstance(value, set) else value)) or "-"
    return str(value)
