"""The history of a chain of transactions: what each was to write, and how it ended.

    orders-0 ──> copier-1 ──┬──> copies-0     copier-1/17/0/204/0    the record of partition 0,
                            └──> copies-1     copier-1/17/0/204/1    offset 204, on both sides

A copier writes each record that it has read to two partitions, side 0 and side 1, and how far it
has read, in one transaction. So a value shows its transaction and its origin, wherever it is.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from proof.chaos.history import ReadRecord

SIDES = 2


class TransactionEnd(Enum):
    UNKNOWN = "unknown"  # the copier crashed, was fenced, or got no answer
    COMMITTED = "committed"
    ABORTED = "aborted"


class CopiedRecord(NamedTuple):
    """What a value says."""

    copier: str
    number: int  # of the copier's transactions
    partition: int  # of the source
    offset: int
    side: int

    @property
    def value(self) -> bytes:
        return "/".join(map(str, self)).encode()

    @classmethod
    def parse(cls, value: bytes) -> "CopiedRecord | None":
        copier, *numbers = value.decode(errors="replace").split("/")
        if len(numbers) != len(cls._fields) - 1 or not all(map(str.isdecimal, numbers)):
            return None
        return cls(copier, *map(int, numbers))


@dataclass(slots=True)
class CopyTransaction:
    copier: str
    number: int
    values: set[bytes] = field(default_factory=set)
    end: TransactionEnd = TransactionEnd.UNKNOWN

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.copier}"


@dataclass
class TransactionHistory:
    source: str
    sink: str
    partitions: int
    transactions: dict[tuple[str, int], CopyTransaction] = field(default_factory=dict)
    seen: defaultdict[str, list[ReadRecord]] = field(  # by reader, in the order in which it came
        default_factory=lambda: defaultdict(list)
    )
    errors: list[str] = field(default_factory=list)
    lives: int = 0  # of copiers: one that crashes or is fenced has a successor

    def begin(self, copier: str, number: int) -> CopyTransaction:
        found = self.transactions[copier, number] = CopyTransaction(copier, number)
        return found

    def committed(self) -> int:
        known = [*self.transactions.values()]
        return sum(each.end is TransactionEnd.COMMITTED for each in known)
