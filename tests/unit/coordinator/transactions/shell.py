"""A transaction coordinator, a log that is written at once or when told to, partitions that take
markers at once or when told to, and producers that ask things."""

from collections import defaultdict
from datetime import timedelta
from itertools import count

from kio.schema.add_offsets_to_txn.v3.request import AddOffsetsToTxnRequest
from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnTopic
from kio.schema.end_txn.v3.request import EndTxnRequest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.client.producing.transaction_requests import AddPartitionsToTxnRequest
from engine.coordinator.effects import Append, Caller, Reply, TransactionalProducer, TxnMarkers
from engine.coordinator.owned_partitions import partition_of
from engine.coordinator.transactions.coordinator import TransactionCoordinator
from engine.coordinator.transactions.metadata import NO_PRODUCER
from engine.coordinator.transactions.records import decode_key, decode_value
from engine.errors import ErrorCode
from engine.model import TopicPartition
from tests.unit.coordinator.shell import config

NONE = ErrorCode.none
FENCED, OLD_FENCED = ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch
BUSY = ErrorCode.concurrent_transactions
ELSEWHERE = ErrorCode.not_coordinator
MAPPING = ErrorCode.invalid_producer_id_mapping
ID = "billing"
PARTITION = partition_of(ID, 50)
NEIGHBOUR = next(name for n in count() if partition_of(name := f"n{n}", 50) == PARTITION)
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
OFFSETS = TopicPartition("__consumer_offsets", 7)  # where all groups are
START, TIMEOUT = 1_000_000, 60_000
EPOCH = 5  # since which the coordinator leads
NEWEST = 9  # above the newest version of any API
FIRST = 4000  # producer id


class Shell:
    """The broker around a coordinator, in small.

    `held` writes wait in `waiting`, until `finish` says what came of them; others are replicated
    at once. With `markers`, the partitions take TxnMarkers at once; without, these wait in `marks`.
    """

    def __init__(
        self, *, held=False, markers=True, partitions=(PARTITION,), epoch=EPOCH, ids=None, **values
    ):
        self.now = START
        self.held, self.markers = held, markers
        self.events, self.marks, self.waiting, self.accepted = [], [], [], []
        self.replies = defaultdict(list)  # by request, all that it was answered
        self.asked = 0
        self.missing = set()  # partitions of topics that do not exist
        self.ids = ids or count(FIRST)  # of producers: never one twice, whoever coordinates
        self.coordinator = TransactionCoordinator(
            config(**values),
            lambda group: OFFSETS,
            lambda partition: partition not in self.missing,
            self.events.append,
        )
        for partition in partitions:
            self.lead(partition, epoch)

    def lead(self, partition, epoch, records=()):
        self.coordinator.load(partition, epoch)
        self.coordinator.replay(partition, records, self.now)
        self.do(self.coordinator.loaded(partition, self.now))

    def do(self, effects):
        for each in effects:
            match each:
                case Reply(to, response):
                    self.replies[to].append(response)
                case TxnMarkers():
                    self.marks.append(each)
                    if self.markers:
                        self.mark(each)
                case Append() if self.held:
                    self.waiting.append(each)
                case Append():
                    self._accept(each)

    def mark(self, mark, *partitions):
        """All partitions, if none is named."""
        coordinator, some = self.coordinator, partitions or mark.partitions
        self.do(coordinator.marked(mark.transactional_id, mark.producer, some, self.now))

    def _accept(self, write, error=NONE):
        if error == NONE:
            self.accepted += [(write.partition, record) for record in write.records]
        assert write.token is not None  # here, everything is waited for
        self.do(self.coordinator.written(write.token, error, self.now))

    def finish(self, error=NONE):
        self._accept(self.waiting.pop(0), error)

    def ask(self, request, version=NEWEST):
        """The number of the request, which its replies go by."""
        self.asked += 1
        if self.coordinator.needs_producer_id and (producer_id := next(self.ids, None)) is not None:
            self.coordinator.give_producer_id(producer_id)
        self.do(self.coordinator.handle(request, Caller(self.asked, version), self.now))
        return self.asked

    def answer(self, number):
        """The one answer to a request; None if there is none yet."""
        answers = self.replies[number]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def advance(self, milliseconds):
        end = self.now + milliseconds
        while (due := self.coordinator.due()) is not None and due <= end:
            self.now = max(due, self.now)
            self.do(self.coordinator.tick(self.now))
        self.now = end

    # -- what producers ask ----------------------------------------------------------------

    def init(self, expected=NO_PRODUCER, *, id=ID, timeout=TIMEOUT, version=NEWEST):
        request = InitProducerIdRequest(
            transactional_id=id,
            transaction_timeout=timedelta(milliseconds=timeout),
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        return self.ask(request, version)

    def initialized(self, *expected, **more):
        """The code, and who it is from now on."""
        answer = self.answer(self.init(*expected, **more))
        return answer.error_code, TransactionalProducer(answer.producer_id, answer.producer_epoch)

    def begin(self, **more):
        code, writer = self.initialized(**more)
        assert code == NONE
        return writer

    def add(self, writer, *partitions, id=ID, version=NEWEST):
        topics = defaultdict(list)
        for topic, number in partitions:
            topics[topic].append(number)
        rows = [AddPartitionsToTxnTopic(name=t, partitions=tuple(n)) for t, n in topics.items()]
        request = AddPartitionsToTxnRequest(
            transactional_id=id,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            topics=tuple(rows),
        )
        return self.ask(request, version)

    def codes(self, number):
        """Of each partition; None if there is no answer yet."""
        answer = self.answer(number)
        return answer and {
            TopicPartition(topic.name, row.partition_index): row.partition_error_code
            for topic in answer.results
            for row in topic.results_by_partition
        }

    def added(self, writer, *partitions, **more):
        """The one code of all partitions."""
        codes = self.codes(self.add(writer, *partitions, **more))
        assert set(codes) == set(partitions)
        (code,) = set(codes.values())
        return code

    def add_offsets(self, writer, group="g", id=ID, version=NEWEST):
        request = AddOffsetsToTxnRequest(
            transactional_id=id,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            group_id=group,
        )
        return self.ask(request, version)

    def end(self, writer, committed=True, id=ID, version=NEWEST):
        request = EndTxnRequest(
            transactional_id=id,
            producer_id=writer.producer_id,
            producer_epoch=writer.epoch,
            committed=committed,
        )
        return self.ask(request, version)

    def code(self, number):
        answer = self.answer(number)
        return answer and answer.error_code

    def ended(self, writer, committed=True, **more):
        return self.code(self.end(writer, committed, **more))

    # -- what there is ---------------------------------------------------------------------

    @property
    def transaction(self):
        return self.coordinator.transactions.find(ID)

    @property
    def state(self):
        return self.transaction.metadata.state.value

    def told(self, kind="transaction.changed"):
        return [each.data for each in self.events if each.kind == kind]

    def records(self):
        """What is in the log, decoded."""
        return [
            (decode_key(record.key), None if record.value is None else decode_value(record.value))
            for _, record in self.accepted
        ]

    def successor(self, **options):
        """The broker that leads next, and has the same log."""
        other = Shell(partitions=(), ids=self.ids, **options)
        other.now, other.accepted = self.now, list(self.accepted)
        other.lead(PARTITION, EPOCH + 1, [record for _, record in self.accepted])
        return other
