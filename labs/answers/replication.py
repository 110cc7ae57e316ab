"""Answers to the exercises of 02_replication. Try first; there is more than one way.

Two of them do it in the cluster, the others are the code that is asked for.
"""

from collections.abc import Mapping, Sequence

from engine import Cluster


def another_leader(cluster: Cluster, topic: str) -> None:
    """Asked to stop it hands over at once; a kill would do, too, when its session is over."""
    leader = cluster.leader(topic)
    cluster.stop_broker(leader)
    cluster.restart(leader)


def quiet_leaver(cluster: Cluster, topic: str) -> None:
    """Cut off from its leader, but not from ZooKeeper; with acks=all the record waits until the
    follower is out."""
    leader = cluster.leader(topic)
    follower = next(broker for broker in cluster.brokers if broker != leader)
    cluster.cut(leader, follower)
    cluster.write(topic, ["one more"], acks="all")
    cluster.heal()


def settings() -> Mapping[str, str]:
    return {"acks": "all", "min.insync.replicas": "2"}


def leader(replicas: Sequence[int], isr: Sequence[int], live: Sequence[int], unclean: bool) -> int:
    for replica in replicas:
        if replica in live and replica in isr:
            return replica
    if unclean:
        return next((replica for replica in replicas if replica in live), -1)
    return -1


def high_watermark(end: int, known: Mapping[int, int], counted: Sequence[int], old: int) -> int:
    return max(old, min([end, *(known[replica] for replica in counted)]))


def ended(epochs: Sequence[tuple[int, int]], log_end: int, epoch: int) -> int:
    return next((start for each, start in epochs if each > epoch), log_end)
