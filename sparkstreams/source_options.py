"""The options of a source, with the names, defaults and meaning of Spark's own Kafka source.

    subscribe, subscribePattern, assign          what to read: one of them
    starting..., ending...                       from where to where: offsets or times
    maxOffsetsPerTrigger, minPartitions, ...     how much at once, in how many tasks

A single start time has precedence over times for each partition, and those over offsets.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from engine.config.client import ClientConfig
from engine.config.consumer import ConsumerConfig
from engine.config.key import Type, at_least, not_empty, one_of, parse
from engine.model import TopicPartition
from sparkstreams.offsets import EARLIEST, LATEST, WORDS, Bound, bad, of_json
from sparkstreams.option import Options, option

UNITS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}

# -- kinds of values -------------------------------------------------------------------------


def _topics(name: str, text: str) -> tuple[str, ...]:
    return tuple(topic.strip() for topic in text.split(",") if topic.strip())


def _pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise bad(name, f"{text!r} is no regular expression: {error}") from error
    return text


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise bad(name, f"{text!r} is no JSON: {error}") from error


def _partitions(name: str, text: str) -> tuple[TopicPartition, ...]:
    """{"orders": [0, 1]}"""
    value = _json(name, text)
    numbers = value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(it, list) and all(type(n) is int for n in it) for it in numbers):
        raise bad(name, f'{text} is not of the form {{"orders": [0, 1]}}')
    return tuple(sorted(TopicPartition(topic, n) for topic in value for n in value[topic]))


def _offsets(name: str, text: str) -> Bound:
    if (word := text.strip().lower()) in WORDS:
        return Bound(name, WORDS[word])
    offsets = of_json(_json(name, text), name)
    for partition, offset in offsets.items():
        if offset < EARLIEST:
            why = f"{offset} of {partition} is no offset; -2 is the earliest, -1 the latest"
            raise bad(name, why)
    return Bound(name, offsets)


def _time(name: str, text: str) -> Bound:
    time = parse(name, Type.LONG, text)
    at_least(0)(name, time)
    return Bound(name, time, by_time=True)


def _times(name: str, text: str) -> Bound:
    times = of_json(_json(name, text), name)
    for time in times.values():
        at_least(0)(name, time)
    return Bound(name, times, by_time=True)


def _seconds(name: str, text: str) -> float:
    """As Spark writes a duration: 100ms, 30s, 15m; a bare number is milliseconds."""
    found = re.fullmatch(r"(\d+)\s*(ms|s|min|m|h|d)?", text.strip().lower())
    if not found:
        raise bad(name, f"{text!r} is no duration such as 100ms, 30s or 15m")
    return int(found[1]) * UNITS[found[2] or "ms"]


# -- the source's ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """The options of one source."""

    client: ClassVar[type[ClientConfig]] = ConsumerConfig
    refused: ClassVar[Mapping[str, str]] = {
        "auto.offset.reset": "Spark decides where to begin; set startingOffsets",
        "enable.auto.commit": "nothing is committed: Spark keeps the offsets in its checkpoint",
        "interceptor.classes": "there are none here; transform the DataFrame",
        "key.deserializer": "keys come as bytes; cast them in the DataFrame",
        "value.deserializer": "values come as bytes; cast them in the DataFrame",
    }

    # -- what to read: one of the three

    # Topics, with commas between them.
    subscribe: tuple[str, ...] = option("subscribe", (), _topics, not_empty)
    # All topics whose names match, future ones too.
    subscribe_pattern: str = option("subscribePattern", "", _pattern, not_empty)
    # These partitions: {"orders": [0, 1]}.
    assign: tuple[TopicPartition, ...] = option("assign", (), _partitions, not_empty)

    # -- from where to where

    # Where a new query begins: earliest (a batch's default), latest (a stream's), or JSON.
    starting_offsets: Bound | None = option("startingOffsets", None, _offsets)
    # At the first record that is not older: a time for each partition, or the same time for all.
    starting_offsets_by_timestamp: Bound | None = option("startingOffsetsByTimestamp", None, _times)
    starting_timestamp: Bound | None = option("startingTimestamp", None, _time)
    # If all records are older than the start time: error; or latest: begin at the end.
    when_none_is_newer: str = option(
        "startingOffsetsByTimestampStrategy", "error", Type.STRING, one_of("error", "latest")
    )
    # Where a batch ends: latest (the default), or JSON.
    ending_offsets: Bound | None = option("endingOffsets", None, _offsets)
    # Before the first record that is not older: again a time for each, or the same for all.
    ending_offsets_by_timestamp: Bound | None = option("endingOffsetsByTimestamp", None, _times)
    ending_timestamp: Bound | None = option("endingTimestamp", None, _time)

    # -- how much at once

    # The records of a micro-batch.
    max_offsets_per_trigger: int | None = option(
        "maxOffsetsPerTrigger", None, Type.LONG, at_least(1)
    )
    # A micro-batch waits for this many records, but no longer than `maxTriggerDelay`.
    min_offsets_per_trigger: int | None = option(
        "minOffsetsPerTrigger", None, Type.LONG, at_least(1)
    )
    max_trigger_delay: float = option("maxTriggerDelay", 900.0, _seconds)
    # Cut long ranges, to get this many tasks.
    min_partitions: int | None = option("minPartitions", None, Type.INT, at_least(1))
    # Cut tasks longer than this.
    max_records_per_partition: int | None = option(
        "maxRecordsPerPartition", None, Type.LONG, at_least(1)
    )

    # -- what may go wrong, and the rest

    # Whether the query fails if records were deleted before it has read them; if not, it logs
    # which ones, and continues with the earliest record.
    fail_on_data_loss: bool = option("failOnDataLoss", True, Type.BOOLEAN)
    # How often offsets are fetched again if one is lower than before, and the pause between.
    retries: int = option("fetchOffset.numRetries", 3, Type.INT, at_least(0))
    retry_interval_ms: int = option("fetchOffset.retryIntervalMs", 10, Type.LONG, at_least(0))
    # The query fails if a partition has no leader that answers for this time.
    poll_timeout_ms: int = option("kafkaConsumer.pollTimeoutMs", 60_000, Type.LONG, at_least(1))
    # Whether there is a column of headers.
    include_headers: bool = option("includeHeaders", False, Type.BOOLEAN)
    # Without effect: there is no consumer group here.
    group_id_prefix: str = option("groupIdPrefix", "", Type.STRING)

    def validate_together(self) -> None:
        ways = [bool(it) for it in (self.subscribe, self.subscribe_pattern, self.assign)]
        if sum(ways) != 1:
            say = "give one of them, not several" if any(ways) else "one of them must be given"
            raise bad("subscribe, subscribePattern, assign", say)
        least, most = self.min_offsets_per_trigger, self.max_offsets_per_trigger
        if least is not None and most is not None and least > most:
            raise bad("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger, {most}")

    @property
    def consumer(self) -> ConsumerConfig:
        """The settings of `kafka.*`."""
        return ConsumerConfig.parse(self.kafka)

    @property
    def patience(self) -> float:
        """Seconds to wait for a leader."""
        return self.poll_timeout_ms / 1000

    def starting(self, default: int) -> Bound:
        return (
            self.starting_timestamp
            or self.starting_offsets_by_timestamp
            or self.starting_offsets
            or Bound("startingOffsets", default)
        )

    @property
    def ending(self) -> Bound:
        return (
            self.ending_timestamp
            or self.ending_offsets_by_timestamp
            or self.ending_offsets
            or Bound("endingOffsets", LATEST)
        )

    def check_batch(self) -> Self:
        """Refuse options that only a stream may have."""
        for bound, number, word in (
            (self.starting_offsets, LATEST, "latest"),
            (self.ending_offsets, EARLIEST, "earliest"),
        ):
            if bound and number in (
                [bound.value] if isinstance(bound.value, int) else bound.value.values()
            ):
                raise bad(bound.option, f"a batch with {word} ({number}) here is empty")
        return self

    def check_stream(self) -> Self:
        """Refuse options that only a batch may have."""
        ends = (self.ending_timestamp, self.ending_offsets_by_timestamp, self.ending_offsets)
        for bound in ends:
            if bound:
                raise bad(bound.option, "a stream has no end; use trigger(availableNow=True)")
        return self
