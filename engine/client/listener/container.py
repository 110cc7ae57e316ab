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
            waits for session.timeout.ms. A listener that runs just then returns, to no effect.

As in Spring, enable.auto.commit is false unless it is set to true; then the consumer commits, and
the ack mode has no effect. An error that the listener raises stops the container; `stop` raises it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from engine.client.consumer import Consumer
from engine.client.listener.ack_mode import AckMode, PendingAcks
from engine.client.listener.listener_thread import ListenerThread
from engine.client.listener.start_offset import PartitionOffset
from engine.client.values import TopicPartition
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event

EVENTS = 100_000  # that are kept
Bound = PartitionOffset | TopicPartition | tuple[str, int]


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
        self._taken, _ = ConsumerConfig.take(self._config)
        self.concurrency = self._checked(concurrency)
        self._threads: list[ListenerThread] = []
        self._failure: BaseException | None = None
        self._lock = threading.Lock()

    def _checked(self, concurrency: int) -> int:
        """The number of consumers."""
        if bool(self.topics) == bool(self.partitions):
            raise _invalid("a container has topics or partitions, one of both")
        if concurrency < 1 or self._ack[1] < 1:
            raise _invalid("concurrency and ack_count are numbers from 1 on")
        if self.mode.manual and self._taken.enable_auto_commit:
            raise _invalid(
                f"Consumer cannot be configured for auto commit for ackMode {self.mode.name}"
            )
        return min(concurrency, len(self.partitions)) if self.partitions else concurrency

    @property
    def group_id(self) -> str | None:
        return self._taken.group_id

    @property
    def running(self) -> bool:
        return bool(self._threads)

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> Self:
        """Start the consumers. A container that was stopped or killed may be started again."""
        with self._lock:
            if self._threads:
                raise _invalid("this container runs already")
            self._failure = None
            self._threads = [self._thread(number) for number in range(self.concurrency)]
        try:
            for thread, partitions in zip(self._threads, self._shares(), strict=True):
                thread.start(self.topics, partitions, self._taken.auto_offset_reset)
        except BaseException:
            self.kill()
            raise
        return self

    def _thread(self, number: int) -> ListenerThread:
        client = f"{self._taken.client_id or self.group_id or 'listener'}-{number}"
        consumer = Consumer({**self._config, "client.id": client})
        return ListenerThread(
            number,
            consumer,
            self._listener,
            PendingAcks(self.mode, *self._ack, time.monotonic()),
            self.mode,
            commits=not self._taken.enable_auto_commit,
            most=self._taken.max_poll_records,
            poll_timeout=self._poll_timeout,
            note=self._note,
            failed=self._failed,
        )

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


def _invalid(words: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_config, words)
