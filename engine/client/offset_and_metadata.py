"""An offset to commit, from the application's call to the rows of a request.

TopicPartition("orders", 0, offset=17)  ->  OffsetAndMetadata(17)  ->  OffsetCommit, TxnOffsetCommit
                                            OffsetAndMetadata(17)  <-  OffsetFetch
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

from kio.schema.offset_commit.v8 import request as commit_v8
from kio.schema.offset_fetch.v7 import request as fetch_v7

from engine.client import values
from engine.client.values import ConsumerGroupMetadata
from engine.model import TopicPartition
from engine.wire.by_topic import numbered, topics_of
from engine.wire.names import named

OffsetCommitRequest: Any = named(commit_v8.OffsetCommitRequest)


class OffsetAndMetadata(NamedTuple):
    offset: int  # of the next record to read; -1 if nothing was committed
    epoch: int = -1  # the leader epoch of the record before that one
    metadata: str = ""

    @classmethod
    def of(cls, row: Any) -> Self:
        """A row of a response to OffsetFetch."""
        return cls(row.committed_offset, row.committed_leader_epoch, row.metadata or "")


Offsets = Mapping[TopicPartition, OffsetAndMetadata]


def offsets_of(partitions: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets to commit, without the partitions that have none because nothing was read."""
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    found = {}
    for each in partitions:
        if not isinstance(each, values.TopicPartition):
            raise TypeError(f"expected TopicPartition, not {type(each).__name__}")
        if each.offset >= 0:
            epoch = -1 if each.leader_epoch is None else each.leader_epoch
            committed = OffsetAndMetadata(each.offset, epoch, each.metadata or "")
            found[TopicPartition(each.topic, each.partition)] = committed
    return found


def topic_rows(
    topic_row: Callable[..., Any], partition_row: Callable[..., Any], offsets: Offsets
) -> tuple[Any, ...]:
    """The rows of a request, by topic."""
    rows = (
        (
            partition,
            partition_row(
                partition_index=partition.partition,
                committed_offset=it.offset,
                committed_leader_epoch=it.epoch,
                committed_metadata=it.metadata,
            ),
        )
        for partition, it in sorted(offsets.items())
    )
    return topics_of(topic_row, rows)


def commit_request(identity: ConsumerGroupMetadata, offsets: Offsets) -> Any:
    """By a member; or by a client that is no member, if the identity has only the group."""
    return OffsetCommitRequest(
        group_id=identity.group_id,
        generation_id=identity.generation_id,
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        topics=topic_rows(
            commit_v8.OffsetCommitRequestTopic, commit_v8.OffsetCommitRequestPartition, offsets
        ),
    )


def fetch_request(group: str, partitions: Iterable[TopicPartition] | None, stable: bool) -> Any:
    """The offsets that a group has committed, for these partitions or for all. `stable`: an error
    for a partition whose offset an open transaction may still commit."""
    topics = None
    if partitions is not None:
        topics = numbered(fetch_v7.OffsetFetchRequestTopic, partitions)
    return fetch_v7.OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)
