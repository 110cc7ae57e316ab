"""The response to Fetch: small headers, and between them slices of log files.

    | header, topic, partition, high watermark ... size | records | partition, ... size | records |
      bytes, encoded here                                 a Slice   bytes                 a Slice

From version 13 on a request has the ids of topics in place of their names. The engine works with
names, so `with_names` looks them up, once a topic. A topic that is not known gets a name that no
topic can have: "?" and the id. So its partitions are refused one by one.

The classes are those of the protocol, for all versions: a field that a version lacks is not
written. kio's classes would need the records as bytes, and `loop.sendfile` needs them in a file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
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
    "TopicToFetch",
    "with_names",
]

UNKNOWN = "?"


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


@dataclass(slots=True)
class TopicToFetch:
    """A topic of a request, or one that a request forgets: for versions with its name and others
    with its id."""

    topic: str
    topic_id: UUID | None
    partitions: Sequence[Any]


def with_names(request: Any, names: Mapping[UUID, str]) -> Any:
    """A request of version 13 or later, with the names of its topics."""

    def named(topic: Any) -> TopicToFetch:
        name = names.get(topic.topic_id) or f"{UNKNOWN}{topic.topic_id}"
        return TopicToFetch(name, topic.topic_id, topic.partitions)

    return replace(
        request,
        topics=tuple(map(named, request.topics)),
        forgotten_topics_data=tuple(map(named, request.forgotten_topics_data)),
    )
