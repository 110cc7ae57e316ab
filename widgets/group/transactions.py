"""The transactions in which offsets of a group are committed, and the result of each.

    events transaction.changed ──┬──> spans      till-1, producer 4, epoch 0: committed at 1.4 s
           offset.transaction  ──┘    commits    c1 sent orders-0 → 10 in it at 1.3 s

The first kind comes from the transaction coordinator, the second from the group coordinator. These
may be different brokers, so events are put in the order of time before they are read.

A transaction is fenced if it ended in a higher epoch than its own: then another producer has taken
its transactional id, or it took longer than its timeout.

Invariant: only transactional ids whose producer has sent offsets of this group count.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from engine.cluster.event_stream import ClusterEvent
from engine.coordinator.transactions.metadata import TxnState

MOST = 4_000  # events that are kept
BEGUN = TxnState.ONGOING.value
DECIDED = {TxnState.PREPARE_COMMIT.value: "committed", TxnState.PREPARE_ABORT.value: "aborted"}
ENDED = (TxnState.COMPLETE_COMMIT.value, TxnState.COMPLETE_ABORT.value)
PENDING = "pending"  # offsets that wait for the end of their transaction


class OffsetsCommit(NamedTuple):
    """Offsets that were sent in a transaction."""

    at: int  # ms since 1970, as all times here
    lane: str  # of the consumer for which they were sent; "": it is in no group
    id: str
    epoch: int  # of the producer that sent them
    offsets: Mapping[str, int]
    error: str  # "": they were accepted

    @property
    def words(self) -> str:
        """ "orders-0 → 10" """
        found = [f"{name} → {offset:,}" for name, offset in self.offsets.items()]
        return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")


@dataclass(slots=True)
class TransactionSpan:
    """One transaction of a transactional id."""

    id: str
    producer: int
    epoch: int
    began: int
    decided: int | None = None  # when it was committed or aborted
    ended: int | None = None  # when all partitions had the marker
    result: str = ""  # committed, aborted; "": it is open
    fenced: bool = False
    commits: list[OffsetsCommit] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.id} (producer {self.producer}, epoch {self.epoch})"

    def lasted(self, now: int) -> float:
        """Seconds until it was decided."""
        return ((now if self.decided is None else self.decided) - self.began) / 1000


class TransactionFacts:
    """What a list of events, in the order of time, says about transactions."""

    def __init__(self, events: Iterable[tuple[ClusterEvent, str]]) -> None:
        self.spans: list[TransactionSpan] = []  # in the order of their beginning
        self.refused: list[OffsetsCommit] = []
        self.epochs: dict[str, tuple[int, int]] = {}  # the newest producer id and epoch of each id
        self._ids: dict[int, str] = {}  # the transactional id of each producer id
        for event, lane in events:
            if event.kind == "transaction.changed":
                self._changed(event.at, event.data)
            else:
                self._sent(event.at, event.data, lane)

    @cached_property
    def own(self) -> list[TransactionSpan]:
        """The transactions of the ids that have sent offsets of this group."""
        sent = (it for span in self.spans for it in span.commits)
        ids = {it.id for it in (*sent, *self.refused)}
        return [it for it in self.spans if it.id in ids]

    def _changed(self, at: int, data: Mapping[str, Any]) -> None:
        id, state = data["id"], data["state"]
        self._ids[data["producer"]] = id
        self.epochs[id] = data["producer"], data["epoch"]
        span = self._last(id)
        if state == BEGUN and (span is None or span.result):
            self.spans.append(TransactionSpan(id, data["producer"], data["epoch"], at))
        elif span and state in DECIDED and not span.ended:
            span.decided, span.result = at, DECIDED[state]
            span.fenced = (data["producer"], data["epoch"]) != (span.producer, span.epoch)
        elif span and state in ENDED:
            span.ended = at

    def _sent(self, at: int, data: Mapping[str, Any], lane: str) -> None:
        producer, result = data["producer"], data["result"]
        id = self._ids.get(producer, f"producer {producer}")
        span = self._last(id)
        if "offsets" not in data:  # its marker is in __consumer_offsets
            if span and not span.result:  # and the coordinator died with its events
                span.decided, span.result = at, result
            return
        error = "" if result == PENDING else result
        commit = OffsetsCommit(at, lane, id, data["epoch"], data["offsets"], error)
        if error:
            self.refused.append(commit)
            return
        if span is None or (span.decided is not None and span.decided < at):
            span = TransactionSpan(id, producer, data["epoch"], at)
            self.spans.append(span)
        span.commits.append(commit)

    def _last(self, id: str) -> TransactionSpan | None:
        return next((it for it in reversed(self.spans) if it.id == id), None)


class GroupTransactions:
    """Collects the events."""

    def __init__(self) -> None:
        self._events: deque[tuple[ClusterEvent, str]] = deque(maxlen=MOST)
        self._facts: TransactionFacts | None = None  # None: there are new events

    def add(self, event: ClusterEvent, lane: str = "") -> None:
        """`lane`: of the consumer, if the event is about offsets."""
        self._events.append((event, lane))
        self._facts = None

    @property
    def facts(self) -> TransactionFacts:
        if self._facts is None:
            self._facts = TransactionFacts(sorted(self._events, key=_time))
        return self._facts


def _time(told: tuple[ClusterEvent, str]) -> tuple[int, bool]:
    """In the same millisecond, a transaction begins before offsets are sent in it."""
    event, _ = told
    return event.at, event.kind != "transaction.changed"
