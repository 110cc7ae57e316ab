"""Incremental fetch sessions (KIP-227): a consumer says once what it wants, then only what changed.

    client                                         broker
    Fetch session 0, epoch 0, all partitions   ->  opens session 77, answers everything
    Fetch session 77, epoch 1, changes only    ->  answers only partitions with news
    Fetch session 77, epoch 2, ...
    Fetch session 77, epoch -1                 ->  closes it

Without a session (epoch -1, or when the cache is full) every request names everything.

Invariant: the epoch counts the requests of a session; one that was lost or sent twice shows.
Partitions that got data go to the back of the row, so that none is starved by a full one.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

NO_SESSION = 0
INITIAL, FINAL = 0, -1  # epochs that make a request a full one
STALE_MS = 120_000  # a session that was silent for so long may be thrown out for a new one
MAX_EPOCH = 2**31 - 1


class Wanted(NamedTuple):
    """What a reader asks of one partition."""

    offset: int
    max_bytes: int
    leader_epoch: int  # as the reader believes, or -1
    log_start: int  # a follower's own, or -1


@dataclass(slots=True)
class Session:
    id: int
    used: int  # when it was last heard of
    epoch: int = INITIAL + 1  # what the next request must say
    partitions: dict[TopicPartition, Wanted] = field(default_factory=dict)
    told: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # (HW, log start)
    full: bool = True  # this answer names every partition

    def update(self, request: Any) -> None:
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                partition = TopicPartition(topic.topic, number)
                self.partitions.pop(partition, None)
                self.told.pop(partition, None)
        self.partitions.update(wanted_by(request))

    def is_news(self, partition: TopicPartition, high_watermark: int, log_start: int) -> bool:
        """Whether an answer without records still says something new; it is noted as told."""
        facts = (high_watermark, log_start)
        known, self.told[partition] = self.told.get(partition), facts
        return self.full or known != facts

    def served(self, partition: TopicPartition) -> None:
        """It got records: next time the others come first."""
        self.partitions[partition] = self.partitions.pop(partition)


def wanted_by(request: Any) -> dict[TopicPartition, Wanted]:
    """The partitions of a Fetch request; of one named twice, the last counts."""
    return {
        TopicPartition(topic.topic, each.partition): Wanted(
            each.fetch_offset,
            each.partition_max_bytes,
            each.current_leader_epoch,
            each.log_start_offset,
        )
        for topic in request.topics
        for each in topic.partitions
    }


class Sessions:
    """The sessions of one broker, at most `max.incremental.fetch.session.cache.slots`."""

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: dict[int, Session] = {}  # the longest unused first

    def begin(self, request: Any, now: int) -> Session:
        """The session that a request belongs to, brought up to date by it."""
        if request.session_epoch in (INITIAL, FINAL):
            self._sessions.pop(request.session_id, None)
            session = self._open(now, keep=request.session_epoch == INITIAL)
            session.update(request)
            return session
        found = self._sessions.pop(request.session_id, None)
        if found is None:
            raise KafkaError(
                ErrorCode.fetch_session_id_not_found, f"no fetch session {request.session_id}"
            )
        self._sessions[found.id] = found  # now the last in the row
        if found.epoch != request.session_epoch:
            raise KafkaError(
                ErrorCode.invalid_fetch_session_epoch,
                f"fetch session {found.id} expects epoch {found.epoch}, "
                f"not {request.session_epoch}",
            )
        found.update(request)
        found.used, found.full = now, False
        found.epoch = found.epoch % MAX_EPOCH + 1
        return found

    def _open(self, now: int, *, keep: bool) -> Session:
        if keep and len(self._sessions) >= self._slots:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now - oldest.used <= STALE_MS:
                keep = False
            else:
                del self._sessions[oldest.id]
        session = Session(NO_SESSION, now)
        if keep:
            while session.id == NO_SESSION or session.id in self._sessions:
                session.id = self._random.randrange(1, 2**31)
            self._sessions[session.id] = session
        return session

    def __len__(self) -> int:
        return len(self._sessions)
