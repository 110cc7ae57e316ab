"""What stands in ZooKeeper: the tree of the real cluster, walked node by node."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from table import Table

from engine import Cluster
from engine.controller import znodes
from replication import real

NAMED = (  # by the articles
    znodes.CONTROLLER,
    znodes.BROKER_IDS,
    znodes.TOPICS,
    znodes.DELETE_TOPICS,
)
MORE = (
    znodes.CLUSTER_ID,
    znodes.CONTROLLER_EPOCH,
    znodes.CONFIG,
    znodes.FEATURES,
    znodes.BROKER_SEQUENCE,
    znodes.ISR_CHANGES,
    znodes.LOG_DIR_EVENTS,
    znodes.PRODUCER_ID_BLOCK,
    znodes.CONSUMERS,
)


class Leaf(NamedTuple):
    path: str
    ephemeral: bool
    data: bytes


class Tree(NamedTuple):
    leaves: list[Leaf]

    def __repr__(self) -> str:
        return repr(
            Table("path, goes with its owner", [(it.path, it.ephemeral) for it in self.top])
        )

    @property
    def paths(self) -> set[str]:
        return {it.path for it in self.leaves}

    @property
    def ephemeral(self) -> set[str]:
        return {it.path for it in self.leaves if it.ephemeral}

    @property
    def top(self) -> list[Leaf]:
        """What every cluster has: without topics and what was set for them."""
        own = (*NAMED, *MORE)
        return [it for it in self.leaves if it.path in own or it.path.startswith(znodes.BROKER_IDS)]

    def has(self, path: str) -> bool:
        return path in self.paths


def walk(cluster: Cluster) -> Tree:
    with real.keeper(cluster) as client:
        return Tree(list(_below(client, "/")))


def _below(client: Any, path: str) -> Iterator[Leaf]:
    data, stat = client.get(path)
    yield Leaf(path, bool(stat.ephemeralOwner), data or b"")
    for name in sorted(client.get_children(path)):
        if path != "/" or name != "zookeeper":  # ZooKeeper's own
            yield from _below(client, f"{path.rstrip('/')}/{name}")


def state(cluster: Cluster, partition: Any) -> dict[str, Any]:
    """The state node of a partition, by its fields."""
    found = real.state(cluster, partition)
    return {"leader": found.leader, "leader_epoch": found.leader_epoch, "isr": sorted(found.isr)}
