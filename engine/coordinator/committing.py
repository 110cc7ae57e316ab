"""OffsetCommit (API 8), OffsetFetch (9), OffsetDelete (47) and TxnOffsetCommit (28), in all
versions that are served.

A commit is answered when the in-sync replicas have it; see offsets.py. Who is no consumer of a
group may commit too, with generation -1, as long as the group has no members. Fetching asks for
no membership at all.

A producer that reads from one topic and writes to another commits what it has read within its
transaction: both count together, or neither does. Whether it may still write, its epoch tells the
log. Which consumer it commits for it says since version 3 (KIP-447), and so is told when the group
has gone on without that one. It does not count as a heartbeat.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from kio.schema.offset_commit.v8 import response as commit_v8
from kio.schema.offset_delete.v0 import response as delete_v0
from kio.schema.offset_fetch.v7 import response as fetch_v7
from kio.schema.txn_offset_commit.v3 import response as txn_v3

from engine.coordinator.answers import NO_THROTTLE, Since, knows
from engine.coordinator.effects import UNAVAILABLE, Caller, Writer
from engine.coordinator.group import Group, milliseconds
from engine.coordinator.groups import Groups
from engine.coordinator.offsets import Commit, Offsets, commit_records
from engine.coordinator.records import LONGEST, UNKNOWN, OffsetValue
from engine.coordinator.roster import CONSUMER
from engine.coordinator.states import State
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_PRODUCER_ID

T = TypeVar("T")
Codes = Mapping[TopicPartition, ErrorCode]

NO_OFFSET = OffsetValue(-1)
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.message_too_large: ErrorCode.invalid_commit_offset_size,
    ErrorCode.record_list_too_large: ErrorCode.invalid_commit_offset_size,
}


class Way(NamedTuple):
    """In what the two kinds of commit differ."""

    admit: Callable[[Groups, Any, Caller, int], Group]  # whom it is for, if the sender may commit
    answer: Callable[[Codes], Any]
    writer: Callable[[Any], Writer | None]  # whose transaction it belongs to


def commit(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    return _commit(groups, request, caller, now, Way(_for_member, committed, lambda request: None))


def commit_in_transaction(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    return _commit(groups, request, caller, now, Way(_for_producer, txn_committed, _writer))


def _commit(groups: Groups, request: Any, caller: Caller, now: int, way: Way) -> Any:
    wanted = _wanted(request, now)
    codes = {
        each: ErrorCode.unknown_topic_or_partition for each in wanted if not groups.exists(each)
    }
    offsets = {each: value for each, value in wanted.items() if each not in codes}
    if not offsets:
        return way.answer(codes)
    try:
        group = way.admit(groups, request, caller, now)
    except KafkaError as error:
        return way.answer(codes | dict.fromkeys(offsets, error.code))
    longest = groups.host.config.offset_metadata_max_bytes
    for each, value in list(offsets.items()):
        if len(value.metadata) > longest or len(value.metadata.encode()) > LONGEST:
            codes[each] = ErrorCode.offset_metadata_too_large
            del offsets[each]
    if not offsets:
        return way.answer(codes)

    def done(code: ErrorCode) -> None:
        groups.host.reply(caller, way.answer({**codes, **dict.fromkeys(offsets, code)}))

    groups.keep(group)
    _store(group, offsets, way.writer(request), done, now)
    return None


def _wanted(request: Any, now: int) -> dict[TopicPartition, OffsetValue]:
    keep = milliseconds(request.retention_time) if hasattr(request, "retention_time") else UNKNOWN
    return {
        TopicPartition(topic.name, each.partition_index): OffsetValue(
            offset=each.committed_offset,
            leader_epoch=each.committed_leader_epoch,
            metadata=each.committed_metadata or "",
            committed_at=now,
            expires_at=UNKNOWN if keep == UNKNOWN else now + keep,
        )
        for topic in request.topics
        for each in topic.partitions
    }


def _for_member(groups: Groups, request: Any, caller: Caller, now: int) -> Group:
    group = groups.find(request.group_id, nameless=True)
    if group is None and request.generation_id_or_member_epoch >= 0:
        raise KafkaError(ErrorCode.illegal_generation, "there is no such group any more")
    group = group or groups.new(request.group_id)
    group.check_commit(request, now)
    return group


def _for_producer(groups: Groups, request: Any, caller: Caller, now: int) -> Group:
    try:
        group = groups.find(request.group_id) or groups.new(request.group_id)
    except KafkaError as error:
        is_loading = error.code == ErrorCode.coordinator_load_in_progress
        if is_loading and not knows(caller, Since.LOADING):
            raise KafkaError(ErrorCode.coordinator_not_available, error.message) from error
        raise
    group.check_transactional_commit(request)
    return group


def _writer(request: Any) -> Writer | None:
    """Without a producer id, it is taken for a plain commit."""
    if request.producer_id == NO_PRODUCER_ID:
        return None
    return Writer(request.producer_id, request.producer_epoch)


def _store(
    group: Group,
    offsets: Commit,
    writer: Writer | None,
    done: Callable[[ErrorCode], None],
    now: int,
) -> None:
    place = group.offsets.begin(offsets, writer.producer_id if writer else NO_PRODUCER_ID)

    def stored(error: ErrorCode, now: int) -> None:
        counts = group.offsets.finish(place, written=error == ErrorCode.none)
        done(WRITE_ERRORS.get(error, error))
        group.tell_of_commit(counts, now)

    records = commit_records(group.id, offsets)
    group.host.append(group.partition, records, now, stored, writer)


def fetch(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    group = groups.find(request.group_id, nameless=True)
    offsets = group.offsets if group is not None else Offsets()
    wanted = list(offsets.stored) if request.topics is None else _partitions(request)
    unstable = [each for each in wanted if request.require_stable and offsets.is_pending(each)]
    found = {each: offsets.stored.get(each, NO_OFFSET) for each in wanted}
    found |= dict.fromkeys(unstable, NO_OFFSET)
    return fetched(found, dict.fromkeys(unstable, ErrorCode.unstable_offset_commit))


def delete(groups: Groups, request: Any, caller: Caller, now: int) -> Any:
    """Not of topics that the group reads: it would go on as if nothing had happened."""
    group = groups.require(request.group_id, ErrorCode.group_id_not_found)
    if group.state is not State.EMPTY and group.protocol_type != CONSUMER:
        raise KafkaError(ErrorCode.non_empty_group, f"who knows what {group.id} reads?")
    codes = {each: _deletable(groups, group, each) for each in _partitions(request)}
    group.remove_offsets([each for each, code in codes.items() if code == ErrorCode.none], now)
    groups.keep(group)
    return deleted(codes)


def _deletable(groups: Groups, group: Group, partition: TopicPartition) -> ErrorCode:
    if not groups.exists(partition):
        return ErrorCode.unknown_topic_or_partition
    is_read = group.topics is None or partition.topic in group.topics
    if group.state is not State.EMPTY and is_read:
        return ErrorCode.group_subscribed_to_topic
    return ErrorCode.none


# -- answers -----------------------------------------------------------------------------------


def committed(codes: Codes) -> Any:
    topics = _topics(
        codes, commit_v8.OffsetCommitResponseTopic, commit_v8.OffsetCommitResponsePartition, _code
    )
    return commit_v8.OffsetCommitResponse(throttle_time=NO_THROTTLE, topics=topics)


def txn_committed(codes: Codes) -> Any:
    topics = _topics(
        codes, txn_v3.TxnOffsetCommitResponseTopic, txn_v3.TxnOffsetCommitResponsePartition, _code
    )
    return txn_v3.TxnOffsetCommitResponse(throttle_time=NO_THROTTLE, topics=topics)


def deleted(codes: Codes, error: ErrorCode = ErrorCode.none) -> Any:
    topics = _topics(
        codes, delete_v0.OffsetDeleteResponseTopic, delete_v0.OffsetDeleteResponsePartition, _code
    )
    return delete_v0.OffsetDeleteResponse(
        throttle_time=NO_THROTTLE, error_code=error, topics=topics
    )


def fetched(offsets: Mapping[TopicPartition, OffsetValue], codes: Codes) -> Any:
    found = {each: (value, codes.get(each, ErrorCode.none)) for each, value in offsets.items()}
    topics = _topics(
        found, fetch_v7.OffsetFetchResponseTopic, fetch_v7.OffsetFetchResponsePartition, _offset
    )
    return fetch_v7.OffsetFetchResponse(throttle_time=NO_THROTTLE, topics=topics)


def not_fetched(request: Any, caller: Caller, error: ErrorCode) -> Any:
    if knows(caller, Since.ERROR_OF_THE_GROUP):
        return fetch_v7.OffsetFetchResponse(throttle_time=NO_THROTTLE, error_code=error, topics=())
    codes = dict.fromkeys(_partitions(request), error)
    return fetched(dict.fromkeys(codes, NO_OFFSET), codes)


def _code(code: ErrorCode) -> dict[str, Any]:
    return {"error_code": code}


def _offset(found: tuple[OffsetValue, ErrorCode]) -> dict[str, Any]:
    value, code = found
    return {
        "committed_offset": value.offset,
        "committed_leader_epoch": value.leader_epoch,
        "metadata": value.metadata,
        "error_code": code,
    }


def _topics(
    found: Mapping[TopicPartition, T], topic: Any, row: Any, fields: Callable[[T], dict[str, Any]]
) -> tuple[Any, ...]:
    rows: dict[str, list[Any]] = {}
    for (name, number), it in found.items():
        rows.setdefault(name, []).append(row(partition_index=number, **fields(it)))
    return tuple(topic(name=name, partitions=tuple(these)) for name, these in rows.items())


def _partitions(request: Any) -> list[TopicPartition]:
    """Which a request names: by its number, or by a row of which the number is a part."""
    return [
        TopicPartition(topic.name, getattr(each, "partition_index", each))
        for topic in request.topics or ()
        for each in getattr(topic, "partition_indexes", ()) or getattr(topic, "partitions", ())
    ]
