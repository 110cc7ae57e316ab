"""The answer to Fetch: small headers with large records between them, which stay in their files.

    | header, topic, partition, high watermark ... size | records | partition, ... size | records |
      bytes, encoded here                                 a Slice   bytes                 a Slice

The classes are those of the protocol, less the versions: a field that a version lacks is left
out. They exist because kio's want the records as bytes, and `loop.sendfile` wants them not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from kio.schema.fetch.v12.response import AbortedTransaction, EpochEndOffset

from engine.errors import ErrorCode
from engine.wire.codec import encode_pieces
from engine.wire.errors import RequestHeader
from engine.wire.primitives import Slice

__all__ = ["AbortedTransaction", "EpochEndOffset", "Partition", "Response", "Topic", "encode"]


@dataclass(slots=True)
class Partition:
    """What one partition has to give."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.none
    high_watermark: int = -1  # -1 goes with an error
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[AbortedTransaction] | None = None
    preferred_read_replica: int = -1
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset)
    records: Slice | bytes | None = b""


@dataclass(slots=True)
class Topic:
    topic: str
    partitions: Sequence[Partition]


@dataclass(slots=True)
class Response:
    responses: Sequence[Topic]
    error_code: ErrorCode = ErrorCode.none  # of the fetch session as a whole
    session_id: int = 0
    throttle_time: timedelta = timedelta()


def encode(header: RequestHeader, response: Response) -> list[bytes | Slice]:
    """The pieces of the frame, in the order in which they are to be sent."""
    return encode_pieces(header, response)
