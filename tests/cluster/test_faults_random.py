"""Everything at once: kills, pauses and cuts in an order that nobody chose, and one verdict."""

from collections.abc import Callable
from random import Random

import pytest

from engine.cluster.cluster import Cluster
from tests.cluster.conftest import heal

STEPS = 5


def kill(cluster: Cluster, broker: int, other: int) -> None:
    cluster.kill(broker)


def stop(cluster: Cluster, broker: int, other: int) -> None:
    cluster.stop_broker(broker)


def pause(cluster: Cluster, broker: int, other: int) -> None:
    cluster.pause(broker)


def cut(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, other)


def cut_one_way(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, other, both=False)


def cut_from_zookeeper(cluster: Cluster, broker: int, other: int) -> None:
    cluster.cut(broker, "zookeeper")


def slow(cluster: Cluster, broker: int, other: int) -> None:
    cluster.slow(broker, other, 400)


def drop_answers(cluster: Cluster, broker: int, other: int) -> None:
    cluster.drop_next_answer(broker)


Fault = Callable[[Cluster, int, int], None]
FAULTS: list[Fault] = [
    kill, stop, pause, cut, cut_one_way, cut_from_zookeeper, slow, drop_answers,
]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_happens(cluster, work, seed):
    """Two faults at a time, on brokers that may be the same; then all is well for a moment."""
    random, story = Random(seed), []
    for _ in range(STEPS):
        for fault in random.sample(FAULTS, 2):
            broker, other = random.sample(list(cluster.brokers), 2)
            if cluster.child(broker).alive and not cluster.child(broker).paused:
                fault(cluster, broker, other)
                story.append(f"{fault.__name__} {broker} {other}")
        work.write(random.randrange(50, 2000))
        heal(cluster)
        work.advance(count=20)
    verdict = work.verdict()
    assert verdict.good, f"{verdict}\n{story}"
