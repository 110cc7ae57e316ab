"""The keys of a consumer, with the names, defaults and ranges of Kafka 2.8's Java client.

    Consumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "billing",
              "auto.offset.reset": "earliest"})

Two keys are librdkafka's, because programs for confluent-kafka use them: `enable.partition.eof` and
`enable.auto.offset.store`. Left out: the deserializers (a record's key and value are bytes), the
metrics and the interceptors.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.config.client import ClientConfig
from engine.config.key import at_least, invalid, key, not_empty, one_of


@dataclass(frozen=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """The configuration of one consumer."""

    kind: ClassVar[str] = "consumer"
    functions: ClassVar[frozenset[str]] = ClientConfig.functions | {"on_commit"}

    # -- the group

    group_id: str | None = key(None)
    """The group of this consumer; needed to subscribe and to commit."""
    group_instance_id: str | None = key(None, not_empty)
    """The name of a static member: it can restart without a rebalance."""
    partition_assignment_strategy: tuple[str, ...] = key(("range",), not_empty)
    """The supported assignment strategies, the preferred one first."""
    session_timeout_ms: int = key(10_000, at_least(0))
    """A member without a heartbeat for this time is removed from the group."""
    heartbeat_interval_ms: int = key(3000, at_least(0))
    """The time between two heartbeats; a third of session.timeout.ms."""
    max_poll_interval_ms: int = key(300_000, at_least(1))
    """A member that has not polled for this time leaves the group."""
    exclude_internal_topics: bool = key(True)
    """Whether a pattern ignores internal topics such as __consumer_offsets."""

    # -- where to start, and how far one has come

    auto_offset_reset: str = key("latest", one_of("latest", "earliest", "none"))
    """Where to start without a valid committed offset; none: an error."""
    enable_auto_commit: bool = key(True)
    """Whether offsets are committed at intervals, during polls."""
    auto_commit_interval_ms: int = key(5000, at_least(0))
    """The time between two such commits."""
    enable_auto_offset_store: bool = key(True)
    """Whether a commit without offsets covers each record that the application has got; if not, it
    covers what was passed to store_offsets()."""

    # -- fetching

    fetch_min_bytes: int = key(1, at_least(0))
    """A fetch waits until the broker has this many bytes."""
    fetch_max_wait_ms: int = key(500, at_least(0))
    """A fetch waits at most for this time."""
    fetch_max_bytes: int = key(50 << 20, at_least(0))
    """The maximum size of a response; a larger first batch is sent whole."""
    max_partition_fetch_bytes: int = key(1 << 20, at_least(0))
    """The maximum size of one partition in it, with the same exception."""
    max_poll_records: int = key(500, at_least(1))
    """The maximum number of records that one consume() returns."""
    check_crcs: bool = key(True)
    """Whether the CRC of each batch is checked."""
    isolation_level: str = key("read_uncommitted", one_of("read_uncommitted", "read_committed"))
    """read_committed: only up to open transactions, without aborted ones."""
    client_rack: str = key("")
    """The rack of this consumer; a replica in the same rack may serve it."""
    enable_partition_eof: bool = key(False)
    """Whether a message with an error reports the end of a partition."""

    # -- time

    default_api_timeout_ms: int = key(60_000, at_least(0))
    """The time-out of a call that has none of its own."""
    allow_auto_create_topics: bool = key(True)
    """Whether a request for a topic may create it, if the broker allows it."""

    def validate_together(self) -> None:
        super().validate_together()
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise invalid(
                "heartbeat.interval.ms",
                self.heartbeat_interval_ms,
                f"it must be lower than session.timeout.ms ({self.session_timeout_ms})",
            )
