"""Fetch (API 1), versions 0 to 13: read batches from an offset on.

The response holds slices of log files, which the server sends without reading them. A reader at
the end of the log waits until there are `min_bytes`, or until `max_wait` is over (long polling).

    max_bytes            of the whole response; the first batch is sent even if it is larger,
    partition_max_bytes  of one partition;      or a reader could never pass it
    replica_id           a follower reads to the log end; a consumer (-1) to the high watermark,
    isolation_level      1 (read committed): to the last stable offset, with a list of the aborted
                         transactions, whose records the reader skips
    rack_id              from version 11 on a consumer may read from a follower in its own rack
    topic_id             from version 13 on, in place of the topic's name (without ZooKeeper only):
                         UNKNOWN_TOPIC_ID if the metadata does not have it, or has another one for
                         the name now; INCONSISTENT_TOPIC_ID if the log here has another one

A new high watermark alone does not end a follower's wait: it is sent with the next records, or when
the wait is over, as in Kafka 2.8.

Incremental fetch sessions: see fetch_sessions.py. Versions 0 to 3: see old_versions.py.
"""

from itertools import chain
from typing import Any

from engine.broker.authorization import AuthHelper
from engine.broker.call import Call
from engine.broker.fetch_sessions import NO_SESSION, FetchSession, FetchSessions
from engine.broker.handlers.results import deadline
from engine.broker.metadata import Metadata
from engine.errors import ApiException, ErrorCode
from engine.model import NO_RACKS, TopicPartition
from engine.replication.log_read import NO_REPLICA, READ_COMMITTED, FetchRange, LogReadResult
from engine.replication.replica_manager import ReplicaManager
from engine.wire.by_topic import by_topic
from engine.wire.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchAnswer,
    FetchedPartition,
    FetchedTopic,
)
from engine.wire.topic_ids import TOPIC_IDS_SINCE

FOLLOWERS_SINCE = 11  # the version from which a consumer may read from a follower

Outcome = LogReadResult | ApiException


async def handle(
    replicas: ReplicaManager,
    sessions: FetchSessions,
    metadata: Metadata,
    auth: AuthHelper,
    call: Call,
    request: Any,
) -> FetchAnswer:
    try:
        by_id = call.version >= TOPIC_IDS_SINCE
        trusted = auth.may_follow(call, request.replica_id)
        session = sessions.begin(request, replicas, replicas.now(), by_id=by_id, trusted=trusted)
        if by_id:
            session.resolve(metadata.topic_names)
    except ApiException as error:
        return FetchAnswer([], call.refused("a session", error).code, NO_SESSION)
    reading = Reading(replicas, metadata, auth, call, session, request)
    until = deadline(request.max_wait)
    try:
        reading.read_due()
        while not reading.is_enough and await session.news(until):
            reading.read_due()
        return reading.response()
    finally:
        if session.id == NO_SESSION:
            session.end()


