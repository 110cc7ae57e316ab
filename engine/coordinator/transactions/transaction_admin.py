"""DescribeTransactions (API 65) and ListTransactions (66), version 0: what hangs, and whose it is.

An open transaction blocks the readers of read_committed in each of its partitions. To find it:
DescribeProducers names the producer id that holds back a partition, ListTransactions has the
transactional id of a producer id, and DescribeTransactions says since when it is open, and where.

    list        those of this coordinator; by their states and producer ids, if some are named
    describe    each on its own: another broker may coordinate it, or nobody has that id; while it
                ends, its partitions are those that have no marker yet

Kafka has both since 3.0 (KIP-664).
"""

from typing import Any

from kio.schema.describe_transactions.v0 import response as describe_v0
from kio.schema.list_transactions.v0 import response as list_v0

from engine.coordinator.effects import Caller
from engine.coordinator.transactions.metadata import (
    ENDING,
    NO_PRODUCER,
    TransactionMetadata,
    TxnState,
)
from engine.coordinator.transactions.state_manager import TransactionStateManager, check_id
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.by_topic import numbered
from engine.wire.primitives import NO_THROTTLE

NAMES = frozenset(state.value for state in TxnState)
NOTHING_KNOWN = TransactionMetadata(NO_PRODUCER, timeout=0)


def list_transactions(
    transactions: TransactionStateManager, request: Any, caller: Caller, now: int
) -> list_v0.ListTransactionsResponse:
    states, producers = set(request.state_filters), set(request.producer_id_filters)
    is_loading = bool(transactions.loading)
    return list_v0.ListTransactionsResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.coordinator_load_in_progress if is_loading else ErrorCode.none,
        unknown_state_filters=() if is_loading else tuple(sorted(states - NAMES)),
        transaction_states=tuple(
            list_v0.TransactionState(
                transactional_id=each.id,
                producer_id=each.producer.producer_id,
                transaction_state=each.metadata.state.value,
            )
            for each in transactions
            if not is_loading
            and (not states or each.metadata.state.value in states)
            and (not producers or each.producer.producer_id in producers)
        ),
    )


def describe(
    transactions: TransactionStateManager, request: Any, caller: Caller, now: int
) -> describe_v0.DescribeTransactionsResponse:
    return describe_v0.DescribeTransactionsResponse(
        throttle_time=NO_THROTTLE,
        transaction_states=tuple(_described(transactions, id) for id in request.transactional_ids),
    )


def _described(transactions: TransactionStateManager, id: str) -> describe_v0.TransactionState:
    code, state, found = ErrorCode.none, "", NOTHING_KNOWN
    partitions = frozenset[TopicPartition]()
    try:
        check_id(id)
        transaction = transactions.find(id)
        if transaction is None:
            raise ApiException(ErrorCode.transactional_id_not_found, f"there is no {id}")
        found, state = transaction.metadata, transaction.metadata.state.value
        ending = transaction.metadata.state in ENDING
        partitions = transaction.unmarked if ending else found.partitions
    except ApiException as error:
        code = error.code
    return describe_v0.TransactionState(
        error_code=code,
        transactional_id=id,
        transaction_state=state,
        transaction_timeout=found.timeout,
        transaction_start_time=found.started,
        producer_id=found.producer.producer_id,
        producer_epoch=found.producer.epoch,
        topics=numbered(describe_v0.TopicData, sorted(partitions), "topic", "partitions"),
    )
