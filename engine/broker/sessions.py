"""Incremental fetch sessions (KIP-227): a reader says once what it wants, then only what changed.

    client                                         broker
    Fetch session 0, epoch 0, all partitions   ->  opens session 77, answers everything
    Fetch session 77, epoch 1, changes only    ->  answers only partitions with news
    Fetch session 77, epoch 2, ...
    Fetch session 77, epoch -1                 ->  closes it

Without a session (epoch -1, or when the cache is full) every request names everything.

A session hears of what happens to its partitions, also between two requests. So a fetch looks at
those that are `due`, and a thousand idle ones cost nothing.

Invariant: a partition is due if its reader asked for another offset, if something has happened to
it, or if there was more to read than was sent. All others have nothing to say.
Invariant: the epoch counts the requests of a session; one that was lost or sent twice shows.
Partitions that got data go to the back of the row, so that none is starved by a full one.
"""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.replication.reading import NO_REPLICA, Wanted
from engine.replication.replicas import Replicas

NO_SESSION = 0
INITIAL, FINAL = 0, -1  # epochs that make a request a full one
STALE_MS = 120_000  # a session that was silent for so long may be thrown out for a new one
MAX_EPOCH = 2**31 - 1


@dataclass(slots=True, eq=False)
class Session:
    id: int
    replicas: Replicas
    replica_id: int  # of the follower that reads; -1: a consumer
    used: int  # when it was last heard of
    epoch: int = INITIAL + 1  # what the next request must say
    partitions: dict[TopicPartition, Wanted] = field(default_factory=dict)
    due: dict[TopicPartition, None] = field(default_factory=dict)  # to be looked at, in this order
    told: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # (HW, log start)
    full: bool = True  # this answer names every partition
    _waiters: "set[asyncio.Future[bool]]" = field(default_factory=set)

    def update(self, request: Any) -> None:
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                partition = TopicPartition(topic.topic, number)
                for known in (self.partitions, self.due, self.told):
                    known.pop(partition, None)
                self.replicas.unwatch(partition, self)
        for partition, wanted in wanted_by(request).items():
            if partition not in self.partitions:
                self.replicas.watch(partition, self)
            self.partitions[partition] = wanted
            self.due[partition] = None
        self._wake()  # a confused client may have asked twice, and the other request waits

    def changed(self, partition: TopicPartition) -> None:
        self.due[partition] = None
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            _settle(waiter, True)

    async def news(self, until: float) -> bool:
        """Wait until something is due; False once the loop's time is `until`."""
        loop = asyncio.get_running_loop()
        if self.due or loop.time() >= until:
            return bool(self.due)
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.add(waiter)
        timer = loop.call_at(until, _settle, waiter, False)
        try:
            return await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)

    def is_news(self, partition: TopicPartition, high_watermark: int, log_start: int) -> bool:
        """Whether an answer without records still says something new; it is noted as told."""
        facts = (high_watermark, log_start)
        known, self.told[partition] = self.told.get(partition), facts
        return self.full or known != facts

    def end(self) -> None:
        for partition in self.partitions:
            self.replicas.unwatch(partition, self)


def _settle(waiter: "asyncio.Future[bool]", there_is_news: bool) -> None:
    if not waiter.done():
        waiter.set_result(there_is_news)


def wanted_by(request: Any) -> dict[TopicPartition, Wanted]:
    """The partitions of a Fetch request; of one named twice, the last counts."""
    return {
        TopicPartition(topic.topic, each.partition): Wanted(
            each.fetch_offset,
            each.partition_max_bytes,
            each.current_leader_epoch,
            each.log_start_offset,
            each.last_fetched_epoch,
        )
        for topic in request.topics
        for each in topic.partitions
    }


class Sessions:
    """The sessions of one broker: `max.incremental.fetch.session.cache.slots` for consumers."""

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: dict[int, Session] = {}  # the longest unused first

    def begin(self, request: Any, replicas: Replicas, now: int) -> Session:
        """The session that a request belongs to, brought up to date by it."""
        if request.session_epoch in (INITIAL, FINAL):
            self._close(request.session_id)
            session = Session(NO_SESSION, replicas, request.replica_id, now)
            if request.session_epoch == INITIAL:
                self._keep(session)
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

    def _keep(self, session: Session) -> None:
        """Give it a number, if there is room. A follower has one session, and always room."""
        if session.replica_id != NO_REPLICA:
            for each in list(self._sessions.values()):
                if each.replica_id == session.replica_id:
                    self._close(each.id)
        elif len(self._sessions) >= self._slots:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or session.used - oldest.used <= STALE_MS:
                return
            self._close(oldest.id)
        while session.id == NO_SESSION or session.id in self._sessions:
            session.id = self._random.randrange(1, 2**31)
        self._sessions[session.id] = session

    def _close(self, number: int) -> None:
        session = self._sessions.pop(number, None)
        if session is not None:
            session.end()

    def __len__(self) -> int:
        return len(self._sessions)
