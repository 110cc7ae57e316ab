"""The history of clients that send and poll in random transactions, as Jepsen writes it down.

    process 7  invoke  txn   send 0 41, poll, send 2 42
    process 7  ok      txn   send 0 41 at 12, poll {1: [(8, 33), (9, 35)]}, send 2 42 at 5
    process 8  invoke  assign [0, 2]

A process is one life of a client. `ok`: its transaction is committed; `fail`: it is aborted;
`info`: nobody knows. Each value is sent once. A client that aborts goes back to where it had begun
to read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple


class OperationType(Enum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class SentValue(NamedTuple):
    partition: int
    value: int
    offset: int | None = None  # as the broker has acknowledged it


class PolledValue(NamedTuple):
    partition: int
    offset: int
    value: int


class Poll(NamedTuple):
    records: tuple[PolledValue, ...] = ()  # in the order in which they came


Step = SentValue | Poll
TXN, ASSIGN, SUBSCRIBE = "txn", "assign", "subscribe"


@dataclass(frozen=True)
class ClientOperation:
    process: int
    type: OperationType
    what: str  # TXN, ASSIGN or SUBSCRIBE
    steps: tuple[Step, ...] = ()
    partitions: tuple[int, ...] = ()  # of ASSIGN
    at: float = 0.0  # seconds since the run began

    @property
    def sent(self) -> list[SentValue]:
        return [each for each in self.steps if isinstance(each, SentValue)]

    @property
    def polls(self) -> list[Poll]:
        return [each for each in self.steps if isinstance(each, Poll)]

    @property
    def read(self) -> list[PolledValue]:
        return [record for poll in self.polls for record in poll.records]

    def __str__(self) -> str:
        return f"the transaction of process {self.process} at {self.at:.1f} s ({self.type.value})"


@dataclass
class OperationHistory:
    operations: list[ClientOperation] = field(default_factory=list)  # each process in its order

    def sort(self) -> None:
        """By their times."""
        self.operations.sort(key=lambda operation: operation.at)

    def completed(self) -> list[ClientOperation]:
        """Transactions with what became of them; one that has no end is `info`."""
        return [
            each
            for each in self.operations
            if each.what == TXN and each.type is not OperationType.INVOKE
        ]


# -- one line for each operation: what a client process prints ----------------------------------


def as_line(operation: ClientOperation) -> dict[str, object]:
    return {
        "at": operation.at,
        "type": operation.type.value,
        "what": operation.what,
        "partitions": operation.partitions,
        "steps": [
            list(step) if isinstance(step, SentValue) else [list(each) for each in step.records]
            for step in operation.steps
        ],
    }


def from_line(process: int, line: Mapping[str, Any], began: float) -> ClientOperation:
    """`began`: of the run; all processes of a machine have one monotonic clock."""
    return ClientOperation(
        process,
        OperationType(line["type"]),
        line["what"],
        tuple(map(_step, line["steps"])),
        tuple(line["partitions"]),
        line["at"] - began,
    )


def _step(found: Sequence[Any]) -> Step:
    """A poll is a list of lists, perhaps empty; a send is a list of numbers."""
    if found and not isinstance(found[0], list):
        return SentValue(*found)
    return Poll(tuple(PolledValue(*each) for each in found))
