"""Rolling: a log begins a new segment when the active one is full or too old."""

from zlib import crc32

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage.segment import REACH, Segment


def full(
    active: Segment,
    partition: TopicPartition,
    config: TopicConfig,
    size: int,
    timestamp: int,
    last: int,
    now: int,
) -> str:
    """Why an append of this size, up to the offset `last`, does not fit; empty if it does."""
    if active.size and active.size + size > config.segment_bytes:
        return "size"
    if active.size and _age(active, timestamp, now) > _max_age(active, partition, config):
        return "time"
    if active.offsets.is_full or active.times.is_full:
        return "index full"
    return "offset range" if last - active.base_offset > REACH else ""


def _age(active: Segment, timestamp: int, now: int) -> int:
    """The age of the active segment, by the timestamps of its records if it has them."""
    first = active.first_timestamp
    if first is not None and first >= 0 and timestamp >= 0:
        return timestamp - first
    return now - active.created


def _max_age(active: Segment, partition: TopicPartition, config: TopicConfig) -> int:
    """The maximum age of the active segment; jitter spreads the rolls of many logs."""
    most = config.segment_ms
    if "compact" in config.cleanup_policy:  # only closed segments are compacted
        most = min(most, config.max_compaction_lag_ms)
    if not config.segment_jitter_ms:
        return most
    chance = crc32(f"{partition} {active.base_offset}".encode())
    return most - chance % (min(config.segment_jitter_ms, most) + 1)
