"""All transactional ids of this coordinator, each in its partition of __transaction_state.

Every marker has the leader epoch since which this broker leads the partition. By it, the log that
gets the marker distinguishes this coordinator from the next one.
"""

from collections.abc import Callable

from engine.coordinator.effects import CoordinatorContext, TransactionalProducer
from engine.coordinator.owned_partitions import OwnedPartitions
from engine.coordinator.record_codec import MAX_STRING_BYTES
from engine.coordinator.transactions.metadata import TransactionMetadata
from engine.coordinator.transactions.records import decode_key, decode_value
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import NO_EPOCH, TopicPartition
from engine.storage.records import Record


class TransactionStateManager(OwnedPartitions[Transaction]):
    unreadable = "transaction.unreadable"

    def __init__(
        self,
        context: CoordinatorContext,
        partition_count: int,
        partition_of_group: Callable[[str], TopicPartition],
        exists: Callable[[TopicPartition], bool],
    ) -> None:
        super().__init__(context, partition_count)
        self.partition_of_group = partition_of_group  # which has its offsets
        self.exists = exists  # whether a topic has such a partition
        self.spare_producer_id: int | None = None  # that no producer has yet

    def require(self, id: str, producer: TransactionalProducer) -> Transaction:
        """For its current producer, and only if no change is pending."""
        check_id(id)
        transaction = self.find(id)
        if transaction is None or transaction.producer.producer_id != producer.producer_id:
            message = f"{producer} is not the producer of {id}"
            raise ApiException(ErrorCode.invalid_producer_id_mapping, message)
        if transaction.producer.epoch != producer.epoch:
            raise ApiException(ErrorCode.producer_fenced, f"{id} has a later epoch than {producer}")
        if transaction.is_busy:
            raise ApiException(ErrorCode.concurrent_transactions, f"{id} is busy")
        return transaction

    def new(self, id: str) -> Transaction:
        """Without a producer yet. It is removed if its first change cannot be written."""
        producer = TransactionalProducer(self.new_producer_id(), NO_EPOCH)
        partition = self.partition_of(id)
        transaction = self._create(id, partition, TransactionMetadata(producer, timeout=0))
        self.owned[partition][id] = transaction
        return transaction

    def remove(self, transaction: Transaction) -> None:
        if transaction.partition in self.owned:  # otherwise it was unloaded
            del self.owned[transaction.partition][transaction.id]

    def new_producer_id(self) -> int:
        if self.spare_producer_id is None:
            raise ApiException(ErrorCode.coordinator_load_in_progress, "no producer ids now")
        id, self.spare_producer_id = self.spare_producer_id, None
        return id

    def _create(self, id: str, partition: int, metadata: TransactionMetadata) -> Transaction:
        since = self.leader_since[partition]
        return Transaction(id, partition, since, self.context, metadata)

    def _replay_record(self, partition: int, record: Record, producer_id: int) -> None:
        id = decode_key(record.key or b"")
        if record.value is None:
            self.loading[partition].pop(id, None)
        else:
            metadata = decode_value(record.value)
            self.loading[partition][id] = self._create(id, partition, metadata)


def check_id(id: str | None) -> None:
    if not id or len(id.encode()) > MAX_STRING_BYTES:
        message = f"{str(id)[:50]!r} is not a valid transactional id"
        raise invalid_request(message)
