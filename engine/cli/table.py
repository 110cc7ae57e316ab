"""Prints rows as a table: each column has a minimum width, the last one has none.

GROUP           TOPIC           PARTITION
billing         orders          0
"""

from collections.abc import Iterable, Sequence

Row = Sequence[object]


def table(rows: Sequence[Row], widths: Sequence[int]) -> None:
    """Print the rows; the first has the column heads. There is one more column than widths."""
    wide = [max(least, *(len(str(row[n])) for row in rows)) for n, least in enumerate(widths)]
    for row in rows:
        cells = [f"{cell!s:{width}}" for cell, width in zip(row, [*wide, 0], strict=True)]
        print(" ".join(cells).rstrip())


def comma(values: Iterable[object]) -> str:
    """As Kafka's tools print a list: 1,2,3"""
    return ",".join(map(str, values))
