"""The groups that fall behind, last of all in 09_operations. Read it after you have solved it.

    case = lag.plant()     a cluster of two brokers; five topics, and for each a group of its name
    case.topics            ("bills", "cakes", ...): another cause for each, in a random order
    case.cluster, case.run(line), case.metrics(1)     what a learner has to look with
    case.stop()            ends the clients, then the cluster

    cause             what is done                               where it can be seen
    slow member       one of two consumers takes a second        one partition's lag
                      for a record
    skewed key        nine of ten records have the same key      the ends of the logs
    poison record     a listener raises at it; its container     the group's generation, and an
                      is started again, and again                offset that never gets past it
    open transaction  a producer never ends it; the group        last_stable, of the leader
                      reads committed records only
    slow follower     messages between the brokers are late      high_watermark, of the leader

Invariant: no client outlives `stop`; planting again stops what was planted before.
"""

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.request import ProxyHandler, build_opener

from engine import Cluster, Consumer, ListenerContainer, Producer
from engine.errors import ApiException, ErrorCode

SLOW_MEMBER, SKEWED_KEY, POISON = "slow member", "skewed key", "poison record"
TRANSACTION, FOLLOWER = "open transaction", "slow follower"
CAUSES = (SLOW_MEMBER, SKEWED_KEY, POISON, TRANSACTION, FOLLOWER)
TOPICS = ("bills", "cakes", "letters", "orders", "teas")

PARTITIONS = 2  # of each topic: their number tells nothing about the cause
FIRST = 10  # rounds, before a transaction begins and the poison comes
TICK = 0.1  # seconds between two rounds of the producer
RECORDS = 4  # of each topic, in a round
METRICS_S = 10.0  # for the page with the metrics of a broker
DELAY = 3000  # ms, of each message between the brokers
NO_LONGER = 3_600_000  # ms that the transaction may take
CONFIG = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.max.timeout.ms": str(NO_LONGER),
    "prometheus.port": "0",
}

_planted: list["LagCase"] = []


def plant(seed: int | None = None) -> "LagCase":
    """Five topics whose groups fall behind, each for another cause."""
    while _planted:
        _planted.pop().stop()
    case = LagCase(seed)
    _planted.append(case)
    return case


