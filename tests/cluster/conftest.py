"""Three brokers for the tests of a module, a topic on all of them, and clients at work on it.

After each test every fault is taken back, and no broker may have met a bug of ours meanwhile.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from engine.chaos.reading import create
from engine.chaos.run import CONFIG
from engine.chaos.storm import heal
from engine.chaos.workload import Workload
from engine.cluster.cluster import Cluster
from tests.cluster.probe import Probe
from tests.cluster.truth import Truth
from tests.interop.clients import tidied_up
from tests.interop.watch import until

PARTITIONS = 3
Start = Callable[..., Workload]

_numbers = count()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A module says in BROKERS and CONFIG what is different about its own."""
    brokers = getattr(request.module, "BROKERS", 3)
    with Cluster(brokers, config=CONFIG | getattr(request.module, "CONFIG", {})) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def truth(cluster: Cluster) -> Iterator[Truth]:
    with Truth(cluster.zookeeper) as truth:
        yield truth


@pytest.fixture(autouse=True)
def healed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "cluster" in request.fixturenames:
        cluster: Cluster = request.getfixturevalue("cluster")
        heal(cluster)
        for broker in cluster.brokers:
            log = cluster.directory(broker) / "broker.log"
            assert "Traceback" not in log.read_text(), f"broker {broker} met a bug: {log}"


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
def careless() -> Iterator[None]:
    with tidied_up():
        yield


@pytest.fixture
def start(cluster: Cluster, truth: Truth, topic: str, careless: None) -> Iterator[Start]:
    """Clients go to work on the topic; who judges them waits until all replicas are in sync."""
    with ExitStack() as stack:

        def started(**settings: Any) -> Workload:
            whole = partial(truth.await_whole, topic)
            return stack.enter_context(Workload(cluster, topic, whole, **settings))

        yield started


@pytest.fixture
def work(start: Start) -> Workload:
    work = start()
    work.advance()
    return work
