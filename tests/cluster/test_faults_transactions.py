"""Exactly once under faults: one topic is copied into another, whoever dies meanwhile.

A processor reads, writes, and says how far it has read, all in one transaction. It is killed, and
so are those who lead, those who coordinate it and its group; its successor goes on. In the end the
copy has each record of the original once, in order, for those who read what is committed.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import confluent_kafka
import pytest

from engine.cluster.child import Child, end_all
from engine.cluster.cluster import Cluster
from proof.chaos.storm import FaultStorm
from tests.cluster.conftest import PARTITIONS, heal, new_topic
from tests.cluster.test_groups_faults import CONFIG as GROUPS
from tests.cluster.truth import Truth
from tests.interop.crew import ENDING, ROOT, Writer
from tests.interop.watch import until
from tests.limits import START_S

CONFIG = GROUPS
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
TURNS = 12
LIVES, HANGS = 4, 20.0  # processors; seconds after which one that does nothing is given up
LOOK = 0.05  # seconds between two looks


class Copying:
    """The processor of the moment, and all that came before it."""

    def __init__(self, client: str, cluster: Cluster, source: str, sink: str, logs: Path) -> None:
        self.source, self.sink = source, sink
        self.client, self._cluster, self._logs = client, cluster, logs
        self._children: list[Child] = []
        self.start()

    @property
    def now(self) -> Child:
        return self._children[-1]

    def start(self) -> None:
        what = [self.client, self._cluster.bootstrap, f"copy-{self.sink}", self.source, self.sink]
        log = self._logs / f"{self.sink}-{len(self._children)}.log"
        command = [sys.executable, "-m", "tests.cluster.processor", *what]
        self._children.append(Child(command, log, cwd=ROOT))

    def lines(self, kind: str) -> list[str]:
        said = self.now.output().rpartition("\n")[0].splitlines()
        return [each for each in said if each.partition(" ")[0] == kind]

    def goes_on(self, transactions: int = 3) -> None:
        """Some more transactions are committed by the same process."""
        wanted = len(self.lines("done")) + transactions
        until(lambda: self._has_done(wanted), START_S)

    def _has_done(self, wanted: int) -> bool:
        assert self.now.alive, self.now.output()[-2000:]
        return len(self.lines("done")) >= wanted

    def survives(self, transactions: int = 3) -> None:
        """Some more transactions are committed. A process that has ended, or hangs, is replaced."""
        for _ in range(LIVES):
            if not self.now.alive:
                self.start()
            wanted, patience = len(self.lines("done")) + transactions, time.monotonic() + HANGS
            while self.now.alive and time.monotonic() < patience:
                if len(self.lines("done")) >= wanted:
                    return
                time.sleep(LOOK)
            self.now.kill()
        raise AssertionError(f"{LIVES} processors got nowhere: {self.now.output()[-2000:]}")

    def end(self) -> None:
        end_all(self._children, ENDING)


@pytest.fixture
def copying(
    request: pytest.FixtureRequest, cluster: Cluster, truth: Truth, topic: str, tmp_path: Path
) -> Iterator[Copying]:
    sink = new_topic(cluster, truth)
    with ExitStack() as stack:
        writer = stack.enter_context(Writer(cluster.bootstrap, topic, PARTITIONS))
        copying = Copying(request.param, cluster, topic, sink, tmp_path)
        stack.callback(copying.end)
        copying.goes_on()
        yield copying
        heal(cluster)
        writer.stop()
        judge(cluster, copying)


def judge(cluster: Cluster, copying: Copying) -> None:
    for number in range(PARTITIONS):
        original = read(cluster, copying.source, number)
        assert original
        until(partial(is_copied, cluster, copying.sink, number, original), START_S)


def is_copied(cluster: Cluster, sink: str, number: int, original: list[bytes]) -> bool:
    """The copy grows until it is the original, and is never anything but its beginning."""
    copy = read(cluster, sink, number)
    assert copy == original[: len(copy)]
    return len(copy) == len(original)


def read(cluster: Cluster, topic: str, number: int) -> list[bytes]:
    """What is committed of a partition by now."""
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "judge",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    values: list[bytes] = []
    with closing(confluent_kafka.Consumer(settings)) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, number, 0)])
        while True:
            message = consumer.poll(START_S)
            assert message is not None
            error = message.error()
            if error is None:
                values.append(message.value() or b"")
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                return values


OURS_TOO = pytest.param("ours", marks=pytest.mark.long)


@pytest.mark.parametrize("copying", ["confluent", OURS_TOO], indirect=True)
def test_the_processor_is_killed_in_the_middle_of_a_transaction(copying):
    for _ in range(3):
        copying.now.kill()
        copying.start()
        copying.goes_on()


@pytest.mark.parametrize(
    ("copying", "coordinated"),
    [
        ("ours", TRANSACTIONS),
        pytest.param("ours", OFFSETS, marks=pytest.mark.long),
        pytest.param("confluent", OFFSETS, marks=pytest.mark.long),
        pytest.param("confluent", TRANSACTIONS, marks=pytest.mark.long),
    ],
    indirect=["copying"],
)
def test_a_coordinator_is_killed(cluster, truth, copying, coordinated):
    victim = truth.state(coordinated, 0).leader
    cluster.kill(victim)
    truth.await_leader(coordinated, 0, other_than=victim)
    if copying.client == "ours":
        copying.goes_on()  # librdkafka may wait for who was coordinator of the group to come back
    cluster.restart(victim)
    truth.await_whole(coordinated)
    copying.goes_on()


@pytest.mark.long
@pytest.mark.parametrize("copying", ["ours", "confluent"], indirect=True)
def test_a_leader_stands_still_and_wakes_up(cluster, truth, copying):
    victim = truth.state(copying.sink, 0).leader
    cluster.pause(victim)
    truth.await_leader(copying.sink, 0, other_than=victim)
    copying.goes_on()
    cluster.resume(victim)
    copying.goes_on()


@pytest.mark.long
@pytest.mark.parametrize("copying", ["confluent", "ours"], indirect=True)
def test_everybody_dies_one_after_the_other(cluster, truth, copying):
    for broker in cluster.brokers:
        cluster.kill(broker)
        copying.now.kill()
        copying.start()
        cluster.restart(broker)
        truth.await_whole(copying.sink)
        copying.goes_on()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("copying", ["confluent", "ours"], indirect=True)
def test_whatever_happens(cluster, copying, seed):
    """Two faults at a time, then all is well for a moment; and now and then another processor."""
    storm = FaultStorm(cluster, seed)
    for turn in range(TURNS):
        storm.harm()
        storm.harm()
        time.sleep(storm.pick(0.2, 4))  # that it comes in the middle of something is what is tried
        if turn % 3 == 2:
            copying.now.kill()
            copying.start()
        storm.heal()
        copying.survives()
