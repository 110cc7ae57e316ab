"""The answer to the exercise of 00_start. Clicks in the picture do the same."""

from engine import Cluster


def exercise(cluster: Cluster) -> None:
    cluster.mend()
    leader = cluster.leader("orders")
    cluster.kill(leader)
    cluster.wait("who leads next", lambda: cluster.leader("orders") not in (-1, leader))
