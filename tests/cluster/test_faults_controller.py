"""The controller dies in the middle of a change to topics: the next one finishes it.

A change is made of many topics, and the controller is killed as soon as the first of them shows
what was asked for.
"""

import re
from concurrent.futures import Future
from itertools import count

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from engine.model import TopicPartition
from proof.chaos.cluster_reader import QUICK
from tests.interop.watch import until

MANY = 15
CONFIG = {"log.segment.delete.delay.ms": "100"}
DIRECTORY = re.compile(r"(.+)-\d+(\.\w+-delete)?")  # of a replica, or of what was one

_numbers = count()


@pytest.fixture
def names() -> list[str]:
    turn = next(_numbers)
    return [f"many-{turn}-{number}" for number in range(MANY)]


@pytest.fixture
def admin(cluster) -> AdminClient:
    return AdminClient(QUICK | {"bootstrap.servers": cluster.bootstrap})


def begin_to_create(admin: AdminClient, names: list[str]) -> dict[str, "Future[None]"]:
    wanted = [NewTopic(name, 2, 3) for name in names]
    return admin.create_topics(wanted, operation_timeout=15, request_timeout=60)


@pytest.fixture
def many(admin: AdminClient, truth, names: list[str]) -> list[str]:
    for answer in begin_to_create(admin, names).values():
        answer.result()
    for name in names:
        truth.await_whole(name)
    return names


def kill_controller(cluster, truth) -> int:
    victim = truth.await_controller()
    cluster.kill(victim)
    truth.await_controller(other_than=victim)
    return victim


def test_creation(cluster, truth, work, admin, names):
    """What was begun is finished; what was not is refused, or forgotten, but never half."""
    answers = begin_to_create(admin, names)
    until(lambda: truth.topics() & set(names))
    victim = kill_controller(cluster, truth)
    work.advance()
    cluster.restart(victim)

    created = {name for name, answer in answers.items() if was_done(answer)}
    there = truth.topics() & set(names)
    assert created <= there
    for name in there:
        truth.await_whole(name)
    verdict = work.verdict()
    assert verdict.good, verdict


def was_done(answer: "Future[None]") -> bool:
    try:
        answer.result()
    except KafkaException:
        return False
    return True


@pytest.mark.long
def test_deletion(cluster, truth, work, many):
    for name in many:
        truth.delete(name)
    until(lambda: len(truth.topics() & set(many)) < MANY)
    victim = kill_controller(cluster, truth)
    work.advance()
    cluster.restart(victim)

    until(lambda: not truth.topics() & set(many))
    until(lambda: not truth.deletions())
    until(lambda: not leftovers(cluster, many))
    verdict = work.verdict()
    assert verdict.good, verdict


def leftovers(cluster, names: list[str]) -> list[str]:
    return [
        path.name
        for broker in cluster.brokers
        for path in cluster.directory(broker).iterdir()
        if (match := DIRECTORY.fullmatch(path.name)) and match[1] in names
    ]


@pytest.mark.long  # in the simulator's storms, partitions move and controllers die
def test_reassignment(cluster, truth, work, many):
    """Each partition goes to two brokers in another order: one leaves, the leader changes."""
    moves = {}
    for name in many:
        for number, each in truth.replicas(name).items():
            _, second, third = each.replicas
            moves[TopicPartition(name, number)] = (third, second)
    truth.reassign(moves)
    until(lambda: any(is_done(truth, *move) for move in moves.items()))
    victim = kill_controller(cluster, truth)
    work.advance()
    cluster.restart(victim)

    for partition, replicas in moves.items():
        until(lambda move=(partition, replicas): is_done(truth, *move))
    # An order to leave that was lost with the controller leaves a log behind, as in Kafka.
    until(lambda: len(leftovers(cluster, many)) >= 2 * len(moves))
    verdict = work.verdict()
    assert verdict.good, verdict


def is_done(truth, partition: TopicPartition, replicas: tuple[int, ...]) -> bool:
    now = truth.replicas(partition.topic)[partition.partition]
    state = truth.state(*partition)
    return (
        now == (replicas, (), ()) and set(state.isr) == set(replicas) and state.leader in replicas
    )
