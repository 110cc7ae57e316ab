"""The data of the picture of a stream, and its layout.

┌────────┐   ┌───────────┐   ┌────────┐
│ source │──>│ operators │──>│  sink  │   pipeline.py
└────────┘   │  ( state )│   └────────┘
             └───────────┘
batch 7: its result, in a sentence          scene.py
where its time went │ watermark              strips.py
what came in        │ the table after it     lists.py
▁▃▁▇▂▁○──────────── batch by batch           batches.py
"""

from dataclasses import dataclass, field
from functools import cached_property

from widgets.stream.history import BatchMoment, QueryHistory

WIDTH, LEFT, RIGHT = 1000, 20, 980
MIDDLE, GAP = 500, 20  # the middle between two columns, and half of the gap


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
    rows: int = field(default=4)  # of the lists

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
