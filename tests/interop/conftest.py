"""One real broker for the tests of a module, and a client on a raw socket.

A module that says in CONFIG what is different about its broker shares it with those that say the
same; one that does it harm says so with an empty CONFIG, and has one of its own. The others share
one: it takes three seconds to start, and they know nothing of each other.

Some modules run a second time, on a broker without ZooKeeper: see tests/modes.py.
"""

import shutil
from collections.abc import Iterator
from itertools import count

import pytest

from engine.cluster.cluster import Cluster
from tests.interop.latest import Latest
from tests.interop.raw import Raw
from tests.modes import KRAFT, ZOOKEEPER, in_both_modes, made, without_other_modes

# Some tests write records of years ago, which retention would take, at its first look: five minutes
# after the start, and so in the middle of a test.
KEEPING = {"log.retention.check.interval.ms": "86400000"}

_numbers = count()

# A program, not a package: where there is none there is nothing to be tested. CI installs it.
collect_ignore = [] if shutil.which("kcat") else ["test_kcat.py"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    in_both_modes(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = without_other_modes(items)


@pytest.fixture(scope="session")
def shared() -> Iterator[Cluster]:
    with Cluster(config=KEEPING) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_without_zookeeper() -> Iterator[Cluster]:
    with made(1, KRAFT, config=KEEPING) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def latest() -> Iterator[Latest]:
    latest = Latest()
    yield latest
    latest.stop()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, latest: Latest) -> Iterator[Cluster]:
    """For harm alone, CONFIG is empty."""
    mode = getattr(request, "param", ZOOKEEPER)
    if not hasattr(request.module, "CONFIG"):
        name = "shared_without_zookeeper" if mode == KRAFT else "shared"
        yield request.getfixturevalue(name)
        return
    if request.module.CONFIG:
        yield latest.of(1, request.module.CONFIG, mode)
        return
    with made(1, mode) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Raw]:
    with Raw(cluster.bootstrap) as client:
        yield client


@pytest.fixture
def topic(client: Raw) -> str:
    """A new topic of two partitions, with a name that no other test has."""
    name = f"topic-{next(_numbers)}"
    assert client.create(name, partitions=2) == 0
    return name
