"""The transaction coordinator of a broker; coordinator/coordinator.py shows how it is used.

    InitProducerId 22       versions 0 to 4, with a transactional id: the next epoch
    AddPartitionsToTxn 24   0 to 3: before the first record is written to a partition
    AddOffsetsToTxn 25      0 to 3: the same for a group's partition of __consumer_offsets
    EndTxn 26               0 to 3: commit or abort; see transaction.py
    DescribeTransactions    and ListTransactions: see transaction_admin.py

What the group coordinator does not have:

    needs_producer_id, give_producer_id     before InitProducerId: one must be available
    marked(id, producer, partitions, now)   some partitions have the marker of a TxnMarkers

Two checks run at intervals, over all transactional ids:

    ongoing for longer than its timeout               aborted, and its producer fenced
    not used for transactional.id.expiration.ms       removed by a tombstone

An ongoing transaction blocks read_committed readers at its first record in each partition. So it
must end at some time, even if its producer is dead.

Invariant: a response is sent after its change is replicated. The next coordinator, which replays
the records, has the same transactions, and ends those whose end was decided.

Left out: producers without a transactional id. They get a producer id from any broker.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kio.schema.add_partitions_to_txn.v3 import response as added_v3
from kio.schema.end_txn.v3.response import EndTxnResponse
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse

from engine.config import BrokerConfig
from engine.coordinator.coordinator import Coordinator, Handler, Interval
from engine.coordinator.effects import Caller, CoordinatorContext, Effect, TransactionalProducer
from engine.coordinator.records import GROUP_METADATA_TOPIC
from engine.coordinator.timers import AlarmKind
from engine.coordinator.transactions import records, transaction_admin
from engine.coordinator.transactions.metadata import (
    AT_REST,
    COMPLETE,
    NO_PRODUCER,
    UNKNOWN,
    TxnState,
)
from engine.coordinator.transactions.state_manager import TransactionStateManager, check_id
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import NO_EPOCH, Event, TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.wire.by_topic import partitions_in, topics_of
from engine.wire.names import named
from engine.wire.primitives import NO_THROTTLE, milliseconds

AddPartitionsToTxnResponse: Any = named(added_v3.AddPartitionsToTxnResponse)

# Only brokers write to these: a client that adds one of their partitions is refused, as in Kafka.
INTERNAL_TOPICS = frozenset({GROUP_METADATA_TOPIC, records.TRANSACTION_STATE_TOPIC})
# The first versions whose clients know PRODUCER_FENCED; others get INVALID_PRODUCER_EPOCH.
FENCED_SINCE = 2
INIT_FENCED_SINCE = 4

# -- InitProducerId --------------------------------------------------------------------------------


def init_producer_id(
    transactions: TransactionStateManager, request: Any, caller: Caller, now: int
) -> None:
    expected = _expected(request)
    check_id(request.transactional_id)
    timeout = milliseconds(request.transaction_timeout)
    if not 0 < timeout <= transactions.context.config.transaction_max_timeout_ms:
        raise ApiException(ErrorCode.invalid_transaction_timeout, f"{timeout} ms is not allowed")
    transaction = transactions.find(request.transactional_id)
    transaction = transaction or transactions.new(request.transactional_id)
    if transaction.is_busy:
        raise ApiException(ErrorCode.concurrent_transactions, f"{transaction.id} is busy")
    metadata = transaction.metadata
    if not metadata.admits(expected):
        raise ApiException(ErrorCode.producer_fenced, f"{transaction.id} is not {expected}'s")

    def fenced(error: ErrorCode, now: int) -> None:
        """The producer must ask again: by then the transaction may have been aborted."""
        code = ErrorCode.concurrent_transactions if error == ErrorCode.none else error
        transactions.context.reply(caller, initialized(caller, code))

    if metadata.state is TxnState.ONGOING:
        transaction.fence(now, fenced)
        return
    to = metadata.with_next_epoch(expected, timeout, now, transactions.new_producer_id)

    def written(error: ErrorCode, now: int) -> None:
        producer = to.producer if error == ErrorCode.none else NO_PRODUCER
        transactions.context.reply(caller, initialized(caller, error, producer))
        if transaction.producer.epoch == NO_EPOCH:  # its first change could not be written
            transactions.remove(transaction)

    transaction.change(to, now, written)


def _expected(request: Any) -> TransactionalProducer | None:
    """The producer's current id and epoch (KIP-360, since version 3)."""
    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    if producer == NO_PRODUCER:
        return None
    if producer.producer_id == NO_PRODUCER_ID or producer.epoch == NO_EPOCH:
        raise invalid_request("a producer id needs an epoch")
    return producer


