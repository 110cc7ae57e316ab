"""One consumer of a listener container, and the thread that it runs in.

    loop:  acknowledgments of other threads -> commit what is due -> poll -> the listener, a record
           after the other

Invariant: the consumer is used by this thread alone. acknowledge() of another thread leaves its
record in a queue; the commit follows before the next poll, which ends early for it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from engine.client.consumer import Consumer
from engine.client.listener.ack_mode import AckMode, PendingAcks, Ready
from engine.client.listener.start_offset import PartitionOffset, ends_to_commit, start_of
from engine.client.values import KafkaError, KafkaException, Message, TopicPartition
from engine.model import TopicPartition as Partition

Note = Callable[..., None]  # a kind and facts: see ListenerContainer.events
SLICE = 0.05  # seconds of a poll until the thread looks for acknowledgments and for stop()
NONE: Sequence[PartitionOffset] = ()


class Acknowledgment:
    """The second argument of a listener with a manual ack mode."""

    def __init__(self, thread: "ListenerThread", message: Message) -> None:
        self._thread = thread
        self._message = message

    def acknowledge(self) -> None:
        """This record is done, and so are those before it in its partition."""
        self._thread.acknowledge(self._message)

    def __repr__(self) -> str:
        return f"Acknowledgment({place_of(self._message)}@{self._message.offset()})"


class ListenerThread:
    def __init__(
        self,
        number: int,
        consumer: Consumer,
        listener: Callable[..., Any],
        acks: PendingAcks,
        mode: AckMode,
        *,
        commits: bool,
        most: int,
        poll_timeout: float,
        note: Note,
        failed: Callable[[BaseException], None],
    ) -> None:
        """`commits`: the container commits, and not the consumer itself (enable.auto.commit).

        `most`: records of one poll. `failed` is called when the thread ends with an error.
        """
        self.number = number  # from 0 on, as Spring counts
        self.consumer = consumer
        self.killed = False
        self._listener = listener
        self._acks = acks
        self._mode = mode
        self._commits = commits
        self._most = most
        self._poll_timeout = poll_timeout
        self._note = note
        self._failed = failed
        self._stopping = threading.Event()
        self._acknowledged: deque[Message] = deque()  # by other threads
        self._owned: set[Partition] = set()
        self._commits_ends = False  # of partitions where the group has committed nothing
        self._thread = threading.Thread(target=self._run, name=f"listener-{number}", daemon=True)

    def start(
        self,
        topics: Sequence[str],
        partitions: Sequence[PartitionOffset] = NONE,
        reset: str = "latest",
    ) -> None:
        if topics:
            self._commits_ends = self._commits and reset == "latest"
            self.consumer.subscribe(
                list(topics), self._assigned, on_revoke=self._revoked, on_lost=self._lost
            )
        else:
            starts = [start_of(self.consumer, each, reset) for each in partitions]
            self.consumer.assign(starts)
            self._assigned(self.consumer, starts)
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        """Wait until it has ended; a listener that stops its own container does not."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def kill(self) -> None:
        self.killed = True
        self._stopping.set()
        self.consumer.kill()

    def acknowledge(self, message: Message) -> None:
        """By any thread."""
        mine = threading.current_thread() is self._thread
        facts = {"consumer": self.number, "record": f"{place_of(message)}@{message.offset()}"}
        self._note("listener.acknowledged", **facts, same_thread=mine)
        if mine:
            self._take(message)
        else:
            self._acknowledged.append(message)

    def _take(self, message: Message) -> None:
        """Unless its partition was revoked: another consumer may have committed more since."""
        if (place := place_of(message)) in self._owned:
            self._commit(self._acks.acknowledged(place, _offset(message)))

    # -- the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._take_acknowledged()
                self._commit(self._acks.before_poll(time.monotonic()))
                self._process(self._poll())
            self._take_acknowledged()
            self._commit(self._acks.all())
        except BaseException as error:
            if not self.killed:  # else it is the consumer that says that it is closed
                self._failed(error)
                self._commit(self._acks.all())
        finally:
            self.consumer.close()  # nothing more is done if it was killed

    def _poll(self) -> list[Message]:
        """What is there when the first record is; nothing, after poll_timeout."""
        deadline = time.monotonic() + self._poll_timeout
        while not (self._stopping.is_set() or self._acknowledged):
            left = deadline - time.monotonic()
            first = self.consumer.poll(max(min(left, SLICE), 0))
            if first is not None:
                return [first, *self.consumer.consume(self._most - 1, 0)]
            if left <= 0:
                break
        return []

    def _process(self, messages: Sequence[Message]) -> None:
        if messages:
            self._note("listener.polled", consumer=self.number, records=len(messages))
        for message in messages:
            if self.killed:
                return
            if (error := message.error()) is not None:
                self._complain(error)
                continue
            if place_of(message) not in self._owned:
                continue  # it was revoked after the record had come
            record = f"{place_of(message)}@{message.offset()}"
            self._note("listener.called", consumer=self.number, record=record)
            if self._mode.manual:
                self._listener(message, Acknowledgment(self, message))
            else:
                self._listener(message)
            if not self.killed:
                self._commit(self._acks.returned(place_of(message), _offset(message)))

    def _complain(self, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if error.code() != KafkaError._MAX_POLL_EXCEEDED and not error.retriable():
            raise KafkaException(error)
        self._note("listener.trouble", consumer=self.number, why=error.str())

    def _take_acknowledged(self) -> None:
        while self._acknowledged:
            self._take(self._acknowledged.popleft())

    def _commit(self, ready: Ready) -> None:
        """A refused commit is noted and not repeated: other consumers have the partitions now."""
        if not ready or not self._commits or self.killed:
            return
        offsets = {str(each): offset for each, offset in sorted(ready.items())}
        wanted = [TopicPartition(*each, offset) for each, offset in sorted(ready.items())]
        try:
            done = self.consumer.commit(offsets=wanted, asynchronous=False) or []
        except KafkaException as error:
            self._refused(offsets, error.args[0].str())
            return
        refused = {f"{it.topic}-{it.partition}": it.error.str() for it in done if it.error}
        if refused:
            self._refused({each: offsets.pop(each) for each in refused}, str(refused))
        if offsets:
            self._note("listener.committed", consumer=self.number, offsets=offsets)

    def _refused(self, offsets: dict[str, int], why: str) -> None:
        if not self.killed:
            self._note("listener.refused", consumer=self.number, offsets=offsets, why=why)

    # -- rebalances ------------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned |= _keys(partitions)
        if self._commits_ends:
            self._commit_ends(partitions)
        self._note("listener.assigned", consumer=self.number, partitions=_texts(partitions))

    def _commit_ends(self, partitions: list[TopicPartition]) -> None:
        """If that fails the consumer begins at the end all the same."""
        try:
            self._commit(ends_to_commit(self.consumer, partitions))
        except KafkaException as error:
            self._note("listener.trouble", consumer=self.number, why=error.args[0].str())

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The last moment to commit: then another consumer begins there."""
        self._take_acknowledged()
        self._commit(self._acks.revoked())
        self._owned -= _keys(partitions)
        self._note("listener.revoked", consumer=self.number, partitions=_texts(partitions))

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Too late to commit: another consumer may have begun."""
        self._acks.revoked()
        self._owned -= _keys(partitions)
        self._note("listener.lost", consumer=self.number, partitions=_texts(partitions))


def place_of(message: Message) -> Partition:
    return Partition(str(message.topic()), message._partition)


def _offset(message: Message) -> int:
    return message._offset


def _keys(partitions: Sequence[TopicPartition]) -> set[Partition]:
    return {Partition(it.topic, it.partition) for it in partitions}


def _texts(partitions: Sequence[TopicPartition]) -> list[str]:
    return sorted(f"{it.topic}-{it.partition}" for it in partitions)
