"""A transactional producer in the simulated cluster: the cores of our client, and its metadata.

    application ──> TransactionManager, RecordAccumulator ──> Sender ──> cores.py ──> brokers

Each record is a batch, so that a reader of a log can see each of them. TransactionalWriter lets it
do what a random application does; in `SteppedProducer` a caller does one step after the other.
"""

from collections.abc import Callable

from engine.client.metadata import MetadataView
from engine.client.producing.accumulator import RecordAccumulator
from engine.client.producing.batch import ProducerBatch
from engine.client.producing.sender import Sender
from engine.client.producing.transaction_manager import TransactionCall, TransactionManager
from engine.client.values import KafkaException
from engine.config.producer import ProducerConfig
from engine.model import TopicPartition
from engine.sim.client import Client
from engine.sim.cores import SimulatedCores

SETTINGS = {
    "bootstrap.servers": "sim:1",
    "batch.size": "0",  # each record is a batch
    "request.timeout.ms": "3000",
    "delivery.timeout.ms": "6000",
    "transaction.timeout.ms": "6000",
    "metadata.max.age.ms": "5000",
}


class SimulatedProducer:
    def __init__(self, client: Client, id: str) -> None:
        settings = ProducerConfig.parse({**SETTINGS, "transactional.id": id})
        self.process = client.process
        self._accumulator = RecordAccumulator(settings)
        self.manager = TransactionManager(settings, self._accumulator)
        self.sender = Sender(settings, self._accumulator, None, self.manager)
        self.view = MetadataView(settings)
        timeout = settings.request_timeout_ms
        self.cores = SimulatedCores(client, self.view, [self.sender, self.manager], timeout)

    def append(self, partition: TopicPartition, value: str) -> ProducerBatch:
        """Add a record to the transaction that is open; it is sent when the cores act."""
        data, now = value.encode(), self.process.clock.now
        queue = self._accumulator.queue(partition)
        return self._accumulator.append(queue, len(data), None, data, now, (), self.cores.now)[0]


class SteppedProducer:
    """A transactional producer whose calls let time pass until they are done.

    till = sim.transactional("till")
    till.begin(); till.send("orders", "two teas"); till.commit()

    A call that is refused raises KafkaException; after PRODUCER_FENCED the producer is of no use.
    """

    def __init__(self, client: Client, id: str, wait: Callable[[Callable[[], object]], None]):
        self._producer, self._wait = SimulatedProducer(client, id), wait
        self._call(self._producer.manager.init)

    def begin(self) -> None:
        self._producer.manager.begin()

    def send(self, topic: str, value: str, partition: int = 0) -> None:
        """Until the record is stored, or has failed; if it has, `commit` raises the error."""
        self._producer.view.add(topic)
        batch = self._producer.append(TopicPartition(topic, partition), value)
        self._producer.cores.act()
        self._wait(lambda: batch.done)

    def commit(self) -> None:
        self._call(self._producer.manager.commit)

    def abort(self) -> None:
        self._call(self._producer.manager.abort)

    def _call(self, step: Callable[[], TransactionCall]) -> None:
        call = step()
        self._producer.cores.act()
        self._wait(lambda: call.done)
        self._producer.manager.returned(call)
        if call.error is not None:
            raise KafkaException(call.error)
