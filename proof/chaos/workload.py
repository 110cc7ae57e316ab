"""Clients that write and read while faults are injected; their history is recorded.

    with ChaosWorkload(cluster, "orders") as work:
        cluster.kill(1)
        work.advance()                  until every partition acknowledges new messages
        cluster.restart(1)
        verdict = work.verdict()        stop writing, read to the end, judge

A `ChaosWriter` is an idempotent producer with acks=all, in a thread. It sends to all partitions in
turn, at a steady rate, and skips those with too many messages unacknowledged. A `TailReader` is a
consumer that reads all the time. An application must not notice that a broker fails, so every error
that reaches one of them is recorded.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Thread
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from engine.cluster.cluster import Cluster
from proof.chaos.cluster_reader import QUICK, READ_WAIT_S, as_read, consumer
from proof.chaos.history import ClientHistory, SendOutcome, Sent
from proof.chaos.judge import ChaosVerdict, judge
from proof.chaos.wait import Late, until

TURN = 0.01  # seconds between two bursts of a writer
WAITING = 1000  # messages of one partition that may be unacknowledged
PATIENCE = 40.0  # seconds until a message is acknowledged, with an election or two in between


class ChaosWriter:
    """A confluent-kafka producer with the settings of an application that must lose nothing."""

    refusals: tuple[type[Exception], ...] = (KafkaException,)  # after these it takes no more

    def __init__(
        self,
        bootstrap: str,
        history: ClientHistory,
        name: str,
        *,
        rate: int = 600,  # messages a second
        load: Mapping[int, int] | None = None,  # each partition's share of them
        **settings: Any,
    ) -> None:
        self.name, self._history = name, history
        shares = load or dict.fromkeys(range(history.partitions), 1)
        self._turns = itertools.cycle([p for p, share in shares.items() for _ in range(share)])
        self._burst = max(1, round(rate * TURN))
        self._sent = Counter(dict.fromkeys(shares, 0))
        self._answered = Counter(dict.fromkeys(shares, 0))
        self._newest = dict.fromkeys(shares, -1)  # the highest number that was acknowledged
        self._over = Event()
        self._open(bootstrap, settings)
        self._thread = Thread(target=self._run, name=name)
        self._thread.start()

    def sent(self) -> dict[int, int]:
        """How many messages were sent to each partition: the number of the next one."""
        return dict(self._sent)

    def has_sent(self, count: int) -> bool:
        return sum(self._sent.values()) >= count

    def reached(self, numbers: Mapping[int, int]) -> bool:
        """Whether these, or later ones, are acknowledged."""
        return all(self._newest[partition] >= number for partition, number in numbers.items())

    def stop(self, patience: float = PATIENCE) -> None:
        """Send no more, and wait for acknowledgements; without one the outcome is unknown."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            ends: tuple[type[Exception], ...] = (*self.refusals, SystemError)  # of a callback
            try:
                self._close(patience)
            except ends as error:
                self._history.errors.append(f"{self.name} had to end: {error.__cause__ or error}")
            if left := sum(self._sent.values()) - sum(self._answered.values()):
                self._history.errors.append(f"{self.name} got no response to {left} messages")

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._produce()
                self._turn()
        except self.refusals as error:
            self._history.errors.append(f"{self.name} had to end: {error}")

    def _produce(self) -> None:
        for partition in itertools.islice(self._turns, self._burst):
            if self._sent[partition] - self._answered[partition] < WAITING:
                sent = Sent(self.name, partition, self._sent[partition], time.monotonic())
                self._sent[partition] += 1
                self._send(sent, self._history.add(sent))

    def _note(self, sent: Sent, offset: int, error: str) -> None:
        sent.answered = time.monotonic()
        sent.offset, sent.error = offset, error
        sent.outcome = SendOutcome.FAILED if error else SendOutcome.ACKNOWLEDGED
        self._answered[sent.partition] += 1
        if not error:
            self._newest[sent.partition] = max(self._newest[sent.partition], sent.number)

    # -- what is confluent-kafka's own -----------------------------------------------------

    def _open(self, bootstrap: str, settings: Mapping[str, Any]) -> None:
        fixed = {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.num.messages": 50,
            "request.timeout.ms": 2000,
            "message.timeout.ms": 120_000,
            "error_cb": self._trouble,
        }
        self._producer = Producer({**QUICK, **fixed, **settings})

    def _send(self, sent: Sent, value: bytes) -> None:
        report = partial(self._delivered, sent)
        topic, partition = self._history.topic, sent.partition
        self._producer.produce(topic, value, partition=partition, callback=report)

    def _turn(self) -> None:
        until_then = time.monotonic() + TURN
        while (left := until_then - time.monotonic()) > 0:
            self._producer.poll(left)

    def _close(self, patience: float) -> None:
        self._producer.flush(patience)
        del self._producer  # it has no close()

    def _delivered(self, sent: Sent, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        self._note(sent, -1 if offset is None else offset, str(error or ""))

    def _trouble(self, error: KafkaError) -> None:
        """A broker that is down is no error, since the client goes on; a fatal error is."""
        if error.fatal():
            self._history.errors.append(f"{self.name} failed: {error}")


class TailReader:
    """A consumer that reads from the beginning, and records each value with its offset."""

    def __init__(self, bootstrap: str, history: ClientHistory, name: str, **settings: Any) -> None:
        self.name, self._history = name, history
        self._settings = settings
        self._ends = dict.fromkeys(range(history.partitions), 0)
        self._over = Event()
        self._bootstrap = bootstrap
        self._thread = Thread(target=self._run, name=name)
        self._thread.start()

    def reached(self, ends: Mapping[int, int]) -> bool:
        return all(self._ends[partition] >= end for partition, end in ends.items())

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        seen = self._history.seen[self.name]
        with consumer(self._bootstrap, **self._settings) as reader:
            reader.assign([TopicPartition(self._history.topic, number, 0) for number in self._ends])
            while not self._over.is_set():
                for message in reader.consume(500, 0.1):
                    if message.error() is not None:
                        self._history.errors.append(f"{self.name}: {message.error()}")
                    else:
                        seen.append(as_read(message))
                        self._ends[seen[-1].partition] = seen[-1].offset + 1


class ChaosWorkload:
    """Some writers and readers on one topic, and the verdict in the end."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        await_whole: Callable[[], object],
        *,
        partitions: int = 3,
        writers: tuple[type[ChaosWriter], ...] = (ChaosWriter,),
        **settings: Any,  # of every writer
    ) -> None:
        self.topic, self.history = topic, ClientHistory(topic, partitions)
        self._cluster, self.await_whole = cluster, await_whole
        self.readers = [TailReader(cluster.bootstrap, self.history, "the follower")]
        self.writers: list[ChaosWriter] = []
        for number, kind in enumerate(writers, 1):
            writer = kind(cluster.bootstrap, self.history, f"writer-{number}", **settings)
            self.writers.append(writer)

    def join(self, name: str, bootstrap: str, **settings: Any) -> None:
        """One more writer and reader, which connect in another way."""
        self.writers.append(ChaosWriter(bootstrap, self.history, f"writer-{name}", **settings))
        self.readers.append(TailReader(bootstrap, self.history, f"reader-{name}", **settings))

    def leave(self) -> None:
        """The oldest writer and reader end. What they have written and read is judged as well."""
        self.writers.pop(0).stop()
        self.readers.pop(0).stop()

    def advance(self, count: int = 50, partitions: tuple[int, ...] = ()) -> None:
        """Wait until each partition has acknowledged `count` new messages."""
        errors = self.history.errors
        for writer in self.writers:
            numbers = writer.sent()
            ahead = {number: numbers[number] + count for number in partitions or numbers}
            what = f"that {writer.name} makes progress"
            until(partial(self._is_ahead, writer, ahead), PATIENCE, what)
            if errors:
                raise Late(f"{writer.name} makes no progress: {errors}")

    def _is_ahead(self, writer: ChaosWriter, numbers: Mapping[int, int]) -> bool:
        return bool(self.history.errors) or writer.reached(numbers)

    def write(self, count: int) -> None:
        """Wait until `count` more messages are sent, acknowledged or not."""
        for writer in self.writers:
            enough = sum(writer.sent().values()) + count
            until(partial(writer.has_sent, enough))

    def stop(self) -> None:
        """Stop sending, wait for all acknowledgements, and for the readers to reach the end."""
        for writer in self.writers:
            writer.stop()
        ends = self.history.ends()
        for reader in self.readers:
            try:
                until(partial(reader.reached, ends))
            except Late:
                self.history.errors.append(f"{reader.name} never came to {ends}")
        self.close()

    def verdict(self, patience: float = READ_WAIT_S) -> ChaosVerdict:
        """Stop, wait until all replicas are in sync, read everything, and judge."""
        self.await_whole()
        self.stop()
        return judge(self.history, self._cluster, patience)

    def close(self) -> None:
        for writer in self.writers:
            writer.stop(patience=0)
        for reader in self.readers:
            reader.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
