"""One transactional id, with what is known of it and the one change that is on its way.

    change ──> pending ──> Append ──> written: none     the next image takes its place
                                      written: error    all is as it was

While a change is pending, and while a transaction is ending, whoever asks is told to come back:
CONCURRENT_TRANSACTIONS.

Invariant: one change at a time; the records of a transactional id are in the order of its changes.
Invariant: `image` is what replaying the log gives, as far as its records are replicated.

Unlike Kafka 2.8, which raises the epoch of a producer that it fences in memory first, nothing is
true here, and nobody is told of it, before it is replicated.
"""

from collections.abc import Mapping
from itertools import pairwise

from engine.coordinator.effects import UNAVAILABLE, Host, Then, Writer
from engine.coordinator.transactions.image import Image
from engine.coordinator.transactions.records import encode_key, encode_value
from engine.coordinator.transactions.states import ENDING, State, check
from engine.errors import ErrorCode
from engine.model import TopicPartition

# What a producer is told if what it asked for could not be written.
WRITE_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    **UNAVAILABLE,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}


class Transaction:
    def __init__(self, id: str, partition: int, epoch: int, host: Host, image: Image) -> None:
        self.id = id
        self.partition = partition  # of __transaction_state
        self.epoch = epoch  # since which we lead that partition
        self.host = host
        self.image = image
        self.pending: State | None = None  # where the change that is on its way leads to
        self.unmarked: frozenset[TopicPartition] = frozenset()  # which don't know its end yet

    @property
    def is_busy(self) -> bool:
        return self.pending is not None or self.image.state in ENDING

    @property
    def writer(self) -> Writer:
        return self.image.writer

    def change(self, to: Image, now: int, then: Then, *, by: State | None = None) -> None:
        """`then` hears what came of it, in the words for clients; `by` is a step on the way."""
        assert self.pending is None, f"{self.id} is on its way to {self.pending}"
        steps = [self.image.state, to.state] if by is None else [self.image.state, by, to.state]
        for was, next in pairwise(steps):
            check(was, next)
        self.pending = steps[1]

        def written(error: ErrorCode, now: int) -> None:
            self.pending = None
            if error == ErrorCode.none:
                self._become(to, now)
            then(WRITE_ERRORS.get(error, error), now)

        record = encode_key(self.id), encode_value(to)
        self.host.append(self.partition, [record], now, written)

    def _become(self, to: Image, now: int) -> None:
        was, self.image = self.image, to
        self.host.tell(
            "transaction.changed",
            now,
            id=self.id,
            was=was.state.value,
            state=to.state.value,
            producer=to.writer.producer_id,
            epoch=to.writer.epoch,
            partitions=[str(each) for each in sorted(to.partitions)],
        )
