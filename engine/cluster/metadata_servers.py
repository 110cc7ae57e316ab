"""What holds the metadata of a cluster: ZooKeeper, or a quorum of controllers.

    MetadataServers    their processes: ZookeeperEnsemble (ensemble.py), ControllerQuorum
                       (controller_quorum.py)
    DecidedMetadata       what they have of topics and brokers: ZookeeperView, QuorumMetadataView
    MetadataAddress    how a broker is told where they are

A cluster has one kind of them. All the rest of it does not know which.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from engine.cluster.child import Child
from engine.cluster.link_faults import End
from engine.cluster.state import BrokerState, ClusterState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition


class MetadataAddress(NamedTuple):
    """The options of `python -m engine broker` that say where the metadata comes from."""

    address: str
    option: str = "--zookeeper"
    settings: Mapping[str, str] = {}

    @property
    def arguments(self) -> list[str]:
        keys = [part for it in self.settings.items() for part in ("--config", "=".join(it))]
        return [self.option, self.address, *keys]


class MetadataServers(Protocol):
    """Processes with names: "zookeeper-2", "controller-1"; one name stands for all of them."""

    @property
    def address(self) -> str: ...
    @property
    def directory(self) -> Path | None:
        """The directory of a ZooKeeper server that is alone; None: there is none."""

    @property
    def all_name(self) -> str | None:
        """The name that stands for all of them; None: they are the brokers."""

    @property
    def names(self) -> list[str]:
        """The names of the servers that this cluster has started."""

    @property
    def link_names(self) -> list[str]:
        """The names by which links to these servers are cut and slowed."""

    @property
    def end_reason(self) -> str:
        """Why one has ended by itself; "" if they run, or were not started."""

    def of_broker(self, number: int) -> MetadataAddress: ...
    def server_settings(self) -> Mapping[str, str]:
        """For the server.properties of one more broker, with the number 0."""

    def prepare(self, number: int, directories: list[Path]) -> None:
        """Before a broker starts: what its log directories must have."""

    def start(self) -> None: ...
    def await_ready(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self, name: str) -> None: ...
    def pause(self, name: str) -> None: ...
    def resume(self, name: str) -> None: ...
    def restart(self, name: str, *, wait: bool = True) -> None: ...
    def mend(self) -> None:
        """Resume and restart all of them."""

    def child(self, name: str) -> Child: ...
    def command(self, name: str) -> str: ...
    def ends(self, end: End) -> list[End]:
        """The ends of links that an end stands for."""

    def within(self, one: End, other: End) -> bool:
        """Whether the two are one of them and all of them, which have no link."""

    def change_links(
        self, name: str, faults: Mapping[str, Mapping[str, Any]], *, heal: bool
    ) -> None:
        """Put faults on the links of this server; `heal`: take off all others first."""

    def deaths(self) -> list[tuple[str, str]]:
        """Those that have ended by themselves since the last call, and why."""

    def report_events(self) -> None: ...
    def added(self, state: ClusterState) -> ClusterState:
        """A state, and in it the servers of the metadata."""


class PartitionLeadership(NamedTuple):
    leader: int  # -1: none
    isr: tuple[int, ...]


class DecidedMetadata(Protocol):
    """What is true, not what one broker believes."""

    def topics(self) -> list[str]: ...
    def brokers(self) -> set[int]:
        """The numbers of those that are registered, and not fenced."""

    def partitions(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions; none if there is no such topic."""

    def leadership(self, partition: TopicPartition) -> PartitionLeadership | None:
        """The leader and the ISR of a partition; None: there is no such partition."""

    def has_session(self, number: int, broker: BrokerState) -> bool:
        """Whether the registration of the broker is that of the process that runs."""

    def close(self) -> None: ...


def no_such_partition(partition: TopicPartition) -> ApiException:
    words = f"there is no partition {partition}"
    return ApiException(ErrorCode.unknown_topic_or_partition, words)
