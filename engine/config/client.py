"""The keys that producer, consumer and admin client share, as in Kafka 2.8's Java clients.

    settings, functions = ProducerConfig.take({"linger.ms": 5, "on_delivery": report, ...})

An application passes one dict. `take` splits it into values, as text or as Python values (5, True),
and functions. It also knows librdkafka's names for keys and values that programs for
confluent-kafka use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.config.client_security import ClientSecurityConfig
from engine.config.key import Long, at_least, invalid, key, not_empty, printed, required
from engine.errors import invalid_config

Function = Callable[..., Any]

# librdkafka's name of a key -> Kafka's.
ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    "socket.timeout.ms": "request.timeout.ms",
    "request.required.acks": "acks",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "message.max.bytes": "max.request.size",
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "partitioner": "partitioner.class",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "sasl.mechanisms": "sasl.mechanism",
}
# ... and its words for values.
WORDS = {
    ("acks", "-1"): "all",
    ("compression.type", "uncompressed"): "none",
    ("partitioner.class", "murmur2_random"): "default",
    ("auto.offset.reset", "smallest"): "earliest",
    ("auto.offset.reset", "beginning"): "earliest",
    ("auto.offset.reset", "largest"): "latest",
    ("auto.offset.reset", "end"): "latest",
    ("auto.offset.reset", "error"): "none",
}
SILENT = frozenset({"logger", "log_level"})  # for logs, which these clients do not write
LEFT_OUT = {
    "stats_cb": "there are no statistics as librdkafka has them; ask the cluster for its state()",
    "throttle_cb": "a throttled client waits, and tells nobody",
}


@dataclass(frozen=True, kw_only=True)
class ClientConfig(ClientSecurityConfig):
    """The keys that every client has."""

    kind: ClassVar[str] = "client"
    functions: ClassVar[frozenset[str]] = frozenset({"error_cb"})  # keys whose value is a function

    bootstrap_servers: tuple[str, ...] = required(not_empty)
    """The first brokers to connect to, as HOST:PORT,...: each knows all others."""
    client_id: str = key("")
    """The name of this client in the logs of brokers."""
    request_timeout_ms: int = key(30_000, at_least(0))
    """How long to wait for a response before the connection is closed."""
    retry_backoff_ms: Long = key(100, at_least(0))
    """How long to wait before a failed request is repeated."""
    reconnect_backoff_ms: Long = key(50, at_least(0))
    """How long to wait before connecting again; doubled after each failure."""
    reconnect_backoff_max_ms: Long = key(1000, at_least(0))
    """The maximum of that time."""
    metadata_max_age_ms: Long = key(300_000, at_least(0))
    """The metadata is requested again after this time, errors or not."""
    socket_connection_setup_timeout_ms: Long = key(10_000, at_least(1))
    """The time to connect and to agree on versions."""

    @classmethod
    def take(cls, given: Mapping[str, Any]) -> tuple[Self, dict[str, Function]]:
        """The configuration of a client, and the functions by their names."""
        if not isinstance(given, Mapping):
            raise TypeError(f"expected a dict of configuration, not {type(given).__name__}")
        values: dict[str, str] = {}
        functions: dict[str, Function] = {}
        for name, value in given.items():
            if value is None or name in SILENT:
                continue  # None is as if it were not there
            if name in LEFT_OUT:
                raise invalid_config(f"{name}: {LEFT_OUT[name]}")
            if name in cls.functions and callable(value):
                functions[name] = value
            else:
                name = ALIASES.get(name, str(name))
                text = cls._text(name, value)
                values[name] = WORDS.get((name, text), text)
        return cls.parse(values), functions

    @classmethod
    def _text(cls, name: str, value: Any) -> str:
        """A value as the text that a file of properties would have."""
        if name in cls.functions:
            raise invalid(name, value, f"{name} requires a function")
        cls.find(name)
        if isinstance(value, list):
            value = tuple(value)
        if not isinstance(value, str | bool | int | float | tuple):
            kind = type(value).__name__
            raise invalid(name, value, f"it is of type {kind}, not text, number or list")
        return printed(value) or ""
