"""Shared by the handlers: waiting for replication, results for a response, and turns.

An administrative request names many topics or resources. Each of them succeeds or fails on its own,
so each is attempted on its own, and its error is a part of the response.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, TypeVar

from engine.broker.purgatory import Purgatory
from engine.errors import ApiException, ErrorCode, MetadataError
from engine.metadata.gateway import ControllerGateway
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager

T = TypeVar("T")

TURN_S = 0.001  # for so long the rows of one request are served before other requests

log = logging.getLogger(__name__)


class Turns:
    """Before each row of a request: `await turns.next()`. Once a turn is over, it lets the loop
    serve other requests. A request that takes less time than a turn never waits."""

    def __init__(self, every: int = 1) -> None:
        self._every = every  # so many rows there is a look at the clock
        self._rows = 0
        self._ends = 0.0  # the loop's time; 0: no turn has begun

    async def next(self) -> None:
        self._rows += 1
        if self._rows % self._every:
            return
        loop = asyncio.get_running_loop()
        if self._ends and loop.time() < self._ends:
            return
        if self._ends:
            await asyncio.sleep(0)
        self._ends = loop.time() + TURN_S


async def attempt(work: Awaitable[T]) -> T | ApiException:
    """The result of one part of a request.

    If the metadata store does not answer, it is not known whether a write was done.
    REQUEST_TIMED_OUT means the same, and clients try again.
    """
    try:
        return await work
    except ApiException as error:
        failure = error
    except MetadataError as error:
        failure = ApiException(ErrorCode.request_timed_out, str(error))
    log.info("refused with %s: %s", failure.code.name, failure.message)
    return failure


async def attempt_each(
    gateway: ControllerGateway, works: Iterable[Awaitable[T]]
) -> list[T | ApiException]:
    """The results of all parts of a request, at once if the gateway decides them in order."""
    if gateway.decides_in_order:
        return await asyncio.gather(*map(attempt, works))
    return [await attempt(work) for work in works]


def code_of(outcome: object) -> ErrorCode:
    return outcome.code if isinstance(outcome, ApiException) else ErrorCode.none


def codes_in(response: object) -> set[ErrorCode]:
    """The errors of a response, also of its parts."""
    return {ErrorCode(code) for code in _codes(response)} - {ErrorCode.none}


def _codes(what: Any) -> Iterator[int]:
    if is_dataclass(what):
        for field in fields(what):
            value = getattr(what, field.name)
            if field.name.endswith("error_code"):
                yield value
            for each in value if isinstance(value, tuple) else ():
                yield from _codes(each)


def message_of(outcome: object) -> str | None:
    return outcome.message if isinstance(outcome, ApiException) else None


def error_fields(outcome: object) -> dict[str, Any]:
    """The two fields of a row with the error of what was attempted, if it has failed."""
    return {"error_code": code_of(outcome), "error_message": message_of(outcome)}


def deadline(timeout: timedelta) -> float:
    """When the time-out of a request ends, in the loop's time."""
    return asyncio.get_running_loop().time() + timeout.total_seconds()


async def replicated(
    purgatory: Purgatory,
    replicas: ReplicaManager,
    partition: TopicPartition,
    last_offset: int,
    leader_since: int,
    until: float,
) -> None:
    """Wait until all in-sync replicas have an offset: for acks=all, and for transaction markers.

    Raises an ApiException if another broker has become leader, or if the time is over.
    """
    while not replicas.is_committed(partition, last_offset, leader_since):
        if not await purgatory.wait(partition, until):
            raise ApiException(ErrorCode.request_timed_out, f"{partition} was not replicated")
