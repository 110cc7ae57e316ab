"""The lab's cluster and ledger, and short ways to read what ZooKeeper and the messages say.

Sessions end after 6 seconds, not after Kafka's 18, so that nobody waits long for a controller.
"""

from collections.abc import Iterable

from lab import LabCluster

from engine import Cluster, Simulation
from engine.cluster import single_requests
from engine.sim.simulation import NetworkMessage
from engine.zookeeper import znodes
from widgets import Ledger

SESSION = 6.0  # seconds
CONFIG = {
    "zookeeper.session.timeout.ms": f"{SESSION * 1000:.0f}",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.create.topics.enable": "false",
}
ORDERS = "LeaderAndIsr", "UpdateMetadata", "StopReplica"  # what only a controller sends

ledger = Ledger("05_controller")
cluster = LabCluster(CONFIG, Cluster.mend, "zookeeper").cluster
mixed = LabCluster(
    CONFIG, Cluster.mend, "zookeeper"
).cluster  # the one that a broker of Apache Kafka joins


def controller(cluster: Cluster) -> int:
    """Whom /controller names; 0: there is no such znode."""
    data = cluster.znode(znodes.CONTROLLER)
    return znodes.ControllerInfo.decode(data).broker_id if data else 0


def another(cluster: Cluster, than: int) -> int:
    """The controller, as soon as it is another broker than this one."""

    def found() -> int:
        named = controller(cluster)
        return 0 if named == than else named

    return cluster.wait(f"another controller than broker {than}", found)


def epoch(cluster: Cluster) -> int:
    """The controller epoch."""
    return znodes.decode_epoch(cluster.znode(znodes.CONTROLLER_EPOCH) or b"")


def leader(cluster: Cluster, broker: int, topic: str) -> int:
    """Of the topic's first partition, as this broker tells its clients, once it knows one."""

    def found() -> int:
        return single_requests.leaders(cluster, broker, topic).get(0, 0)

    return cluster.wait(f"broker {broker}, which knows nothing of {topic}", found)


def orders(sim: Simulation, since: int = 0) -> list[NetworkMessage]:
    """The controllers' requests to brokers since then, in order."""
    found = sim.messages(*ORDERS, since=since, routine=True).notes
    return [each for each in found if each.text.split(" ")[0] in ORDERS]


def receivers(orders: Iterable[NetworkMessage]) -> str:
    """LeaderAndIsr to 2 3, UpdateMetadata to 1 2 3"""
    said = [(each.text.split(" ")[0], each.target) for each in orders]
    return ", ".join(
        f"{kind} to {' '.join(sorted({who for it, who in said if it == kind}))}"
        for kind in ORDERS
        if any(kind == it for it, _ in said)
    )


def same_metadata(sim: Simulation) -> bool:
    """Whether all brokers that are up tell their clients the same."""
    up = [each.broker.metadata for each in sim.world.nodes.values() if each.broker]
    told = [(each.topics, sorted(each.brokers), each.controller) for each in up]
    return all(each == told[0] for each in told)
