"""Three brokers, a topic on all of them, and clients at work on it.

Modules that want the same cluster share it, as it takes seconds to start: tests/conftest.py puts
them one after the other. A module has topics of its own.

After each test every fault is taken back, and no broker may have met a bug of ours meanwhile.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from engine.cluster import node_launcher
from engine.cluster.cluster import Cluster
from proof.chaos.cluster_reader import create
from proof.chaos.run import settings
from proof.chaos.storm import heal
from proof.chaos.workload import ChaosWorkload
from tests.cluster.probe import Probe
from tests.cluster.quorum_truth import QuorumTruth
from tests.cluster.truth import Truth, ZookeeperTruth
from tests.interop.latest import Latest
from tests.interop.watch import until
from tests.modes import KRAFT, in_both_modes, mode_of, without_other_modes

# Some systems don't bear copies of a process.
collect_ignore = [] if node_launcher.COPIES else ["test_node_launcher.py"]

PARTITIONS = 3
Start = Callable[..., ChaosWorkload]

_numbers = count()
_read: dict[Path, int] = {}  # how far each log was looked into


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    in_both_modes(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = without_other_modes(items)


@pytest.fixture(scope="session")
def latest() -> Iterator[Latest]:
    latest = Latest()
    yield latest
    latest.stop()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, latest: Latest) -> Cluster:
    """A module says in BROKERS and CONFIG what is different about the one it wants."""
    brokers, mode = getattr(request.module, "BROKERS", 3), mode_of(request)
    config = settings(brokers, kraft=mode == KRAFT) | getattr(request.module, "CONFIG", {})
    return latest.of(brokers, config, mode)


@pytest.fixture(scope="module")
def truth(cluster: Cluster) -> Iterator[Truth]:
    of_mode = QuorumTruth(cluster) if cluster.is_kraft else ZookeeperTruth(cluster.zookeeper)
    with of_mode as truth:
        yield truth


@pytest.fixture(autouse=True)
def healed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "cluster" in request.fixturenames:
        cluster: Cluster = request.getfixturevalue("cluster")
        heal(cluster)
        found = {
            number: bug(cluster.directory(number) / "broker.log") for number in cluster.brokers
        }
        for broker, told in found.items():
            assert not told, f"broker {broker} met a bug:\n{told}"


def bug(log: Path) -> str:
    """What a log has from the first traceback on; "" if none has come since the last call."""
    data = log.read_bytes()
    before, _read[log] = _read.get(log, 0), len(data)
    new = data[before if before <= len(data) else 0 :]  # a test may have removed the file
    place = new.find(b"Traceback")
    return "" if place < 0 else new[max(place - 500, 0) : place + 5000].decode(errors="replace")


def new_topic(cluster: Cluster, truth: Truth, *, whole: bool = True, **config: str) -> str:
    """On every broker; broker 1 is the preferred leader of partition 0, 2 of 1, 3 of 2."""
    name, brokers = f"topic-{next(_numbers)}", list(cluster.brokers)
    turns = [brokers[n % len(brokers) :] + brokers[: n % len(brokers)] for n in range(PARTITIONS)]
    truth.await_brokers(set(brokers))
    wanted = NewTopic(name, PARTITIONS, replica_assignment=turns, config=config)
    create(cluster.bootstrap, wanted)
    if whole:
        truth.await_whole(name)
        for broker in cluster.brokers:
            with Probe(cluster, broker) as probe:
                until(lambda probe=probe: probe.knows(name, PARTITIONS))
    return name


@pytest.fixture
def topic(cluster: Cluster, truth: Truth) -> str:
    return new_topic(cluster, truth)


@pytest.fixture
def start(cluster: Cluster, truth: Truth, topic: str) -> Iterator[Start]:
    """Clients go to work on the topic; who judges them waits until all replicas are in sync."""
    with ExitStack() as stack:

        def started(**settings: Any) -> ChaosWorkload:
            whole = partial(truth.await_whole, topic)
            return stack.enter_context(ChaosWorkload(cluster, topic, whole, **settings))

        yield started


@pytest.fixture
def work(start: Start) -> ChaosWorkload:
    work = start()
    work.advance()
    return work
