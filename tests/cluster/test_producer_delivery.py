"""Many records of our own producer, up to a million, while answers get lost and a leader dies.

    0 3 6 9 ...  in partition 0        each record is its number, in partition number % 3
    1 4 7 10 ... in partition 1        so a partition that is right is a range(),
    2 5 8 11 ... in partition 2        and any other shows what went wrong

With numbers (enable.idempotence) no record is lost, doubled or out of order. Without them it is
otherwise, which is Kafka's way, too, and shows that this test can fail.
"""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from engine.client.producer import Producer
from engine.client.values import KafkaException
from engine.cluster.cluster import Cluster
from engine.wire.apis import Api
from proof.chaos.cluster_reader import consumer, high_watermark
from proof.chaos.workload import PATIENCE, ChaosWriter
from tests.cluster.conftest import PARTITIONS

MILLION = pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(300)])
DROPS = 20  # answers to a Produce request that get lost, spread over a run
SETTINGS = {
    "acks": "all",
    "request.timeout.ms": 3000,
    "retry.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
}

At = dict[int, Callable[[], Any]]  # what happens when so many records have been produced


class Run:
    """So many records, with trouble on the way, until each is acknowledged."""

    def __init__(self, cluster: Cluster, topic: str, count: int, **settings: Any) -> None:
        self.cluster, self.topic, self.count = cluster, topic, count
        self.acknowledged = 0
        self.errors: list[Any] = []
        given = {key.replace("_", "."): value for key, value in settings.items()}
        self._settings = {"bootstrap.servers": cluster.bootstrap} | SETTINGS | given

    def go(self, happens: At) -> None:
        step = self.count // DROPS
        with Producer(self._settings) as producer:
            for number in range(self.count):
                if number in happens:
                    happens[number]()
                if number % step == step // 2:
                    for broker in self._alive():
                        self.cluster.drop_next_answer(broker, Api.PRODUCE)
                producer.produce(
                    self.topic,
                    b"%d" % number,
                    partition=number % PARTITIONS,
                    on_delivery=self._told,
                )
                if number % 1000 == 0:
                    producer.poll(0)
            assert producer.flush(120) == 0
        assert not self.errors, self.errors[:3]
        assert self.acknowledged == self.count

    def _told(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.errors.append(error)

    def _alive(self) -> list[int]:
        return [each for each in self.cluster.brokers if self.cluster.child(each).alive]

    def stored(self, *partitions: int) -> dict[int, list[int]]:
        """The numbers that each partition holds, in its order; of all, if none is named."""
        found: dict[int, list[int]] = {}
        with consumer(self.cluster.bootstrap) as reader:
            for partition in partitions or range(PARTITIONS):
                end = high_watermark(reader, self.topic, partition, 1, PATIENCE)
                numbers = found[partition] = []
                reader.assign([TopicPartition(self.topic, partition, 0)])
                while len(numbers) < end:
                    for message in reader.consume(10_000, 1):
                        assert message.error() is None, message.error()
                        numbers.append(int(message.value()))
        return found


def lost(run: Run, stored: dict[int, list[int]]) -> int:
    return run.count - len({number for numbers in stored.values() for number in numbers})


def doubled(stored: dict[int, list[int]]) -> int:
    return sum(len(numbers) - len(set(numbers)) for numbers in stored.values())


def reordered(stored: dict[int, list[int]]) -> int:
    """How many came for the first time behind one with a higher number."""
    count = 0
    for numbers in stored.values():
        highest, seen = -1, set[int]()
        for number in numbers:
            count += number not in seen and number < highest
            highest = max(highest, number)
            seen.add(number)
    return count


@pytest.mark.parametrize("count", [30_000, MILLION])
def test_all_records_are_stored_once_and_in_order(cluster, truth, topic, count):
    run = Run(cluster, topic, count, enable_idempotence=True)
    victim = truth.state(topic, 0).leader

    def restart():
        truth.await_leader(topic, 0, other_than=victim)
        cluster.restart(victim)

    run.go({count * 4 // 10: lambda: cluster.kill(victim), count * 7 // 10: restart})
    truth.await_whole(topic)
    stored = run.stored()
    assert (lost(run, stored), doubled(stored), reordered(stored)) == (0, 0, 0)
    for partition, numbers in stored.items():
        assert numbers == list(range(partition, count, PARTITIONS))


def test_without_numbers_they_are_doubled_and_out_of_order(cluster, topic):
    """Five in flight and retries: what is sent again comes behind what was sent after it."""
    run = Run(cluster, topic, 30_000)
    run.go({})
    stored = run.stored()
    assert lost(run, stored) == 0
    assert doubled(stored) > 0
    assert reordered(stored) > 0


def test_with_one_in_flight_they_are_doubled_but_in_order(cluster, topic):
    run = Run(cluster, topic, 20_000, max_in_flight_requests_per_connection=1)
    run.go({})
    stored = run.stored()
    assert (lost(run, stored), reordered(stored)) == (0, 0)
    assert doubled(stored) > 0


@pytest.mark.long  # labs/02_replication.ipynb shows the same
def test_with_acks_1_a_dead_leader_takes_some_with_it(cluster, truth, topic):
    """What only the leader had when it died was acknowledged, and is lost: no retry helps."""
    state = truth.state(topic, 0)
    for other in set(cluster.brokers) - {state.leader}:
        cluster.cut(state.leader, other, both=False)
    with Producer({"bootstrap.servers": cluster.bootstrap, **SETTINGS, "acks": "1"}) as producer:
        producer.produce(topic, b"17", partition=0)
        assert producer.flush(10) == 0
        cluster.kill(state.leader)
        cluster.heal()
        truth.await_leader(topic, 0, other_than=state.leader)
        producer.produce(topic, b"18", partition=0)
        assert producer.flush(30) == 0
    cluster.restart(state.leader)
    truth.await_whole(topic)
    assert Run(cluster, topic, 0).stored(0)[0] == [18]


# -- the workload's judge ----------------------------------------------------------------------


class OurWriter(ChaosWriter):
    """Our own producer, at the work of the stock clients."""

    refusals = (KafkaException,)

    def _open(self, bootstrap: str, settings: Any) -> None:
        fixed = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.size": 5000,
            "error_cb": self._trouble,
        }
        self._producer: Any = Producer(SETTINGS | fixed | settings)

    def _close(self, patience: float) -> None:
        self._producer.close(patience)


@pytest.mark.long
def test_it_rides_through_the_death_of_every_leader(cluster, truth, start):
    work = start(writers=(OurWriter,))
    work.advance()
    for victim in cluster.brokers:
        cluster.kill(victim)
        work.advance()
        cluster.restart(victim)
        truth.await_whole(work.topic)
    verdict = work.verdict()
    assert verdict.good, verdict


def test_it_rides_through_a_leader_that_is_paused(cluster, truth, start):
    """Its connection stays open and says nothing: request.timeout.ms ends that."""
    work = start(writers=(OurWriter,))
    work.advance()
    victim = truth.state(work.topic, 0).leader
    cluster.pause(victim)
    truth.await_leader(work.topic, 0, other_than=victim)
    work.advance()
    cluster.resume(victim)
    work.advance()
    verdict = work.verdict()
    assert verdict.good, verdict
