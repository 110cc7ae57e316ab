"""What an answer about a transaction means for it: one table, for all requests.

                     InitProducerId  AddPartitions  AddOffsets  TxnOffsetCommit  EndTxn
    CONCURRENT_..,   again           again          again       again            again
      .._LOADING
    NOT_COORDINATOR  elsewhere       elsewhere      elsewhere   elsewhere        elsewhere
    UNKNOWN_ID,      fatal           renew          renew       fatal            renew
      .._ID_MAPPING
    PRODUCER_FENCED  fatal           fatal          fatal       fatal            fatal
    of the group     -               -              abort       abort            -
    anything else    fatal           abort          fatal       fatal            fatal

An answer with several codes, one for each partition, is as bad as the worst of them. That a
partition was not even tried is bad only if none of the others may pass.

INVALID_PRODUCER_EPOCH comes from older coordinators and means what PRODUCER_FENCED does: somebody
newer has our transactional id. A log that says so of a batch only knows that a newer epoch wrote
to it, which may have been the coordinator itself after a time-out: see sender.py.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from engine.client.finding import ELSEWHERE
from engine.errors import ErrorCode
from engine.wire.apis import Api


class Verdict(IntEnum):
    """From bad to good."""

    FATAL = 0  # this producer is at its end
    RENEW = 1  # abort, and begin anew under another epoch
    ELSEWHERE = 2  # ask again, once it is known whom
    AGAIN = 3  # the same once more, after a pause
    ABORT = 4  # this transaction is at its end
    GOOD = 5


FENCED = frozenset({ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch})
FORGOTTEN = frozenset({ErrorCode.unknown_producer_id, ErrorCode.invalid_producer_id_mapping})
OF_THE_GROUP = frozenset(
    {
        ErrorCode.group_authorization_failed,
        ErrorCode.unknown_member_id,
        ErrorCode.illegal_generation,
        ErrorCode.fenced_instance_id,
        ErrorCode.rebalance_in_progress,
    }
)
ALWAYS_FATAL = FENCED | {
    ErrorCode.transactional_id_authorization_failed,
    ErrorCode.cluster_authorization_failed,
    ErrorCode.invalid_txn_state,
    ErrorCode.unsupported_version,
    ErrorCode.unsupported_for_message_format,
}
OFFSETS = frozenset({Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT})
RENEWS = frozenset({Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN})


def judge(api: Api, codes: Iterable[ErrorCode]) -> tuple[Verdict, ErrorCode]:
    """What the worst of these codes means, and which one that is."""
    return min((_of(api, code), code) for code in codes)


def _of(api: Api, code: ErrorCode) -> Verdict:
    if code == ErrorCode.none:
        return Verdict.GOOD
    if code in ELSEWHERE:
        return Verdict.ELSEWHERE
    if api is Api.TXN_OFFSET_COMMIT and code == ErrorCode.request_timed_out:
        return Verdict.ELSEWHERE
    if code.retriable:
        return Verdict.AGAIN
    if code in FORGOTTEN and api in RENEWS:
        return Verdict.RENEW
    if code in ALWAYS_FATAL:
        return Verdict.FATAL
    if api is Api.ADD_PARTITIONS_TO_TXN or (api in OFFSETS and code in OF_THE_GROUP):
        return Verdict.ABORT
    return Verdict.FATAL


def codes_of(api: Api, response: Any) -> Mapping[Any, ErrorCode]:
    """By what they are about: a partition, or nothing in particular."""
    match api:
        case Api.ADD_PARTITIONS_TO_TXN:
            return {
                (topic.name, row.partition_index): row.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for row in topic.results_by_partition
            }
        case Api.TXN_OFFSET_COMMIT:
            return {
                (topic.name, row.partition_index): row.error_code
                for topic in response.topics
                for row in topic.partitions
            }
        case _:
            return {None: response.error_code}
