"""A Spark session for all modules, a cluster and a scratch directory for each, topics at will.

The session is asked for anew by every module, and is the same one as long as it lives: a module
that ends it, or kills its JVM, leaves the next one a new one.
"""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from pyspark.sql import SparkSession

from engine.cluster.cluster import Cluster
from sparkstreams import jvm, session
from tests.streams.query import Query

_numbers = count()
_started: list[SparkSession] = []

NewTopic = Callable[..., str]


@pytest.fixture(scope="session", autouse=True)
def _stopped() -> Iterator[None]:
    yield
    if _started and jvm.running():
        session.stop(session.start("tests"))


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    _started.append(session.start("tests"))
    return _started[-1]


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A module says in BROKERS and CONFIG what is different about its own."""
    config = getattr(request.module, "CONFIG", {})
    with Cluster(getattr(request.module, "BROKERS", 1), config=config) as cluster:
        yield cluster


@pytest.fixture
def new_topic(cluster: Cluster) -> NewTopic:
    """Makes a topic with a name that no other test has."""

    def make(partitions: int = 2, **config: str) -> str:
        name = f"topic-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        replication = min(3, len(cluster.brokers))
        cluster.admin.create_topic(name, partitions, replication, config=settings)
        return name

    return make


@pytest.fixture
def topic(new_topic: NewTopic) -> str:
    """A new topic of two partitions."""
    return new_topic()


@pytest.fixture
def options(cluster: Cluster, topic: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": cluster.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }


@pytest.fixture
def start(options: dict[str, str]) -> Iterator[Callable[..., Query]]:
    """Starts a query as query.py has it; names with `__` for a dot say what is different."""
    started = []

    def make(at: str | None = None, now: bool = False, **more: str | None) -> Query:
        named = {name.replace("__", "."): text for name, text in more.items()}
        merged = {name: text for name, text in (options | named).items() if text is not None}
        started.append(query := Query(merged, at, now))
        return query

    yield make
    for query in started:
        query.reader.stop()
