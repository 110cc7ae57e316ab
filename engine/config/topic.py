"""What can be set for one topic, with Kafka's names, defaults and ranges.

A topic's configuration is the broker's (see `BrokerConfig.topic_defaults`) with the overrides
that ZooKeeper keeps for it laid on top. Kafka's `preallocate` is not here: an index is always
preallocated, a log file never.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.config.key import Check, Config, Type, at_least, between, invalid, key, one_of
from engine.errors import ErrorCode, KafkaError

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1  # "for ever", and "as much as you like"
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS

_FORMAT = re.compile(r"(0\.11\.0|1\.[01]|2\.[0-8])(\.\d+)?(-IV\d)?")
_REPLICA = re.compile(r"\d+:\d+")


def _format_version(name: str, value: Any) -> None:
    if not _FORMAT.fullmatch(value):
        raise invalid(
            name,
            value,
            f"Version `{value}` is not a valid version; record batches of format 2 are written "
            "by 0.11.0 to 2.8",
        )


def _replicas(name: str, value: Any) -> None:
    if value != ("*",) and not all(_REPLICA.fullmatch(replica) for replica in value):
        raise invalid(
            name,
            value,
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


_POLICIES: Check = one_of("compact", "delete")
_CODECS: Check = one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


@dataclass(frozen=True, kw_only=True)
class TopicConfig(Config):
    """The configuration of one topic."""

    kind: ClassVar[str] = "topic"

    # -- segments and their indexes

    segment_bytes: int = key(
        Type.INT,
        1 << 30,
        "A segment is closed before the batch that would make its file larger than this.",
        at_least(14),
    )
    segment_ms: int = key(
        Type.LONG,
        7 * DAY_MS,
        "A segment is closed when it is this old, full or not, so that retention gets at it.",
        at_least(1),
    )
    segment_jitter_ms: int = key(
        Type.LONG,
        0,
        "Up to this much is taken off segment.ms, so that not all logs roll in one moment.",
        at_least(0),
    )
    segment_index_bytes: int = key(
        Type.INT,
        10 << 20,
        "What an index is preallocated to; a segment is closed when one of its indexes is full.",
        at_least(0),
    )
    index_interval_bytes: int = key(
        Type.INT, 4096, "An index gets at most one entry in so many bytes of log.", at_least(0)
    )
    file_delete_delay_ms: int = key(
        Type.LONG,
        60_000,
        "How long a file lives on as .deleted, for whoever is still reading it.",
        at_least(0),
    )

    # -- to the disk

    flush_messages: int = key(
        Type.LONG,
        LONG_MAX,
        "Records appended before they are forced to the disk: safety comes from replicas.",
        at_least(0),
    )
    flush_ms: int = key(
        Type.LONG,
        LONG_MAX,
        "Milliseconds before what was appended is forced to the disk.",
        at_least(0),
    )

    # -- retention and compaction

    cleanup_policy: tuple[str, ...] = key(
        Type.LIST,
        ("delete",),
        "delete drops old segments, compact keeps the newest record of each key; or both.",
        _POLICIES,
    )
    retention_bytes: int = key(
        Type.LONG, -1, "Old segments go while the partition is larger than this; -1 for any size."
    )
    retention_ms: int = key(
        Type.LONG,
        7 * DAY_MS,
        "A segment goes when its newest record is older than this; -1 for never.",
        at_least(-1),
    )
    delete_retention_ms: int = key(
        Type.LONG,
        DAY_MS,
        "How long compaction keeps a tombstone, for consumers that have yet to see it.",
        at_least(0),
    )
    min_cleanable_dirty_ratio: float = key(
        Type.DOUBLE,
        0.5,
        "The share of a log not yet compacted at which compaction is worth its while.",
        between(0, 1),
    )
    min_compaction_lag_ms: int = key(
        Type.LONG, 0, "A record is not compacted away before this age.", at_least(0)
    )
    max_compaction_lag_ms: int = key(
        Type.LONG,
        LONG_MAX,
        "A record is compacted by this age, however small the dirty share is.",
        at_least(1),
    )

    # -- what may be appended

    max_message_bytes: int = key(
        Type.INT, (1 << 20) + 12, "The largest record batch, compressed as it arrives.", at_least(0)
    )
    compression_type: str = key(
        Type.STRING,
        "producer",
        "How batches are stored: in this codec, or as the producer sent them.",
        _CODECS,
    )
    message_timestamp_type: str = key(
        Type.STRING,
        "CreateTime",
        "Whose clock a record's timestamp is from: the producer's, or the broker's.",
        one_of("CreateTime", "LogAppendTime"),
    )
    message_timestamp_difference_max_ms: int = key(
        Type.LONG,
        LONG_MAX,
        "How far a producer's timestamp may be from the broker's clock.",
        at_least(0),
    )
    message_format_version: str = key(
        Type.STRING,
        "2.8-IV1",
        "Accepted for the sake of tools: what is stored is always format 2, of 0.11 and later.",
        _format_version,
    )
    message_downconversion_enable: bool = key(
        Type.BOOLEAN,
        True,
        "Accepted for the sake of tools: no client that is served needs an older format.",
    )

    # -- replication

    min_insync_replicas: int = key(
        Type.INT,
        1,
        "With acks=all a write is refused when fewer replicas than this are in sync.",
        at_least(1),
    )
    unclean_leader_election_enable: bool = key(
        Type.BOOLEAN,
        False,
        "Whether a replica out of sync may lead: available again, at the price of records.",
    )
    leader_replication_throttled_replicas: tuple[str, ...] = key(
        Type.LIST,
        (),
        "Replicas whose leader is held back, as partition:broker, or * for all.",
        _replicas,
    )
    follower_replication_throttled_replicas: tuple[str, ...] = key(
        Type.LIST,
        (),
        "Replicas which are held back as followers, as partition:broker, or * for all.",
        _replicas,
    )

    def validate_together(self) -> None:
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise KafkaError(
                ErrorCode.invalid_config,
                f"conflict topic config setting min.compaction.lag.ms "
                f"({self.min_compaction_lag_ms}) > max.compaction.lag.ms "
                f"({self.max_compaction_lag_ms})",
            )
