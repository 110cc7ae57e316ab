"""Two clusters, side by side: one with ZooKeeper, one without; in all else they are alike.

    clusters = twins.clusters()              {"with ZooKeeper": cluster, "with a quorum": cluster}
    dead = twins.controller(cluster)         a broker, or "controller-2": what cluster.kill takes
    twins.successor(cluster, than=dead)      the next one, as soon as it is controller

A broker's session lasts 6 seconds in both, and a follower may lag for 2.
"""

from lab import LabCluster

from engine import Cluster
from engine.cluster.link_faults import End
from kraft.shared import name_of

WITH, WITHOUT = "with ZooKeeper", "with a quorum"
CONFIG = {
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "2000",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
}

_twins = LabCluster(CONFIG, Cluster.mend)


def clusters() -> dict[str, Cluster]:
    return {WITH: _twins.with_zookeeper(), WITHOUT: _twins.cluster("kraft")}


def controller(cluster: Cluster) -> End:
    """The active one."""
    found = cluster.wait("a controller", lambda: max(cluster.state().controller, 0))
    return name_of(found) if cluster.is_kraft else found


def successor(cluster: Cluster, than: End) -> End:
    def found() -> End:
        named = controller(cluster)
        return 0 if named == than else named

    return cluster.wait(f"another controller than {than}", found)
