"""Answers to the exercises of 03_rebalance. Try them yourself first.

The first, second and sixth do it on the cluster; the others are the code.
"""

from collections.abc import Mapping, Sequence

from rebalance.exercises import AUDIT, BACK_TO, KITCHEN, MENU, RECEIPTS, SHOP
from rebalance.team import Team

from engine import Cluster, TopicPartition, model
from engine.assignors import Subscriber


def answer_1(cluster: Cluster) -> Team:
    """Three members for three partitions. (In the lab three presses of + consumer do it.)"""
    team = Team(cluster, MENU, group=KITCHEN)
    team.add("a", "b", "c")
    team.settle()
    return team


def answer_2(cluster: Cluster) -> None:
    """Nobody is in the group, so anybody with its group.id may commit for it."""
    consumer = cluster.consumer({"group.id": AUDIT})
    consumer.commit(offsets=[TopicPartition(RECEIPTS, 0, BACK_TO)], asynchronous=False)
    consumer.close()


def answer_3(group: str, partitions: int) -> int:
    """Java's String.hashCode works on UTF-16: a character beyond its 65,536 counts as two."""
    data = group.encode("utf-16-be")
    value = 0
    for high, low in zip(data[::2], data[1::2], strict=True):
        value = (31 * value + 256 * high + low) % 2**32
    if value >= 2**31:
        value -= 2**32  # as a signed number
    return 0 if value == -(2**31) else abs(value) % partitions


def answer_4(members: Sequence[str], partitions: int) -> dict[str, list[int]]:
    size, longer = divmod(partitions, len(members))
    shares, start = {}, 0
    for place, name in enumerate(sorted(members)):
        end = start + size + (place < longer)
        shares[name] = list(range(start, end))
        start = end
    return shares


def answer_5(
    members: Sequence[Subscriber], counts: Mapping[str, int]
) -> dict[str, tuple[model.TopicPartition, ...]]:
    """Keep up to the quota, then deal what is left to whoever has least.

    The quota: the same number for each, and one more for the first few that had more.
    """
    every = [
        model.TopicPartition(topic, number)
        for topic in sorted(counts)
        for number in range(counts[topic])
    ]
    quota, extra = divmod(len(every), len(members))
    shares: dict[str, list[model.TopicPartition]] = {}
    taken: set[model.TopicPartition] = set()
    for member in members:
        had = [it for it in member.owned if it in every and it not in taken]
        more = extra > 0 and len(had) > quota
        extra -= more
        shares[member.id] = had[: quota + more]
        taken.update(shares[member.id])
    for partition in every:
        if partition not in taken:
            least = min(shares, key=lambda name: len(shares[name]))
            shares[least].append(partition)
    return {name: tuple(share) for name, share in shares.items()}


def answer_6(cluster: Cluster) -> None:
    with Team(cluster, "goods", group=SHOP) as team:
        team.add("clerk", static=True)
        team.settle()
        team.leave("clerk")
        team.add("clerk", static=True)
        team.settle()
