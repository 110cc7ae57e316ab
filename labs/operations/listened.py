"""What a listener container of one partition did, in offsets: from its calls and its events."""

from itertools import accumulate

from engine import Cluster, ListenerContainer, TopicPartition

NOTHING = -1


def calls(container: ListenerContainer) -> list[int]:
    """The records that the listener was called with."""
    return [int(each.rpartition("@")[2]) for each in container.calls()]


def commits(container: ListenerContainer) -> list[int]:
    return [offset for each in container.commits() for offset in each.values()]


def ends(container: ListenerContainer) -> list[int]:
    """Where each poll ended, if the first one began at 0."""
    polled = [it for it in container.events if it.kind == "listener.polled"]
    return [*accumulate(it.data["records"] for it in polled)]


def steps(container: ListenerContainer, *kinds: str) -> list[str]:
    """What happened, in order: "called", "acknowledged", "committed" ..."""
    names = (it.kind.removeprefix("listener.") for it in list(container.events))
    return [name for name in names if name in kinds]


def committed(cluster: Cluster, group: str, topic: str, partition: int = 0) -> int:
    """The group's offset in a partition; -1: it has committed none."""
    with cluster.consumer({"group.id": group}) as consumer:
        (found,) = consumer.committed([TopicPartition(topic, partition)])
    return max(found.offset, NOTHING)


def settled(cluster: Cluster, container: ListenerContainer, partitions: int) -> bool:
    """Whether its consumers have all partitions; those of a group in equal shares."""
    shares = [len(each) for each in container.assignments()]
    if sum(shares) != partitions or not container.topics:
        return sum(shares) == partitions
    if max(shares) - min(shares) > 1:
        return False
    group = cluster.state().groups.get(container.group_id or "")
    if group is None or group.state != "Stable" or len(group.members) != container.concurrency:
        return False
    return not any(member.waits for member in group.members.values())
