"""OffsetCommit (API 8), OffsetFetch (9), OffsetDelete (47) and TxnOffsetCommit (28), in all
versions that are served.

A commit is answered when the in-sync replicas have it; see offsets.py. A client that is no member
may commit too, with generation -1, as long as the group has no members. Fetching needs no
membership.

A producer that reads from one topic and writes to another commits the offsets it has read in its
transaction: records and offsets count together, or neither does. The log checks the producer's
epoch. Since version 3 (KIP-447) the producer also names the consumer that it commits for, and
gets an error if the group has replaced that consumer. Such a commit does not count as a heartbeat.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kio.schema.offset_delete.v0 import response as delete_v0
from kio.schema.offset_fetch.v7 import response as fetch_v7

from engine.coordinator.effects import UNAVAILABLE, Caller, TransactionalProducer
from engine.coordinator.group import ClassicGroupState, Group
from engine.coordinator.group_metadata_manager import GroupMetadataManager
from engine.coordinator.members import CONSUMER
from engine.coordinator.offsets import GroupOffsets, commit_records
from engine.coordinator.records import MAX_STRING_BYTES, UNKNOWN, OffsetValue
from engine.coordinator.responses import FirstVersion, knows
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.wire.by_topic import topics_of
from engine.wire.primitives import NO_THROTTLE, milliseconds

Codes = Mapping[TopicPartition, ErrorCode]

NO_OFFSET = OffsetValue(-1)
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.message_too_large: ErrorCode.invalid_commit_offset_size,
    ErrorCode.record_list_too_large: ErrorCode.invalid_commit_offset_size,
}


def commit(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    def find_group() -> Group:
        group = groups.find(request.group_id, may_be_empty=True)
        if group is None and request.generation_id >= 0:
            raise ApiException(ErrorCode.illegal_generation, "there is no such group any more")
        group = group or groups.new(request.group_id)
        group.check_commit(request, now)
        return group

    return _commit(groups, request, caller, now, find_group)


def commit_in_transaction(
    groups: GroupMetadataManager, request: Any, caller: Caller, now: int
) -> Any:
    def find_group() -> Group:
        try:
            group = groups.find(request.group_id) or groups.new(request.group_id)
        except ApiException as error:
            is_loading = error.code == ErrorCode.coordinator_load_in_progress
            if is_loading and not knows(caller, FirstVersion.LOADING):
                raise ApiException(ErrorCode.coordinator_not_available, error.message) from error
            raise
        try:
            group.check_transactional_commit(request)
        except ApiException as error:
            _report_transaction(group, request, error.code, now)
            raise
        return group

    producer = None  # without a producer id, it is treated as a plain commit
    if request.producer_id != NO_PRODUCER_ID:
        producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    return _commit(groups, request, caller, now, find_group, producer)


def _commit(
    groups: GroupMetadataManager,
    request: Any,
    caller: Caller,
    now: int,
    find_group: Callable[[], Group],  # raises an ApiException if the caller may not commit
    producer: TransactionalProducer | None = None,
) -> Any:
    wanted = _wanted(request, now)
    codes = {
        each: ErrorCode.unknown_topic_or_partition for each in wanted if not groups.exists(each)
    }
    offsets = {each: value for each, value in wanted.items() if each not in codes}
    if not offsets:
        return with_codes(codes)
    try:
        group = find_group()
    except ApiException as error:
        return with_codes(codes | dict.fromkeys(offsets, error.code))
    longest = groups.context.config.offset_metadata_max_bytes
    for each, value in list(offsets.items()):
        if len(value.metadata) > longest or len(value.metadata.encode()) > MAX_STRING_BYTES:
            codes[each] = ErrorCode.offset_metadata_too_large
            del offsets[each]
    if not offsets:
        return with_codes(codes)
    groups.keep(group)
    number = group.offsets.begin(offsets, producer.producer_id if producer else NO_PRODUCER_ID)

    def stored(error: ErrorCode, now: int) -> None:
        new = group.offsets.finish(number, written=error == ErrorCode.none)
        code = WRITE_ERRORS.get(error, error)
        groups.context.reply(caller, with_codes({**codes, **dict.fromkeys(offsets, code)}))
        group.report_commit(new, now)
        if producer and (code or group.offsets.in_transaction(producer.producer_id)):
            _report_transaction(group, request, code, now)

    records = commit_records(group.id, offsets)
    groups.context.append(group.partition, records, now, stored, producer)
    return None


def _report_transaction(group: Group, request: Any, code: ErrorCode, now: int) -> None:
    """Its offsets wait for the end of the transaction, or were refused."""
    group.context.report(
        "offset.transaction",
        now,
        group=group.id,
        result=code.name if code else "pending",
        member=request.member_id,
        producer=request.producer_id,
        epoch=request.producer_epoch,
        offsets={str(each): it.offset for each, it in _wanted(request, now).items()},
    )


def _wanted(request: Any, now: int) -> dict[TopicPartition, OffsetValue]:
    keep = milliseconds(request.retention_time) if hasattr(request, "retention_time") else UNKNOWN
    return {
        TopicPartition(topic.name, each.partition_index): OffsetValue(
            offset=each.committed_offset,
            leader_epoch=each.committed_leader_epoch,
            metadata=each.committed_metadata or "",
            committed_at=now if (at := getattr(each, "commit_timestamp", -1)) == -1 else at,
            expires_at=UNKNOWN if keep == UNKNOWN else now + keep,
        )
        for topic in request.topics
        for each in topic.partitions
    }


def fetch(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    group = groups.find(request.group_id, may_be_empty=True)
    offsets = group.offsets if group is not None else GroupOffsets()
    wanted = list(offsets.stored) if request.topics is None else _partitions(request)
    unstable = [each for each in wanted if request.require_stable and offsets.is_pending(each)]
    found = {each: offsets.stored.get(each, NO_OFFSET) for each in wanted}
    found |= dict.fromkeys(unstable, NO_OFFSET)
    return fetched(found, dict.fromkeys(unstable, ErrorCode.unstable_offset_commit))


def delete(groups: GroupMetadataManager, request: Any, caller: Caller, now: int) -> Any:
    """Refused for topics that the group reads: its members would not notice."""
    group = groups.require(request.group_id, ErrorCode.group_id_not_found)
    if group.state is not ClassicGroupState.EMPTY and group.members.protocol_type != CONSUMER:
        raise ApiException(ErrorCode.non_empty_group, f"unknown what {group.id} reads")
    codes = {each: _deletable(groups, group, each) for each in _partitions(request)}
    if removed := [each for each, code in codes.items() if code == ErrorCode.none]:
        group.remove_offsets(removed, now)
    groups.keep(group)
    return with_codes(codes)


def _deletable(groups: GroupMetadataManager, group: Group, partition: TopicPartition) -> ErrorCode:
    if not groups.exists(partition):
        return ErrorCode.unknown_topic_or_partition
    is_read = group.topics is None or partition.topic in group.topics
    if group.state is not ClassicGroupState.EMPTY and is_read:
        return ErrorCode.group_subscribed_to_topic
    return ErrorCode.none


# -- responses -------------------------------------------------------------------------------


def with_codes(codes: Codes, error: ErrorCode = ErrorCode.none) -> Any:
    """For OffsetDelete, and for both kinds of commit, whose responses have no error of the group:
    the wire layer writes the fields that the response to a request has."""
    rows = {
        each: delete_v0.OffsetDeleteResponsePartition(
            partition_index=each.partition, error_code=code
        )
        for each, code in codes.items()
    }
    topics = topics_of(delete_v0.OffsetDeleteResponseTopic, rows.items())
    return delete_v0.OffsetDeleteResponse(
        throttle_time=NO_THROTTLE, error_code=error, topics=topics
    )


def fetched(offsets: Mapping[TopicPartition, OffsetValue], codes: Codes) -> Any:
    rows = {
        each: fetch_v7.OffsetFetchResponsePartition(
            partition_index=each.partition,
            committed_offset=value.offset,
            committed_leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            error_code=codes.get(each, ErrorCode.none),
        )
        for each, value in offsets.items()
    }
    topics = topics_of(fetch_v7.OffsetFetchResponseTopic, rows.items())
    return fetch_v7.OffsetFetchResponse(throttle_time=NO_THROTTLE, topics=topics)


def not_fetched(request: Any, caller: Caller, error: ErrorCode) -> Any:
    if knows(caller, FirstVersion.ERROR_OF_THE_GROUP):
        return fetch_v7.OffsetFetchResponse(throttle_time=NO_THROTTLE, error_code=error, topics=())
    codes = dict.fromkeys(_partitions(request), error)
    return fetched(dict.fromkeys(codes, NO_OFFSET), codes)


def _partitions(request: Any) -> list[TopicPartition]:
    """That a request names, each by its number or in a row that has the number."""
    return [
        TopicPartition(topic.name, getattr(each, "partition_index", each))
        for topic in request.topics or ()
        for each in getattr(topic, "partition_indexes", ()) or getattr(topic, "partitions", ())
    ]
