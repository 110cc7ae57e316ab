"""A producer's core at work by hand: a test is its network, its clock and its brokers.

it = Desk({"acks": "all"}, leaders=[1, 2])
it.add(0, b"a record")
(sent,) = it.step()                what goes out now: a `Sent` for each request
sent.answer(ErrorCode.none)        the broker has stored it
it.told                            [("a record", None, 0)]   value, error's name, offset
"""

from types import SimpleNamespace as Message
from typing import Any

from engine import errors
from engine.client.core import Ask
from engine.client.metadata import MetadataSnapshot, MetadataView, PartitionSnapshot, TopicSnapshot
from engine.client.producing.accumulator import RecordAccumulator
from engine.client.producing.batch import max_size
from engine.client.producing.idempotence import ProducerId
from engine.client.producing.sender import Sender
from engine.client.producing.transaction_manager import TransactionManager
from engine.config.producer import ProducerConfig
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Header
from engine.wire.apis import Api

Told = tuple[str, str | None, int]


class Noting(MetadataView):
    """It notes whether it was told that the leaders may be others."""

    is_stale = False

    def stale(self) -> None:
        self.is_stale = True


class Desk:
    def __init__(self, given: dict[str, Any] | None = None, leaders: Any = (1,)) -> None:
        defaults = {"bootstrap.servers": "a:1", "batch.size": 200}
        self.settings, _ = ProducerConfig.take(defaults | (given or {}))
        self.view = Noting(self.settings)
        self.accumulator = RecordAccumulator(self.settings)
        self.transactions: TransactionManager | None = None
        if self.settings.transactional_id is not None:
            self.transactions = TransactionManager(self.settings, self.accumulator)
        self.producer_id: ProducerId | None = None
        if self.settings.enable_idempotence and self.transactions is None:
            self.producer_id = ProducerId(self.settings.retry_backoff_ms / 1000)
        self.sender = Sender(self.settings, self.accumulator, self.producer_id, self.transactions)
        self.now = 0.0
        self.lead(*leaders)

    def lead(self, *leaders: int) -> None:
        """The leader of each partition of topic `t`, as of now."""
        partitions = {
            number: PartitionSnapshot(leader, (), ()) for number, leader in enumerate(leaders)
        }
        topic = TopicSnapshot("t", None, ErrorCode.none, False, partitions)
        self.view.metadata = MetadataSnapshot(None, -1, {}, {"t": topic})

    def add(self, partition: int, *values: bytes, told: bool = True) -> None:
        for value in values:
            queue = self.accumulator.queue(TopicPartition("t", partition))
            size = max_size(None, value, ())
            batch, _ = self.accumulator.append(queue, size, None, value, 1000, (), self.now)
            if told:
                note = (batch.count - 1, None, None, value, None, 1000, self.now)
                batch.pending_reports.append(note)

    def step(self, after: float = 0.0) -> list["Sent"]:
        self.now += after
        asks = list(self.sender.step(self.now, self.view))
        if self.producer_id is not None:
            asks += self.producer_id.step(self.now, self.view)
        return [Sent(self, ask) for ask in asks]

    def identify(self, producer_id: int = 7, epoch: int = 0) -> None:
        """What an idempotent producer asks first."""
        (sent,) = self.step()
        assert sent.ask.api is Api.INIT_PRODUCER_ID
        response = Message(error_code=ErrorCode.none, producer_id=producer_id, producer_epoch=epoch)
        sent.core.answered(sent.ask, response, self.now)

    @property
    def told(self) -> list[Told]:
        """What the application has heard since it was asked last."""
        found: list[Told] = []
        while self.sender.reports:
            report = self.sender.reports.popleft()
            for place, _, _, value, *_ in reversed(report.batch.pending_reports):
                error = report.error.name() if report.error else None
                offset = report.offset + place if report.offset >= 0 else -1
                found.append(((value or b"").decode(), error, offset))
        return found


class Sent:
    """A request that is on its way."""

    def __init__(self, desk: Desk, ask: Ask) -> None:
        self.desk, self.ask, self.to = desk, ask, ask.to
        self.batches: dict[int, tuple[Header, list[str]]] = {}  # by partition
        if ask.api is Api.PRODUCE:
            for topic in ask.request.topic_data:
                for data in topic.partition_data:
                    values = [each.value or b"" for each in records.decode(data.records)]
                    header = Header.parse(data.records)
                    self.batches[data.index] = header, [value.decode() for value in values]

    @property
    def core(self) -> Sender | ProducerId:
        """Who asked."""
        if self.ask.api is Api.PRODUCE:
            return self.desk.sender
        assert self.desk.producer_id is not None
        return self.desk.producer_id

    @property
    def values(self) -> dict[int, list[str]]:
        return {partition: values for partition, (_, values) in self.batches.items()}

    @property
    def header(self) -> Header:
        """Of the only batch."""
        ((header, _),) = self.batches.values()
        return header

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Producer id, epoch and first sequence of the only batch."""
        header = self.header
        return header.producer_id, header.producer_epoch, header.base_sequence

    def answer(self, code: ErrorCode = ErrorCode.none, offset: int = 0, **more: Any) -> None:
        """The same for each partition."""
        told = {"log_append_time": None, "error_message": None, "record_errors": ()} | more
        responses = tuple(
            Message(index=partition, error_code=code, base_offset=offset, **told)
            for partition in self.batches
        )
        topics = (Message(name="t", partition_responses=responses),)
        self.desk.sender.answered(self.ask, Message(responses=topics), self.desk.now)

    def done(self) -> None:
        """It is sent, and nobody will ever answer: acks=0."""
        self.desk.sender.answered(self.ask, None, self.desk.now)

    def fail(self, code: ErrorCode = ErrorCode.network_exception) -> None:
        self.core.failed(self.ask, errors.ApiException(code, "it broke"), self.desk.now)
