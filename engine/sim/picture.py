"""A simulated cluster as a widget wants it: snapshots like those of `Cluster.state()`.

    nodes ── what each would tell through its control door ──> View ──> ClusterState

So whoever draws the one draws the other. A broker that is down or paused tells nothing, and the
last that it told is shown. Process ids are 0, and there are no connections to be counted.
"""

from collections.abc import Iterator
from typing import Any

from engine.cluster.state import NOBODY, ClusterState, LinkState, Status
from engine.cluster.view import Member, View
from engine.model import TopicPartition
from engine.sim.node import PORT, Life, Node
from engine.sim.world import World

BESIDE = -1  # a follower that has all the leader has is behind since never

Rows = dict[TopicPartition, list[Any]]


class Picture:
    def __init__(self, world: World) -> None:
        self._world = world
        self._view = View()
        self._told: dict[int, Rows] = {}
        self._lives: dict[int, list[Life]] = {}  # of each broker; what one told ends with it

    def take(self) -> ClusterState:
        """As it is now. What has not changed since the last one is the same object."""
        for broker, node in self._world.nodes.items():
            life = node.life
            if life is not None and not life.process.paused:
                lives = self._lives.setdefault(broker, [])
                if life not in lives:
                    lives.append(life)
                    self._told[broker] = {}
                self._view.told(broker, len(lives), self._answer(node, life))
        members = {
            broker: Member(_status(node), 0, PORT + broker)
            for broker, node in self._world.nodes.items()
        }
        return self._view.snapshot(self._world.clock.now, members, self._links())

    def _answer(self, node: Node, life: Life) -> dict[str, Any]:
        rows, known = dict(_rows(node, life)), self._told[node.id]
        self._told[node.id] = rows
        controller, metadata = life.controlling.controller, life.metadata
        return {
            "at": node.now(),
            "epoch": life.replicas.broker_epoch,
            "session": life.keeper.session if life.keeper.is_connected else None,
            "controller": controller.leader_id,
            "controller_epoch": life.replicas.controller_epoch,
            "active": controller.active,
            "brokers": sorted(metadata.brokers),
            "connections": 0,
            "headless": [
                (name, number, each.leader_epoch, each.replicas, each.isr)
                for name, topic in metadata.topics.items()
                for number, each in topic.partitions.items()
                if each.leader == NOBODY
            ],
            "groups": None,
            "transactions": None,
            "rows": [(*at, *row) for at, row in rows.items() if known.get(at) != row],
            "gone": [*(known.keys() - rows.keys())],
        }

    def _links(self) -> Iterator[LinkState]:
        for (source, target), way in sorted(self._world.network.ways.items()):
            usual = way.delay == self._world.network.delay
            if way.cut or not usual:
                delay = 0 if usual else way.delay[1]
                yield LinkState(_end(source), _end(target), way.cut, delay)


def _rows(node: Node, life: Life) -> Iterator[tuple[TopicPartition, list[Any]]]:
    """As engine.cluster.state reads them."""
    for partition, role in life.replicas.partitions.items():
        log = node.log(partition)
        if log is not None:
            followers = [
                (each.id, each.end, BESIDE if each.end >= log.end_offset else each.caught_up)
                for each in role.followers.values()
            ]
            yield (
                partition,
                [
                    *(role.role.value, role.leader, role.leader_epoch, role.isr, role.replicas),
                    *(log.start_offset, role.high_watermark, log.end_offset),
                    *(sum(len(each.data) for each in log.batches), 1, followers),
                ],
            )


def _status(node: Node) -> Status:
    if node.life is None:
        return Status.DOWN
    return Status.PAUSED if node.life.process.paused else Status.UP


def _end(machine: str) -> str:
    """The name of a link's end in a real cluster: a broker's number, or "zookeeper"."""
    return machine.removeprefix("broker-")
