"""Answers to the exercises of 07_operations. Try first; there is more than one way."""

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
