"""What can be set for a consumer, with the names, defaults and ranges of Kafka 2.8's Java client.

    Consumer({"bootstrap.servers": "127.0.0.1:9092", "group.id": "billing",
              "auto.offset.reset": "earliest"})

Two keys are librdkafka's, since programs written for confluent-kafka lean on them:
`enable.partition.eof` and `enable.auto.offset.store`. Not here are the deserializers (a record's
key and value are bytes), the security keys, the metrics and the interceptors.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.config.client import ClientConfig
from engine.config.key import Type, at_least, invalid, key, not_empty, one_of


@dataclass(frozen=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """The configuration of one consumer."""

    kind: ClassVar[str] = "consumer"
    functions: ClassVar[frozenset[str]] = ClientConfig.functions | {"on_commit"}

    # -- the group

    group_id: str | None = key(
        Type.STRING,
        None,
        "The group whose members share the partitions of a topic; needed to subscribe and commit.",
    )
    group_instance_id: str | None = key(
        Type.STRING,
        None,
        "The name of a static member: it may restart without a rebalance.",
        not_empty,
    )
    partition_assignment_strategy: tuple[str, ...] = key(
        Type.LIST,
        ("range",),
        "The ways to share out partitions that this member knows, the one it prefers first.",
        not_empty,
    )
    session_timeout_ms: int = key(
        Type.INT,
        10_000,
        "A member that has sent no heartbeat for so long is dead to its group.",
        at_least(0),
    )
    heartbeat_interval_ms: int = key(
        Type.INT, 3000, "The time between two heartbeats; a third of the session's.", at_least(0)
    )
    max_poll_interval_ms: int = key(
        Type.INT,
        300_000,
        "A member whose application has not polled for so long leaves its group by itself.",
        at_least(1),
    )
    exclude_internal_topics: bool = key(
        Type.BOOLEAN, True, "Whether a pattern passes over topics such as __consumer_offsets."
    )

    # -- where to start, and how far one has come

    auto_offset_reset: str = key(
        Type.STRING,
        "latest",
        "Where to go on when nothing was committed, or when the offset is gone: earliest, latest, "
        "or none, which is an error.",
        one_of("latest", "earliest", "none"),
    )
    enable_auto_commit: bool = key(
        Type.BOOLEAN, True, "Whether offsets are committed now and then, while polling."
    )
    auto_commit_interval_ms: int = key(
        Type.INT, 5000, "The time between two such commits.", at_least(0)
    )
    enable_auto_offset_store: bool = key(
        Type.BOOLEAN,
        True,
        "Whether a record counts as consumed as soon as it is handed out; if not, store_offsets() "
        "says so. This is what a commit without offsets commits.",
    )

    # -- fetching

    fetch_min_bytes: int = key(
        Type.INT, 1, "A broker with less than this to give waits for more.", at_least(0)
    )
    fetch_max_wait_ms: int = key(Type.INT, 500, "But it waits no longer than this.", at_least(0))
    fetch_max_bytes: int = key(
        Type.INT,
        50 << 20,
        "The size of one answer. A first batch that is larger comes all the same.",
        at_least(0),
    )
    max_partition_fetch_bytes: int = key(
        Type.INT, 1 << 20, "The share of one partition in an answer, likewise.", at_least(0)
    )
    max_poll_records: int = key(
        Type.INT, 500, "The most records that one call of consume() hands out.", at_least(1)
    )
    check_crcs: bool = key(
        Type.BOOLEAN, True, "Whether the CRC of each batch is compared with its bytes."
    )
    isolation_level: str = key(
        Type.STRING,
        "read_uncommitted",
        "read_committed waits for transactions to end, and passes over those that were aborted.",
        one_of("read_uncommitted", "read_committed"),
    )
    client_rack: str = key(
        Type.STRING, "", "Where this consumer stands; a replica in the same rack may serve it."
    )
    enable_partition_eof: bool = key(
        Type.BOOLEAN, False, "Whether the end of a partition is told, as a message with an error."
    )

    # -- time

    default_api_timeout_ms: int = key(
        Type.INT, 60_000, "How long a call without a time-out of its own may take.", at_least(0)
    )
    allow_auto_create_topics: bool = key(
        Type.BOOLEAN, True, "Whether asking for a topic may create it, if the broker allows it."
    )

    def validate_together(self) -> None:
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise invalid(
                "heartbeat.interval.ms",
                self.heartbeat_interval_ms,
                f"it must be lower than session.timeout.ms ({self.session_timeout_ms})",
            )
