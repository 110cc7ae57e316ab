"""Incremental fetch sessions (KIP-227): a request names only the partitions that changed.

    client                                         broker
    Fetch session 0, epoch 0, all partitions   ->  opens session 77, answers everything
    Fetch session 77, epoch 1, changes only    ->  answers only the partitions that changed
    Fetch session 77, epoch 2, ...
    Fetch session 77, epoch -1                 ->  closes it

Without a session (epoch -1, or when the cache is full) every request names all partitions. A
session whose last partition is forgotten is closed.

A session is notified of changes to its partitions, also between two requests. So a fetch reads only
the partitions that are `due`, and a thousand idle ones cost nothing.

Invariant: a partition is due if its reader asked for another offset, if it has changed, or if there
was more to read than was sent. The others have nothing new.
Invariant: the epoch counts the requests of a session, so a lost or repeated request is noticed.
Invariant: all requests of a session have names of topics (before version 13), or all have ids.
A session with ids keeps the id that its reader gave for each name: if the topic is made anew, its
reader is told. A topic whose id is not known is looked up again by each request.

Partitions that got data go to the end of the queue, so that a busy one does not starve the others.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from engine.broker.purgatory import settle, waiting
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.replication.log_read import FetchRange
from engine.replication.replica_manager import ReplicaManager
from engine.wire.fetch import FetchAnswer
from engine.wire.topic_ids import UNKNOWN

NO_SESSION = 0
INITIAL, FINAL = 0, -1  # epochs that make a request a full one
STALE_MS = 120_000  # a session unused for so long may be replaced by a new one
MAX_EPOCH = 2**31 - 1


@dataclass(slots=True, eq=False)
class FetchSession:
    id: int
    replicas: ReplicaManager
    replica_id: int  # of the follower that reads; below 0: a consumer
    used: int  # when it last sent a request
    epoch: int = INITIAL + 1  # of the next request
    partitions: dict[TopicPartition, FetchRange] = field(default_factory=dict)
    due: dict[TopicPartition, None] = field(default_factory=dict)  # to be read, in this order
    sent: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # (HW, log start)
    full: bool = True  # the response names every partition
    by_id: bool = False  # its requests have ids of topics
    topic_ids: dict[str, UUID] = field(default_factory=dict)  # which the reader gave, by the name
    _names: dict[UUID | None, str] = field(default_factory=dict)  # the same, by the id
    _unknown: set[str] = field(default_factory=set)  # names of topics whose ids are not known here
    _counts: Counter[str] = field(default_factory=Counter)  # of the partitions, by topic
    _waiters: "dict[asyncio.Future[bool], None]" = field(default_factory=dict)

    def update(self, request: Any) -> None:
        """What a request names twice is forgotten, as by Kafka."""
        for topic in request.topics if self.by_id else ():
            if topic.partitions:
                self._names.pop(self.topic_ids.get(topic.topic), None)
                self.topic_ids[topic.topic] = topic.topic_id
                self._names[topic.topic_id] = topic.topic
                if topic.topic.startswith(UNKNOWN):
                    self._unknown.add(topic.topic)
        for partition, wanted in wanted_by(request).items():
            self._want(partition, wanted)
        for topic in request.forgotten_topics_data:
            name = self._names.get(topic.topic_id) if self.by_id else topic.topic
            if name is not None:
                for number in topic.partitions:
                    self._forget(TopicPartition(name, number))
        self._wake()  # another request of this session may be waiting

    def _want(self, partition: TopicPartition, wanted: FetchRange) -> None:
        if partition not in self.partitions:
            self.replicas.watch(partition, self)
            self._counts[partition.topic] += 1
        self.partitions[partition] = wanted
        self.due[partition] = None

    def _forget(self, partition: TopicPartition) -> None:
        if partition not in self.partitions:
            return
        self._counts[partition.topic] -= 1
        if not self._counts[partition.topic]:
            del self._counts[partition.topic]
            self._names.pop(self.topic_ids.pop(partition.topic, None), None)
            self._unknown.discard(partition.topic)
        for known in (self.partitions, self.due, self.sent):
            known.pop(partition, None)
        self.replicas.unwatch(partition, self)

    def resolve(self, names: Mapping[UUID, str]) -> None:
        """Look up the topics again whose ids were not known."""
        for unknown in [*self._unknown]:
            id = self.topic_ids[unknown]
            if (name := names.get(id)) is not None:
                for partition in [it for it in self.partitions if it.topic == unknown]:
                    wanted = self.partitions[partition]
                    self._forget(partition)
                    self._want(TopicPartition(name, partition.partition), wanted)
                self.topic_ids[name], self._names[id] = id, name

    def changed(self, partition: TopicPartition) -> None:
        self.due[partition] = None
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            settle(waiter, True)

    async def news(self, until: float) -> bool:
        """Wait until something is due; False once the loop's time is `until`."""
        if self.due or asyncio.get_running_loop().time() >= until:
            return bool(self.due)
        with waiting(until) as waiter:
            self._waiters[waiter] = None
            try:
                return await waiter
            finally:
                del self._waiters[waiter]

    def is_news(self, partition: TopicPartition, high_watermark: int, log_start: int) -> bool:
        """Whether a response without records has something new. It is recorded as sent."""
        facts = (high_watermark, log_start)
        known, self.sent[partition] = self.sent.get(partition), facts
        return self.full or known != facts

    def end(self) -> None:
        for partition in self.partitions:
            self.replicas.unwatch(partition, self)


