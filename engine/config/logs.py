"""The broker's keys for its logs, most of which are the defaults of topics.

A topic's `segment.bytes` is `log.segment.bytes` on a broker: the default for all topics without an
override. Only the name differs, so meaning and default are taken from topic.py.

A duration may be set in ms, minutes or hours. The first of them that is set, in the order below, is
used.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from engine.config.key import Config, Long, at_least, invalid, key, not_empty
from engine.config.topic import HOUR_MS, TopicConfig

MINUTE_MS = 60 * 1000


def _unlimited_or_positive(name: str, value: Any) -> None:
    if value < 1 and value != -1:
        raise invalid(name, value, f"{name} must be unlimited (-1) or, greater than or equal to 1")


def topic_default(topic_field: str, **more: Any) -> Any:
    """A field that is the default of a topic's field. What is not given is the same as there."""
    it = TopicConfig.find(topic_field.replace("_", "."))
    text = f" The default of topics for {it.name}."
    changes = {"owner": TopicConfig, "text": text, "dynamic": True, "topic": topic_field, **more}
    definition = replace(it, **changes)
    return field(default=definition.default, metadata={"key": definition})


@dataclass(frozen=True, kw_only=True)
class LogsConfig(Config):
    """The configuration of a broker's logs."""

    log_dirs: tuple[str, ...] = key(("/tmp/kafka-logs",), not_empty)
    """The directories for partitions, one for each disk."""
    log_segment_bytes: int = topic_default("segment_bytes")
    log_roll_ms: Long | None = topic_default("segment_ms", default=None)
    log_roll_hours: int = topic_default("segment_ms", default=7 * 24, unit=HOUR_MS, dynamic=False)
    log_roll_jitter_ms: Long | None = topic_default("segment_jitter_ms", default=None)
    log_roll_jitter_hours: int = topic_default("segment_jitter_ms", unit=HOUR_MS, dynamic=False)
    log_index_size_max_bytes: int = topic_default("segment_index_bytes", check=at_least(4))
    log_index_interval_bytes: int = topic_default("index_interval_bytes")
    log_segment_delete_delay_ms: Long = topic_default("file_delete_delay_ms")
    log_preallocate: bool = topic_default("preallocate")
    log_flush_interval_messages: Long = topic_default("flush_messages", check=at_least(1))
    log_flush_interval_ms: Long | None = topic_default("flush_ms", default=None)
    log_flush_scheduler_interval_ms: Long = topic_default("flush_ms", dynamic=False)
    log_flush_offset_checkpoint_interval_ms: int = key(MINUTE_MS, at_least(0))
    """Without effect: they are written with the high watermarks."""
    log_flush_start_offset_checkpoint_interval_ms: int = key(MINUTE_MS, at_least(0))
    """Without effect: they are written with the high watermarks."""
    log_cleanup_policy: tuple[str, ...] = topic_default("cleanup_policy")
    log_retention_bytes: Long = topic_default("retention_bytes")
    log_retention_ms: Long | None = topic_default(
        "retention_ms", default=None, check=_unlimited_or_positive
    )
    log_retention_minutes: int | None = topic_default(
        "retention_ms", default=None, check=_unlimited_or_positive, unit=MINUTE_MS, dynamic=False
    )
    log_retention_hours: int = topic_default(
        "retention_ms", default=7 * 24, check=_unlimited_or_positive, unit=HOUR_MS, dynamic=False
    )
    log_retention_check_interval_ms: Long = key(5 * MINUTE_MS, at_least(1))
    """How often the logs are checked for segments to delete."""
    log_cleaner_enable: bool = key(True)
    """Whether compacted topics are compacted; otherwise they grow without limit."""
    log_cleaner_backoff_ms: Long = key(15_000, at_least(0), dynamic=True)
    """How long the cleaner waits when no log is due."""
    log_cleaner_dedupe_buffer_size: Long = key(128 << 20, at_least((1 << 20) + 1), dynamic=True)
    """Memory for the keys of one round of compaction; the next round does the rest."""
    log_cleaner_min_cleanable_ratio: float = topic_default("min_cleanable_dirty_ratio")
    log_cleaner_delete_retention_ms: Long = topic_default("delete_retention_ms")
    log_cleaner_min_compaction_lag_ms: Long = topic_default("min_compaction_lag_ms")
    log_cleaner_max_compaction_lag_ms: Long = topic_default("max_compaction_lag_ms")
    message_max_bytes: int = topic_default("max_message_bytes")
    compression_type: str = topic_default("compression_type")
    log_message_timestamp_type: str = topic_default("message_timestamp_type")
    log_message_timestamp_difference_max_ms: Long = topic_default(
        "message_timestamp_difference_max_ms"
    )
    log_message_format_version: str = topic_default("message_format_version", dynamic=False)
    log_message_downconversion_enable: bool = topic_default("message_downconversion_enable")
    min_insync_replicas: int = topic_default("min_insync_replicas")
    unclean_leader_election_enable: bool = topic_default("unclean_leader_election_enable")

    def topic_defaults(self) -> TopicConfig:
        """The configuration of a topic that overrides nothing."""
        values: dict[str, Any] = {}
        for it in self.keys().values():
            value = getattr(self, it.field)
            if it.topic and it.topic not in values and value is not None:
                values[it.topic] = value * it.unit if it.unit > 1 and value > 0 else value
        return TopicConfig(**values)

    def validate_together(self) -> None:
        self.topic_defaults()  # which are valid, or not
