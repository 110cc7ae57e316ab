"""Two clusters, side by side: one with ZooKeeper, one without; in all else they are alike.

    clusters = twins.clusters()              {"with ZooKeeper": cluster, "with a quorum": cluster}
    dead = twins.controller(cluster)         a broker, or "controller-2": what cluster.kill takes
    twins.successor(cluster, than=dead)      the next one, as soon as it is controller
    upper, lower = twins.views()             a picture of each, on one clock
    twins.epoch(cluster, "jars", without=2)  the leader epoch, as soon as the ISR lacks broker 2
    twins.listing(acknowledged)              a producer's callback: lists what was acknowledged
    twins.led_on(cluster, "beds", 1)         for how many ms broker 1 led on after it woke

A broker's session lasts 6 seconds in both, and a follower may lag for 2.
"""

from collections.abc import Callable

from lab import LabCluster, until

from engine import Cluster
from engine.client.values import KafkaError, Message
from engine.cluster.link_faults import End
from engine.model import TopicPartition
from kraft.shared import name_of
from widgets import ClusterView

WITH, WITHOUT = "with ZooKeeper", "with a quorum"
CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "2000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
}

AWAKE = "broker.resumed", "broker.started"

_twins = LabCluster(CONFIG, Cluster.mend)


def clusters() -> dict[str, Cluster]:
    return {WITH: _twins.with_zookeeper(), WITHOUT: _twins.cluster("kraft")}


def views() -> tuple[ClusterView, ClusterView]:
    """They are recorded at once, and not only when a page shows them."""
    upper, lower = map(ClusterView, clusters().values())
    lower.share_clock(upper)
    for view in (upper, lower):
        view.record()
    return upper, lower


def controller(cluster: Cluster) -> End:
    """The active one."""
    found = cluster.wait("a controller", lambda: max(cluster.state().controller, 0))
    return name_of(found) if cluster.is_kraft else found


def successor(cluster: Cluster, than: End) -> End:
    def found() -> End:
        named = controller(cluster)
        return 0 if named == than else named

    return cluster.wait(f"another controller than {than}", found)


def epoch(cluster: Cluster, topic: str, without: int = 0) -> int:
    """`without`: the only replica that is not in the ISR; 0: all are."""

    def is_settled() -> bool:
        partition = cluster.state().partitions[TopicPartition(topic, 0)]
        others = set(partition.assignment) - {without}
        return set(partition.isr) == others and partition.leader in others

    until(f"an ISR without {without}" if without else "all in the ISR", is_settled)
    return cluster.state().partitions[TopicPartition(topic, 0)].leader_epoch


def listing(acknowledged: list[str]) -> Callable[[KafkaError | None, Message], None]:
    def heard(error: KafkaError | None, record: Message) -> None:
        if error is None:
            acknowledged.append(record.value().decode())

    return heard


def led_on(cluster: Cluster, topic: str, broker: int) -> int:
    """From the last time it woke, or was started, until it follows."""

    def found() -> int:
        events = cluster.events()
        woke = max(it.at for it in events if it.kind in AWAKE and it.data["broker"] == broker)
        roles = [it for it in events if it.kind == "replica.role" and it.broker == broker]
        follows = [
            it.at - woke
            for it in roles
            if (it.data["topic"], it.data["role"]) == (topic, "follower") and it.at > woke
        ]
        return min(follows, default=0)

    return until(f"broker {broker} as a follower", found)
