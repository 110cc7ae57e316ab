"""Where the files of a partition are: in a directory, on a broker of a cluster, or in the past.

Place("data/broker-1/orders-0")            whether a broker runs on it or not
Place(cluster, "orders", 0)                the leader's replica
Place(cluster, "orders", 0, broker=2)      broker 2's, also when that one is down
Place(recording, "orders", 0)              as they were at a moment of a recording, and any other

The files of a recording are written to a directory, which `close` removes.
"""

import time
from pathlib import Path
from typing import Protocol

from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, PartitionState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from widgets.log.directory import Look, look
from widgets.replay.recorded_files import PartitionFiles

PATIENCE = 5.0  # seconds until every broker knows a new partition
PAUSE = 0.05


class ClusterLike(Protocol):
    """The part of a Cluster that is used here."""

    def directory(self, broker: int) -> Path: ...
    def state(self) -> ClusterState: ...


Source = str | Path | Recording | ClusterLike


class LogLocation:
    def __init__(
        self, source: Source, topic: str = "", partition: int = 0, broker: int | None = None
    ) -> None:
        self._partition = TopicPartition(topic, partition)
        self.past: PartitionFiles | None = None
        if isinstance(source, Recording):
            source = self.past = PartitionFiles(source, self._partition)
        self._cluster: ClusterLike | None = None if isinstance(source, str | Path) else source
        self._known: PartitionState | None = None  # the last state from the cluster
        self.broker = broker
        if isinstance(source, str | Path):
            self.directory = Path(source) / str(self._partition) if topic else Path(source)
            return
        state = self._await()
        usual = state.assignment[0] if state.leader < 0 else state.leader
        if self.past and usual not in self.past.brokers:
            usual = self.past.brokers[0]
        self.choose(usual)
        if broker is not None:
            self.choose(broker)

    def __str__(self) -> str:
        return self.directory.name if self.broker is None else f"{self._partition}"

    def _await(self) -> PartitionState:
        deadline = time.monotonic() + PATIENCE
        while not self.refresh():
            if self.past or time.monotonic() > deadline:
                reason = f"the cluster has no partition {self._partition}"
                raise ApiException(ErrorCode.unknown_topic_or_partition, reason)
            time.sleep(PAUSE)
        assert self._known is not None
        return self._known

    def refresh(self) -> bool:
        """Ask the cluster; returns whether it knows the partition."""
        if self._cluster is not None:
            self._known = self._cluster.state().partitions.get(self._partition, self._known)
        return self._known is not None

    def choose(self, broker: int) -> None:
        """Choose another replica."""
        assert self._cluster is not None and self._known is not None
        if broker not in self._brokers:
            reason = f"broker {broker} has no replica of {self._partition}, only brokers "
            reason += ", ".join(map(str, self._brokers))
            raise ApiException(ErrorCode.replica_not_available, reason)
        self.broker = broker
        self.directory = self._cluster.directory(broker) / str(self._partition)
        if self.past:
            self.past.choose(broker)

    @property
    def _brokers(self) -> tuple[int, ...]:
        """The brokers that have files of the partition."""
        assert self._known is not None
        return self.past.brokers if self.past else self._known.assignment

    @property
    def options(self) -> list[tuple[str, str]]:
        """The replicas to choose from; none for a directory."""
        if self._known is None:
            return []
        roles = {self._known.leader: " (leader)"}
        return [(str(it), f"broker {it}{roles.get(it, '')}") for it in self._brokers]

    @property
    def when(self) -> str:
        """The moment of a recording, as text; "": now."""
        return self.past.when if self.past else ""

    def close(self) -> None:
        if self.past:
            self.past.close()

    def look(self) -> Look:
        """Read the directory. The log start comes from a running broker, if there is one."""
        replica = self._known.replicas.get(self.broker or 0) if self._known else None
        return look(self.directory, replica.log_start if replica and replica.answers else None)
