"""The data of the picture of a stream, and its layout.

┌────────┐   ┌───────────┐   ┌────────┐
│ source │──>│ operators │──>│  sink  │   pipeline.py
└────────┘   │  ( state )│   └────────┘
             └───────────┘
batch 7: its result, in a sentence          scene.py
where its time went │ watermark              strips.py
what came in        │ the table after it     lists.py
▁▃▁▇▂▁○──────────── batch by batch           batches.py

On a narrow page there is one column: rows flow downwards, each state is beside its operator.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from widgets.stream.history import BatchMoment, QueryHistory

NARROW = 700  # px: a narrower page has one column
MARGIN, SLIM = 20, 14  # of the picture, and on a narrow page
GAP = 20  # half of the gap between two columns


class StreamColumn(NamedTuple):
    left: float
    right: float

    @property
    def width(self) -> float:
        return self.right - self.left


@dataclass(frozen=True)
class StreamViewState:
    history: QueryHistory
    head: int | None = None  # the index of the moment; None: the last
    acts: frozenset[str] = frozenset()
    name: str = ""  # of the query
    into: str = ""  # the name of the sink
    status: str = ""  # Spark's status text
    has_records: bool = False  # records are fetched
    has_table: bool = False
    playing: bool = False
    rows: int = field(default=4)  # of the longer list
    table_rows: int = 0  # of the table; 0: as many
    width: float = 1000  # px, of the picture

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def left(self) -> float:
        return SLIM if self.narrow else MARGIN

    @property
    def right(self) -> float:
        return self.width - self.left

    @property
    def room(self) -> float:
        return self.right - self.left

    @property
    def columns(self) -> tuple[StreamColumn, StreamColumn]:
        """The two columns; on a narrow page it is one."""
        if self.narrow:
            return StreamColumn(self.left, self.right), StreamColumn(self.left, self.right)
        middle = self.width / 2
        return StreamColumn(self.left, middle - GAP), StreamColumn(middle + GAP, self.right)

    @property
    def at(self) -> int:
        return len(self.history.moments) - 1 if self.head is None else self.head

    @property
    def live(self) -> bool:
        return self.head is None and not self.history.ended

    @cached_property
    def moment(self) -> BatchMoment | None:
        return self.history.moments[self.at] if self.history.moments else None

    @cached_property
    def before(self) -> BatchMoment | None:
        return self.history.moments[self.at - 1] if self.at > 0 else None

    @property
    def recent(self) -> list[BatchMoment]:
        """This one and some before it."""
        return self.history.moments[max(self.at - 5, 0) : self.at + 1]
