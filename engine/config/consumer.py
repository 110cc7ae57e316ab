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

    group_id: str | None = key(
        None, "The group of this consumer; needed to subscribe and to commit."
    )
    group_instance_id: str | None = key(
        None, "The name of a static member: it can restart without a rebalance.", not_empty
    )
    partition_assignment_strategy: tuple[str, ...] = key(
        ("range",), "The supported assignment strategies, the preferred one first.", not_empty
    )
    session_timeout_ms: int = key(
        10_000, "A member without a heartbeat for this time is removed from the group.", at_least(0)
    )
    heartbeat_interval_ms: int = key(
        3000, "The time between two heartbeats; a third of session.timeout.ms.", at_least(0)
    )
    max_poll_interval_ms: int = key(
        300_000, "A member that has not polled for this time leaves the group.", at_least(1)
    )
    exclude_internal_topics: bool = key(
        True, "Whether a pattern ignores internal topics such as __consumer_offsets."
    )

    # -- where to start, and how far one has come

    auto_offset_reset: str = key(
        "latest",
        "Where to start without a valid committed offset; none: an error.",
        one_of("latest", "earliest", "none"),
    )
    enable_auto_commit: bool = key(
        True, "Whether offsets are committed at intervals, during polls."
    )
    auto_commit_interval_ms: int = key(5000, "The time between two such commits.", at_least(0))
    enable_auto_offset_store: bool = key(
        True,
        "Whether a commit without offsets covers each record that the application has got; if "
        "not, it covers what was passed to store_offsets().",
    )

    # -- fetching

    fetch_min_bytes: int = key(
        1, "A fetch waits until the broker has this many bytes.", at_least(0)
    )
    fetch_max_wait_ms: int = key(500, "A fetch waits at most for this time.", at_least(0))
    fetch_max_bytes: int = key(
        50 << 20, "The maximum size of a response; a larger first batch is sent whole.", at_least(0)
    )
    max_partition_fetch_bytes: int = key(
        1 << 20, "The maximum size of one partition in it, with the same exception.", at_least(0)
    )
    max_poll_records: int = key(
        500, "The maximum number of records that one consume() returns.", at_least(1)
    )
    check_crcs: bool = key(True, "Whether the CRC of each batch is checked.")
    isolation_level: str = key(
        "read_uncommitted",
        "read_committed: only up to open transactions, without aborted ones.",
        one_of("read_uncommitted", "read_committed"),
    )
    client_rack: str = key(
        "", "The rack of this consumer; a replica in the same rack may serve it."
    )
    enable_partition_eof: bool = key(
        False, "Whether a message with an error reports the end of a partition."
    )

    # -- time

    default_api_timeout_ms: int = key(
        60_000, "The time-out of a call that has none of its own.", at_least(0)
    )
    allow_auto_create_topics: bool = key(
        True, "Whether a request for a topic may create it, if the broker allows it."
    )

    def validate_together(self) -> None:
        super().validate_together()
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise invalid(
                "heartbeat.interval.ms",
                self.heartbeat_interval_ms,
                f"it must be lower than session.timeout.ms ({self.session_timeout_ms})",
            )
