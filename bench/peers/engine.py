"""The engine: one broker or several, on their own ZooKeeper, as `Cluster` starts them."""

from pathlib import Path

from bench.peers.kafka import KafkaPeer
from engine.cluster.cluster import Cluster


class Engine(KafkaPeer):
    name = "the engine"

    def __init__(self, brokers: int = 1) -> None:
        self._brokers = brokers  # each has a replica of each partition

    def start(self, home: Path) -> None:
        config = {"default.replication.factor": str(self._brokers)}
        self.cluster = Cluster(self._brokers, data=home, config=config).start()
        self.bootstrap = self.cluster.bootstrap

    def stop(self) -> None:
        self.cluster.stop()
