"""The keys of an AdminClient, with the names and defaults of Kafka 2.8's Java client.

    AdminClient({"bootstrap.servers": "127.0.0.1:9092", "default.api.timeout.ms": 5000})

Left out: `retries` (a call is repeated until its time-out), and metrics.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.config.client import ClientConfig
from engine.config.key import at_least, key


@dataclass(frozen=True, kw_only=True)
class AdminConfig(ClientConfig):
    """The configuration of one admin client."""

    kind: ClassVar[str] = "admin"

    default_api_timeout_ms: int = key(60_000, at_least(0))
    """The time-out of a call that has none of its own."""
