"""From what was fetched to messages: the one place of a consumer that touches every record.

    Fetched   | batch | batch | control | batch |      the bytes of one partition, as they came
                  v       v                 v
    Run       m m m m m m m m m m m m m m m m m m      handed out one by one, or in slices

It is done by the application's thread, a few hundred records at a time, just before they are
handed out. A batch may begin before the offset that was asked for: what lies before is dropped.
Control batches, which end transactions, are never shown.

With isolation.level=read_committed the answer lists the transactions that were aborted, each with
its producer and its first offset. From there on, that producer's transactional batches are passed
over, up to the control batch that ends the transaction.

Invariant: a place moves only when a message is handed out, or when what it skipped is behind it.
"""

from collections.abc import Iterable

from engine.client.consuming.offsets import NOBODY
from engine.client.consuming.place import Place, Position
from engine.client.values import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Message,
)
from engine.errors import ErrorCode
from engine.errors import KafkaError as Failure
from engine.storage import control, records
from engine.storage.batch import Header, crc_ok, scan


class Run:
    """Messages of one partition, in order."""

    __slots__ = ("at", "end", "messages", "place", "turn")

    def __init__(self, place: Place, turn: int, messages: list[Message], end: Position) -> None:
        self.place = place
        self.turn = turn  # of the place, when these were fetched; they are void on any other
        self.messages = messages
        self.at = 0  # how many of them are handed out
        self.end = end  # where the position is once all are

    @property
    def is_valid(self) -> bool:
        return self.turn == self.place.turn

    def take(self, limit: int) -> list[Message]:
        """The next ones, if they still count; the position is behind them then."""
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
        """The next one: the same, for who takes them one by one."""
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


class Fetched:
    """One partition's share of an answer, or the news that its end is reached."""

    def __init__(
        self,
        place: Place,
        start: int,
        data: memoryview,
        aborted: Iterable[tuple[int, int]] = (),
        *,
        is_end: bool = False,
    ) -> None:
        self.place = place
        self.turn = place.turn  # it counts on no other
        self.is_end = is_end
        self.next = Position(start, place.epoch)  # behind what is unpacked
        self._batches = scan(data)
        self._data = data
        self._coming = sorted(aborted)  # (first offset, producer) of aborted transactions
        self._aborting: set[int] = set()  # producers within an aborted transaction
        self.is_exhausted = is_end

    @property
    def is_valid(self) -> bool:
        return self.turn == self.place.turn

    def unpack(self, limit: int, committed: bool = False, check: bool = True) -> Run:
        """The next messages: whole batches, until there are as many as that."""
        messages: list[Message] = []
        while len(messages) < limit:
            found = next(self._batches, None)
            if found is None:
                self.is_exhausted = True
                break
            position, header = found
            if header.next_offset <= self.next.offset:
                continue
            batch = self._data[position : position + header.size]
            if check and not crc_ok(batch, 0, header):
                raise Failure(
                    ErrorCode.corrupt_message,
                    f"{self.place.partition}: the batch at offset {header.base_offset} does not "
                    "match its CRC",
                )
            if not (committed and self._is_aborted(header, batch)) and not header.is_control:
                self._append(messages, header, batch)
            self.next = Position(header.next_offset, header.leader_epoch)
        return Run(self.place, self.turn, messages, self.next)

    def _is_aborted(self, header: Header, batch: memoryview) -> bool:
        """Whether the batch is part of a transaction that came to nothing."""
        while self._coming and self._coming[0][0] <= header.last_offset:
            self._aborting.add(self._coming.pop(0)[1])
        if header.producer_id not in self._aborting or not header.is_transactional:
            return False
        if header.is_control:
            marker = control.decode(records.decode(batch)[0])
            if marker.type is control.ControlType.ABORT:
                self._aborting.discard(header.producer_id)
        return True

    def _append(self, messages: list[Message], header: Header, batch: memoryview) -> None:
        topic, number = self.place.partition
        kind = TIMESTAMP_LOG_APPEND_TIME if header.is_log_append_time else TIMESTAMP_CREATE_TIME
        epoch = header.leader_epoch if header.leader_epoch >= 0 else None
        start, append = self.next.offset, messages.append
        for offset, timestamp, key, value, headers in records.decode(batch):
            if offset >= start:
                append(
                    Message(
                        topic,
                        number,
                        offset,
                        key,
                        value,
                        headers,
                        None,
                        (kind, timestamp),
                        None,
                        epoch,
                    )
                )

    def end(self) -> Message:
        """There is no more in this partition, for now: enable.partition.eof."""
        topic, number = self.place.partition
        return Message(topic, number, self.next.offset, error=KafkaError(KafkaError._PARTITION_EOF))


def _epoch(message: Message) -> int:
    epoch = message.leader_epoch()
    return NOBODY if epoch is None else epoch
