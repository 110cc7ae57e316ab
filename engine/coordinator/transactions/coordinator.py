"""A broker's transaction coordinator, as the broker sees it.

    load(7, epoch); replay(7, records, now) ...; loaded(7, now)    we lead partition 7 now
    unload(7, now)                                                 another broker does
    needs_id, give(producer id)            before InitProducerId: one must be at hand
    handle(request, caller, now)           what a client asks
    written(token, error, now)             what came of an Append
    marked(id, writer, partitions, now)    what came of a Mark
    tick(now), not later than due()        time has passed

Most return effects (coordinator/effects.py): answers, records for partition n of
__transaction_state, to be appended in this order, and the ends of transactions, to be told to the
partitions that they wrote to.

Invariant: every request is answered once, by some call.
Invariant: what is answered is replicated before. A successor that replays the records knows of the
same transactions, and ends those of which the end was decided.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kio.schema.add_offsets_to_txn.v3.request import AddOffsetsToTxnRequest
from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnRequest
from kio.schema.end_txn.v3.request import EndTxnRequest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest

from engine.config import BrokerConfig
from engine.coordinator.effects import Caller, Effect, Host, Writer
from engine.coordinator.timers import Kind
from engine.coordinator.transactions import adding, answers, ending, expiring, initializing
from engine.coordinator.transactions.image import UNKNOWN
from engine.coordinator.transactions.registry import Registry
from engine.coordinator.transactions.states import ENDING
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.storage.batch import NO_PRODUCER_ID
from engine.storage.records import Record

Handler = Callable[[Registry, Any, Caller, int], Any]  # the answer, or None: it comes later
Refusal = Callable[[Any, Caller, ErrorCode], Any]

HANDLERS: Mapping[type, Handler] = {
    InitProducerIdRequest: initializing.initialize,
    AddPartitionsToTxnRequest: adding.add_partitions,
    AddOffsetsToTxnRequest: adding.add_offsets,
    EndTxnRequest: ending.end,
}
REFUSALS: Mapping[type, Refusal] = {
    InitProducerIdRequest: lambda it, caller, code: answers.initialized(caller, code),
    AddPartitionsToTxnRequest: lambda it, caller, code: answers.added(
        caller, dict.fromkeys(adding.partitions(it), code)
    ),
    AddOffsetsToTxnRequest: lambda it, caller, code: answers.offsets_added(caller, code),
    EndTxnRequest: lambda it, caller, code: answers.ended(caller, code),
}


class Transactions:
    def __init__(
        self,
        config: BrokerConfig,
        partition_of_group: Callable[[str], TopicPartition],  # where its offsets are
        exists: Callable[[TopicPartition], bool],
        emit: Callable[[Event], None],
    ) -> None:
        self._host = Host(config, str, emit)  # there are no members here to be given ids
        count = config.transaction_state_log_num_partitions
        self.registry = Registry(self._host, count, partition_of_group, exists)

    def configure(self, config: BrokerConfig) -> None:
        self._host.config = config

    @property
    def partition_count(self) -> int:
        return self.registry.partition_count

    @partition_count.setter
    def partition_count(self, count: int) -> None:
        self.registry.partition_count = count

    # -- partitions come and go ------------------------------------------------------------

    def load(self, partition: int, epoch: int) -> None:
        self.registry.load(partition, epoch)

    def replay(
        self,
        partition: int,
        records: Iterable[Record],
        now: int,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        self.registry.replay(partition, records, now)

    def ended(self, partition: int, producer_id: int, committed: bool, now: int) -> list[Effect]:
        """In __transaction_state nothing is written within a transaction: it ends nothing."""
        return []

    def loaded(self, partition: int, now: int) -> list[Effect]:
        """What was decided, and perhaps not told everywhere, is told once more."""
        if not self.registry.led:
            expiring.look_for_late(self.registry, now)
            expiring.look_for_unused(self.registry, now)
        for transaction in self.registry.loaded(partition):
            if transaction.image.state in ENDING:
                ending.spread(transaction, now)
        return self._host.take()

    def unload(self, partition: int, now: int) -> list[Effect]:
        self.registry.unload(partition, now)
        return self._host.take()

    # -- what happens ----------------------------------------------------------------------

    @property
    def needs_id(self) -> bool:
        return self.registry.spare is None

    def give(self, producer_id: int) -> None:
        """One that was never given before, here or elsewhere."""
        assert self.needs_id, "one is at hand"
        self.registry.spare = producer_id

    def handle(self, request: Any, caller: Caller, now: int) -> list[Effect]:
        kind = next(each for each in type(request).__mro__ if each in HANDLERS)
        try:
            answer = HANDLERS[kind](self.registry, request, caller, now)
        except KafkaError as error:
            answer = REFUSALS[kind](request, caller, error.code)
        if answer is not None:
            self._host.reply(caller, answer)
        return self.tick(now)

    def written(self, token: int, error: ErrorCode, now: int) -> list[Effect]:
        self._host.written(token, error, now)
        return self.tick(now)

    def marked(
        self,
        transactional_id: str,
        writer: Writer,
        partitions: Iterable[TopicPartition],
        now: int,
    ) -> list[Effect]:
        ending.marked(self.registry, transactional_id, writer, partitions, now)
        return self.tick(now)

    def due(self) -> int | None:
        return self._host.timers.due()

    def tick(self, now: int) -> list[Effect]:
        for alarm in self._host.timers.over(now):
            match alarm.kind:
                case Kind.LATE:
                    expiring.abort_late(self.registry, now)
                case Kind.UNUSED:
                    expiring.forget_unused(self.registry, now)
                case Kind.COMPLETION:
                    transaction = self.registry.find(alarm.owner)
                    assert transaction is not None, "who has gone has no alarms"
                    ending.complete(transaction, now)
        return self._host.take()

    # -- for those who look on -------------------------------------------------------------

    def snapshot(self) -> list[dict[str, Any]]:
        """Each transactional id; JSON-ready."""
        return [_row(transaction) for transaction in self.registry]


def _row(transaction: Transaction) -> dict[str, Any]:
    image, pending = transaction.image, transaction.pending
    return {
        "transactional_id": transaction.id,
        "partition": transaction.partition,
        "state": image.state.value,
        "pending": None if pending is None else pending.value,
        "producer_id": image.writer.producer_id,
        "epoch": image.writer.epoch,
        "updated": None if image.updated == UNKNOWN else image.updated,
        "started": None if image.started == UNKNOWN else image.started,
        "timeout": image.timeout,
        "partitions": [str(each) for each in sorted(image.partitions)],
        "unmarked": [str(each) for each in sorted(transaction.unmarked)],
    }
