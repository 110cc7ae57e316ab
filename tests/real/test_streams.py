"""Kafka Streams counts words on our brokers while brokers and its instances are killed.

    lines ── WordCount.java, two instances ──> repartition topic ──> counts
                                                 └─ state store ──> changelog topic

Exactly once: the last count of each word is right, and its counts go up one by one or in steps,
never back. At least once: no word is counted less often than it was written.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.cimpl import NewTopic

from engine.chaos.cluster_reader import create
from engine.cluster.child import Child, end_all
from tests.cluster.truth import Truth
from tests.interop.watch import until
from tests.real.conftest import PATIENCE
from tests.real.jars import BUILD, HERE, JARS, compiler
from tests.real.kafka import OURS, MixedCluster, command

LAYOUTS = [({1: OURS, 2: OURS, 3: OURS}, "2.6")]
WORDS = ["tea", "milk", "jam", "salt", "rice", "oats", "plum"]
LINES = 300  # in each of the four parts of a test


@pytest.fixture(scope="session")
def classes() -> Path:
    """WordCount, compiled."""
    folder = BUILD / "classes"
    sources = [str(HERE / "WordCount.java")]
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
        self.written: Counter[str] = Counter()
        self.isolation = "read_uncommitted" if guarantee == "at_least_once" else "read_committed"
        self._cluster, self._classes = cluster, classes
        self._guarantee, self._logs = guarantee, logs
        self.instances: dict[int, Child] = {}

    def start(self, number: int) -> None:
        state = self._logs / f"state-{number}"
        what = [self._cluster.bootstrap, self.application, self.lines, self.counts]
        run = command(
            "WordCount", *what, self._guarantee, str(state), heap=128, classes=[self._classes]
        )
        log = self._logs / f"instance-{number}.log"
        self.instances[number] = Child(["nice", "-n", "5", *run], log)

    def write(self) -> None:
        """Idempotent: each line is there once."""
        settings = {
            "bootstrap.servers": self._cluster.bootstrap,
            "enable.idempotence": True,
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 2,
        }
        producer = confluent_kafka.Producer(settings)
        for number in range(LINES):
            words = [WORDS[number % 7], WORDS[number % 5], WORDS[number % 3]]
            self.written.update(words)
            producer.produce(self.lines, " ".join(words), partition=number % 3)
        assert producer.flush(PATIENCE) == 0

    def read(self) -> dict[str, list[int]]:
        """All counts of each word, in order, that are committed by now."""
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
                while (message := consumer.poll(PATIENCE)) is not None:
                    if (error := message.error()) is not None:
                        assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                        break
                    found[message.key().decode()].append(int(message.value()))
        return found

    def has_counted(self) -> bool:
        """Every word as often as it was written, or more often."""
        for number, each in self.instances.items():
            assert each.alive, f"instance {number}: {each.output()[-3000:]}"
        found = self.read()
        return all(found[word] and found[word][-1] >= self.written[word] for word in WORDS)


@pytest.fixture
def counting(
    request: pytest.FixtureRequest, cluster: MixedCluster, classes: Path, tmp_path: Path
) -> Iterator[Counting]:
    counting = Counting(cluster, classes, request.param, tmp_path)
    try:
        yield counting
    finally:
        end_all(list(counting.instances.values()), 30)


@pytest.mark.parametrize(
    "counting", ["at_least_once", "exactly_once", "exactly_once_beta"], indirect=True
)
def test_words_are_counted_while_brokers_and_instances_are_killed(cluster, truth, counting):
    for number in (1, 2):
        counting.start(number)
    counting.write()
    until(counting.has_counted, PATIENCE)

    victim = truth.state(counting.lines, 0).leader
    cluster.kill(victim)
    counting.write()
    until(counting.has_counted, PATIENCE)
    cluster.restart(victim)

    counting.instances[1].kill()
    counting.write()
    counting.start(1)
    until(counting.has_counted, PATIENCE)

    await_whole(truth, "__transaction_state", "__consumer_offsets", counting.lines)
    cluster.kill(truth.state("__consumer_offsets", 0).leader)
    counting.instances[2].kill()
    counting.write()
    counting.start(2)
    until(counting.has_counted, PATIENCE)

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
