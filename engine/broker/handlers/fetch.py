"""Fetch (API 1), versions 4 to 12: read batches from an offset on.

The answer holds slices of log files, which the server sends without reading them. A reader that
is at the end waits: until `min_bytes` are there for it, or `max_wait` has passed (long polling).

    max_bytes            of the whole answer; the first batch is sent even if it is larger,
    partition_max_bytes  of one partition;    or a reader would be stuck before it
    isolation_level      1 (read committed) ends at the last stable offset

Incremental fetch sessions: see sessions.py. Left out: reads by followers, from followers, and the
list of aborted transactions, which come with replication and with transactions.
"""

import asyncio
from typing import Any

from engine.broker.broker import Broker, Call
from engine.broker.replicas import READ_COMMITTED, Read
from engine.broker.sessions import NO_SESSION, Session
from engine.errors import KafkaError
from engine.model import TopicPartition
from engine.wire.fetch import Partition, Response, Topic

Outcome = Read | KafkaError


async def handle(broker: Broker, call: Call, request: Any) -> Response:
    try:
        session = broker.sessions.begin(request, broker.now())
    except KafkaError as error:
        return Response([], call.refused("a session", error).code, NO_SESSION)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    committed = request.isolation_level == READ_COMMITTED
    until = asyncio.get_running_loop().time() + request.max_wait.total_seconds()
    while True:
        outcomes = _read(broker, call, session, max_bytes, committed)
        if _is_enough(session, outcomes, request.min_bytes):
            break
        if not await broker.purgatory.wait(session.partitions, until):
            outcomes = _read(broker, call, session, max_bytes, committed)
            break
    return _response(session, outcomes)


def _read(
    broker: Broker, call: Call, session: Session, max_bytes: int, committed: bool
) -> dict[TopicPartition, Outcome]:
    outcomes: dict[TopicPartition, Outcome] = {}
    left, nothing_yet = max_bytes, True
    for partition, wanted in session.partitions.items():
        try:
            outcome = broker.replicas.read(
                partition,
                wanted.offset,
                min(wanted.max_bytes, max(left, 0)),
                wanted.leader_epoch,
                at_least_one=nothing_yet,
                committed=committed,
            )
            left -= outcome.records.size
            nothing_yet = nothing_yet and not outcome.records.size
            outcomes[partition] = outcome
        except KafkaError as error:
            outcomes[partition] = call.refused(partition, error)
    return outcomes


def _is_enough(session: Session, outcomes: dict[TopicPartition, Outcome], min_bytes: int) -> bool:
    """Whether to answer now: enough bytes, an error to tell, or nothing to wait for."""
    if not outcomes:
        return True
    if any(isinstance(outcome, KafkaError) or outcome.sealed for outcome in outcomes.values()):
        return True
    return _size(outcomes) >= min_bytes


def _size(outcomes: dict[TopicPartition, Outcome]) -> int:
    return sum(outcome.records.size for outcome in outcomes.values() if isinstance(outcome, Read))


def _response(session: Session, outcomes: dict[TopicPartition, Outcome]) -> Response:
    topics: dict[str, list[Partition]] = {}
    for partition, outcome in outcomes.items():
        if isinstance(outcome, KafkaError):
            session.told.pop(partition, None)
        else:
            news = session.is_news(partition, outcome.high_watermark, outcome.log_start)
            if outcome.records.size:
                session.served(partition)
            elif not news:
                continue
        topics.setdefault(partition.topic, []).append(_answer(partition.partition, outcome))
    rows = [Topic(topic, answers) for topic, answers in topics.items()]
    return Response(rows, session_id=session.id)


def _answer(number: int, outcome: Outcome) -> Partition:
    if isinstance(outcome, KafkaError):
        return Partition(number, outcome.code)
    return Partition(
        number,
        high_watermark=outcome.high_watermark,
        last_stable_offset=outcome.last_stable,
        log_start_offset=outcome.log_start,
        records=outcome.records,
    )
