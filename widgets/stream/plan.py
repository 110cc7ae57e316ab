"""What a picture of a stream is made from, and where its parts are.

┌────────┐   ┌───────────┐   ┌────────┐
│ source │──>│ operators │──>│  sink  │   pipeline.py
└────────┘   │  ( state )│   └────────┘
             └───────────┘
batch 7: what it did, in a sentence          scene.py
where its time went │ watermark              strips.py
what came in        │ the table after it     lists.py
▁▃▁▇▂▁○──────────── batch by batch           batches.py
"""

from dataclasses import dataclass, field
from functools import cached_property

from widgets.stream.history import History, Moment

WIDTH, LEFT, RIGHT = 1000, 20, 980
MIDDLE, GAP = 500, 20  # between two columns: where, and half of its width


@dataclass(frozen=True)
class Scenery:
    history: History
    head: int | None = None  # which moment; None: the last
    acts: frozenset[str] = frozenset()
    name: str = ""  # of the query
    into: str = ""  # what the sink is called
    status: str = ""  # what Spark says that it is doing
    has_records: bool = False  # they are asked for
    has_table: bool = False
    playing: bool = False
    rows: int = field(default=4)  # of the lists, for which there is room

    @property
    def at(self) -> int:
        return len(self.history.moments) - 1 if self.head is None else self.head

    @property
    def live(self) -> bool:
        return self.head is None and not self.history.ended

    @cached_property
    def moment(self) -> Moment | None:
        return self.history.moments[self.at] if self.history.moments else None

    @cached_property
    def before(self) -> Moment | None:
        return self.history.moments[self.at - 1] if self.at > 0 else None

    @property
    def recent(self) -> list[Moment]:
        """This one and some before it."""
        return self.history.moments[max(self.at - 5, 0) : self.at + 1]
