"""The engine: one broker, or three, on their own ZooKeeper, as `Cluster` starts them."""

from pathlib import Path

from bench.peers.kafka import KafkaPeer
from bench.peers.peer import Load, Size
from engine.cluster.cluster import Cluster


class Engine(KafkaPeer):
    name = "the engine"

    def start(self, home: Path) -> None:
        self.cluster = Cluster(1, data=home).start()
        self.bootstrap = self.cluster.bootstrap

    def stop(self) -> None:
        self.cluster.stop()


class ThreeBrokers(Engine):
    """The same with three replicas of each partition."""

    def start(self, home: Path) -> None:
        self.cluster = Cluster(3, data=home, config={"default.replication.factor": "3"}).start()
        self.bootstrap = self.cluster.bootstrap

    def loads(self, size: Size) -> dict[str, Load]:
        return self.replicated(size)
