"""Which of many rows are on the page: as many as there is room for, with a row for the others.

▴ 12 rows above        it leads back, with a row or two that were seen
row 13
...
▾ 4 rows below
"""

from typing import NamedTuple


class RowWindow(NamedTuple):
    begin: int  # the first row on the page
    end: int  # the row after the last
    back: int = 0  # the first row of the page before
    above: int = 0  # how many rows are above the page, and below it
    below: int = 0

    @classmethod
    def of(cls, count: int, room: int, first: int) -> "RowWindow":
        """So many of `count` rows as the room has place for, from row `first` on if there are
        enough behind it."""
        if count <= room:
            return cls(0, count)
        last = count - room + 1  # the first row of a page that ends with the last row
        first = 0 if first <= 1 else min(first, last)
        end = first + room - (first > 0) - (first < last)
        return cls(first, end, max(first - room + 3, 0), first, count - end)
