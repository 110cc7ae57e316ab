"""Answers to the exercises of 07_operations. Try first; there is more than one way."""

from engine.client.admin.security_values import AclBinding
from engine.quotas.entity import ClientQuotaEntity


def tame() -> dict[ClientQuotaEntity, dict[str, float]]:
    """For the client id alone: a quota of the user would count both together."""
    return {ClientQuotaEntity(client="noisy"): {"producer_byte_rate": 500_000}}


def locked(topic: str) -> list[AclBinding]:
    """One entry that allows closes the topic to all others. To deny User:* would lock out alice."""
    return [AclBinding("topic", topic, "literal", "User:alice", "*", "all", "allow")]
