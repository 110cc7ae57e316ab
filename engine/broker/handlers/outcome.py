"""The parts of an administrative request succeed or fail each for itself.

A request names many topics or resources; that one of them cannot be had is told beside the
others' success. So each part is attempted, and its failure becomes a part of the answer.
"""

import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

from kazoo.exceptions import KazooException

from engine.errors import ErrorCode, KafkaError

T = TypeVar("T")

log = logging.getLogger(__name__)

NO_THROTTLE = timedelta()  # no client is ever slowed down: there are no quotas


async def attempt(work: Awaitable[T]) -> T | KafkaError:
    """What came of a part of a request.

    While ZooKeeper is out of reach nobody knows whether a write was done: REQUEST_TIMED_OUT
    says just that, and clients ask again.
    """
    try:
        return await work
    except KafkaError as error:
        failure = error
    except KazooException as error:
        failure = KafkaError(
            ErrorCode.request_timed_out, f"ZooKeeper did not answer: {type(error).__name__}"
        )
    log.info("refused with %s: %s", failure.code.name, failure.message)
    return failure


def code_of(outcome: object) -> ErrorCode:
    return outcome.code if isinstance(outcome, KafkaError) else ErrorCode.none


def message_of(outcome: object) -> str | None:
    return outcome.message if isinstance(outcome, KafkaError) else None


def deadline(timeout: timedelta) -> float:
    """When a request's patience ends, in the loop's time."""
    return asyncio.get_running_loop().time() + timeout.total_seconds()
