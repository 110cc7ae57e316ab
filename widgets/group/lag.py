"""Lag: what a group has still to read, by what it has committed.

    ├─── read and committed ───┤░░░░ lag ░░░░┤
    0                      committed    high watermark

Of a partition of which nothing is committed, all of it is to be read.
"""

from collections.abc import Mapping

from engine.cluster.state import ClusterState, GroupState
from engine.model import TopicPartition
from widgets.group.history import place_of


def lags(state: ClusterState, group: GroupState | None) -> Mapping[str, int]:
    """By partition, of all that the group reads or has read, in order."""
    if group is None:
        return {}
    shared = {each for member in group.members.values() for each in member.share or ()}
    found = {}
    for name in sorted(shared | group.offsets.keys(), key=place_of):
        told = state.partitions.get(TopicPartition(*place_of(name)))
        if told is None or told.leader not in told.replicas:
            continue  # deleted, or nobody leads it: there is no end to measure from
        leader = told.replicas[told.leader]
        read = max(group.offsets.get(name, 0), leader.log_start)
        found[name] = max(leader.high_watermark - read, 0)
    return found
