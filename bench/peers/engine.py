"""The engine: one broker on its own ZooKeeper, as `Cluster(1)` starts it."""

from pathlib import Path

from bench.peers.kafka import KafkaPeer
from engine.cluster.cluster import Cluster


class Engine(KafkaPeer):
    name = "the engine"

    def start(self, home: Path) -> None:
        self.cluster = Cluster(1, data=home).start()
        self.bootstrap = self.cluster.bootstrap

    def stop(self) -> None:
        self.cluster.stop()
