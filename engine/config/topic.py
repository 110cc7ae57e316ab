"""The keys of a topic, with Kafka's names, defaults and ranges.

A topic's configuration has the broker's values (see `BrokerConfig.topic_defaults`), and over them
its overrides in ZooKeeper.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.config.key import Check, Config, Long, at_least, between, invalid, key, one_of

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1  # no limit
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

    segment_bytes: int = key(1 << 30, at_least(14))
    """A segment is closed before a batch would make it larger than this."""
    segment_ms: Long = key(7 * DAY_MS, at_least(1))
    """The maximum age of a segment that is still written to."""
    segment_jitter_ms: Long = key(0, at_least(0))
    """The maximum of a random time that is subtracted from segment.ms."""
    segment_index_bytes: int = key(10 << 20, at_least(0))
    """The preallocated size of an index; when it is full, a segment ends."""
    index_interval_bytes: int = key(4096, at_least(0))
    """An index gets at most one entry in so many bytes of log."""
    file_delete_delay_ms: Long = key(60_000, at_least(0))
    """How long a deleted file is kept as .deleted, for open readers."""

    preallocate: bool = key(False)
    """Without effect here: an index is always preallocated, a log file never."""

    # -- to the disk

    flush_messages: Long = key(LONG_MAX, at_least(0))
    """The log is flushed after this many records at the latest."""
    flush_ms: Long = key(LONG_MAX, at_least(0))
    """The log is flushed after this time at the latest."""

    # -- retention and compaction

    cleanup_policy: tuple[str, ...] = key(("delete",), _POLICIES)
    """delete removes old segments; compact, old values of each key."""
    retention_bytes: Long = key(-1)
    """Old segments are deleted while the partition is larger than this; -1: no limit."""
    retention_ms: Long = key(7 * DAY_MS, at_least(-1))
    """Segments whose records are older than this are deleted; -1: none."""
    delete_retention_ms: Long = key(DAY_MS, at_least(0))
    """How long compaction keeps a tombstone, so that slow readers see it."""
    min_cleanable_dirty_ratio: float = key(0.5, between(0, 1))
    """A log is compacted when this share of it was not compacted yet."""
    min_compaction_lag_ms: Long = key(0, at_least(0))
    """A record is not compacted before this age."""
    max_compaction_lag_ms: Long = key(LONG_MAX, at_least(1))
    """A record is compacted at this age, however small the dirty part is."""

    # -- what may be appended

    max_message_bytes: int = key((1 << 20) + 12, at_least(0))
    """The maximum size of a record batch, after compression."""
    compression_type: str = key("producer", _CODECS)
    """The codec of stored batches; producer: as the producer sent them."""
    message_timestamp_type: str = key("CreateTime", one_of("CreateTime", "LogAppendTime"))
    """Who sets timestamps: the producer, or the broker."""
    message_timestamp_difference_max_ms: Long = key(LONG_MAX, at_least(0))
    """The maximum difference of a timestamp from the broker's clock."""
    message_format_version: str = key("2.8-IV1", _format_version)
    """Without effect, accepted for tools: the format is always 2."""
    message_downconversion_enable: bool = key(True)
    """Whether batches are converted for clients before 0.11, or their Fetch is refused."""

    # -- replication

    min_insync_replicas: int = key(1, at_least(1))
    """With acks=all, a write is refused when fewer replicas are in sync."""
    unclean_leader_election_enable: bool = key(False)
    """Whether a replica that is not in sync may become leader: records can be lost."""
    leader_replication_throttled_replicas: tuple[str, ...] = key((), _replicas)
    """Replicas that are throttled on leaders, as partition:broker; * for all."""
    follower_replication_throttled_replicas: tuple[str, ...] = key((), _replicas)
    """Replicas that are throttled on followers, as partition:broker; * for all."""

    def validate_together(self) -> None:
        low, high = self.min_compaction_lag_ms, self.max_compaction_lag_ms
        self.require(
            low <= high,
            f"conflict topic config setting min.compaction.lag.ms ({low}) > "
            f"max.compaction.lag.ms ({high})",
        )
