"""All transactional ids of a coordinator, each in its partition of __transaction_state.

    transactional id ── Java's hash ──> partition ──> led here?    NOT_COORDINATOR
                                                      read yet?    COORDINATOR_LOAD_IN_PROGRESS
                                                      the transaction, and is it you?

The partition's leader is the coordinator of its transactional ids. When it becomes that, it reads
the partition from end to end: what it finds is all that there is to know. The epoch since which it
leads goes into every marker, so that a partition can tell a coordinator from its successor.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from engine.coordinator.effects import Host, Writer
from engine.coordinator.fields import LONGEST
from engine.coordinator.groups import partition_of
from engine.coordinator.timers import Alarm, Kind
from engine.coordinator.transactions.image import Image
from engine.coordinator.transactions.records import decode_key, decode_value
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition
from engine.storage.batch import NO_EPOCH
from engine.storage.records import Record


@dataclass
class Reign:
    """Of a leader over one partition of __transaction_state."""

    epoch: int
    transactions: dict[str, Transaction] = field(default_factory=dict)


class Registry:
    def __init__(
        self,
        host: Host,
        partition_count: int,
        partition_of_group: Callable[[str], TopicPartition],
        exists: Callable[[TopicPartition], bool],
    ) -> None:
        self.host = host
        self.partition_count = partition_count
        self.partition_of_group = partition_of_group  # where its offsets are
        self.exists = exists  # whether there is such a partition of a topic
        self.led: dict[int, Reign] = {}
        self.loading: dict[int, Reign] = {}
        self.spare: int | None = None  # a producer id that nobody has yet

    def __iter__(self) -> Iterator[Transaction]:
        return iter([it for reign in self.led.values() for it in reign.transactions.values()])

    def find(self, id: str) -> Transaction | None:
        """None if there is no such transactional id; a KafkaError if it is not for us to say."""
        partition = partition_of(id, self.partition_count)
        if partition in self.loading:
            raise KafkaError(ErrorCode.coordinator_load_in_progress, f"{partition} is being read")
        if partition not in self.led:
            raise KafkaError(ErrorCode.not_coordinator, f"{partition} is led elsewhere")
        return self.led[partition].transactions.get(id)

    def require(self, id: str, writer: Writer) -> Transaction:
        """For its producer, and only if it can do something now."""
        check_id(id)
        transaction = self.find(id)
        if transaction is None or transaction.writer.producer_id != writer.producer_id:
            raise KafkaError(ErrorCode.invalid_producer_id_mapping, f"{writer} does not have {id}")
        if transaction.writer.epoch != writer.epoch:
            raise KafkaError(ErrorCode.producer_fenced, f"{id} has gone on without {writer}")
        if transaction.is_busy:
            raise KafkaError(ErrorCode.concurrent_transactions, f"{id} is busy")
        return transaction

    def new(self, id: str) -> Transaction:
        """One that never had a producer. It stays if its first change is written."""
        image = Image(Writer(self.new_producer_id(), NO_EPOCH), timeout=0)
        partition = partition_of(id, self.partition_count)
        reign = self.led[partition]
        found = Transaction(id, partition, reign.epoch, self.host, image)
        reign.transactions[id] = found
        return found

    def drop(self, transaction: Transaction) -> None:
        if transaction.partition in self.led:  # otherwise it is gone with all the others
            del self.led[transaction.partition].transactions[transaction.id]

    def new_producer_id(self) -> int:
        if self.spare is None:
            raise KafkaError(ErrorCode.coordinator_not_available, "no producer id is at hand")
        id, self.spare = self.spare, None
        return id

    # -- partitions come and go ------------------------------------------------------------

    def load(self, partition: int, epoch: int) -> None:
        assert partition not in self.led, f"{partition} was not given up"
        self.loading[partition] = Reign(epoch)

    def replay(self, partition: int, records: Iterable[Record], now: int) -> None:
        """In the order of the log. What we can't read is no reason to forget the rest."""
        if partition not in self.loading:
            return  # given up meanwhile
        for record in records:
            try:
                self._replay(partition, self.loading[partition], record)
            except KafkaError as error:
                self.host.tell(
                    "transaction.unreadable",
                    now,
                    partition=partition,
                    offset=record.offset,
                    reason=error.message,
                )

    def _replay(self, partition: int, reign: Reign, record: Record) -> None:
        id = decode_key(record.key or b"")
        if record.value is None:
            reign.transactions.pop(id, None)
        else:
            image = decode_value(record.value)
            reign.transactions[id] = Transaction(id, partition, reign.epoch, self.host, image)

    def loaded(self, partition: int) -> list[Transaction]:
        """Returns those that were there."""
        if partition not in self.loading:
            return []
        self.led[partition] = self.loading.pop(partition)
        return list(self.led[partition].transactions.values())

    def unload(self, partition: int, now: int) -> None:
        """What they were about to change, they never will."""
        self.loading.pop(partition, None)
        reign = self.led.pop(partition, None)
        self.host.give_up(partition, now)
        for id in reign.transactions if reign is not None else ():
            self.host.timers.cancel(Alarm(Kind.COMPLETION, id))


def check_id(id: str | None) -> None:
    if not id or len(id.encode()) > LONGEST:
        raise KafkaError(ErrorCode.invalid_request, f"{str(id)[:50]!r} is no transactional id")
