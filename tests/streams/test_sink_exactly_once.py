"""The sink under kill -9: drivers, their JVMs and workers, and brokers die; the rows are counted.

A driver takes files to a topic on three brokers. From outside we see what it has staged, decided
and stored, and kill it there; the next one goes on from the checkpoint. Links are slow, so that
everything takes long enough to die in.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.cluster.cluster import Cluster
from proof.chaos.run import CONFIG
from tests.interop.watch import until
from tests.limits import CALM_SESSION_MS, SPARK_S
from tests.streams.conftest import NewTopic
from tests.streams.killing import Pipeline, Sight

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

BROKERS = 3
CONFIG = CONFIG | {  # but on a crowded machine who is slow is not dead
    "zookeeper.session.timeout.ms": CALM_SESSION_MS,
    "replica.lag.time.max.ms": "6000",
}
ROWS = 300  # in an epoch
EPOCHS = 6
TRIES = 3  # an epoch may be over before the blow falls; then it falls in the next one
SLOW = 20  # ms on the way between two brokers


@pytest.fixture(scope="module", autouse=True)
def _slow_links(cluster: Cluster) -> Iterator[None]:
    for one, other in ((1, 2), (1, 3), (2, 3)):
        cluster.slow(one, other, SLOW)
    yield
    cluster.heal()


Build = Callable[..., Pipeline]


@pytest.fixture
def build(cluster: Cluster, tmp_path: Path, new_topic: NewTopic) -> Iterator[Build]:
    made: list[Pipeline] = []

    def build(**options: str) -> Pipeline:
        made.append(Pipeline(cluster, tmp_path, new_topic(partitions=3), **options))
        made[-1].add(EPOCHS, ROWS)
        return made[-1]

    yield build
    for each in made:
        each.watch.close()


# Where to die: (what there was when this driver began, what there is now).
def staged(begin: Sight, now: Sight) -> bool:
    return now.staged > begin.staged and now.decided == begin.decided == now.published


def decided(begin: Sight, now: Sight) -> bool:
    return now.decided > now.published and now.stored == now.published * ROWS


def half_published(begin: Sight, now: Sight) -> bool:
    return now.published * ROWS < now.stored < now.decided * ROWS


@contextmanager
def refusing(cluster: Cluster, topic: str) -> Iterator[None]:
    """Nobody may append to it meanwhile: it asks for more copies than there are brokers."""
    _ask_for_copies(cluster, topic, BROKERS + 1)
    yield
    _ask_for_copies(cluster, topic, 1)


def _ask_for_copies(cluster: Cluster, topic: str, copies: int) -> None:
    entry = ConfigEntry(
        "min.insync.replicas", str(copies), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource("topic", topic, incremental_configs=[entry])
    cluster.admin.incremental_alter_configs([resource])[resource].result()


def die(pipeline: Pipeline, where: Callable[[Sight, Sight], bool]) -> None:
    """A driver lives until it is there, and nothing of it survives."""
    for _ in range(TRIES):
        begin = pipeline.watch.look()
        with pipeline.life() as life:
            life.await_sight(lambda begin=begin: where(begin, pipeline.watch.look()))
            life.kill(workers=True)
        if where(begin, pipeline.watch.look()):
            return
    raise AssertionError(f"no driver died {where.__name__}, only in {pipeline.watch.look()}")


def test_each_row_is_there_once_wherever_drivers_die(build: Build, cluster: Cluster) -> None:
    pipeline = build(exactlyOnce="true")
    die(pipeline, staged)
    with refusing(cluster, pipeline.watch.target):
        die(pipeline, decided)
    die(pipeline, half_published)
    with pipeline.life() as life:
        life.end()
    assert pipeline.watch.records() == Counter(pipeline.lines)
    seen = pipeline.watch.look()
    assert (seen.decided, seen.published, seen.stored) == (EPOCHS, EPOCHS, EPOCHS * ROWS)
    assert seen.staged > seen.stored, "what the dead had staged is still there, and not looked at"


class TestAllAtOnce:  # in a class, since pytest-xdist may run that beside the rest
    def test_each_row_is_there_once_with_zombies_dead_workers_and_a_dead_leader(
        self, build: Build, cluster: Cluster
    ) -> None:
        pipeline = build(exactlyOnce="true")
        begin = pipeline.watch.look()
        with pipeline.life() as life:
            life.await_sight(lambda: half_published(begin, pipeline.watch.look()))
            life.kill(workers=False)  # who publishes goes on without a driver
            with pipeline.life() as heir:
                before = pipeline.watch.look().staged
                heir.await_sight(lambda: pipeline.watch.look().staged > before)
                heir.kill_worker()
                heir.await_sight(lambda: pipeline.watch.look().published >= 2)
                cluster.kill(1)
                heir.await_sight(lambda: pipeline.watch.look().published >= 4)
                cluster.restart(1)
                heir.end()
        assert pipeline.watch.records() == Counter(pipeline.lines)


@pytest.mark.long
def test_at_least_once_loses_nothing(build: Build, cluster: Cluster) -> None:
    """Rows may be there twice; which it is not promised to have."""
    pipeline = build()
    with pipeline.life() as life:
        life.await_sight(lambda: pipeline.watch.look().stored > ROWS // 2)
        life.kill(workers=False)
    with pipeline.life() as heir:
        before = pipeline.watch.look().stored
        heir.await_sight(lambda: pipeline.watch.look().stored > before)
        heir.kill_worker()
        heir.await_sight(lambda: pipeline.watch.look().stored > 2 * ROWS)
        cluster.kill(2)
        heir.end()
        cluster.restart(2)
    found = until(pipeline.watch.records, SPARK_S)
    assert set(found) == set(pipeline.lines)
