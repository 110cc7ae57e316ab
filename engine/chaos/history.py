"""What clients saw of a cluster: each message that was sent, what became of it, what was read.

    writer-1/2/17/xxxxxxxx      a value: who sent it, to which partition, its number, and filling

Numbers run for each writer and partition apart, from 0 and without a gap. So a value says where
it belongs, and its order among the others, whatever a broker made of it.

Invariant: a value is sent once. Two offsets with the same value are the cluster's doing.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

FILLING = b"x" * 100


class Outcome(Enum):
    UNKNOWN = "unknown"  # nobody said: it may be there or not
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"  # the application was told so: it may be there or not, all the same


@dataclass(slots=True)
class Sent:
    """One message; the times are those of one clock, in seconds."""

    writer: str
    partition: int
    number: int
    at: float = 0.0  # before the producer got it
    outcome: Outcome = Outcome.UNKNOWN
    answered: float = math.inf  # after the producer told what became of it
    offset: int = -1  # where it was acknowledged; -1 if that was not said
    error: str = ""

    def __str__(self) -> str:
        return f"{self.writer} #{self.number} in partition {self.partition}"

    @property
    def value(self) -> bytes:
        return f"{self.writer}/{self.partition}/{self.number}/".encode() + FILLING


class Read(NamedTuple):
    partition: int
    offset: int
    value: bytes


@dataclass
class History:
    topic: str
    partitions: int
    sent: dict[bytes, Sent] = field(default_factory=dict)  # by value
    seen: defaultdict[str, list[Read]] = field(  # by reader, in the order in which it came
        default_factory=lambda: defaultdict(list)
    )
    errors: list[str] = field(default_factory=list)  # what an application heard besides

    def add(self, sent: Sent) -> bytes:
        value = sent.value
        assert value not in self.sent, f"{sent} is sent twice"
        self.sent[value] = sent
        return value

    def ends(self) -> dict[int, int]:
        """Each partition's end, as far as acknowledgements tell."""
        ends = dict.fromkeys(range(self.partitions), 0)
        for sent in self.sent.values():
            ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
        return ends
