"""The history of the clients: each message that was sent, its outcome, and each record read.

    writer-1/2/17/xxxxxxxx      a value: writer, partition, number, and padding

Each writer numbers its messages of each partition, from 0 and without a gap. So a value shows its
partition and its order, wherever a broker has stored it.

Invariant: a value is sent once. If two offsets have the same value, the cluster has duplicated it.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

PADDING = b"x" * 100


class SendOutcome(Enum):
    UNKNOWN = "unknown"  # no response: it may be stored or not
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"  # the producer reported an error: it may be stored all the same


@dataclass(slots=True)
class Sent:
    """One message; the times are those of one clock, in seconds."""

    writer: str
    partition: int
    number: int
    at: float = 0.0  # before it was given to the producer
    outcome: SendOutcome = SendOutcome.UNKNOWN
    answered: float = math.inf  # after the producer reported the outcome
    offset: int = -1  # the acknowledged offset; -1: acknowledged without one
    error: str = ""

    def __str__(self) -> str:
        return f"{self.writer} #{self.number} in partition {self.partition}"

    @property
    def value(self) -> bytes:
        return f"{self.writer}/{self.partition}/{self.number}/".encode() + PADDING


class ReadRecord(NamedTuple):
    partition: int
    offset: int
    value: bytes


@dataclass
class ClientHistory:
    topic: str
    partitions: int
    sent: dict[bytes, Sent] = field(default_factory=dict)  # by value
    seen: defaultdict[str, list[ReadRecord]] = field(  # by reader, in the order in which it came
        default_factory=lambda: defaultdict(list)
    )
    errors: list[str] = field(default_factory=list)  # all other errors of the clients

    def add(self, sent: Sent) -> bytes:
        value = sent.value
        assert value not in self.sent, f"{sent} is sent twice"
        self.sent[value] = sent
        return value

    def ends(self) -> dict[int, int]:
        """Each partition's end, by the acknowledged offsets."""
        ends = dict.fromkeys(range(self.partitions), 0)
        for sent in self.sent.values():
            ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
        return ends