# -- AddPartitionsToTxn, AddOffsetsToTxn -----------------------------------------------------------


def add_partitions(
    transactions: TransactionStateManager, request: Any, caller: Caller, now: int
) -> Any:
    """All partitions are added, or none is."""
    wanted = partitions_in(request.topics)
    wrong = {each: code for each in wanted if (code := _wrong(transactions, each))}
    if wrong:
        return added(caller, dict.fromkeys(wanted, ErrorCode.operation_not_attempted) | wrong)

    def respond(error: ErrorCode) -> None:
        transactions.context.reply(caller, added(caller, dict.fromkeys(wanted, error)))

    id, number = request.transactional_id, request.producer_id
    producer = TransactionalProducer(number, request.producer_epoch)
    _add(transactions.require(id, producer), wanted, now, respond)
    return None


def _wrong(transactions: TransactionStateManager, partition: TopicPartition) -> ErrorCode | None:
    if partition.topic in INTERNAL_TOPICS:
        return ErrorCode.topic_authorization_failed
    return None if transactions.exists(partition) else ErrorCode.unknown_topic_or_partition


def add_offsets(
    transactions: TransactionStateManager, request: Any, caller: Caller, now: int
) -> None:
    def respond(error: ErrorCode) -> None:
        transactions.context.reply(caller, ended(caller, error))

    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    partition = transactions.partition_of_group(request.group_id)
    _add(transactions.require(request.transactional_id, producer), [partition], now, respond)


def _add(
    transaction: Transaction,
    wanted: Iterable[TopicPartition],
    now: int,
    respond: Callable[[ErrorCode], None],
) -> None:
    """The first partition begins the transaction, and its timeout is counted from then."""
    metadata, partitions = transaction.metadata, frozenset(wanted)
    if metadata.state is TxnState.ONGOING and partitions <= metadata.partitions:
        respond(ErrorCode.none)
    else:
        to = metadata.with_partitions(partitions, now)
        transaction.change(to, now, lambda error, now: respond(error))


# -- EndTxn ----------------------------------------------------------------------------------------


def end_txn(transactions: TransactionStateManager, request: Any, caller: Caller, now: int) -> Any:
    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    transaction = transactions.require(request.transactional_id, producer)
    state = transaction.metadata.state
    if state in COMPLETE and request.committed == (state is TxnState.COMPLETE_COMMIT):
        return ended(caller, ErrorCode.none)  # a repeated request
    if state is not TxnState.ONGOING:
        raise ApiException(ErrorCode.invalid_txn_state, f"{transaction.id} is {state.value}")

    def decided(error: ErrorCode, now: int) -> None:
        transactions.context.reply(caller, ended(caller, error))

    transaction.end(request.committed, now, decided)
    return None


# -- responses, in the shape of each API's newest version ------------------------------------------


def known(caller: Caller, error: ErrorCode, since: int = FENCED_SINCE) -> ErrorCode:
    """The error, or one that a client of this version knows."""
    is_old = error == ErrorCode.producer_fenced and caller.version < since
    return ErrorCode.invalid_producer_epoch if is_old else error


def initialized(
    caller: Caller, error: ErrorCode, producer: TransactionalProducer = NO_PRODUCER
) -> Any:
    return InitProducerIdResponse(
        throttle_time=NO_THROTTLE,
        error_code=known(caller, error, INIT_FENCED_SINCE),
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )


def added(caller: Caller, codes: Mapping[TopicPartition, ErrorCode]) -> Any:
    rows = {
        each: added_v3.AddPartitionsToTxnPartitionResult(
            partition_index=each.partition, partition_error_code=known(caller, error)
        )
        for each, error in codes.items()
    }
    topics = topics_of(
        added_v3.AddPartitionsToTxnTopicResult, rows.items(), listed="results_by_partition"
    )
    return AddPartitionsToTxnResponse(throttle_time=NO_THROTTLE, results=topics)


def ended(caller: Caller, error: ErrorCode) -> Any:
    """The response to AddOffsetsToTxn has the same fields."""
    return EndTxnResponse(throttle_time=NO_THROTTLE, error_code=known(caller, error))