class Reading:
    """One request, and the records that were read for it so far."""

    def __init__(
        self,
        replicas: ReplicaManager,
        metadata: Metadata,
        auth: AuthHelper,
        call: Call,
        session: FetchSession,
        request: Any,
    ) -> None:
        self._replicas, self._metadata, self._auth = replicas, metadata, auth
        self._call, self._session, self._request = call, session, request
        self._left = min(request.max_bytes, replicas.config.fetch_max_bytes)
        self._enough = min(request.min_bytes, self._left)  # more would never come
        self._outcomes: dict[TopicPartition, Outcome] = {}
        self._size = self._rounds = 0
        self._urgent = False  # the response is sent at once

    @property
    def is_enough(self) -> bool:
        """Whether to answer now; also if there is nothing to wait for."""
        return self._urgent or self._size >= self._enough or not self._session.partitions

    @property
    def _is_committed(self) -> bool:
        """Whether to read up to the last stable offset alone. A follower copies everything."""
        request = self._request
        return bool(request.replica_id < 0 and request.isolation_level == READ_COMMITTED)

    def read_due(self) -> None:
        """Read the partitions that are due, again if they were read before."""
        session = self._session
        due, session.due = session.due, {}
        self._rounds += 1
        for partition in due:
            wanted, before = session.partitions.get(partition), self._outcomes.pop(partition, None)
            if isinstance(before, LogReadResult):
                self._take(-before.records.size)
            if wanted is None:
                continue
            try:
                outcome: Outcome = self._read(partition, wanted)
            except ApiException as error:
                outcome = self._call.refused(partition, error)
            self._outcomes[partition] = outcome
            if isinstance(outcome, LogReadResult):
                self._take(outcome.records.size)
                self._urgent |= outcome.sealed or _points_elsewhere(outcome)
            else:
                self._urgent = True

    def _take(self, size: int) -> None:
        self._size += size
        self._left -= size

    def _read(self, partition: TopicPartition, wanted: FetchRange) -> LogReadResult:
        replicas, request = self._replicas, self._request
        if self._session.by_id:
            self._check_topic_id(partition)
        self._auth.check_fetch(self._call, request.replica_id, partition)
        max_bytes, nothing_yet = min(wanted.max_bytes, max(self._left, 0)), not self._size
        if request.replica_id >= 0:
            return replicas.read_for_follower(
                partition,
                request.replica_id,
                wanted,
                max_bytes,
                at_least_one=nothing_yet,
                reader=self._session if self._session.id != NO_SESSION else None,
                again=self._rounds > 1,
            )
        return replicas.read(
            partition,
            wanted,
            max_bytes,
            at_least_one=nothing_yet,
            committed=self._is_committed,
            leads=self._call.version < FOLLOWERS_SINCE,
            rack=request.rack_id,
            racks=self._metadata.racks if request.rack_id else NO_RACKS,
        )

    def _check_topic_id(self, partition: TopicPartition) -> None:
        wanted, topic = self._session.topic_ids[partition.topic], partition.topic
        known = self._metadata.topics.get(topic)
        if known is None or known.id != wanted:
            raise ApiException(ErrorCode.unknown_topic_id, f"there is no topic with id {wanted}")
        log = self._replicas.logs.find(partition)
        if log is not None and log.topic_id not in (wanted, None):
            raise ApiException(
                ErrorCode.inconsistent_topic_id,
                f"the log of {partition} here is of the topic with id {log.topic_id}, not {wanted}",
            )

    def response(self) -> FetchAnswer:
        session, rows = self._session, list[tuple[TopicPartition, FetchedPartition]]()
        first: list[TopicPartition] = []  # to be read by the next request
        last: list[TopicPartition] = []
        for partition, outcome in self._outcomes.items():
            if isinstance(outcome, ApiException):
                session.sent.pop(partition, None)
                first.append(partition)
            else:
                news = session.is_news(partition, outcome.high_watermark, outcome.log_start)
                if outcome.records.size:
                    last.append(partition)
                    if session.replica_id >= 0:
                        self._replicas.note_sent(partition, outcome.records.size)
                elif not outcome.at_end:
                    first.append(partition)
                if not (outcome.records.size or news or _points_elsewhere(outcome)):
                    continue
            answer = _answer(partition.partition, outcome, committed=self._is_committed)
            rows.append((partition, answer))
        session.due = dict.fromkeys(chain(first, session.due, last))
        ids = session.topic_ids
        topics = [FetchedTopic(*each, ids.get(each[0])) for each in by_topic(rows)]
        return FetchAnswer(topics, session_id=session.id)


def _points_elsewhere(read: LogReadResult) -> bool:
    return read.preferred != NO_REPLICA or read.diverging is not None


def _answer(number: int, outcome: Outcome, *, committed: bool) -> FetchedPartition:
    if isinstance(outcome, ApiException):
        return FetchedPartition(number, outcome.code)
    answer = FetchedPartition(
        number,
        high_watermark=outcome.high_watermark,
        last_stable_offset=outcome.last_stable,
        log_start_offset=outcome.log_start,
        preferred_read_replica=outcome.preferred,
        records=outcome.records,
    )
    if committed:
        answer.aborted_transactions = [
            AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
            for each in outcome.aborted
        ]
    if outcome.diverging is not None:
        epoch, end = outcome.diverging
        answer.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
    return answer
