"""EndTxn (API 26), versions 0 to 3, and all that follows.

    EndTxn ──> PrepareCommit is written ──> the producer is answered
                                        ──> Mark: all partitions that it wrote to
    marked ──> another one has its marker; when all have
               CompleteCommit is written ──> the next transaction may begin

What is decided is decided when it is written. From then on it is only told: to each partition, for
as long as it takes, and by the next coordinator if this one is gone. So a transaction is atomic
over all its partitions, though they are led by many brokers.

If the last step can't be written, nobody waits for an answer to it: it is tried again in a moment,
for as long as we lead.

Invariant: markers go out only for what is replicated, and there is one decision for each epoch of
a producer, up to its next transaction.
"""

from collections.abc import Iterable
from typing import Any

from engine.coordinator.effects import Caller, Mark, Then, Writer
from engine.coordinator.timers import Alarm, Kind
from engine.coordinator.transactions import answers
from engine.coordinator.transactions.image import Image
from engine.coordinator.transactions.registry import Registry
from engine.coordinator.transactions.states import COMPLETE, ENDING, State
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

AGAIN_MS = 100  # until a completion that could not be written is tried again


def end(registry: Registry, request: Any, caller: Caller, now: int) -> Any:
    writer = Writer(request.producer_id, request.producer_epoch)
    transaction = registry.require(request.transactional_id, writer)
    image = transaction.image
    committed = image.state is State.COMPLETE_COMMIT
    if image.state in COMPLETE and request.committed == committed:
        return answers.ended(caller, ErrorCode.none)  # it asks a second time
    if image.state is not State.ONGOING:
        raise KafkaError(ErrorCode.invalid_txn_state, f"{transaction.id} is {image.state.value}")

    def decided(error: ErrorCode, now: int) -> None:
        transaction.host.reply(caller, answers.ended(caller, error))

    _decide(transaction, image.ended(request.committed, now), now, decided)
    return None


def fence(transaction: Transaction, now: int, then: Then) -> None:
    """Abort it, and let nobody go on who has written in it."""
    step = State.PREPARE_EPOCH_FENCE
    _decide(transaction, transaction.image.fenced(now), now, then, by=step)


def _decide(
    transaction: Transaction, to: Image, now: int, then: Then, by: State | None = None
) -> None:
    def decided(error: ErrorCode, now: int) -> None:
        then(error, now)
        if error == ErrorCode.none:
            spread(transaction, now)

    transaction.change(to, now, decided, by=by)


def spread(transaction: Transaction, now: int) -> None:
    """Tell all partitions how it ended; a new coordinator tells all of them again."""
    image = transaction.image
    assert image.state in ENDING, f"{transaction.id} is {image.state.value}"
    transaction.unmarked = image.partitions
    if not image.partitions:
        complete(transaction, now)
        return
    transaction.host.mark(
        Mark(
            transaction.id,
            transaction.partition,
            transaction.epoch,
            image.writer,
            image.state is State.PREPARE_COMMIT,
            tuple(sorted(image.partitions)),
        )
    )


def marked(
    registry: Registry, id: str, writer: Writer, partitions: Iterable[TopicPartition], now: int
) -> None:
    """These have the marker, or are gone for good. What is said too late is of no interest; but a
    partition is reported once for each Mark, as the next transaction may have the same writer."""
    transaction = _ending(registry, id)
    if transaction is None or transaction.writer != writer:
        return
    known = transaction.unmarked
    transaction.unmarked = known.difference(partitions)
    if known and not transaction.unmarked:
        complete(transaction, now)


def _ending(registry: Registry, id: str) -> Transaction | None:
    try:
        transaction = registry.find(id)
    except KafkaError:  # led elsewhere by now, where all of it is told again
        return None
    is_ending = transaction is not None and transaction.image.state in ENDING
    return transaction if is_ending else None


def complete(transaction: Transaction, now: int) -> None:
    """All partitions know."""

    def written(error: ErrorCode, now: int) -> None:
        if error != ErrorCode.none:
            transaction.host.timers.set(Alarm(Kind.COMPLETION, transaction.id), now + AGAIN_MS)

    transaction.change(transaction.image.completed(now), now, written)
