"""Rows as columns: each as wide as is said, or as its widest cell; the last has no width.

GROUP           TOPIC           PARTITION
billing         orders          0
"""

from collections.abc import Sequence

Row = Sequence[object]


def table(rows: Sequence[Row], widths: Sequence[int]) -> None:
    """Print them; the first row is the heads, and there is one more column than widths."""
    wide = [max(least, *(len(str(row[n])) for row in rows)) for n, least in enumerate(widths)]
    for row in rows:
        cells = [f"{cell!s:{width}}" for cell, width in zip(row, [*wide, 0], strict=True)]
        print(" ".join(cells).rstrip())