class LagCase:
    def __init__(self, seed: int | None = None) -> None:
        order = list(CAUSES)
        random.Random(seed).shuffle(order)
        self.truth = dict(zip(TOPICS, order, strict=True))  # by topic
        self.topics = TOPICS
        self._ending, self._begun = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.cluster = Cluster(brokers=1, config=CONFIG).start()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._ending.set()
        self._begun.set()
        for each in self._threads:
            each.join()
        self.cluster.stop()

    # -- what a learner looks with ---------------------------------------------------------

    def run(self, line: str) -> str:
        """Type a line in the cluster's directory; localhost:9092 becomes its address."""
        self._check()
        typed = line.replace("localhost:9092", self.cluster.bootstrap)
        done = subprocess.run(
            typed,
            shell=True,
            cwd=self.cluster.data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def metrics(self, broker: int) -> list[str]:
        """The page with the metrics of a broker, without its comments."""
        self._check()
        port = int((self.cluster.directory(broker) / "metrics.port").read_text())
        direct = build_opener(ProxyHandler({}))
        with direct.open(f"http://127.0.0.1:{port}/metrics", timeout=METRICS_S) as page:
            lines = page.read().decode().splitlines()
        return [each for each in lines if not each.startswith("#")]

    def _check(self) -> None:
        if self._ending.is_set():
            words = "these brokers are stopped: run the cell with lag.plant() again"
            raise ApiException(ErrorCode.broker_not_available, words)

    # -- what is planted -------------------------------------------------------------------

    def _start(self) -> None:
        """The second broker comes last: it has nothing but the copy that is to be late."""
        (followed,) = (topic for topic, cause in self.truth.items() if cause == FOLLOWER)
        for topic in self.topics:
            if topic != followed:
                self._start_group(topic)
        self.cluster.wait("the groups", lambda: all(map(self._joined, {*TOPICS} - {followed})))
        self.cluster.wait("the transactional id", lambda: self.cluster.state().transactions)
        self.cluster.add_broker()
        self._start_group(followed)
        self.cluster.wait("the last group", lambda: self._joined(followed))
        self.cluster.slow(1, 2, DELAY)
        self._run(self._writes)

    def _start_group(self, topic: str) -> None:
        cause = self.truth[topic]
        replicas = [1, 2] if cause == FOLLOWER else [1]
        self.cluster.topic(topic, partitions=PARTITIONS, replicas=[replicas] * PARTITIONS)
        if cause == TRANSACTION:
            self._run(self._begins, topic)
        if cause == POISON:
            self._run(self._restarts, topic)
            return
        for delay in self._delays(cause):
            self._run(self._reads, topic, delay)

    def _joined(self, topic: str) -> bool:
        """Whether all consumers of a group have a share; one is restarted again and again later."""
        group = self.cluster.state().groups.get(topic)
        members = [] if group is None else [each.share for each in group.members.values()]
        return len(members) == len(self._delays(self.truth[topic])) and all(members)

    def _delays(self, cause: str) -> list[float]:
        """Of each consumer of the group: seconds that it takes for a record."""
        return {SLOW_MEMBER: [0.0, 1.0], SKEWED_KEY: [0.04, 0.04]}.get(cause, [0.0])

    def _run(self, work: Callable[..., None], *facts: Any) -> None:
        thread = threading.Thread(target=work, args=facts, daemon=True)
        self._threads.append(thread)
        thread.start()

    # -- the clients -----------------------------------------------------------------------

    def _begins(self, topic: str) -> None:
        """A transaction, some time after the first records."""
        settings = {"transactional.id": f"{topic}-writer", "transaction.timeout.ms": NO_LONGER}
        with self.cluster.producer(settings) as producer:
            producer.init_transactions()
            self._begun.wait()
            producer.begin_transaction()
            producer.produce(topic, "one more")
            producer.flush()
            self._ending.wait()

    def _writes(self) -> None:
        """Some records to each topic, again and again; nobody waits for an answer."""
        with self.cluster.producer({"acks": 1, "linger.ms": 20}) as producer:
            for number in self._ticks():
                for topic, cause in self.truth.items():
                    self._write(producer, topic, cause, number)
                producer.poll(0)
                if number == FIRST:
                    self._begun.set()

    def _write(self, producer: Producer, topic: str, cause: str, number: int) -> None:
        for record in range(number * RECORDS, (number + 1) * RECORDS):
            value = "poison" if cause == POISON and record == FIRST * RECORDS else str(record)
            if cause == SKEWED_KEY:
                key = f"customer {record}" if record % 10 == 0 else "the large customer"
                producer.produce(topic, value, key=key)
            else:
                producer.produce(topic, value, partition=record % PARTITIONS)

    def _ticks(self) -> Iterator[int]:
        number, due = 0, time.monotonic()
        while not self._ending.is_set():
            yield number
            number, due = number + 1, due + TICK
            self._ending.wait(max(due - time.monotonic(), 0))

    def _settings(self, topic: str) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.cluster.bootstrap,
            "group.id": topic,
            "client.id": f"{topic}-reader",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }

    def _reads(self, topic: str, delay: float) -> None:
        """Read, work, and commit twice a second."""
        with Consumer(self._settings(topic)) as consumer:
            consumer.subscribe([topic])
            read, committed = 0, time.monotonic()
            while not self._ending.is_set():
                message = consumer.poll(TICK)
                if message is not None and message.error() is None:
                    read += 1
                    self._ending.wait(delay)
                if read and time.monotonic() - committed > 0.5:
                    consumer.commit()
                    read, committed = 0, time.monotonic()

    def _restarts(self, topic: str) -> None:
        """As a process manager does with an application that ends with an error."""

        def work(record: Any) -> None:
            if record.value() == b"poison":
                raise ValueError("this is no number")

        while not self._ending.is_set():
            container = ListenerContainer(self._settings(topic), work, topics=topic).start()
            while not self._ending.is_set() and not _failed(container):
                self._ending.wait(TICK)
            with suppress(ValueError):
                container.stop()
            self._ending.wait(1)


def _failed(container: ListenerContainer) -> bool:
    return any(it.kind == "listener.failed" for it in list(container.events))
