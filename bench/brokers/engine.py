"""The engine: `Cluster(nodes)` on its own ZooKeeper, Kafka's defaults but for a few.

zookeeper.session.timeout.ms is 6000 here; Kafka's default is 18000.
"""

import engine
from bench.brokers.kafka import SESSION
from bench.brokers.system import System
from engine.cluster.cluster import Cluster


class EngineCluster(System):
    name, kind = "the engine", "kafka"

    @classmethod
    def version(cls) -> str:
        return engine.__version__

    @property
    def address(self) -> str:
        return self._cluster.bootstrap

    def start(self) -> None:
        config = {"zookeeper.session.timeout.ms": SESSION, "auto.create.topics.enable": "false"}
        config |= {"min.insync.replicas": "1", "offsets.topic.replication.factor": "1"}
        self._cluster = Cluster(self.size, data=self.home / "engine", config=config).start()

    def stop(self) -> None:
        self._cluster.stop()

    def active(self, topic: str) -> int:
        return self._cluster.leader(topic) - 1

    def kill(self, node: int) -> None:
        self._cluster.kill(node + 1)

    def restart(self, node: int) -> None:
        self._cluster.restart(node + 1)

    def restart_all(self, dead: list[int]) -> None:
        for node in reversed(dead):
            self._cluster.restart(node + 1)
