"""Where a run is made: a real cluster, somebody who writes all the time, and somebody who reads.

    with Stand("failover.jsonl.gz") as stand:          starts a cluster and records it
        stand.topic("orders", [[1, 2, 3]])
        stand.write(3)                                 that many records a second, from now on
        stand.beat(2)                                  let it be watched for two seconds
        stand.cluster.kill(1)
        until("another leader", lambda: stand.state().leader > 1)

Sessions are shorter than Kafka's own, as in the labs, and segments small enough that there are
several. A beat is no wait: what has to have happened is waited for by `lab.until`.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lab import PATIENCE, dotted, until

from engine import Cluster
from engine.client.admin.values import NewTopic
from engine.cluster.recorded_files import WantedFiles
from engine.cluster.recording import NO_TRACKS, Track
from engine.cluster.state import ClusterState, PartitionState
from engine.model import TopicPartition

SESSION = 4.0  # seconds until a dead broker is missed
CONFIG = {
    "zookeeper.session.timeout.ms": f"{SESSION * 1000:.0f}",
    "replica.lag.time.max.ms": "3000",
    "group.min.session.timeout.ms": "500",
    "auto.leader.rebalance.enable": "false",  # who leads changes only when we do something
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
}
SMALL = {"segment.bytes": "2500", "index.interval.bytes": "600"}  # something to see in the files
NO_CONFIG: Mapping[str, str] = {}
CITIES = ("Lima", "Oslo", "Kyoto", "Accra", "Quito", "Turin", "Perth", "Riga")


class Stand:
    def __init__(
        self,
        path: Path,
        *,
        config: Mapping[str, str] = NO_CONFIG,
        frames: bool = True,
        files: WantedFiles = (),
        znodes: bool = False,
        tracks: Mapping[str, Track] = NO_TRACKS,
        **cluster: Any,
    ) -> None:
        """`frames`: the messages on the wire are recorded; `files`, `znodes`, `tracks`: see
        Cluster.record; all others: see Cluster."""
        self.cluster = Cluster(**{"brokers": 3} | cluster, config={**CONFIG, **config})
        self.is_ending = False  # the next call of a track is its last
        self._path, self._frames = path, frames
        self._wish: dict[str, Any] = {"files": files, "znodes": znodes, "tracks": tracks}
        self.over = threading.Event()  # its clients are to end
        self._hands: list[threading.Thread] = []
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self.cluster.start()
        if self._frames:
            self.cluster.trace(frames=True)
        self.recorder = self.cluster.record(self._path, **self._wish)
        return self

    def end(self) -> None:
        """Of the recording: what is done from now on belongs to no run."""
        self.is_ending = True
        self.recorder.stop()

    def __exit__(self, *_: object) -> None:
        self.end()
        self.over.set()
        for hand in self._hands:
            hand.join()
        self.cluster.stop()
        if self._failure:
            raise self._failure

    # -- time ----------------------------------------------------------------------------

    def beat(self, seconds: float) -> None:
        """Nothing is done, and what goes on can be watched."""
        self.over.wait(seconds)

    # -- what is there -------------------------------------------------------------------

    def topic(self, name: str, replicas: Sequence[Sequence[int]], **config: str) -> None:
        """With a partition for each list of replicas."""
        settings = SMALL | dotted(config)
        new = NewTopic(name, replica_assignment=replicas, config=settings)
        self.cluster.admin.create_topics([new])[name].result(PATIENCE)
        parts = [TopicPartition(name, number) for number in range(len(replicas))]
        until(f"{name} to be there", lambda: all(it in self.states().partitions for it in parts))

    def states(self) -> ClusterState:
        return self.cluster.state()

    def state(self, topic: str = "orders", partition: int = 0) -> PartitionState:
        return self.states().partitions[TopicPartition(topic, partition)]

    def others(self) -> list[int]:
        """Brokers that do not happen to be the controller."""
        return [it for it in self.cluster.brokers if it != self.states().controller]

    # -- clients -------------------------------------------------------------------------

    def write(self, rate: float, topic: str = "orders", partitions: int = 1, **how: Any) -> None:
        """So many records a second, each acknowledged by all that are in sync; if there is no room
        for more in its buffer, it waits."""
        self.hand(lambda: self._write(rate, topic, partitions, **how))

    def _write(
        self, rate: float, topic: str, partitions: int, client: str = "shop", size: int = 0
    ) -> None:
        settings = {"acks": "all", "client.id": client, "linger.ms": "0", "retry.backoff.ms": "250"}
        settings |= {"delivery.timeout.ms": "60000", "buffer.memory": "200000"}
        producer = self.cluster.producer(settings)
        number = 0
        while not self.over.wait(1 / rate):
            city = CITIES[number % len(CITIES)]
            value = f'{{"order": {number}, "city": "{city}"}}'.ljust(size)
            producer.produce(topic, value, key=city, partition=number % partitions)
            producer.poll(0)
            number += 1
        producer.close()

    def read(self, group: str, topic: str = "orders", **config: str) -> None:
        """Everything, and its offsets are committed each second."""
        self.hand(lambda: self._read(group, topic, dotted(config)))

    def _read(self, group: str, topic: str, config: Mapping[str, str]) -> None:
        settings = {"group.id": group, "client.id": "biller", "auto.offset.reset": "earliest"}
        settings |= {"auto.commit.interval.ms": "1000", "heartbeat.interval.ms": "1000"}
        settings |= {"session.timeout.ms": "6000", "fetch.wait.max.ms": "500"}
        consumer = self.cluster.consumer({**settings, **config})
        consumer.subscribe([topic])
        while not self.over.is_set():
            consumer.consume(100, 0.1)
        consumer.close()

    def hand(self, work: Callable[[], None]) -> None:
        """A thread; if it fails, so does the run."""

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._failure = error

        self._hands.append(threading.Thread(target=run, daemon=True))
        self._hands[-1].start()
