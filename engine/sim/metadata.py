"""What holds the metadata of a simulated cluster: ZooKeeper, or a quorum of controllers.

    SimulatedMetadata <── ZookeeperMetadata (zookeeper_metadata.py), QuorumMetadata (quorum/)

What it says of a partition is the truth. What a broker believes may be out of date.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from engine.model import TopicPartition


class KnownState(Protocol):
    """What the cluster has decided about a partition."""

    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def isr(self) -> tuple[int, ...]: ...


class SimulatedMetadata(Protocol):
    @property
    def machines(self) -> list[str]:
        """The names that the servers of the metadata have in the network."""

    @property
    def controller(self) -> int | None: ...
    @property
    def controller_epoch(self) -> int | None: ...
    @property
    def has_controller(self) -> bool:
        """Whether one runs that can be asked."""

    @property
    def is_whole(self) -> bool:
        """Whether all servers are there, and one leads."""

    def is_settled(self, broker: int, epoch: int) -> bool:
        """Whether the cluster knows the broker by the process that has this epoch, and will not
        find out later that an earlier one has died."""

    @property
    def up(self) -> list[int]:
        """The servers that serve: of ZooKeeper, or controllers."""

    @property
    def away(self) -> list[int]: ...
    @property
    def departures(self) -> Sequence[Callable[[int], None]]:
        """The ways in which a server can go away: killed, silenced ..."""

    def kill_server(self, server: int) -> None: ...
    def silence_server(self, server: int) -> None: ...
    def restart_server(self, server: int) -> None: ...
    def settings(self, broker: int) -> Mapping[str, str]:
        """Of a broker: where its metadata comes from."""

    def create(
        self, topic: str, replicas: Sequence[Sequence[int]], config: Mapping[str, str]
    ) -> None: ...
    def delete(self, topic: str) -> None: ...
    def configure(self, topic: str, config: Mapping[str, str]) -> None: ...
    def elect(
        self, partition: TopicPartition, done: Callable[[Any], object], *, unclean: bool = False
    ) -> None: ...
    def reassign(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None], done: Callable[[Any], object]
    ) -> None: ...
    def state(self, partition: TopicPartition) -> KnownState | None: ...
    def replicas(self, partition: TopicPartition) -> tuple[int, ...]: ...
