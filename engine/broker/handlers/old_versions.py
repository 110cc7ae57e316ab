"""Requests in versions before Kafka 0.11: what is different in them beside their fields.

    Produce 0-2       messages of magic 0 or 1, which are stored as one record batch. Version 3 and
                      later allow record batches only
    Fetch 0-1, 2-3    record batches are converted to magic 0, 1. Below version 3 a client that asks
                      for fewer bytes than the first batch has gets so many bytes of it, a partial
                      message, and knows by it that it has to ask for more
    Fetch 0-5         a failed disk is told as NOT_LEADER_OR_FOLLOWER, which these clients know
    Fetch 0-9         a topic whose compression.type is zstd is refused
    ListOffsets 0     several offsets, by the time of the last write to each segment
    OffsetCommit 0,   the offsets are in ZooKeeper, /consumers/GROUP/offsets/TOPIC/PARTITION
    OffsetFetch 0

A field that an old version lacks has its default; see wire/old_versions.py. Then the handler of the
newer versions does the rest. The conversion is the business of storage/message_sets.py. It runs in
a thread, so that other clients do not wait for it. Requests of newer versions are as fast as
before.

Left out: storing in an old format (`message.format.version` below 0.11), and the oldest versions of
the requests between brokers.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from kio.schema.offset_commit.v8 import response as commit_v8
from kio.schema.offset_fetch.v7 import response as fetch_v7
from kio.schema.produce.v9 import response as produce_v9

from engine.broker.authorization import AuthHelper
from engine.broker.call import Call
from engine.broker.config_cache import ConfigCache
from engine.broker.fetch_sessions import FetchSessions
from engine.broker.handlers import fetch, offsets, produce
from engine.broker.handlers.results import Turns, attempt, code_of
from engine.broker.metadata import Metadata
from engine.broker.purgatory import Purgatory
from engine.config import BrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.metadata.gateway import ControllerGateway
from engine.model import TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage.batch import MAGIC
from engine.storage.log import Log
from engine.storage.message_sets import from_batches, magic_of, to_batch
from engine.storage.segment import Slice
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition, partitions_in, topics_of
from engine.wire.codec import message
from engine.wire.errors import Malformed
from engine.wire.fetch import FetchAnswer, FetchedPartition
from engine.wire.primitives import NO_THROTTLE

HARD_LIMIT_UNTIL, MAGIC_0_UNTIL, MAGIC_1_UNTIL = 2, 1, 3  # versions of Fetch
STORAGE_ERROR_SINCE = 6


# -- Produce -------------------------------------------------------------------------------------


async def old_produce(
    replicas: ReplicaManager, purgatory: Purgatory, call: Call, request: Any
) -> produce_v9.ProduceResponse | None:
    rows: list[tuple[TopicPartition, produce_v9.PartitionProduceResponse]] = []
    topics = []
    for topic in request.topic_data:
        converted = []
        for each in topic.partition_data:
            partition = TopicPartition(topic.name, each.index)
            try:
                batch = await _batch(replicas, partition, each.records)
            except ApiException as error:
                call.refused(partition, error)
                if request.acks == 0:
                    raise Malformed(f"acks=0 allows no response to: {error}") from error
                rows.append((partition, _row(each.index, error.code)))
            else:
                if batch:
                    converted.append(replace(each, records=batch))
                else:
                    rows.append((partition, _row(each.index, ErrorCode.none)))
        topics.append(replace(topic, partition_data=tuple(converted)))
    answer = await produce.handle(
        replicas, purgatory, call, replace(request, topic_data=tuple(topics))
    )
    if answer is None:
        return None
    for topic in answer.responses:
        rows += [(TopicPartition(topic.name, it.index), it) for it in topic.partition_responses]
    responses = topics_of(produce_v9.TopicProduceResponse, rows, listed="partition_responses")
    return produce_v9.ProduceResponse(responses=responses)


async def _batch(
    replicas: ReplicaManager, partition: TopicPartition, records: Any
) -> bytes | memoryview:
    if not records:
        return b""
    if magic_of(records) >= MAGIC:
        return cast(memoryview, records)
    _, log = replicas.find(partition)
    return await asyncio.to_thread(to_batch, records, log.config.max_message_bytes)


def _row(number: int, code: ErrorCode) -> produce_v9.PartitionProduceResponse:
    return produce_v9.PartitionProduceResponse(
        index=number, error_code=code, base_offset=-1, record_errors=()
    )


# -- Fetch ---------------------------------------------------------------------------------------


async def old_fetch(
    replicas: ReplicaManager,
    sessions: FetchSessions,
    metadata: Metadata,
    auth: AuthHelper,
    configs: ConfigCache,
    call: Call,
    request: Any,
) -> FetchAnswer:
    answer = await fetch.handle(replicas, sessions, metadata, auth, call, request)
    rows = [
        (TopicPartition(topic.topic, each.partition_index), each)
        for topic in answer.responses
        for each in topic.partitions
    ]
    if call.version <= MAGIC_1_UNTIL:  # these have no sessions
        for _, each in rows:  # all of them now: a file may be deleted while one is converted
            if isinstance(each.records, Slice):
                each.records = each.records.read()
    wanted = {
        TopicPartition(topic.topic, each.partition): each
        for topic in request.topics
        for each in topic.partitions
    }
    for partition, each in rows:
        if call.version < STORAGE_ERROR_SINCE and each.error_code == ErrorCode.kafka_storage_error:
            each.error_code = ErrorCode.not_leader_or_follower
        try:
            await _convert(configs, call, partition, each, wanted.get(partition))
        except ApiException as error:
            each.error_code = call.refused(partition, error).code
            each.high_watermark = each.last_stable_offset = -1
            each.records, each.aborted_transactions = b"", None
    return answer


async def _convert(
    configs: ConfigCache,
    call: Call,
    partition: TopicPartition,
    answer: FetchedPartition,
    wanted: Any,
) -> None:
    config, data = configs.topic_config(partition.topic), answer.records
    if config.compression_type == "zstd":
        raise ApiException(
            ErrorCode.unsupported_compression_type, f"{partition} is compressed with zstd"
        )
    if call.version > MAGIC_1_UNTIL or not data:
        return
    assert isinstance(data, bytes)
    if call.version <= HARD_LIMIT_UNTIL and len(data) > wanted.partition_max_bytes:
        answer.records = data[: wanted.partition_max_bytes]
        return
    if not config.message_downconversion_enable:
        raise ApiException(
            ErrorCode.unsupported_version, f"{partition} has message.downconversion.enable=false"
        )
    magic = 0 if call.version <= MAGIC_0_UNTIL else 1
    answer.records = await asyncio.to_thread(from_batches, data, magic, wanted.fetch_offset)


# -- ListOffsets ---------------------------------------------------------------------------------


async def old_list_offsets(replicas: ReplicaManager, call: Call, request: Any) -> Any:
    turns, topics = Turns(offsets.LOOKUPS), []
    for topic in request.topics:
        rows = []
        for each in topic.partitions:
            await turns.next()
            rows.append(_offsets(replicas, call, request.replica_id, topic.name, each))
        topics.append(SimpleNamespace(name=topic.name, partitions=tuple(rows)))
    return message(Api.LIST_OFFSETS, 0, "response")(topics=tuple(topics))


def _offsets(replicas: ReplicaManager, call: Call, replica_id: int, topic: str, asked: Any) -> Any:
    topic_partition, code, found = TopicPartition(topic, asked.partition_index), ErrorCode.none, []
    try:
        leads = replica_id != offsets.DEBUGGING_REPLICA
        partition, log = replicas.find(topic_partition, leads=leads)
        found = _before(cast(Log, log), asked.timestamp, replicas.now())[: asked.max_num_offsets]
        if replica_id == -1 and any(each > partition.high_watermark for each in found):
            visible = [each for each in found if each <= partition.high_watermark]
            found = [partition.high_watermark, *visible]
    except ApiException as error:
        code = call.refused(topic_partition, error).code
    return SimpleNamespace(
        partition_index=topic_partition.partition, error_code=code, old_style_offsets=tuple(found)
    )


def _before(log: Log, timestamp: int, now: int) -> list[int]:
    """The offsets at which segments begin that were last written by then, the latest first."""
    times = [(max(it.base_offset, log.start_offset), it.modified) for it in log.segments]
    if log.active.size:
        times.append((log.end_offset, now))
    if timestamp == offsets.EARLIEST:
        times = times[:1]
    elif timestamp != offsets.LATEST:
        last = max((n for n, (_, time) in enumerate(times) if time <= timestamp), default=-1)
        times = times[: last + 1]
    return [offset for offset, _ in reversed(times)]


# -- offsets of groups ---------------------------------------------------------------------------


async def old_commit(
    metadata: Metadata, gateway: ControllerGateway, config: BrokerConfig, call: Call, request: Any
) -> commit_v8.OffsetCommitResponse:
    longest = config.offset_metadata_max_bytes
    rows = []
    for partition, each in by_partition(request.topics):
        if metadata.partition(partition) is None:
            code = ErrorCode.unknown_topic_or_partition
        elif len(each.committed_metadata or "") > longest:
            code = ErrorCode.offset_metadata_too_large
        else:
            write = gateway.commit_offset(request.group_id, partition, each.committed_offset)
            code = code_of(await attempt(write))
        row = commit_v8.OffsetCommitResponsePartition(
            partition_index=partition.partition, error_code=code
        )
        rows.append((partition, row))
    return commit_v8.OffsetCommitResponse(
        throttle_time=NO_THROTTLE, topics=topics_of(commit_v8.OffsetCommitResponseTopic, rows)
    )


async def old_fetch_offsets(
    metadata: Metadata, gateway: ControllerGateway, call: Call, request: Any
) -> fetch_v7.OffsetFetchResponse:
    rows = [
        (partition, await _committed(metadata, gateway, request.group_id, partition))
        for partition in partitions_in(request.topics, numbers="partition_indexes")
    ]
    return fetch_v7.OffsetFetchResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        topics=topics_of(fetch_v7.OffsetFetchResponseTopic, rows),
    )


async def _committed(
    metadata: Metadata, gateway: ControllerGateway, group: str, partition: TopicPartition
) -> fetch_v7.OffsetFetchResponsePartition:
    found: int | ApiException | None = None
    if metadata.partition(partition) is not None:
        found = await attempt(gateway.committed_offset(group, partition))
    unknown = ErrorCode.unknown_topic_or_partition if found is None else code_of(found)
    return fetch_v7.OffsetFetchResponsePartition(
        partition_index=partition.partition,
        committed_offset=found if isinstance(found, int) else -1,
        metadata="",
        error_code=unknown,
    )


# The last version of each API that is handled here.
LAST: Mapping[Api, int] = {
    Api.PRODUCE: 2,
    Api.FETCH: 9,
    Api.LIST_OFFSETS: 0,
    Api.OFFSET_COMMIT: 0,
    Api.OFFSET_FETCH: 0,
}
