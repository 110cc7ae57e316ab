"""The ledger of the exactly-once sink: its decisions, stored in a topic.

    key                            value
    QUERY/EPOCH/decided/NONCE      the staged batches of that epoch, and their target partitions
    QUERY/EPOCH/published          they are in their topics; the next sequence numbers
    either of them                 null: obsolete, compaction may remove it

The ledger is a log, and the first decision about an epoch counts. A driver that wants to commit an
epoch (the first one, its successor, or one that was believed dead) appends its decision, and then
reads the ledger: all drivers follow the first decision of the epoch, and ignore a decision about an
epoch that is already published. They need no other agreement.

A decision has no sequence numbers. They follow from the last published epoch, which every driver
reads in the ledger; so a decision by a driver that had not read everything does no harm.

Invariant: the epochs of a query are published in order, and an epoch is decided after the one
before it was published.
Invariant: compaction changes nothing. It keeps the last record of a key and the order of the keys:
every decision has a key of its own, and all drivers write the same "published". A key gets its
tombstone only in the batch that makes it obsolete.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

SEQUENCES = 2**31  # a sequence number after 2^31 - 1 is 0

Entry = tuple[bytes, bytes | None]  # key and value of a record in the ledger


class Staged(NamedTuple):
    """One batch in the staging topic."""

    partition: int  # of the staging topic
    offset: int  # of its first record there
    records: int


class TargetShare(NamedTuple):
    """What one partition of a target topic gets in an epoch."""

    start: int  # its end when this was decided: the share is published at this offset or later
    staged: tuple[Staged, ...]  # in the order in which they are to be published

    @property
    def records(self) -> int:
        return sum(each.records for each in self.staged)


class Decision(NamedTuple):
    epoch: int
    producer: int  # the id under which it is published: the query's, once it has one
    staging: str  # the topic
    shares: dict[TopicPartition, TargetShare]

    def packed(self) -> bytes:
        shares = [[*target, share.start, share.staged] for target, share in self.shares.items()]
        return _packed({"producer": self.producer, "staging": self.staging, "shares": shares})

    @classmethod
    def of(cls, epoch: int, value: dict[str, Any]) -> Self:
        shares = {
            TopicPartition(topic, number): TargetShare(
                start, tuple(Staged(*each) for each in staged)
            )
            for topic, number, start, staged in value["shares"]
        }
        return cls(epoch, value["producer"], value["staging"], shares)


class NumberedDecision(NamedTuple):
    """A decision with the sequence numbers that follow from the epochs before it."""

    decision: Decision
    first: dict[TopicPartition, int]  # sequence number of the first record of each share

    def batches(self, done: dict[TopicPartition, int]) -> Iterator["Numbered"]:
        """The batches still to be published, in the order of staging; `done` counts records."""
        found = []
        for target, share in self.decision.shares.items():
            place = 0
            for staged in share.staged:
                if place >= done[target]:
                    sequence = (self.first[target] + place) % SEQUENCES
                    found.append(Numbered(staged, target, place, sequence))
                place += staged.records
        yield from sorted(found)

    def place(self, target: TopicPartition, last_sequence: int) -> int:
        """How many records of a share there are up to this sequence number; 0 if it has none."""
        place = (last_sequence - self.first[target]) % SEQUENCES + 1
        return place if place <= self.decision.shares[target].records else 0


class Numbered(NamedTuple):
    """A staged batch, and its position in the target."""

    staged: Staged
    target: TopicPartition
    place: int  # how many records of its share come before it
    sequence: int


class EpochLedger:
    """The state of one query: ledger records in, decisions out."""

    def __init__(self, query: str) -> None:
        self.published = -1  # the newest epoch that is
        self.producer: int | None = None  # the query's producer id, once an epoch is published
        self._query = query
        self._next: dict[TopicPartition, int] = {}  # sequence numbers
        self._decisions: dict[int, Decision] = {}  # by epoch: the first
        self._keys: set[bytes] = set()  # that have a value

    # -- reading -------------------------------------------------------------------------

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Apply the next record of the ledger; those of other queries are skipped."""
        query, *words = (key or b"").decode(errors="replace").split("/")
        if query != self._query or key is None:
            return
        if value is None:
            self._keys.discard(key)
            return
        try:
            epoch, kind = int(words[0]), words[1]
            found = json.loads(value)
            if kind == "published":
                self._is_published(epoch, found)
            else:
                self._decisions.setdefault(epoch, Decision.of(epoch, found))
        except (ValueError, LookupError, TypeError) as error:
            raise ApiException(
                ErrorCode.corrupt_message, f"the ledger's record {key!r} makes no sense: {error!r}"
            ) from error
        self._keys.add(key)

    def _is_published(self, epoch: int, value: dict[str, Any]) -> None:
        if epoch > self.published:
            self.published, self.producer = epoch, value["producer"]
            self._next = {TopicPartition(topic, n): number for topic, n, number in value["next"]}

    def plan(self, epoch: int) -> NumberedDecision | None:
        """The batches to publish for an epoch, if it is decided and not published."""
        decision = self._decisions.get(epoch)
        if decision is None or epoch <= self.published:
            return None
        first = {target: self._next.get(target, 0) for target in decision.shares}
        return NumberedDecision(decision, first)

    # -- writing -------------------------------------------------------------------------

    def decide(self, decision: Decision, nonce: str) -> Entry:
        """`nonce`: a text that no other decision has."""
        return self._key(decision.epoch, "decided", nonce), decision.packed()

    def conclude(self, plan: NumberedDecision) -> list[Entry]:
        """The records for a published epoch, and tombstones for older ones; one batch."""
        after = self._next | {
            target: (plan.first[target] + share.records) % SEQUENCES
            for target, share in plan.decision.shares.items()
        }
        key = self._key(plan.decision.epoch, "published")
        following = [[*target, number] for target, number in sorted(after.items())]
        value = _packed({"producer": plan.decision.producer, "next": following})
        return [*((old, None) for old in sorted(self._keys - {key})), (key, value)]

    def _key(self, *words: object) -> bytes:
        return "/".join(map(str, (self._query, *words))).encode()


def shares(
    staged: Iterable[tuple[TopicPartition, Staged]], ends: dict[TopicPartition, int]
) -> dict[TopicPartition, TargetShare]:
    """The staged batches of all tasks, by target; `ends`: the current end of each target."""
    by_target: dict[TopicPartition, list[Staged]] = {}
    for target, each in staged:
        by_target.setdefault(target, []).append(each)
    return {
        target: TargetShare(ends[target], tuple(sorted(those)))
        for target, those in sorted(by_target.items())
    }


def _packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
