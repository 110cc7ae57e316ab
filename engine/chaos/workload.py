"""Clients at work while something else kills, pauses and cuts; what they are told is written down.

    with Workload(cluster, "orders") as work:
        cluster.kill(1)
        work.advance()                  until every partition acknowledges what is sent from now on
        cluster.restart(1)
        verdict = work.verdict()        stop writing, read to the end, judge

A `Writer` is an idempotent producer with acks=all, in a thread. It sends to all partitions in
turn, at a steady rate, and leaves out those that have not answered for long. A `Follower` is a
consumer that reads along. No application is to hear of a broker's death, so every error that
comes through to one of them is noted.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Thread
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from engine.chaos.history import History, Outcome, Sent
from engine.chaos.judge import Verdict, judge
from engine.chaos.reading import PATIENCE as READING
from engine.chaos.reading import QUICK, as_read, consumer
from engine.chaos.waiting import Late, until
from engine.cluster.cluster import Cluster

TURN = 0.01  # seconds between two bursts of a writer
WAITING = 1000  # messages of one partition that may be under way
PATIENCE = 40.0  # seconds until what is sent is acknowledged, an election or two in between


class Writer:
    """confluent-kafka, as an application that cares for its data would set it up."""

    refusals: tuple[type[Exception], ...] = (KafkaException,)  # by which it takes no more

    def __init__(
        self,
        bootstrap: str,
        history: History,
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
        """How many messages went to each partition so far: the number that the next one has."""
        return dict(self._sent)

    def has_sent(self, count: int) -> bool:
        return sum(self._sent.values()) >= count

    def reached(self, numbers: Mapping[int, int]) -> bool:
        """Whether these, or later ones, are acknowledged."""
        return all(self._newest[partition] >= number for partition, number in numbers.items())

    def stop(self, patience: float = PATIENCE) -> None:
        """Send no more; what is under way gets some time. Without an answer then, it is unknown."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            self._close(patience)
            if left := sum(self._sent.values()) - sum(self._answered.values()):
                self._history.errors.append(f"{self.name} heard nothing of {left} messages")

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._produce()
                self._turn()
        except self.refusals as error:  # it takes no more
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
        sent.outcome = Outcome.FAILED if error else Outcome.ACKNOWLEDGED
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
        told = partial(self._told, sent)
        self._producer.produce(self._history.topic, value, partition=sent.partition, callback=told)

    def _turn(self) -> None:
        until_then = time.monotonic() + TURN
        while (left := until_then - time.monotonic()) > 0:
            self._producer.poll(left)

    def _close(self, patience: float) -> None:
        self._producer.flush(patience)
        del self._producer  # which ends it: it has no other end

    def _told(self, sent: Sent, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        self._note(sent, -1 if offset is None else offset, str(error or ""))

    def _trouble(self, error: KafkaError) -> None:
        """A broker that is gone is no trouble: the client goes on. A fatal error is."""
        if error.fatal():
            self._history.errors.append(f"{self.name} failed: {error}")


class Follower:
    """A consumer that reads along from the beginning, and notes what it saw at which offset."""

    def __init__(self, bootstrap: str, history: History, name: str) -> None:
        self.name, self._history = name, history
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
        with consumer(self._bootstrap) as reader:
            reader.assign([TopicPartition(self._history.topic, number, 0) for number in self._ends])
            while not self._over.is_set():
                for message in reader.consume(500, 0.1):
                    if message.error() is not None:
                        self._history.errors.append(f"{self.name}: {message.error()}")
                    else:
                        seen.append(as_read(message))
                        self._ends[seen[-1].partition] = seen[-1].offset + 1


class Workload:
    """Some writers and a follower on one topic, and what there is to say about it in the end."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        await_whole: Callable[[], object],
        *,
        partitions: int = 3,
        writers: tuple[type[Writer], ...] = (Writer,),
        **settings: Any,  # of every writer
    ) -> None:
        self.topic, self.history = topic, History(topic, partitions)
        self._cluster, self._await_whole = cluster, await_whole
        self.follower = Follower(cluster.bootstrap, self.history, "the follower")
        self.writers: list[Writer] = []
        for number, kind in enumerate(writers, 1):
            writer = kind(cluster.bootstrap, self.history, f"writer-{number}", **settings)
            self.writers.append(writer)

    def advance(self, count: int = 50, partitions: tuple[int, ...] = ()) -> None:
        """Until so many messages that are sent from now on are acknowledged, in each partition."""
        errors = self.history.errors
        for writer in self.writers:
            numbers = writer.sent()
            ahead = {number: numbers[number] + count for number in partitions or numbers}
            what = f"that {writer.name} gets on"
            until(partial(self._is_ahead, writer, ahead), PATIENCE, what)
            if errors:
                raise Late(f"{writer.name} does not get on: {errors}")

    def _is_ahead(self, writer: Writer, numbers: Mapping[int, int]) -> bool:
        return bool(self.history.errors) or writer.reached(numbers)

    def write(self, count: int) -> None:
        """Until so many more are sent, acknowledged or not: some time passes, but not idly."""
        for writer in self.writers:
            enough = sum(writer.sent().values()) + count
            until(partial(writer.has_sent, enough))

    def stop(self) -> None:
        """No more is sent, all is answered, and the follower has seen it."""
        for writer in self.writers:
            writer.stop()
        ends = self.history.ends()
        try:
            until(lambda: self.follower.reached(ends))
        except Late:
            self.history.errors.append(f"{self.follower.name} never came to {ends}")
        self.close()

    def verdict(self, patience: float = READING) -> Verdict:
        """Stop, wait until the cluster is whole, read everything, and judge."""
        self._await_whole()
        self.stop()
        return judge(self.history, self._cluster, patience)

    def close(self) -> None:
        for writer in self.writers:
            writer.stop(patience=0)
        self.follower.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
