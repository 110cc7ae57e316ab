"""What it costs to be large: python -m bench.growth

The engine with ZooKeeper, the engine without it, and Kafka 2.8.2, one after the other, three
brokers each. All is told in seconds, but for the last:

    created         so many partitions of three replicas, until each has its leader
    a broker dies   until each of its partitions has another leader, above the session of 6 s
    it comes back   from its start until it is in sync everywhere
    all start       all brokers, which have ended in order, until all is in sync
    log             one broker with a long log is started: after it has ended in order, and a kill
    connections     a record of one more client (p50, in ms), while so many are open

A cluster is started for each, so a JVM has warmed up only by what came before.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from bench.peers.apache import Kafka28
from bench.peers.kafka import KafkaPeer
from bench.peers.plain import connect
from bench.table import number, table
from bench.warm import progress
from engine.cluster.cluster import Cluster

PARTITIONS, CONNECTIONS = (10, 300, 2_000), (1, 40, 500, 2_000)
SESSION_S = 6.0
SESSIONS = {
    "zookeeper": {"zookeeper.session.timeout.ms": "6000"},
    "kraft": {"broker.session.timeout.ms": "6000"},
}
BROKERS, VICTIM, TOPIC = (1, 2, 3), 3, "long"
LIMIT_S, ANSWER_S = 300.0, 10.0  # for a change, and to tell of it
SESSION_ENDS_S = SESSION_S + 4  # Kafka's broker ends if its last session is still there
PINGS = 1_000

Rows = dict[str, float]


class Growing(ABC):
    """A cluster whose brokers can be ended and started."""

    name: str
    peer: KafkaPeer

    @abstractmethod
    def kill(self, broker: int) -> None: ...

    @abstractmethod
    def end(self, broker: int) -> None:
        """In order."""

    @abstractmethod
    def start(self, broker: int) -> None:
        """Returns at once."""


class OfEngine(Growing):
    def __init__(self, metadata: str, brokers: int, home: Path, stack: ExitStack) -> None:
        self.name = f"the engine, {metadata}"
        config = {"default.replication.factor": str(brokers), **SESSIONS[metadata]}
        self._cluster = stack.enter_context(
            Cluster(brokers, metadata=metadata, data=home, config=config)
        )
        self.peer = Reached(self._cluster.bootstrap)

    def kill(self, broker: int) -> None:
        self._cluster.kill(broker)

    def end(self, broker: int) -> None:
        self._cluster.stop_broker(broker)

    def start(self, broker: int) -> None:
        self._cluster.restart(broker, wait=False)


class OfKafka(Growing):
    def __init__(self, brokers: int, home: Path, stack: ExitStack) -> None:
        settings = SESSIONS["zookeeper"].items()
        self.peer = self._kafka = Kafka28(brokers, "\n".join("=".join(it) for it in settings))
        self.name = self._kafka.name
        stack.callback(self._kafka.stop)
        self._kafka.start(home)

    def kill(self, broker: int) -> None:
        self._kafka.children[broker].kill()

    def end(self, broker: int) -> None:
        self._kafka.children[broker].terminate(LIMIT_S)

    def start(self, broker: int) -> None:
        self._kafka.children[broker] = self._kafka.start_broker(broker)


class Reached(KafkaPeer):
    """Brokers that are there."""

    name = "the engine"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def start(self, home: Path) -> None: ...

    def stop(self) -> None: ...


class Watch:
    """What brokers tell of their topics."""

    def __init__(self, cluster: Growing) -> None:
        self._client = AdminClient({"bootstrap.servers": cluster.peer.bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int, replicas: int) -> None:
        new = NewTopic(topic, partitions, replicas)
        (made,) = self._client.create_topics([new], operation_timeout=LIMIT_S).values()
        made.result(LIMIT_S)

    def seconds(self, holds: Callable[[PartitionMetadata], bool], partitions: int) -> float:
        """Until it holds for each of so many partitions."""
        began = time.monotonic()
        while time.monotonic() < began + LIMIT_S:
            with suppress(KafkaException):  # no broker answers yet
                told = self._client.list_topics(timeout=ANSWER_S).topics
                rows = [it for topic in told.values() for it in topic.partitions.values()]
                if len(rows) >= partitions and all(map(holds, rows)):
                    return time.monotonic() - began
            time.sleep(0.05)
        raise TimeoutError(f"not so after {LIMIT_S:.0f} s, for each of {partitions} partitions")


def has_leader(partition: PartitionMetadata) -> bool:
    return partition.leader in BROKERS


def has_another_leader(partition: PartitionMetadata) -> bool:
    return partition.leader in {*BROKERS} - {VICTIM}


def in_sync(partition: PartitionMetadata) -> bool:
    return has_leader(partition) and len(partition.isrs) == len(BROKERS)


def partitions(cluster: Growing, counts: Sequence[int]) -> Rows:
    rows: Rows = {}
    watch, total = Watch(cluster), 0
    for count in counts:
        began = time.monotonic()
        watch.create(f"many-{count}", count - total, len(BROKERS))
        total = count
        watch.seconds(in_sync, total)
        rows[f"{count:,} partitions: created"] = time.monotonic() - began
        cluster.kill(VICTIM)
        died = watch.seconds(has_another_leader, total) - SESSION_S
        rows[f"{count:,} partitions: a broker dies"] = died
        cluster.start(VICTIM)
        rows[f"{count:,} partitions: it comes back"] = watch.seconds(in_sync, total)
        for broker in BROKERS:
            cluster.end(broker)
        began = time.monotonic()
        for broker in BROKERS:
            cluster.start(broker)
        watch.seconds(in_sync, total)
        rows[f"{count:,} partitions: all start"] = time.monotonic() - began
        progress(f"{cluster.name}: {count:,} partitions")
    return rows


def log(cluster: Growing, records: int) -> Rows:
    rows: Rows = {}
    cluster.peer.produce(records)
    watch = Watch(cluster)
    for how, end in (("it ended in order", cluster.end), ("a kill", cluster.kill)):
        end(1)
        time.sleep(SESSION_ENDS_S)
        began = time.monotonic()
        cluster.start(1)
        watch.seconds(lambda it: it.leader == 1, 1)
        cluster.peer.consume(1)
        rows[f"log of {records * 200 // 10**6:,} MB: start after {how}"] = time.monotonic() - began
        progress(f"{cluster.name}: started after {how}")
    return rows


def connections(cluster: Growing, counts: Sequence[int]) -> Rows:
    rows: Rows = {}
    port = int(cluster.peer.bootstrap.rpartition(":")[2])
    with ExitStack() as open_ones:
        opened = 0
        cluster.peer.ping(PINGS)  # warms up
        for count in counts:
            for _ in range(count - opened):
                open_ones.callback(connect(port).close)
            opened = count
            told = f"{count:,} connections: a record of one more client, ms"
            rows[told] = statistics.median(cluster.peer.ping(PINGS)) * 1000
        progress(f"{cluster.name}: {counts[-1]:,} connections")
    return rows


def clusters(brokers: int) -> Iterator[Growing]:
    """Each is started when it is asked for, after the one before it has ended."""
    kinds: list[Callable[[Path, ExitStack], Growing]] = [
        lambda home, stack: OfEngine("zookeeper", brokers, home, stack),
        lambda home, stack: OfEngine("kraft", brokers, home, stack),
    ]
    if Kafka28().installed():
        kinds.append(lambda home, stack: OfKafka(brokers, home, stack))
    else:
        progress(f"{Kafka28.name} is left out: {Kafka28.remedy}")
    for kind in kinds:
        with ExitStack() as stack:
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
            yield kind(Path(home), stack)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__.split("\n")[0])
    parser.add_argument("--partitions", type=int, nargs="*", default=PARTITIONS)
    parser.add_argument("--connections", type=int, nargs="*", default=CONNECTIONS)
    parser.add_argument("--records", type=int, default=5_000_000, help="of the long log")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    found: dict[str, Rows] = {}
    for cluster in clusters(len(BROKERS)):
        found[cluster.name] = partitions(cluster, options.partitions)
    for cluster in clusters(1):
        found[cluster.name] |= log(cluster, options.records)
        found[cluster.name] |= connections(cluster, options.connections)
    rows = [
        (name, *(number(by_row[name]) for by_row in found.values()))
        for name in next(iter(found.values()))
    ]
    print(table(["seconds", *found], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
