"""The exactly-once sink on real brokers, without Spark: publishers that race, a leader that dies.

What is decided is looked at step by step, and quickly, in tests/unit/streams/test_sink_*.py. Here
the rule of idempotent producers is that of real logs, and their leaders change.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest

import proof.chaos.run
from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.cluster.cluster import Cluster
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.files import Buffer
from sparkstreams.ledger import Staged
from sparkstreams.partition_client import AppendResult, PartitionClient
from sparkstreams.publisher import Publisher
from sparkstreams.rows import SinkRow
from sparkstreams.sink_options import WriteOptions
from sparkstreams.staging import StagingWriter
from tests.streams.conftest import NewTopic

pytestmark = pytest.mark.timeout(300)

BROKERS = 3
CONFIG = proof.chaos.run.CONFIG
QUERY = "5f2d"
ROWS = 600  # ten batches a partition, of which its log remembers five

Shares = list[tuple[TopicPartition, Staged]]


@pytest.fixture
def target(new_topic: NewTopic) -> str:
    return new_topic(partitions=3)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[PartitionClient]:
    with view(cluster) as opened:
        yield PartitionClient(opened)


def view(cluster: Cluster) -> ClusterClient:
    return ClusterClient([Address.parse(it) for it in cluster.bootstrap.split(",")], patience=60)


def options(cluster: Cluster, target: str) -> WriteOptions:
    return WriteOptions.of(
        {
            "kafka.bootstrap.servers": cluster.bootstrap,
            "kafka.batch.size": "500",
            "topic": target,
            "exactlyOnce": "true",
            "ledgerTopic": f"{target}-epochs",
        }
    )


def staged(remote: PartitionClient, wanted: WriteOptions, epoch: int) -> Shares:
    stage = StagingWriter(remote, wanted, task=epoch)
    assert wanted.topic is not None
    for n in range(ROWS):
        text = f"{epoch} {n}".encode()
        stage.add(SinkRow(wanted.topic, None, text, text, ()), 1_700_000_000_000)
    stage.flush()
    return stage.staged


def stored(client: PartitionClient, target: str) -> Counter[bytes | None]:
    found: Counter[bytes | None] = Counter()
    for number in range(client.partitions(target)):
        partition = TopicPartition(target, number)
        for _, batch in client.batches(partition, *client.bounds(partition)):
            found.update(it.value for it in records.decode(batch))
    return found


def expected(epochs: int) -> Counter[bytes]:
    return Counter(b"%d %d" % (epoch, n) for epoch in range(epochs) for n in range(ROWS))


def test_three_at_once_publish_each_epoch_once(
    cluster: Cluster, client: PartitionClient, target: str
) -> None:
    wanted = options(cluster, target)

    def commit(epoch: int, shares: Shares) -> None:
        with view(cluster) as opened:
            Publisher(PartitionClient(opened), wanted, QUERY).commit(epoch, shares)

    with ThreadPoolExecutor(3) as pool:
        for epoch in range(3):
            attempts = [staged(client, wanted, epoch) for _ in range(3)]
            list(pool.map(commit, [epoch] * 3, attempts))
            assert stored(client, target) == expected(epoch + 1)


class Late(PartitionClient):
    """In front of the first batch for the target it is thought dead, and another does the work."""

    def __init__(self, opened: ClusterClient, target: str, heir: Callable[[], None]) -> None:
        super().__init__(opened)
        self._target, self._heirs = target, [heir]

    def append(
        self, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, AppendResult]:
        if self._heirs and any(it.topic == self._target for it in batches):
            self._heirs.pop()()
        return super().append(batches)


def test_one_that_was_thought_dead_hears_that_its_batches_are_too_old(
    cluster: Cluster, client: PartitionClient, target: str
) -> None:
    wanted = options(cluster, target)
    heir = partial(Publisher(client, wanted, QUERY).commit, 0, [])
    with view(cluster) as opened:
        zombie = Publisher(Late(opened, target, heir), wanted, QUERY)
        zombie.commit(0, staged(client, wanted, 0))
    assert stored(client, target) == expected(1)


class Fatal(PartitionClient):
    """With the fourth batch of a partition its leader dies: at the very moment when it has it."""

    def __init__(self, cluster: Cluster, opened: ClusterClient, partition: TopicPartition) -> None:
        super().__init__(opened)
        self._brokers, self._opened, self._partition = cluster, opened, partition
        self._batches = count(1)
        self.dead = -1

    def append(
        self, batches: Mapping[TopicPartition, Buffer]
    ) -> dict[TopicPartition, AppendResult]:
        if self._partition in batches and next(self._batches) == 4:
            self.dead = self._opened.leader(self._partition)
            request = {self._partition: batches[self._partition]}
            self._produce(self.dead, request)
            self._brokers.kill(self.dead)
        return super().append(batches)


def test_a_leader_dies_while_it_stores_an_epoch(
    cluster: Cluster, client: PartitionClient, target: str
) -> None:
    """The batch that it had stored is sent again to its successor, which knows it."""
    wanted = options(cluster, target)
    Publisher(client, wanted, QUERY).commit(0, staged(client, wanted, 0))
    shares = staged(client, wanted, 1)
    with view(cluster) as opened:
        fatal = Fatal(cluster, opened, TopicPartition(target, 0))
        Publisher(fatal, wanted, QUERY).commit(1, shares)
    assert fatal.dead in cluster.brokers
    assert stored(client, target) == expected(2)
    cluster.restart(fatal.dead)
    Publisher(client, wanted, QUERY).commit(2, staged(client, wanted, 2))
    assert stored(client, target) == expected(3)
