"""InitProducerId (API 22), versions 0 to 4, with a transactional id: here I am, who am I?

    never seen            a producer id, epoch 0
    at rest               the next epoch: whoever had the one before is fenced
    ongoing               aborted, under an epoch of its own; CONCURRENT_TRANSACTIONS, so it comes
                          back, and finds it
    ending, or changing   CONCURRENT_TRANSACTIONS

From version 3 on it may say who it was (KIP-360), to go on after an error without having been
started anew; see image.py.

Left out: producers without a transactional id. Any broker gives them an id; no coordinator knows
them.
"""

from typing import Any

from engine.coordinator.effects import Caller, Writer
from engine.coordinator.group import milliseconds
from engine.coordinator.transactions import answers
from engine.coordinator.transactions.ending import fence
from engine.coordinator.transactions.image import NOBODY
from engine.coordinator.transactions.registry import Registry, check_id
from engine.coordinator.transactions.states import State
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ErrorCode, KafkaError
from engine.storage.batch import NO_EPOCH, NO_PRODUCER_ID


def initialize(registry: Registry, request: Any, caller: Caller, now: int) -> None:
    expected = _expected(request)
    check_id(request.transactional_id)
    timeout = milliseconds(request.transaction_timeout)
    if not 0 < timeout <= registry.host.config.transaction_max_timeout_ms:
        raise KafkaError(ErrorCode.invalid_transaction_timeout, f"{timeout} ms is not allowed")
    found = registry.find(request.transactional_id)
    transaction = found or registry.new(request.transactional_id)
    if transaction.is_busy:
        raise KafkaError(ErrorCode.concurrent_transactions, f"{transaction.id} is busy")
    if not transaction.image.admits(expected):
        raise KafkaError(ErrorCode.producer_fenced, f"{transaction.id} is not {expected}'s")
    if transaction.image.state is State.ONGOING:
        _abort(transaction, caller, now)
    else:
        _begin(registry, transaction, expected, timeout, caller, now)


def _expected(request: Any) -> Writer | None:
    """Who it says that it is, if it does."""
    writer = Writer(request.producer_id, request.producer_epoch)
    if writer == NOBODY:
        return None
    if writer.producer_id == NO_PRODUCER_ID or writer.epoch == NO_EPOCH:
        raise KafkaError(ErrorCode.invalid_request, "an id goes with an epoch")
    return writer


def _abort(transaction: Transaction, caller: Caller, now: int) -> None:
    def fenced(error: ErrorCode, now: int) -> None:
        again = ErrorCode.concurrent_transactions
        code = again if error == ErrorCode.none else error
        transaction.host.reply(caller, answers.initialized(caller, code))

    fence(transaction, now, fenced)


def _begin(
    registry: Registry,
    transaction: Transaction,
    expected: Writer | None,
    timeout: int,
    caller: Caller,
    now: int,
) -> None:
    image = transaction.image.begun(expected, timeout, now, registry.new_producer_id)

    def written(error: ErrorCode, now: int) -> None:
        writer = image.writer if error == ErrorCode.none else NOBODY
        transaction.host.reply(caller, answers.initialized(caller, error, writer))
        if transaction.writer.epoch == NO_EPOCH:  # it never came to be
            registry.drop(transaction)

    transaction.change(image, now, written)
