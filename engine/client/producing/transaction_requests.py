"""The requests of a transaction, and what to do about the errors of their responses.

                     InitProducerId  AddPartitions  AddOffsets  TxnOffsetCommit  EndTxn
    CONCURRENT_..,   retry           retry          retry       retry            retry
      .._LOADING
    NOT_COORDINATOR  find            find           find        find             find
    UNKNOWN_ID,      fatal           new epoch      new epoch   fatal            new epoch
      .._ID_MAPPING
    PRODUCER_FENCED  fatal           fatal          fatal       fatal            fatal
    of the group     -               -              abort       abort            -
    any other        fatal           abort          fatal       fatal            fatal

A response with a code for each partition counts as its worst one. A partition that was not tried
(OPERATION_NOT_ATTEMPTED) counts only if none of the other codes is retriable.

INVALID_PRODUCER_EPOCH comes from older coordinators and means PRODUCER_FENCED: a newer producer
has the transactional id. In the response to a Produce it only means that a newer epoch has written
to the log, which may have been the coordinator itself after a time-out: see sender.py.
"""

from collections.abc import Iterable
from datetime import timedelta
from enum import IntEnum
from typing import Any, NamedTuple

from kio.schema.add_offsets_to_txn.v3.request import AddOffsetsToTxnRequest
from kio.schema.add_partitions_to_txn.v3 import request as partitions_v3
from kio.schema.end_txn.v3.request import EndTxnRequest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.txn_offset_commit.v3 import request as offsets_v3

from engine.client.coordinator_lookup import ELSEWHERE
from engine.client.core import ANY, Ask
from engine.client.offset_and_metadata import Offsets, topic_rows
from engine.client.values import ConsumerGroupMetadata
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import numbered
from engine.wire.names import named

AddPartitionsToTxnRequest: Any = named(partitions_v3.AddPartitionsToTxnRequest)

LANE = "transactions"  # a connection of their own, so that they don't wait behind batches

# -- requests: to ANY broker, until the manager puts in the coordinator; `about` comes back ----


class TransactionIdentity(NamedTuple):
    """The fields that nearly all of these requests have."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


def init(who: TransactionIdentity, timeout: timedelta) -> Ask:
    """`who`: with the current id and epoch, if only a new epoch is needed."""
    request = InitProducerIdRequest(**who._asdict(), transaction_timeout=timeout)
    return Ask(ANY, Api.INIT_PRODUCER_ID, request, lane=LANE)


def add_partitions(who: TransactionIdentity, partitions: frozenset[TopicPartition]) -> Ask:
    request = AddPartitionsToTxnRequest(
        **who._asdict(),
        topics=numbered(
            partitions_v3.AddPartitionsToTxnTopic, sorted(partitions), listed="partitions"
        ),
    )
    return Ask(ANY, Api.ADD_PARTITIONS_TO_TXN, request, partitions, lane=LANE)


def add_group(who: TransactionIdentity, group: str, about: Any) -> Ask:
    request = AddOffsetsToTxnRequest(**who._asdict(), group_id=group)
    return Ask(ANY, Api.ADD_OFFSETS_TO_TXN, request, about, lane=LANE)


def commit_offsets(
    who: TransactionIdentity, group: ConsumerGroupMetadata, offsets: Offsets, about: Any
) -> Ask:
    request = offsets_v3.TxnOffsetCommitRequest(
        **who._asdict(),
        topics=topic_rows(
            offsets_v3.TxnOffsetCommitRequestTopic,
            offsets_v3.TxnOffsetCommitRequestPartition,
            offsets,
        ),
        **group._asdict(),  # group, generation and member: a member of an earlier one is refused
    )
    return Ask(ANY, Api.TXN_OFFSET_COMMIT, request, about, lane=LANE)


def end(who: TransactionIdentity, committed: bool) -> Ask:
    request = EndTxnRequest(**who._asdict(), committed=committed)
    return Ask(ANY, Api.END_TXN, request, lane=LANE)


# -- errors ------------------------------------------------------------------------------------


class ErrorAction(IntEnum):
    """What to do about a response, the worst first."""

    FATAL = 0  # nothing: this producer can't go on
    NEW_EPOCH = 1  # abort, and get a new epoch
    FIND = 2  # find the coordinator, and send the request to it
    RETRY = 3  # send it again after a pause
    ABORT = 4  # abort this transaction
    NONE = 5  # there is no error


FENCED = frozenset({ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch})
UNKNOWN_ID = frozenset({ErrorCode.unknown_producer_id, ErrorCode.invalid_producer_id_mapping})
OF_THE_GROUP = (
    ErrorCode.group_authorization_failed,
    ErrorCode.unknown_member_id,
    ErrorCode.illegal_generation,
    ErrorCode.fenced_instance_id,
    ErrorCode.rebalance_in_progress,
)
ALWAYS_FATAL = FENCED | {
    ErrorCode.transactional_id_authorization_failed,
    ErrorCode.cluster_authorization_failed,
    ErrorCode.invalid_txn_state,
    ErrorCode.unsupported_version,
    ErrorCode.unsupported_for_message_format,
}
OFFSETS = frozenset({Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT})
RENEWABLE = frozenset({Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN})


def action_for(api: Api, codes: Iterable[ErrorCode]) -> tuple[ErrorAction, ErrorCode]:
    """What the worst of these codes asks for, and which one that is."""
    return min((_action(api, code), code) for code in codes)


def _action(api: Api, code: ErrorCode) -> ErrorAction:
    if code == ErrorCode.none:
        return ErrorAction.NONE
    if code in ELSEWHERE:
        return ErrorAction.FIND
    if api is Api.TXN_OFFSET_COMMIT and code == ErrorCode.request_timed_out:
        return ErrorAction.FIND
    if code.retriable:
        return ErrorAction.RETRY
    if code in UNKNOWN_ID and api in RENEWABLE:
        return ErrorAction.NEW_EPOCH
    if code in ALWAYS_FATAL:
        return ErrorAction.FATAL
    if api is Api.ADD_PARTITIONS_TO_TXN or (api in OFFSETS and code in OF_THE_GROUP):
        return ErrorAction.ABORT
    return ErrorAction.FATAL


def codes_of(api: Api, response: Any) -> list[ErrorCode]:
    """Of each partition, or of the whole response."""
    match api:
        case Api.ADD_PARTITIONS_TO_TXN:
            topics = response.results
            rows = [row for topic in topics for row in topic.results_by_partition]
            return [row.partition_error_code for row in rows]
        case Api.TXN_OFFSET_COMMIT:
            return [row.error_code for topic in response.topics for row in topic.partitions]
        case _:
            return [response.error_code]
