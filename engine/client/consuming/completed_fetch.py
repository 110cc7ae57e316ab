"""From fetched batches to messages: the only part of a consumer that handles every record.

    CompletedFetch  | batch | batch | control | batch |     the bytes of one partition, as they came
                        v       v                 v
    MessageRun      m m m m m m m m m m m m m m m m m m     delivered one by one, or in slices

The application's thread does it, a few hundred records at a time, just before it delivers them. A
batch may begin before the offset of the request: the records before it are dropped. Control
batches, which end transactions, are never delivered.

With isolation.level=read_committed the answer lists the aborted transactions, each with its
producer and its first offset. From there on, transactional batches of that producer are skipped, up
to the control batch that ends the transaction.

Invariant: a position moves when a message is delivered, and passes skipped records once all
messages before them are delivered.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.client.consuming.assigned_partition import AssignedPartition, Position
from engine.client.values import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Message,
)
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage import control, records
from engine.storage.batch import Header, crc_ok, scan


@dataclass(slots=True, eq=False)
class MessageRun:
    """Messages of one partition, in order."""

    place: AssignedPartition
    turn: int  # of the partition, at the fetch; on any other they are invalid
    messages: list[Message]
    end: Position  # the position after the last one
    at: int = 0  # how many of them are delivered

    @property
    def is_valid(self) -> bool:
        return self.turn == self.place.turn

    def take(self, limit: int) -> list[Message]:
        """The next ones, if they are valid; the position moves after them."""
        place = self.place
        if self.turn != place.turn:
            return []
        taken = self.messages[self.at : self.at + limit]
        self.at += len(taken)
        if self.at == len(self.messages):
            place.offset, place.epoch = self.end
        else:
            place.offset, place.epoch = taken[-1]._offset + 1, _epoch(taken[-1])
        return taken

    def one(self) -> Message | None:
        """The next one; as `take(1)`, but faster."""
        place = self.place
        if self.turn != place.turn or self.at == len(self.messages):
            return None
        message = self.messages[self.at]
        self.at += 1
        if self.at == len(self.messages):
            place.offset, place.epoch = self.end
        else:
            place.offset, place.epoch = message._offset + 1, _epoch(message)
        return message


class AbortedTransactions:
    """Finds the batches of an answer that belong to aborted transactions.

    The answer has the producer and the first offset of each such transaction. From there on all
    transactional batches of that producer are skipped, up to the control batch with ABORT; the next
    transaction of the same producer may be committed.
    """

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        self._coming = sorted(transactions)  # (first offset, producer)
        self._producers: set[int] = set()  # with an aborted transaction at this offset

    def covers(self, header: Header, batch: memoryview) -> bool:
        """Has to be called for every batch, in the order of the log."""
        while self._coming and self._coming[0][0] <= header.last_offset:
            self._producers.add(self._coming.pop(0)[1])
        if header.producer_id not in self._producers or not header.is_transactional:
            return False
        if header.is_control:
            for record in records.decode(batch):  # none, if compaction removed it
                if control.decode(record).type is control.ControlType.ABORT:
                    self._producers.discard(header.producer_id)
        return True


class CompletedFetch:
    """One partition of an answer, or the report that its end is reached."""

    def __init__(
        self,
        place: AssignedPartition,
        start: int,
        data: memoryview,
        aborted: Iterable[tuple[int, int]] = (),
        *,
        is_end: bool = False,
    ) -> None:
        self.place = place
        self.turn = place.turn  # on any other it is invalid
        self.is_end = is_end
        self.next = Position(start, place.epoch)  # after the unpacked records
        self._batches = scan(data)
        self._data = data
        self._aborted = AbortedTransactions(aborted)
        self.is_exhausted = is_end
        self._damage: ApiException | None = None  # of a batch, after those that were unpacked

    @property
    def is_valid(self) -> bool:
        return self.turn == self.place.turn

    def unpack(self, limit: int, committed: bool = False, check: bool = True) -> MessageRun:
        """The next messages: whole batches, until there are `limit` messages. Those before a
        damaged batch are delivered before its error is raised."""
        messages: list[Message] = []
        while len(messages) < limit and self._damage is None:
            found = next(self._batches, None)
            if found is None:
                self.is_exhausted = True
                break
            position, header = found
            if header.next_offset <= self.next.offset:
                continue
            batch = self._data[position : position + header.size]
            if check and not crc_ok(batch, 0, header):
                self._damage = ApiException(
                    ErrorCode.corrupt_message,
                    f"{self.place.partition}: the batch at offset {header.base_offset} does not "
                    "match its CRC",
                )
                break
            if not (committed and self._aborted.covers(header, batch)) and not header.is_control:
                self._append(messages, header, batch)
            self.next = Position(header.next_offset, header.leader_epoch)
        if self._damage is not None and not messages:
            raise self._damage
        return MessageRun(self.place, self.turn, messages, self.next)

    def _append(self, messages: list[Message], header: Header, batch: memoryview) -> None:
        topic, number = self.place.partition
        kind = TIMESTAMP_LOG_APPEND_TIME if header.is_log_append_time else TIMESTAMP_CREATE_TIME
        epoch = header.leader_epoch if header.leader_epoch >= 0 else None
        start, append = self.next.offset, messages.append
        for offset, timestamp, key, value, headers in records.decode(batch):
            if offset < start:
                continue
            stamp = kind, timestamp
            append(Message(topic, number, offset, key, value, headers, None, stamp, None, epoch))

    def end(self) -> Message:
        """The end of the partition is reached: enable.partition.eof."""
        topic, number = self.place.partition
        return Message(topic, number, self.next.offset, error=KafkaError(KafkaError._PARTITION_EOF))


def _epoch(message: Message) -> int:
    epoch = message.leader_epoch()
    return NO_EPOCH if epoch is None else epoch
