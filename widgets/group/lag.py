"""Lag: the records that a group has still to read, by its committed offsets.

    ├─── read and committed ───┤░░░░ lag ░░░░┤
    0                      committed    high watermark

In a partition without a committed offset, all records are still to be read.
"""

from collections.abc import Mapping

from engine.cluster.state import ClusterState, GroupState
from engine.model import TopicPartition
from widgets.group.history import place_of


def lags(state: ClusterState, group: GroupState | None) -> Mapping[str, int]:
    """The lag of each partition that the group reads or has read, in order."""
    if group is None:
        return {}
    shared = {each for member in group.members.values() for each in member.share or ()}
    found = {}
    for name in sorted(shared | group.offsets.keys(), key=place_of):
        told = state.partitions.get(TopicPartition(*place_of(name)))
        if told is None or told.leader not in told.replicas:
            continue  # deleted, or without a leader: its end is not known
        leader = told.replicas[told.leader]
        read = max(group.offsets.get(name, 0), leader.log_start)
        found[name] = max(leader.high_watermark - read, 0)
    return found


def topics_of(group: GroupState) -> set[str]:
    """The topics that a group reads or has read."""
    shared = {each for member in group.members.values() for each in member.share or ()}
    return {place_of(each)[0] for each in shared | group.offsets.keys()}
