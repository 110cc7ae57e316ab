"""Transactions by chance: requests and answers get lost, coordinators move, logs refuse records.

Whatever happens, a transaction that was committed is in the logs once and in order, and nothing of
one that was aborted counts.
"""

import random
from collections.abc import Iterator

import pytest

from engine.client.core import Ask
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.client.producing.transaction_manager import ProducerState, TransactionCall
from engine.client.values import ConsumerGroupMetadata, KafkaError, KafkaException
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage.producers import Producers
from engine.wire.apis import Api
from tests.unit.client.producing import Sent
from tests.unit.client.transacting import OF_THE_GROUP, Desk

TRANSACTIONS = 12
PARTITIONS = 3
GROUP = ConsumerGroupMetadata("billing")
READ = TopicPartition("in", 0)
MOST_ROUNDS = 4000  # rounds for one call
PASSING = (ErrorCode.coordinator_load_in_progress, ErrorCode.concurrent_transactions)


class Log:
    """A partition: what is written, and what counts."""

    def __init__(self) -> None:
        self.producers = Producers()
        self.open: list[str] = []
        self.committed: list[str] = []
        self.end = 0

    def append(self, sent: Sent, number: int) -> ErrorCode:
        header, values = sent.batches[number]
        if any(value.startswith("bad") for value in values):
            return ErrorCode.invalid_record
        try:
            known = self.producers.check(header)
        except ApiException as refused:
            return refused.code
        if known is not None:
            return ErrorCode.duplicate_sequence_number
        self.producers.apply(header._replace(base_offset=self.end))
        self.end += len(values)
        self.open += values
        return ErrorCode.none

    def mark(self, committed: bool) -> None:
        if committed:
            self.committed += self.open
        self.open = []


