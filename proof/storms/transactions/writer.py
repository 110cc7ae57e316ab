"""A transactional producer in the simulated cluster: the client's cores, and an application.

    application   init, then again and again: begin, some records, perhaps offsets of a group,
                  commit or abort                                         (TransactionManager)
    producer      the client's cores ──> requests ──> brokers               (producer.py)

It notes what it was told of each transaction. The application gives up when its producer is fenced,
as one should: another process has its transactional id.

Each transaction has a number, which is also the offset that it commits
for its group: so the number tells which transaction an offset belongs to.
"""

from dataclasses import dataclass, field
from enum import Enum
from random import Random

from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.client.producing.batch import ProducerIdAndEpoch
from engine.client.producing.transaction_manager import (
    ABORT,
    COMMIT,
    ProducerState,
    TransactionCall,
)
from engine.client.values import ConsumerGroupMetadata
from engine.model import TopicPartition
from engine.sim.client import Client
from engine.sim.transactional_producer import SimulatedProducer

MOST = 4  # records of a transaction
COMMITS = 0.75  # the share of transactions that are to be committed
WITH_OFFSETS = 0.5  # ... that commit offsets of a group, too
READY_TO_END = 0.5  # the probability that a transaction ends in a turn


class Outcome(Enum):
    """What the application was told of a transaction."""

    UNKNOWN = "unknown"  # the producer was killed, paused or fenced before it heard
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(eq=False)
class WrittenTransaction:
    number: int
    id: str  # the transactional id
    records: list[tuple[TopicPartition, str]] = field(default_factory=list)
    has_offsets: bool = False
    outcome: Outcome = Outcome.UNKNOWN


class TransactionalWriter:
    def __init__(
        self,
        client: Client,
        id: str,
        partitions: list[TopicPartition],
        source: TopicPartition,  # whose offsets a group commits
        everything: list[WrittenTransaction],
        chance: Random,
    ) -> None:
        self.id = id
        self.process = client.process
        self._partitions, self._source = partitions, source
        self._everything = everything  # of all writers
        self._chance = chance
        self._producer = SimulatedProducer(client, id)
        self._producer.view.want({each.topic for each in partitions})
        self._manager = self._producer.manager
        self._transaction: WrittenTransaction | None = None
        self._call: TransactionCall | None = self._manager.init()
        self._waits_since = self.process.clock.now
        self._producer.cores.act()

    @property
    def waited(self) -> int:
        """For how many ms it has waited for the result of a call."""
        return self.process.clock.now - self._waits_since

    @property
    def producer(self) -> ProducerIdAndEpoch | None:
        """As the coordinator has named it; None: not yet."""
        return self._manager.producer

    @property
    def is_over(self) -> bool:
        """It cannot go on: it was fenced."""
        return self._manager.is_fatal

    @property
    def is_idle(self) -> bool:
        """Between two transactions."""
        return self._manager.state is ProducerState.READY and self._call is None

    def turn(self, *, begins: bool) -> None:
        """The next step of the application, if it does not wait; `begins`: new transactions."""
        self._producer.sender.reports.clear()
        if self._call is not None and self._call.done:
            self._returned(self._call)
        if self._call is None:
            self._waits_since = self.process.clock.now
        if self._call is None and not self.is_over:
            match self._manager.state:
                case ProducerState.READY if begins:
                    self._begin()
                case ProducerState.IN_TRANSACTION if self._chance.random() < READY_TO_END:
                    commits = self._chance.random() < COMMITS
                    self._call = self._manager.commit() if commits else self._manager.abort()
                case ProducerState.ABORTABLE_ERROR:
                    self._call = self._manager.abort()
        self._producer.cores.act()

    def _begin(self) -> None:
        self._manager.begin()
        written = WrittenTransaction(len(self._everything), self.id)
        self._transaction = written
        self._everything.append(written)
        for index in range(self._chance.randint(1, MOST)):
            partition = self._chance.choice(self._partitions)
            value = f"t{written.number:04}.{index}"
            written.records.append((partition, value))
            self._producer.append(partition, value)
        if self._chance.random() < WITH_OFFSETS:
            written.has_offsets = True
            offsets = {self._source: OffsetAndMetadata(written.number)}
            group = ConsumerGroupMetadata(group_of(self.id))
            self._call = self._manager.send_offsets(offsets, group)

    def _returned(self, call: TransactionCall) -> None:
        self._manager.returned(call)
        self._call = None
        if call.error is None and self._transaction is not None:
            if call.name == COMMIT:
                self._transaction.outcome = Outcome.COMMITTED
            elif call.name == ABORT:
                self._transaction.outcome = Outcome.ABORTED
        if call.name in (COMMIT, ABORT) and (call.error is None or self.is_over):
            self._transaction = None


def group_of(id: str) -> str:
    """The group whose offsets the transactions of an id commit."""
    return f"group of {id}"
