"""Snapshots of a simulated cluster like those of `Cluster.state()`, for the widgets.

    nodes ── the answers of their debug servers, if they had any ──> StateMerger ──> ClusterState

A broker that is down or paused reports nothing, so its last report is shown. Process ids are 0, and
the number of connections is 0.
"""

from collections.abc import Iterator
from typing import Any, cast

from engine.broker.debug.debug_server import CAUGHT_UP, DebugConnection, Row
from engine.broker.kraft.quorum_node import quorum_facts
from engine.cluster.state import ClusterState, LinkState, Status
from engine.cluster.state_merger import ProcessState, StateMerger
from engine.model import NO_BROKER, TopicPartition
from engine.replication.log_read import last_stable
from engine.sim.node import RunningBroker, SimulatedBroker
from engine.sim.peer import PORT
from engine.sim.process import SimulatedProcess
from engine.sim.quorum.metadata import QUORUM_PORT, QuorumMetadata
from engine.sim.world import World


class Picture:
    def __init__(self, world: World) -> None:
        self._world = world
        self._view = StateMerger()
        self._reported: dict[int, DebugConnection] = {}  # of each broker's current process
        self._incarnations: dict[int, list[RunningBroker]] = {}  # of each broker, so far

    def take(self) -> ClusterState:
        """As it is now. What has not changed since the last one is the same object."""
        for broker, node in self._world.nodes.items():
            running = node.current
            if running is not None and node.broker is not None and not running.process.paused:
                incarnations = self._incarnations.setdefault(broker, [])
                if running not in incarnations:
                    incarnations.append(running)
                    self._reported[broker] = DebugConnection()
                self._view.update(broker, len(incarnations), self._answer(node, running))
        members = {
            broker: ProcessState(
                _status(node.current.process if node.current else None), 0, PORT + broker
            )
            for broker, node in self._world.nodes.items()
        }
        return self._view.snapshot(
            self._world.clock.now, members, self._links(), self._controllers()
        )

    def _controllers(self) -> dict[int, ProcessState]:
        """Their processes; what those that run would report is taken on the way."""
        if not isinstance(quorum := self._world.metadata, QuorumMetadata):
            return {}
        for id, node in quorum.controllers.items():
            process, controller = node.current, node.controller
            if controller is not None and process is not None and not process.paused:
                facts = quorum_facts(controller.raft.client, controller.loader.image)
                self._view.update_controller(id, facts)
        return {
            id: ProcessState(_status(node.current), 0, QUORUM_PORT + id)
            for id, node in quorum.controllers.items()
        }

    def _answer(self, node: SimulatedBroker, running: RunningBroker) -> dict[str, Any]:
        rows, gone = self._reported[node.id].changed_rows(_rows(node, running))
        broker = running.broker
        gateway, metadata = broker.gateway, broker.metadata
        return {
            "at": node.now(),
            "epoch": broker.replicas.broker_epoch,
            "session": running.session,
            "controller": gateway.controller_id,
            "controller_epoch": broker.replicas.controller_epoch,
            "active": gateway.is_controller,
            "brokers": sorted(metadata.brokers),
            "connections": 0,
            "tls_copied": 0,
            "quotas": [],
            "max_lag_ms": node.config.replica_lag_time_max_ms,
            "session_ms": node.config.zookeeper_session_timeout_ms,
            "leaderless": [
                (name, number, each.leader_epoch, each.replicas, each.isr)
                for name, topic in metadata.topics.items()
                for number, each in topic.partitions.items()
                if each.leader == NO_BROKER
            ],
            "groups": None,
            "transactions": None,
            "rows": rows,
            "gone": gone,
        }

    def _links(self) -> Iterator[LinkState]:
        for (source, target), way in sorted(self._world.network.ways.items()):
            usual = way.delay == self._world.network.delay
            if way.cut or not usual:
                delay = 0 if usual else way.delay[1]
                yield LinkState(_end(source), _end(target), way.cut, delay)


def _rows(node: SimulatedBroker, running: RunningBroker) -> Iterator[tuple[TopicPartition, Row]]:
    """As engine.cluster.state reads them."""
    for topic_partition, partition in running.broker.replicas.partitions.items():
        log = node.log(topic_partition)
        if log is not None:
            followers = [
                (each.id, each.end, CAUGHT_UP if each.end >= log.end_offset else each.caught_up)
                for each in partition.followers.values()
            ]
            row = (
                *(
                    partition.role.value,
                    partition.leader,
                    partition.leader_epoch,
                    partition.isr,
                    partition.replicas,
                ),
                *(
                    log.start_offset,
                    partition.high_watermark,
                    last_stable(cast(Any, log), partition),
                ),
                *(log.end_offset, sum(len(each.data) for each in log.batches), 1, followers),
            )
            yield topic_partition, row


def _status(process: SimulatedProcess | None) -> Status:
    if process is None:
        return Status.DOWN
    return Status.PAUSED if process.paused else Status.UP


def _end(machine: str) -> str:
    """The name of a link's end in a real cluster: a broker's number, or "zookeeper"."""
    return machine.removeprefix("broker-")