def wanted_by(request: Any) -> dict[TopicPartition, FetchRange]:
    """The partitions of a Fetch request. If one is named twice, the last counts."""
    return {
        TopicPartition(topic.topic, each.partition): FetchRange(
            each.fetch_offset,
            each.partition_max_bytes,
            each.current_leader_epoch,
            each.log_start_offset,
            each.last_fetched_epoch,
        )
        for topic in request.topics
        for each in topic.partitions
    }


class FetchSessions:
    """The sessions of one broker: `max.incremental.fetch.session.cache.slots` at most."""

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first

    def begin(
        self,
        request: Any,
        replicas: ReplicaManager,
        now: int,
        *,
        by_id: bool = False,
        trusted: bool = True,
    ) -> FetchSession:
        """The session that a request belongs to, updated by the request. Not `trusted`: the client
        may not be a follower, as it says, so it opens and closes no session, and has none."""
        if request.session_epoch in (INITIAL, FINAL):
            session = FetchSession(NO_SESSION, replicas, request.replica_id, now, by_id=by_id)
            if trusted:
                self._close(request.session_id)
                if request.session_epoch == INITIAL:
                    self._keep(session)
            session.update(request)
            return session
        found = self._sessions.pop(request.session_id, None) if trusted else None
        if found is None:
            raise ApiException(
                ErrorCode.fetch_session_id_not_found, f"no fetch session {request.session_id}"
            )
        self._sessions[found.id] = found  # now the most recently used
        if found.epoch != request.session_epoch:
            raise ApiException(
                ErrorCode.invalid_fetch_session_epoch,
                f"fetch session {found.id} expects epoch {found.epoch}, "
                f"not {request.session_epoch}",
            )
        if found.by_id is not by_id:
            raise ApiException(
                ErrorCode.fetch_session_topic_id_error,
                f"fetch session {found.id} has {'ids' if found.by_id else 'names'} of topics",
            )
        found.update(request)
        if not found.partitions:
            self._close(found.id)
            return FetchSession(NO_SESSION, replicas, request.replica_id, now, by_id=by_id)
        found.used, found.full = now, False
        found.epoch = found.epoch % MAX_EPOCH + 1
        return found

    def _keep(self, session: FetchSession) -> None:
        """Give it an id, if there is a free slot, or one that it may take from another. A follower
        has one session."""
        if session.replica_id >= 0:
            for each in list(self._sessions.values()):
                if each.replica_id == session.replica_id:
                    self._close(each.id)
        if len(self._sessions) >= self._slots:
            given_up = self._given_up_for(session)
            if given_up is None:
                return
            self._close(given_up.id)
        while session.id == NO_SESSION or session.id in self._sessions:
            session.id = self._random.randrange(1, 2**31)
        self._sessions[session.id] = session

    def _given_up_for(self, session: FetchSession) -> FetchSession | None:
        """One that is not used any more; for a follower that of any consumer, the oldest."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is not None and session.used - oldest.used > STALE_MS:
            return oldest
        consumers = (each for each in self._sessions.values() if each.replica_id < 0)
        return next(consumers, None) if session.replica_id >= 0 else None

    def _close(self, number: int) -> None:
        session = self._sessions.pop(number, None)
        if session is not None:
            session.end()

    def withhold(self, answer: FetchAnswer) -> FetchAnswer:
        """An empty answer in place of one that is not sent, because its client is throttled. What
        was in it is due again. A session that has just been opened is closed: its first answer has
        to name every partition."""
        session = self._sessions.get(answer.session_id)
        if session is None or session.full:
            self._close(answer.session_id)
            return FetchAnswer([], answer.error_code)
        for topic in answer.responses:
            for each in topic.partitions:
                partition = TopicPartition(topic.topic, each.partition_index)
                session.sent.pop(partition, None)
                session.due[partition] = None
        return FetchAnswer([], answer.error_code, session.id)

    def __len__(self) -> int:
        return len(self._sessions)
