"""What is true of a cluster: who is there, who decides, who leads what.

    Truth <── ZookeeperTruth    what ZooKeeper has
          <── QuorumTruth       what the disks of the controllers have (quorum_truth.py)

No broker's word is taken for it. A broker that was paused or cut off still believes what it
believed before; what counts is what stands here, and when it was written.
"""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from engine.cluster.link_faults import End
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.zookeeper import znodes
from tests.interop.watch import until
from tests.limits import START_S


class Seen(NamedTuple):
    """The state of a partition, its version and its place in time."""

    leader: int
    epoch: int
    isr: tuple[int, ...]
    version: int  # grows with every change
    zxid: int = -1  # of the last change, in the order of all changes to ZooKeeper


class Truth(ABC):
    epochs_of_a_shrink = 0  # leader epochs that a smaller ISR begins

    @abstractmethod
    def brokers(self) -> set[int]:
        """Those that are registered: alive, or not yet known to be dead."""

    @abstractmethod
    def controller(self) -> End:
        """-1 while there is none."""

    @abstractmethod
    def controller_epoch(self) -> int: ...
    @abstractmethod
    def topics(self) -> set[str]: ...
    @abstractmethod
    def replicas(self, topic: str) -> dict[int, ReplicaAssignment]: ...
    @abstractmethod
    def find(self, topic: str, partition: int) -> Seen | None:
        """None: the partition has no state yet."""

    @abstractmethod
    def reassign(self, moves: dict[TopicPartition, tuple[int, ...]]) -> None: ...
    @abstractmethod
    def elect_preferred(self, topic: str, partition: int) -> None: ...
    @abstractmethod
    def delete(self, topic: str) -> None: ...
    @abstractmethod
    def deletions(self) -> set[str]:
        """The topics that are to be deleted, and are not gone yet."""

    def state(self, topic: str, partition: int) -> Seen:
        found = self.find(topic, partition)
        assert found is not None, f"{topic}-{partition} has no state"
        return found

    def states(self, topic: str) -> dict[int, Seen]:
        """Of the partitions that have one already."""
        found = {number: self.find(topic, number) for number in self.replicas(topic)}
        return {number: state for number, state in found.items() if state is not None}

    def is_whole(self, topic: str) -> bool:
        """Every partition has a leader, and every replica is in sync and at its place."""
        states = self.states(topic)
        return all(
            number in states
            and states[number].leader in each.replicas
            and set(states[number].isr) == set(each.replicas)
            and not each.adding + each.removing
            for number, each in self.replicas(topic).items()
        )

    def await_whole(self, topic: str) -> None:
        until(lambda: self.is_whole(topic), START_S)

    def await_brokers(self, expected: set[int]) -> None:
        """Until exactly these are registered: sessions have ended, or begun."""
        until(lambda: self.brokers() == expected)

    def await_isr(self, topic: str, partition: int, expected: set[int]) -> Seen:
        def found() -> Seen | None:
            state = self.state(topic, partition)
            led = state.leader in expected  # a busy machine may let a session end for a moment
            return state if led and set(state.isr) == expected else None

        return until(found)

    def await_leader(self, topic: str, partition: int, *, other_than: int) -> Seen:
        def found() -> Seen | None:
            state = self.state(topic, partition)
            return state if state.leader not in (-1, other_than) else None

        return until(found)

    def await_controller(self, *, other_than: End = -1) -> End:
        return until(lambda: (now := self.controller()) not in (-1, other_than) and now)


class ZookeeperTruth(Truth):
    def __init__(self, address: str) -> None:
        forever = {"max_tries": -1, "max_delay": 0.2}
        self._client = KazooClient(
            address, timeout=4, connection_retry=forever, command_retry=forever
        )

    def __enter__(self) -> Self:
        self._client.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, traceback: TracebackType | None
    ) -> None:
        self._client.stop()
        self._client.close()

    # -- the cluster -----------------------------------------------------------------------

    def brokers(self) -> set[int]:
        return set(map(int, self._children(znodes.BROKER_IDS)))

    def last_change_of_brokers(self) -> int:
        """When one came or went."""
        return int(self._get(znodes.BROKER_IDS)[1].pzxid)

    def registered_at(self, broker: int) -> int:
        """By the broker's own clock."""
        return znodes.BrokerInfo.decode(self._get(znodes.broker_path(broker))[0]).timestamp

    def controller(self) -> int:
        try:
            return znodes.ControllerInfo.decode(self._get(znodes.CONTROLLER)[0]).broker_id
        except NoNodeError:
            return -1

    def controller_epoch(self) -> int:
        return znodes.decode_epoch(self._get(znodes.CONTROLLER_EPOCH)[0])

    # -- topics ----------------------------------------------------------------------------

    def topics(self) -> set[str]:
        return set(self._children(znodes.TOPICS))

    def replicas(self, topic: str) -> dict[int, ReplicaAssignment]:
        return dict(znodes.Topic.decode(self._get(znodes.topic_path(topic))[0]).partitions)

    def find(self, topic: str, partition: int) -> Seen | None:
        try:
            data, stat = self._get(znodes.state_path(TopicPartition(topic, partition)))
        except NoNodeError:
            return None
        return _seen(data, stat)

    def changes(self, topic: str, partition: int) -> list[Seen]:
        """A list that grows with each change from now on."""
        found: list[Seen] = []
        path = znodes.state_path(TopicPartition(topic, partition))
        self._client.DataWatch(path, lambda data, stat: found.append(_seen(data, stat)))
        return found

    # -- requests, as the tools of old make them -------------------------------------------

    def reassign(self, moves: dict[TopicPartition, tuple[int, ...]]) -> None:
        self._client.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(moves))

    def elect_preferred(self, topic: str, partition: int) -> None:
        wanted = znodes.encode_partitions([TopicPartition(topic, partition)])
        self._client.create(znodes.PREFERRED_ELECTION, wanted)
        until(lambda: not self._client.exists(znodes.PREFERRED_ELECTION))

    def delete(self, topic: str) -> None:
        self._client.create(znodes.deleted_topic_path(topic))

    def deletions(self) -> set[str]:
        return set(self._children(znodes.DELETE_TOPICS))

    def _get(self, path: str) -> tuple[bytes, Any]:
        """Again, if ZooKeeper was not there."""
        found: tuple[bytes, Any] = self._client.retry(self._client.get, path)
        return found

    def _children(self, path: str) -> list[str]:
        found: list[str] = self._client.retry(self._client.get_children, path)
        return found


def _seen(data: bytes, stat: Any) -> Seen:
    state = znodes.LeaderAndIsr.decode(data)
    return Seen(state.leader, state.leader_epoch, state.isr, stat.version, stat.mzxid)
