"""Answers to the exercises of 09_operations. Try first; there is more than one way."""

import time
from typing import Any

from engine import Cluster
from engine.client.admin.security_values import AclBinding
from engine.quotas.entity import ClientQuotaEntity


def rolled(cluster: Cluster, topic: str) -> None:
    """The next broker only when all replicas are in sync again."""
    for broker in cluster.brokers:
        cluster.restart(broker)
        cluster.wait("all replicas in sync", lambda: len(cluster.isr(topic)) == 3)


def moved(placement: dict[int, list[int]]) -> tuple[dict[int, list[int]], int]:
    """Three replicas of 300 KB, and 8 KB a second in each: 150 KB a second take seven seconds."""
    return {0: [4, 2], 1: [4, 3], 2: [3, 4]}, 150_000


def tame() -> dict[ClientQuotaEntity, dict[str, float]]:
    """For the client id alone: a quota of the user would count both together."""
    return {ClientQuotaEntity(client="noisy"): {"producer_byte_rate": 500_000}}


def locked(topic: str) -> list[AclBinding]:
    """One entry that allows closes the topic to all others. To deny User:* would lock out alice."""
    return [AclBinding("topic", topic, "literal", "User:alice", "*", "all", "allow")]


class CountTime:
    """Two conditions, and each has a counter of its own."""

    def __init__(self, count: int, seconds: float, now: float) -> None:
        self.count, self.seconds = count, seconds
        self.ready = 0  # records since the last commit
        self.last = now  # when the time caused a commit

    def processed(self) -> None:
        self.ready += 1

    def due(self, now: float) -> bool:
        if self.ready >= self.count:
            self.ready = 0
            return True
        if now - self.last > self.seconds:
            self.last, self.ready = now, 0
            return True
        return False


def causes(case: Any) -> dict[str, str]:
    """By the figures of the leaders and of the groups, looked at twice.

    The group has the name of the topic.
    """
    before = case.cluster.state()
    time.sleep(5)
    now, found = case.cluster.state(), {}
    for topic in case.topics:
        partitions = [each for name, each in now.partitions.items() if name.topic == topic]
        leaders = [each.replicas[each.leader] for each in partitions]
        ends = [each.log_end for each in leaders]
        if any(each.high_watermark < each.log_end for each in leaders):
            found[topic] = "slow follower"
        elif any(each.last_stable < each.high_watermark for each in leaders):
            found[topic] = "open transaction"
        elif now.groups[topic].generation > before.groups[topic].generation:
            found[topic] = "poison record"
        elif max(ends) > 2 * min(ends):
            found[topic] = "skewed key"
        else:
            found[topic] = "slow member"
    return found