# -- the coordinator -------------------------------------------------------------------------------


class TransactionCoordinator(Coordinator):
    handlers: Mapping[str, Handler] = {
        "InitProducerId": Handler(
            init_producer_id, lambda it, caller, code: initialized(caller, code)
        ),
        "AddPartitionsToTxn": Handler(
            add_partitions,
            lambda it, caller, code: added(caller, dict.fromkeys(partitions_in(it.topics), code)),
        ),
        "AddOffsetsToTxn": Handler(add_offsets, lambda it, caller, code: ended(caller, code)),
        "EndTxn": Handler(end_txn, lambda it, caller, code: ended(caller, code)),
        "DescribeTransactions": Handler(transaction_admin.describe),
        "ListTransactions": Handler(transaction_admin.list_transactions),
    }

    checks: Mapping[AlarmKind, Interval] = {
        AlarmKind.LATE: lambda config: (
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        ),
        AlarmKind.UNUSED: lambda config: (
            config.transaction_remove_expired_transaction_cleanup_interval_ms
        ),
    }

    def __init__(
        self,
        config: BrokerConfig,
        partition_of_group: Callable[[str], TopicPartition],  # which has its offsets
        exists: Callable[[TopicPartition], bool],
        emit: Callable[[Event], None],
    ) -> None:
        context = CoordinatorContext(config, str, emit)  # no member needs a new id
        count = config.transaction_state_log_num_partitions
        self.transactions = TransactionStateManager(context, count, partition_of_group, exists)
        super().__init__(context, self.transactions)

    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> list[Effect]:
        """In __transaction_state itself nothing is written in a transaction."""
        return []

    def unload(self, partition: int, now: int) -> list[Effect]:
        unloaded = self.transactions.unload(partition)
        self._context.fail_writes(partition, now)
        for transaction in unloaded:
            self._context.timers.cancel(transaction.completion_alarm)
        return self._context.take_effects()

    @property
    def needs_producer_id(self) -> bool:
        return self.transactions.spare_producer_id is None

    def give_producer_id(self, producer_id: int) -> None:
        """An id that was never used before. It may replace one: two requests may wait for ids."""
        self.transactions.spare_producer_id = producer_id

    def marked(
        self,
        id: str,
        producer: TransactionalProducer,
        partitions: Iterable[TopicPartition],
        now: int,
    ) -> list[Effect]:
        """A report that is too late is ignored: another coordinator sends markers, or another
        transaction is ongoing."""
        try:
            transaction = self.transactions.find(id)
        except ApiException:  # another broker coordinates it
            return self.tick(now)
        if transaction is not None and transaction.producer == producer:
            transaction.marked(partitions, now)
        return self.tick(now)

    def _check(self, kind: AlarmKind, now: int) -> None:
        for transaction in self.transactions:
            if transaction.is_busy:
                continue
            if kind is AlarmKind.LATE and transaction.metadata.is_late(now):
                # If the abort cannot be written, the next check tries again.
                transaction.fence(now, lambda error, now: None)
            elif kind is AlarmKind.UNUSED and self._is_unused(transaction, now):
                self._remove(transaction, now)

    def _is_unused(self, transaction: Transaction, now: int) -> bool:
        limit = now - self._context.config.transactional_id_expiration_ms
        return transaction.metadata.state in AT_REST and transaction.metadata.updated <= limit

    def _remove(self, transaction: Transaction, now: int) -> None:
        def written(error: ErrorCode, now: int) -> None:
            if error == ErrorCode.none:
                self.transactions.remove(transaction)

        transaction.change(transaction.metadata.dead(now), now, written)

    def snapshot(self) -> list[dict[str, Any]]:
        return [_row(transaction) for transaction in self.transactions]


def _row(transaction: Transaction) -> dict[str, Any]:
    metadata, pending = transaction.metadata, transaction.pending
    return {
        "transactional_id": transaction.id,
        "partition": transaction.partition,
        "state": metadata.state.value,
        "pending": None if pending is None else pending.value,
        "producer_id": metadata.producer.producer_id,
        "epoch": metadata.producer.epoch,
        "updated": None if metadata.updated == UNKNOWN else metadata.updated,
        "started": None if metadata.started == UNKNOWN else metadata.started,
        "timeout": metadata.timeout,
        "partitions": [str(each) for each in sorted(metadata.partitions)],
        "unmarked": [str(each) for each in sorted(transaction.unmarked)],
    }
