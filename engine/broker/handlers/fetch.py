"""Fetch (API 1), versions 4 to 12: read batches from an offset on.

The answer holds slices of log files, which the server sends without reading them. A reader that
is at the end waits: until `min_bytes` are there for it, or `max_wait` has passed (long polling).

    max_bytes            of the whole answer; the first batch is sent even if it is larger,
    partition_max_bytes  of one partition;    or a reader would be stuck before it
    replica_id           a follower copies all there is; a consumer (-1) sees what is committed,
    isolation_level      1 (read committed) up to the last stable offset, and with a list of the
                         aborted transactions in what is sent: the reader passes over them
    rack_id              from version 11 on a follower, too, may be read: the one in this rack

A high watermark that has moved does not end a follower's wait: it goes along with the next records,
or when the wait is over, as in Kafka 2.8.

Incremental fetch sessions: see sessions.py.
"""

import asyncio
from itertools import chain
from typing import Any

from engine.broker.broker import Broker, Call
from engine.broker.sessions import NO_SESSION, Session
from engine.errors import KafkaError
from engine.model import TopicPartition
from engine.replication.reading import NO_REPLICA, READ_COMMITTED, Read, Wanted
from engine.wire.fetch import AbortedTransaction, EpochEndOffset, Partition, Response, Topic

FOLLOWERS_SINCE = 11  # the version from which a consumer may read from a follower

Outcome = Read | KafkaError


async def handle(broker: Broker, call: Call, request: Any) -> Response:
    try:
        session = broker.sessions.begin(request, broker.replicas, broker.now())
    except KafkaError as error:
        return Response([], call.refused("a session", error).code, NO_SESSION)
    reading = Reading(broker, call, session, request)
    until = asyncio.get_running_loop().time() + request.max_wait.total_seconds()
    try:
        reading.look()
        while not reading.is_enough and await session.news(until):
            reading.look()
        return reading.response()
    finally:
        if session.id == NO_SESSION:
            session.end()


class Reading:
    """One request: what was found for it so far."""

    def __init__(self, broker: Broker, call: Call, session: Session, request: Any) -> None:
        self._broker = broker
        self._call = call
        self._session = session
        self._request = request
        self._left = min(request.max_bytes, broker.config.fetch_max_bytes)
        self._outcomes: dict[TopicPartition, Outcome] = {}
        self._size = 0
        self._looks = 0
        self._urgent = False  # there is something to say that cannot wait

    @property
    def is_enough(self) -> bool:
        nothing_to_wait_for = not self._session.partitions
        return nothing_to_wait_for or self._urgent or self._size >= self._request.min_bytes

    @property
    def _is_committed(self) -> bool:
        """A follower copies everything, whatever it says of isolation."""
        request = self._request
        return bool(request.replica_id < 0 and request.isolation_level == READ_COMMITTED)

    def look(self) -> None:
        """Read what is due, again if it was read before."""
        session = self._session
        due, session.due = session.due, {}
        self._looks += 1
        for partition in due:
            wanted, before = session.partitions.get(partition), self._outcomes.pop(partition, None)
            if isinstance(before, Read):
                self._take(-before.records.size)
            if wanted is None:
                continue
            try:
                outcome: Outcome = self._read(partition, wanted)
            except KafkaError as error:
                outcome = self._call.refused(partition, error)
            self._outcomes[partition] = outcome
            if isinstance(outcome, Read):
                self._take(outcome.records.size)
                self._urgent |= outcome.sealed or _points_elsewhere(outcome)
            else:
                self._urgent = True

    def _take(self, size: int) -> None:
        self._size += size
        self._left -= size

    def _read(self, partition: TopicPartition, wanted: Wanted) -> Read:
        replicas, request = self._broker.replicas, self._request
        max_bytes, nothing_yet = min(wanted.max_bytes, max(self._left, 0)), not self._size
        if request.replica_id >= 0:
            return replicas.read_for_follower(
                partition,
                request.replica_id,
                wanted,
                max_bytes,
                at_least_one=nothing_yet,
                reader=self._session if self._session.id != NO_SESSION else None,
                again=self._looks > 1,
            )
        racks = self._broker.metadata.brokers if request.rack_id else {}
        return replicas.read(
            partition,
            wanted,
            max_bytes,
            at_least_one=nothing_yet,
            committed=self._is_committed,
            leads=self._call.version < FOLLOWERS_SINCE,
            rack=request.rack_id,
            racks={number: node.rack for number, node in racks.items()},
        )

    def response(self) -> Response:
        session, topics = self._session, dict[str, list[Partition]]()
        first: list[TopicPartition] = []  # to be looked at by the next request, if nothing changes
        last: list[TopicPartition] = []
        for partition, outcome in self._outcomes.items():
            if isinstance(outcome, KafkaError):
                session.told.pop(partition, None)
                first.append(partition)
            else:
                news = session.is_news(partition, outcome.high_watermark, outcome.log_start)
                if outcome.records.size:
                    last.append(partition)
                    if session.replica_id >= 0:
                        self._broker.replicas.note_sent(partition, outcome.records.size)
                elif not outcome.at_end:
                    first.append(partition)
                if not (outcome.records.size or news or _points_elsewhere(outcome)):
                    continue
            answer = _answer(partition.partition, outcome, committed=self._is_committed)
            topics.setdefault(partition.topic, []).append(answer)
        session.due = dict.fromkeys(chain(first, session.due, last))
        rows = [Topic(topic, answers) for topic, answers in topics.items()]
        return Response(rows, session_id=session.id)


def _points_elsewhere(read: Read) -> bool:
    return read.preferred != NO_REPLICA or read.diverging is not None


def _answer(number: int, outcome: Outcome, *, committed: bool) -> Partition:
    if isinstance(outcome, KafkaError):
        return Partition(number, outcome.code)
    answer = Partition(
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
