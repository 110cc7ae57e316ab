"""What can be set for an AdminClient, with the names and defaults of Kafka 2.8's Java client.

    AdminClient({"bootstrap.servers": "127.0.0.1:9092", "default.api.timeout.ms": 5000})

Not here are `retries`, as a call is tried again for as long as its time lasts, and the security
keys and metrics.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.config.client import ClientConfig
from engine.config.key import Type, at_least, key


@dataclass(frozen=True, kw_only=True)
class AdminConfig(ClientConfig):
    """The configuration of one admin client."""

    kind: ClassVar[str] = "admin"

    default_api_timeout_ms: int = key(
        Type.INT, 60_000, "How long a call without a time-out of its own may take.", at_least(0)
    )
