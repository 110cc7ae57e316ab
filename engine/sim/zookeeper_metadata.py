"""ZooKeeper as the metadata of a simulated cluster: an administrator's session, and the truth.

metadata.create("orders", [[1, 2, 3]], {})     as the tools of old do: znodes
metadata.ask(Get("/controller"))               any request
metadata.kill_server(2)                        of an ensemble
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar, cast
from uuid import UUID

from engine.controller.events import AlterReassignments, ControllerEvent, ElectLeaders
from engine.metadata.replica_assignment import ReplicaAssignment
from engine.model import TopicPartition
from engine.sim.clock import Clock
from engine.sim.network import Network
from engine.sim.node import SimulatedBroker
from engine.sim.zookeeper.client import NAME
from engine.sim.zookeeper.ensemble import Ensemble
from engine.sim.zookeeper.model import Znode
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Unreadable, decoded
from engine.zookeeper.requests import (
    Ask,
    Create,
    Delete,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    ZnodeData,
)
from engine.zookeeper.znodes import LeaderAndIsr

FOREVER = 2**40  # ms: the administrator's session
FENCED = Refused(Reason.BAD_VERSION, znodes.CONTROLLER_EPOCH)

T = TypeVar("T")
Note = Callable[..., None]  # an event: its kind, and facts by name


class ZookeeperMetadata:
    def __init__(
        self,
        clock: Clock,
        network: Network,
        servers: int,
        seed: int,
        random: Random,
        nodes: Mapping[int, SimulatedBroker],
        note: Note,
    ) -> None:
        self.ensemble = Ensemble(clock, network, servers, Random(seed))
        self.model = self.ensemble.model
        self._random, self._nodes, self._note = random, nodes, note
        self._decoded: dict[str, tuple[bytes, Any]] = {}  # by path: the data, and what it says
        self._admin = self.model.connect(FOREVER, lambda change: None)
        self.ensemble.answered.append(self._note_fencing)

    @property
    def machines(self) -> list[str]:
        return [NAME]

    @property
    def tree(self) -> Mapping[str, Znode]:
        return self.model.tree

    @property
    def controller_epoch(self) -> int | None:
        """None: nothing is there, or a storm has written nonsense."""
        node = self.tree.get(znodes.CONTROLLER_EPOCH)
        known = node is not None and node.data.isdigit()
        return znodes.decode_epoch(node.data) if node is not None and known else None

    @property
    def has_controller(self) -> bool:
        controller = self.controller
        return controller is not None and self._nodes[controller].is_up

    @property
    def is_whole(self) -> bool:
        return self.ensemble.leader is not None and not self.ensemble.away

    def is_settled(self, broker: int, epoch: int) -> bool:
        """A broker that starts ends the session of the process before it."""
        return True

    @property
    def up(self) -> list[int]:
        return list(self.ensemble.up)

    @property
    def away(self) -> list[int]:
        return list(self.ensemble.away)

    def settings(self, broker: int) -> Mapping[str, str]:
        return {"broker.id": str(broker), "zookeeper.connect": "zookeeper:2181"}

    def expire(self, broker: int) -> None:
        """ZooKeeper ends a broker's session."""
        client = self._nodes[broker].running.environment.zookeeper_client
        session = client.session if client is not None else 0
        if session:  # or it has none yet
            self._note("session.expired", broker=broker)
            self.ensemble.expire(session)

    # -- ZooKeeper's servers -------------------------------------------------------------

    @property
    def departures(self) -> Sequence[Callable[[int], None]]:
        return self.kill_server, self.silence_server

    def kill_server(self, server: int) -> None:
        self._note("zookeeper.killed", server=server)
        self.ensemble.kill(server)

    def silence_server(self, server: int) -> None:
        """It is paused, or cut off from the other servers and from the brokers."""
        self._note("zookeeper.silenced", server=server)
        self.ensemble.silence(server)

    def restart_server(self, server: int) -> None:
        self._note("zookeeper.restarted", server=server)
        self.ensemble.restart(server)

    @property
    def controller(self) -> int | None:
        """The broker that /controller names."""
        found = self._read(znodes.ControllerInfo.decode, znodes.CONTROLLER)
        return found.broker_id if found else None

    # -- administration ------------------------------------------------------------------

    def ask(self, ask: Ask) -> Any:
        """Send a request to ZooKeeper, as an administrator's shell does."""
        return self.model.answer(self._admin, ask)

    def get(self, path: str) -> bytes | None:
        found: ZnodeData | None = self.ask(Get(path))
        return found.data if found else None

    def write(self, path: str, data: bytes | None) -> None:
        """Write to a node, as an outsider does; None deletes it."""
        self._note("znode.written", path=path)
        if data is None:
            self._must(Delete(path))
        elif self.get(path) is None:
            self._must(Create(path, data, parents=True))
        else:
            self._must(Set(path, data))

    def create(
        self, topic: str, replicas: Sequence[Sequence[int]], config: Mapping[str, str]
    ) -> None:
        """Create a topic in ZooKeeper; the controller elects its leaders soon after."""
        partitions = {n: ReplicaAssignment(tuple(ids)) for n, ids in enumerate(replicas)}
        node = znodes.Topic(UUID(int=self._random.getrandbits(128), version=4), partitions)
        overrides = znodes.encode_config(config)
        self._must(
            Multi(
                (
                    Create(znodes.config_path("topics", topic), overrides),
                    Create(znodes.topic_path(topic), node.encode()),
                )
            )
        )

    def delete(self, topic: str) -> None:
        self._must(Create(znodes.deleted_topic_path(topic)))

    def configure(self, topic: str, config: Mapping[str, str]) -> None:
        """Change a topic's configuration. A note in ZooKeeper notifies all brokers."""
        path = znodes.config_path("topics", topic)
        known = znodes.decode_config(self.get(path) or b"")
        self._must(Set(path, znodes.encode_config({**known, **config})))
        note = znodes.encode_config_change("topics", topic)
        self._must(Create(znodes.CONFIG_CHANGE, note, sequence=True))

    def elect(
        self, partition: TopicPartition, done: Callable[[Any], object], *, unclean: bool = False
    ) -> None:
        self._tell_controller(ElectLeaders(frozenset({partition}), unclean), done)

    def reassign(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None], done: Callable[[Any], object]
    ) -> None:
        self._tell_controller(AlterReassignments(moves), done)

    def _tell_controller(self, event: ControllerEvent, done: Callable[[Any], object]) -> None:
        assert self.controller is not None, "there is no controller"
        self._nodes[self.controller].running.ask_controller(event, done)

    def _must(self, ask: Ask) -> None:
        answer = self.ask(ask)
        assert not isinstance(answer, Refused), answer

    # -- state ---------------------------------------------------------------------------

    def state(self, partition: TopicPartition) -> LeaderAndIsr | None:
        return self._read(LeaderAndIsr.decode, znodes.state_path(partition))

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        topic = self._read(znodes.Topic.decode, znodes.topic_path(partition.topic))
        return topic.partitions[partition.partition].replicas if topic else ()

    def _read(self, decode: Callable[[bytes], T], path: str) -> T | None:
        """None if the node does not exist, or has unreadable data."""
        node = self.tree.get(path)
        data = node.data if node is not None else b""
        if (known := self._decoded.get(path)) is None or known[0] != data:
            found = decoded(decode, data)
            self._decoded[path] = known = data, None if isinstance(found, Unreadable) else found
        return cast(T | None, known[1])

    def _note_fencing(self, session: int, ask: Ask, answer: Any) -> None:
        """ZooKeeper has refused a write of a former controller."""
        if answer == FENCED:
            owner = [
                each.id
                for each in self._nodes.values()
                if each.current is not None and each.current.session == session
            ]
            self._note("write.refused", path=FENCED.path, reason=FENCED.reason.value, who=owner)
