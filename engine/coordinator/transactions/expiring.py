"""What time does to transactions. No single one has a deadline: now and then all are looked at.

    ongoing, and older than its producer said it would take     aborted, its producer fenced
    at rest, not used for transactional.id.expiration.ms        forgotten: a tombstone

An ongoing transaction holds up who reads its partitions with read_committed, at its first record.
So it must end at some time, even if its producer is dead. A producer that is alive after all finds
that it is fenced.
"""

from engine.coordinator.timers import Alarm, Kind
from engine.coordinator.transactions.ending import fence
from engine.coordinator.transactions.registry import Registry
from engine.coordinator.transactions.states import AT_REST
from engine.coordinator.transactions.transaction import Transaction
from engine.errors import ErrorCode


def look_for_late(registry: Registry, now: int) -> None:
    interval = registry.host.config.transaction_abort_timed_out_transaction_cleanup_interval_ms
    registry.host.timers.set(Alarm(Kind.LATE), now + interval)


def look_for_unused(registry: Registry, now: int) -> None:
    interval = registry.host.config.transaction_remove_expired_transaction_cleanup_interval_ms
    registry.host.timers.set(Alarm(Kind.UNUSED), now + interval)


def abort_late(registry: Registry, now: int) -> None:
    for transaction in registry:
        if transaction.image.is_late(now) and not transaction.is_busy:
            fence(transaction, now, _next_time)
    if registry.led:
        look_for_late(registry, now)


def _next_time(error: ErrorCode, now: int) -> None:
    """If it could not be written, it is late then, too."""


def forget_unused(registry: Registry, now: int) -> None:
    limit = now - registry.host.config.transactional_id_expiration_ms
    for transaction in registry:
        image = transaction.image
        if image.state in AT_REST and image.updated <= limit and not transaction.is_busy:
            _forget(registry, transaction, now)
    if registry.led:
        look_for_unused(registry, now)


def _forget(registry: Registry, transaction: Transaction, now: int) -> None:
    def forgotten(error: ErrorCode, now: int) -> None:
        if error == ErrorCode.none:
            registry.drop(transaction)

    transaction.change(transaction.image.forgotten(now), now, forgotten)
