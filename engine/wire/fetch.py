"""The response to Fetch: small headers, and between them slices of log files.

    | header, topic, partition, high watermark ... size | records | partition, ... size | records |
      bytes, encoded here                                 a Slice   bytes                 a Slice

The classes are those of the protocol, for all versions: a field that a version lacks is not
written. kio's classes would need the records as bytes, and `loop.sendfile` needs them in a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from kio.schema.fetch.v12.response import AbortedTransaction, EpochEndOffset

from engine.errors import ErrorCode
from engine.wire.primitives import SizedSlice

__all__ = [
    "AbortedTransaction",
    "EpochEndOffset",
    "FetchAnswer",
    "FetchedPartition",
    "FetchedTopic",
]


@dataclass(slots=True)
class FetchedPartition:
    """The response for one partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.none
    high_watermark: int = -1  # -1 goes with an error
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[AbortedTransaction] | None = None
    preferred_read_replica: int = -1
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset)
    records: SizedSlice | bytes | None = b""


@dataclass(slots=True)
class FetchedTopic:
    topic: str
    partitions: Sequence[FetchedPartition]
    topic_id: UUID | None = None


@dataclass(slots=True)
class FetchAnswer:
    responses: Sequence[FetchedTopic]
    error_code: ErrorCode = ErrorCode.none  # of the fetch session as a whole
    session_id: int = 0
    throttle_time: timedelta = timedelta()
