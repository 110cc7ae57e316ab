"""The cluster that was asked for last, for modules that can share one.

One at a time, since one that rests costs time, too: tests/conftest.py puts those modules one after
the other.
"""

from engine.cluster.cluster import Cluster
from proof.chaos.storm import heal
from tests.modes import ZOOKEEPER, made


class Latest:
    def __init__(self) -> None:
        self._wanted: object = None
        self._cluster: Cluster | None = None

    def of(self, brokers: int, config: dict[str, str], mode: str = ZOOKEEPER) -> Cluster:
        if (brokers, config, mode) != self._wanted:
            self.stop()
            self._cluster = made(brokers, mode, config=config).start()
            self._wanted = brokers, config, mode
        assert self._cluster is not None
        heal(self._cluster)  # whatever the module before has left
        return self._cluster

    def stop(self) -> None:
        self._wanted = None
        if self._cluster is not None:
            self._cluster.stop()
