"""Kafka Streams counts words on our brokers while brokers and its instances are killed.

    lines ── WordCount.java, two instances ──> repartition topic ──> counts
                                                 └─ state store ──> changelog topic

Lines are written all the time, so an instance that is killed is in the middle of a transaction:
whether its marker says COMMIT or ABORT shows in the counts.

Exactly once: the last count of each word is right, and its counts go up one by one or in steps,
never back. At least once: no word is counted less often than it was written.
"""

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Event, Thread

import confluent_kafka
import pytest
from confluent_kafka.cimpl import NewTopic

from engine.cluster.child import Child, end_all
from engine.cluster.kafka_process import OURS
from proof.chaos.cluster_reader import create
from tests.cluster.truth import Truth
from tests.interop.watch import until
from tests.labs.reader import LABS
from tests.limits import JVM_S
from tests.real.jars import BUILD, JARS, compiler
from tests.real.kafka import MixedCluster, command

LAYOUTS = [({1: OURS, 2: OURS, 3: OURS}, "2.6")]
WORDS = ["tea", "milk", "jam", "salt", "rice", "oats", "plum"]
PAUSE = 0.01  # seconds between two lines
LINES = 300  # in each of the parts of a test, or more


@pytest.fixture(scope="session")
def classes() -> Path:
    """WordCount, compiled."""
    folder = BUILD / "classes"
    sources = [str(LABS / "streams" / "WordCount.java")]
    options = ["-cp", f"{JARS}/*", "-d", str(folder)]
    done = subprocess.run(
        [compiler(), *options, *sources], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


class Counting:
    """Some instances of the application, and what was written so far."""

    def __init__(self, cluster: MixedCluster, classes: Path, guarantee: str, logs: Path) -> None:
        name = guarantee.replace("_", "-")
        self.lines, self.counts = f"lines-{name}", f"counts-{name}"
        self.application = f"count-{name}"
        for topic in (self.lines, self.counts):
            create(cluster.bootstrap, NewTopic(topic, 3, 3))
        self.isolation = "read_uncommitted" if guarantee == "at_least_once" else "read_committed"
        self._cluster, self._classes = cluster, classes
        self._guarantee, self._logs = guarantee, logs
        self.instances: dict[int, Child] = {}
        self.refused: list[confluent_kafka.KafkaError] = []
        self._written: list[tuple[str, str, str]] = []  # a list, so that threads may share it
        self._over = Event()
        self._thread = Thread(target=self._write, name="writer")
        self._thread.start()

    def start(self, number: int) -> None:
        state = self._logs / f"state-{number}"
        what = [self._cluster.bootstrap, self.application, self.lines, self.counts]
        run = command(
            "WordCount",
            *what,
            self._guarantee,
            str(state),
            folder=JARS,
            heap=128,
            classes=[self._classes],
        )
        log = self._logs / f"instance-{number}.log"
        self.instances[number] = Child(["nice", "-n", "5", *run], log)

    @property
    def written(self) -> Counter[str]:
        """How often each word was written so far."""
        return Counter(word for line in self._written.copy() for word in line)

    def advance(self) -> None:
        """Wait until many more lines are written, and all of them are counted."""
        goal = len(self._written) + LINES
        until(lambda: len(self._written) >= goal, JVM_S)
        self.await_counts()

    def await_counts(self) -> None:
        """Until every word is counted as often as it was written by now, or more often."""
        written = self.written
        try:
            until(lambda: self._has_counted(written), JVM_S)
        except AssertionError as error:
            last = {word: counts[-1:] for word, counts in self.read().items()}
            raise AssertionError(f"{error}: {last} of {written}, {self.refused=}") from None

    def stop(self) -> None:
        """Write no more."""
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        """Idempotent: each line is there once."""
        settings = {
            "bootstrap.servers": self._cluster.bootstrap,
            "enable.idempotence": True,
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 2,
        }
        producer = confluent_kafka.Producer(settings)
        for number in count():
            line = WORDS[number % 7], WORDS[number % 5], WORDS[number % 3]
            producer.produce(
                self.lines, " ".join(line), partition=number % 3, on_delivery=self._delivered
            )
            self._written.append(line)
            producer.poll(0)
            if self._over.wait(PAUSE):
                break
        producer.flush(JVM_S)

    def _delivered(self, error: confluent_kafka.KafkaError | None, _: object) -> None:
        if error is not None:
            self.refused.append(error)

    def read(self) -> dict[str, list[int]]:
        """All counts of each word, in order, that are committed by now, or more."""
        settings = {
            "bootstrap.servers": self._cluster.bootstrap,
            "group.id": "judge",
            "enable.partition.eof": True,
            "isolation.level": self.isolation,
        }
        found: dict[str, list[int]] = {word: [] for word in WORDS}
        for partition in range(3):
            with closing(confluent_kafka.Consumer(settings)) as consumer:
                consumer.assign([confluent_kafka.TopicPartition(self.counts, partition, 0)])
                began = time.time() * 1000
                while (message := consumer.poll(JVM_S)) is not None:
                    if (error := message.error()) is not None:
                        assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                        break
                    found[message.key().decode()].append(int(message.value()))
                    if message.timestamp()[1] > began:
                        break  # more may come all the time
        return found

    def _has_counted(self, written: Counter[str]) -> bool:
        for number, each in self.instances.items():
            assert each.alive, f"instance {number}: {each.output()[-3000:]}"
        found = self.read()
        return all(found[word] and found[word][-1] >= written[word] for word in WORDS)


@pytest.fixture
def counting(
    request: pytest.FixtureRequest, cluster: MixedCluster, classes: Path, tmp_path: Path
) -> Iterator[Counting]:
    counting = Counting(cluster, classes, request.param, tmp_path)
    try:
        yield counting
    finally:
        counting.stop()
        end_all(list(counting.instances.values()), 30)


@pytest.mark.parametrize(
    "counting", ["at_least_once", "exactly_once", "exactly_once_beta"], indirect=True
)
def test_words_are_counted_while_brokers_and_instances_are_killed(cluster, truth, counting):
    for number in (1, 2):
        counting.start(number)
    counting.advance()

    victim = truth.state(counting.lines, 0).leader
    cluster.kill(victim)
    counting.advance()
    cluster.restart(victim)

    counting.instances.pop(1).kill()
    counting.advance()
    counting.start(1)
    counting.advance()

    await_whole(truth, "__transaction_state", "__consumer_offsets", counting.lines)
    cluster.kill(truth.state("__consumer_offsets", 0).leader)
    counting.instances.pop(2).kill()
    counting.advance()
    counting.start(2)
    counting.advance()
    counting.stop()
    counting.await_counts()

    assert counting.refused == []
    found = counting.read()
    last = {word: counts[-1] for word, counts in found.items()}
    if counting.isolation == "read_committed":
        assert last == counting.written
        assert all(counts == sorted(set(counts)) for counts in found.values())
    else:
        assert all(last[word] >= count for word, count in counting.written.items())


def await_whole(truth: Truth, *topics: str) -> None:
    for topic in topics:
        if topic in truth.topics():  # at least once needs no transactions
            truth.await_whole(topic)
