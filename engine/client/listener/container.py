"""A listener container: it calls a function with each record, and commits as its ack mode says.

    def work(record, acknowledgment):
        print(record.value())
        acknowledgment.acknowledge()

    settings = {"bootstrap.servers": "127.0.0.1:9092", "auto.offset.reset": "earliest"}
    container = ListenerContainer(
        settings, work, topics=["orders"], group_id="kitchen", ack_mode="MANUAL", concurrency=3
    )
    with container:
        ...

With concurrency N it has N consumers, each in a thread of its own; as members of one group, those
without a partition are idle. Partitions that are bound by hand are shared out among the consumers
in their order, and there are no more consumers than partitions.

    stop    ends after the records of the last poll, commits what is ready, leaves the group
    kill    ends as a process that dies: nothing is committed, and the group is not told, so it
            waits for session.timeout.ms. If the listener runs at that moment, it runs to its end,
            and its record is not committed.

The thread of a consumer, in a loop:

    acknowledgments of other threads -> commit what is due -> poll -> the listener, for each record

As in Spring, enable.auto.commit is false unless it is set to true; then the consumer commits, and
the ack mode has no effect. An error that the listener raises stops the container; `stop` raises it.

Invariant: a consumer is used by its own thread alone. acknowledge() of another thread leaves its
record in a queue; the commit follows before the next poll, which ends early for it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from engine import model
from engine.client.consumer import Consumer
from engine.client.listener.ack_mode import AckMode, PendingAcks, Ready
from engine.client.listener.start_offset import PartitionOffset, ends_to_commit, start_of
from engine.client.values import KafkaError, KafkaException, Message, TopicPartition
from engine.config.consumer import ConsumerConfig
from engine.errors import invalid_config
from engine.model import Event

EVENTS = 100_000  # that are kept
SLICE = 0.05  # seconds of a poll until the thread looks for acknowledgments and for stop()

Bound = PartitionOffset | TopicPartition | tuple[str, int]


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
    """One consumer of a container, and the thread that it runs in."""

    def __init__(self, container: "ListenerContainer", number: int) -> None:
        """`number`: from 0 on, as Spring counts them."""
        settings = container._settings
        client = f"{settings.client_id or container.group_id or 'listener'}-{number}"
        self.consumer = Consumer({**container._config, "client.id": client})
        self.killed = False
        self._container = container
        self._note = partial(container._note, consumer=number)
        self._acks = PendingAcks(container.mode, *container._ack, time.monotonic())
        self._commits = not settings.enable_auto_commit  # else the consumer itself does
        self._stopping = threading.Event()
        self._acknowledged: deque[Message] = deque()  # by other threads
        self._owned: set[model.TopicPartition] = set()
        self._commits_ends = False  # of partitions where the group has committed nothing
        self._thread = threading.Thread(target=self._run, name=f"listener-{number}", daemon=True)

    def start(self, partitions: Sequence[PartitionOffset]) -> None:
        """Subscribe to the container's topics, or read these partitions."""
        topics, reset = self._container.topics, self._container._settings.auto_offset_reset
        if topics:
            self._commits_ends = self._commits and reset == "latest"
            self.consumer.subscribe(
                topics, self._assigned, on_revoke=self._revoked, on_lost=self._lost
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
        record = f"{place_of(message)}@{message.offset()}"
        self._note("listener.acknowledged", record=record, same_thread=mine)
        if mine:
            self._take(message)
        else:
            self._acknowledged.append(message)

    def _take(self, message: Message) -> None:
        """Unless its partition was revoked: another consumer may have committed more since."""
        if (place := place_of(message)) in self._owned:
            self._commit(self._acks.acknowledged(place, message._offset))

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
                self._container._failed(error)
                self._commit(self._acks.all())
        finally:
            self.consumer.close()  # nothing more is done if it was killed

    def _poll(self) -> list[Message]:
        """What is there when the first record is; nothing, after poll_timeout."""
        most = self._container._settings.max_poll_records
        deadline = time.monotonic() + self._container._poll_timeout
        while not (self._stopping.is_set() or self._acknowledged):
            left = deadline - time.monotonic()
            if found := self.consumer.available(most, max(min(left, SLICE), 0)):
                return found
            if left <= 0:
                break
        return []

    def _process(self, messages: Sequence[Message]) -> None:
        if messages:
            self._note("listener.polled", records=len(messages))
        for message in messages:
            if self.killed:
                return
            if (error := message.error()) is not None:
                self._complain(error)
                continue
            if place_of(message) not in self._owned:
                continue  # it was revoked after the record had come
            record = f"{place_of(message)}@{message.offset()}"
            self._note("listener.called", record=record)
            if self._container.mode.manual:
                self._container._listener(message, Acknowledgment(self, message))
            else:
                self._container._listener(message)
            if not self.killed:
                self._commit(self._acks.returned(place_of(message), message._offset))

    def _complain(self, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if error.code() != KafkaError._MAX_POLL_EXCEEDED and not error.retriable():
            raise KafkaException(error)
        self._note("listener.trouble", why=error.str())

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
            self._note("listener.committed", offsets=offsets)

    def _refused(self, offsets: dict[str, int], why: str) -> None:
        if not self.killed:
            self._note("listener.refused", offsets=offsets, why=why)

    # -- rebalances ------------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned |= _keys(partitions)
        if self._commits_ends:
            self._commit_ends(partitions)
        self._note("listener.assigned", partitions=_texts(partitions))

    def _commit_ends(self, partitions: list[TopicPartition]) -> None:
        """If that fails the consumer begins at the end all the same."""
        try:
            self._commit(ends_to_commit(self.consumer, partitions))
        except KafkaException as error:
            self._note("listener.trouble", why=error.args[0].str())

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The last moment to commit: then another consumer begins there."""
        self._take_acknowledged()
        self._commit(self._acks.revoked())
        self._owned -= _keys(partitions)
        self._note("listener.revoked", partitions=_texts(partitions))

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Too late to commit: another consumer may have begun."""
        self._acks.revoked()
        self._owned -= _keys(partitions)
        self._note("listener.lost", partitions=_texts(partitions))


class ListenerContainer:
    def __init__(
        self,
        config: Mapping[str, Any],
        listener: Callable[..., Any],
        *,
        topics: str | Sequence[str] = (),
        partitions: Iterable[Bound] = (),
        group_id: str | None = None,
        ack_mode: AckMode | str = AckMode.BATCH,
        ack_time: float = 5.0,
        ack_count: int = 1,
        concurrency: int = 1,
        poll_timeout: float = 5.0,
    ) -> None:
        """`config`: the consumers' keys; `group_id` instead of its group.id.

        `listener` is called with a Message; with MANUAL and MANUAL_IMMEDIATE also with an
        Acknowledgment. `topics` to subscribe to, or `partitions` to read, each perhaps with an
        offset (PartitionOffset). `ack_time` and `poll_timeout` in seconds.
        """
        self.events: deque[Event] = deque(maxlen=EVENTS)  # what it did: see commits(), calls()
        self.mode = AckMode.named(ack_mode)
        self.topics = [topics] if isinstance(topics, str) else list(topics)
        self.partitions = [PartitionOffset.of(each) for each in partitions]
        self._listener = listener
        self._ack = (ack_time, ack_count)
        self._poll_timeout = poll_timeout
        self._config = {"enable.auto.commit": False, **config}
        if group_id is not None:
            self._config["group.id"] = group_id
        self._settings, _ = ConsumerConfig.take(self._config)
        self.concurrency = self._checked(concurrency)
        self._threads: list[ListenerThread] = []
        self._failure: BaseException | None = None
        self._lock = threading.Lock()

    def _checked(self, concurrency: int) -> int:
        """The number of consumers."""
        if bool(self.topics) == bool(self.partitions):
            raise invalid_config("a container has topics or partitions, one of both")
        if concurrency < 1 or self._ack[1] < 1:
            raise invalid_config("concurrency and ack_count are numbers from 1 on")
        if self.mode.manual and self._settings.enable_auto_commit:
            raise invalid_config(
                f"Consumer cannot be configured for auto commit for ackMode {self.mode.name}"
            )
        return min(concurrency, len(self.partitions)) if self.partitions else concurrency

    @property
    def group_id(self) -> str | None:
        return self._settings.group_id

    @property
    def running(self) -> bool:
        return bool(self._threads)

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> Self:
        """Start the consumers. A container that was stopped or killed may be started again."""
        with self._lock:
            if self._threads:
                raise invalid_config("this container runs already")
            self._failure = None
            self._threads = [ListenerThread(self, number) for number in range(self.concurrency)]
        try:
            for thread, partitions in zip(self._threads, self._shares(), strict=True):
                thread.start(partitions)
        except BaseException:
            self.kill()
            raise
        return self

    def _shares(self) -> list[list[PartitionOffset]]:
        """The partitions of each consumer; the last one has what is left over."""
        each = len(self.partitions) // self.concurrency
        shares = [self.partitions[n * each : (n + 1) * each] for n in range(self.concurrency)]
        shares[-1] += self.partitions[self.concurrency * each :]
        return shares

    def stop(self) -> None:
        """End in order; raises the error that a listener has raised."""
        threads = self._end(ListenerThread.ask_to_stop)
        for thread in threads:
            thread.join()
        if (failure := self._failure) is not None:
            self._failure = None
            raise failure

    def kill(self) -> None:
        """End as the process would that is killed; the listener itself may call this."""
        self._end(ListenerThread.kill)

    def _end(self, end: Callable[[ListenerThread], None]) -> list[ListenerThread]:
        with self._lock:
            threads, self._threads = self._threads, []
        for thread in threads:
            end(thread)
        return threads

    def _failed(self, error: BaseException) -> None:
        """By a thread that ends: the others end with it, and `stop` still waits for all."""
        self._failure = error
        self._note("listener.failed", why=repr(error))
        for thread in self._threads:
            thread.ask_to_stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- what it did -----------------------------------------------------------------------

    def assignments(self) -> list[list[TopicPartition]]:
        """The partitions of each consumer; an idle one has none."""
        return [thread.consumer.assignment() for thread in self._threads]

    def commits(self) -> list[dict[str, int]]:
        """The offsets of each commit, in order: {"orders-0": 8}."""
        return [event.data["offsets"] for event in self._of("committed")]

    def calls(self) -> list[str]:
        """The records that the listener was called with: "orders-0@7"."""
        return [event.data["record"] for event in self._of("called")]

    def _of(self, what: str) -> list[Event]:
        return [event for event in list(self.events) if event.kind == f"listener.{what}"]

    def _note(self, kind: str, **facts: Any) -> None:
        self.events.append(Event(kind, round(time.time() * 1000), facts))


def place_of(message: Message) -> model.TopicPartition:
    return model.TopicPartition(str(message.topic()), message._partition)


def _keys(partitions: Sequence[TopicPartition]) -> set[model.TopicPartition]:
    return {model.TopicPartition(it.topic, it.partition) for it in partitions}


def _texts(partitions: Sequence[TopicPartition]) -> list[str]:
    return sorted(f"{it.topic}-{it.partition}" for it in partitions)