class Cluster:
    """A coordinator that keeps Kafka's rules, the logs, and a network that loses things."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.logs = [Log() for _ in range(PARTITIONS)]
        self.epoch, self.before = -1, -1
        self.last: bool | None = None  # how the last transaction ended
        self.partitions: set[int] = set()
        self.is_open = False
        self.offsets: list[int] = []  # in the open transaction
        self.committed = -1

    def serve(self, it: Desk, ask: Ask) -> None:
        fate = self.chance.random()
        if fate < 0.08:
            self._fail(it, ask)  # it did not arrive
            return
        if ask.api is Api.PRODUCE:
            self._store(Sent(it, ask), fate)
            return
        if fate < 0.12 and ask.api is not Api.FIND_COORDINATOR:
            it.say(ask, ErrorCode.not_coordinator)
        elif fate < 0.2 and ask.api is not Api.FIND_COORDINATOR:
            it.say(ask, self.chance.choice(PASSING))
        else:
            code = self._do(ask)
            if self.chance.random() < 0.1:
                self._fail(it, ask)  # it is done, and nobody hears of it
            else:
                it.say(ask, code, epoch=max(self.epoch, 0))

    def _fail(self, it: Desk, ask: Ask) -> None:
        if ask.api is Api.PRODUCE:
            Sent(it, ask).fail()
        else:
            it.lose(ask)

    def _store(self, sent: Sent, fate: float) -> None:
        ((number, _),) = sent.batches.items()
        if fate < 0.2:
            sent.answer(ErrorCode.not_enough_replicas)
            return
        assert number in self.partitions, "a batch came to a partition that was not added"
        code = self.logs[number].append(sent, number)
        if fate < 0.3:
            sent.fail()
        else:
            sent.answer(code)

    def _do(self, ask: Ask) -> ErrorCode:
        request = ask.request
        match ask.api:
            case Api.FIND_COORDINATOR:
                return ErrorCode.none
            case Api.INIT_PRODUCER_ID:
                return self._init(request.producer_epoch)
            case Api.ADD_PARTITIONS_TO_TXN:
                self.partitions |= {each.partition for each in ask.about}
            case Api.TXN_OFFSET_COMMIT:
                assert ask.to == OF_THE_GROUP and self.is_open
                self.offsets.append(request.topics[0].partitions[0].committed_offset)
            case Api.END_TXN:
                return self._end(request.committed)
        self.is_open = True
        return ErrorCode.none

    def _init(self, known: int) -> ErrorCode:
        assert not self.is_open, "an epoch was raised within a transaction"
        if known not in (self.epoch, self.before, -1):
            return ErrorCode.producer_fenced
        if known in (self.epoch, -1):
            self.before, self.epoch = self.epoch, self.epoch + 1
        return ErrorCode.none

    def _end(self, committed: bool) -> ErrorCode:
        if not self.is_open:
            return ErrorCode.none if self.last == committed else ErrorCode.invalid_txn_state
        for log in self.logs:
            log.mark(committed)
        self.committed = max([self.committed, *self.offsets] if committed else [self.committed])
        self.offsets, self.partitions, self.is_open, self.last = [], set(), False, committed
        return ErrorCode.none


class Story:
    """An application that writes one transaction after the other."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = Cluster(self.chance)
        settings = {"delivery.timeout.ms": 700, "request.timeout.ms": 600, "retry.backoff.ms": 20}
        self.it = Desk(settings, leaders=range(1, PARTITIONS + 1))
        self.on_wire: list[Ask] = []
        self.expected: list[list[str]] = [[] for _ in range(PARTITIONS)]
        self.offset = -1
        self.aborted = 0

    def round(self) -> None:
        """What is asked now, and some of the answers; or the next that is due, if nobody asks."""
        it = self.it
        self.on_wire += it.asks()
        if not self.on_wire and self._waits():
            dues = [due for core in (it.sender, it.core) if (due := core.due()) is not None]
            assert dues and min(dues) > it.now, "a core sleeps for ever, or is busy for nothing"
            it.now = min(dues)
        while self.on_wire and self.chance.random() < 0.8:
            it.now += 0.01
            self.cluster.serve(it, self.on_wire.pop(0))

    def _waits(self) -> bool:
        pending = self.it.core._call
        return pending is not None and not pending.done

    def finish(self, operation: TransactionCall) -> None:
        for _ in range(MOST_ROUNDS):
            self.round()
            if operation.done:
                break
        assert operation.done, f"{operation.name} never came to its end: {self.it.core.trouble}"
        self.it.core.returned(operation)
        if operation.error is not None:
            raise KafkaException(operation.error)

    def write(self, number: int) -> Iterator[tuple[int, str]]:
        for count in range(self.chance.randrange(12)):
            self.it.core.check_open()
            partition = self.chance.randrange(PARTITIONS)
            kind = "bad" if self.chance.random() < 0.01 else "good"
            value = f"{kind} {number}.{count} " + "." * self.chance.randrange(90)
            self.it.add(partition, value.encode(), told=False)
            yield partition, value
            if self.chance.random() < 0.5:
                self.round()

    def transaction(self, number: int) -> None:
        core = self.it.core
        core.begin()
        try:
            written = list(self.write(number))
            if self.chance.random() < 0.3:
                self.finish(core.send_offsets({READ: OffsetAndMetadata(number)}, GROUP))
                sent = number
            else:
                sent = self.offset
            if self.chance.random() < 0.3:
                raise KafkaException(KafkaError(KafkaError._APPLICATION, txn_requires_abort=True))
            self.finish(core.commit())
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self.finish(core.abort())
            self.aborted += 1
        else:
            self.offset = sent
            for partition, value in written:
                self.expected[partition].append(value)
        assert core.state is ProducerState.READY
        assert not self.cluster.is_open, "the coordinator still has a transaction open"

    def run(self) -> None:
        self.finish(self.it.core.init())
        for number in range(TRANSACTIONS):
            self.transaction(number)


@pytest.mark.parametrize("seed", range(100))
def test_by_chance_all_of_a_transaction_counts_or_nothing(seed: int) -> None:
    story = Story(seed)
    story.run()
    assert [log.committed for log in story.cluster.logs] == story.expected
    assert story.cluster.committed == story.offset


def test_by_chance_all_kinds_of_ends_come_about() -> None:
    stories = [Story(seed) for seed in range(20)]
    for story in stories:
        story.run()
    assert sum(story.aborted for story in stories) > 20
    assert sum(story.cluster.epoch for story in stories) > 5, "numbers were missing, epochs raised"
    assert any(story.offset >= 0 for story in stories)
