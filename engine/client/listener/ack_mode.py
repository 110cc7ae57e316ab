"""What a listener container commits when: the table of Spring Kafka's ack modes.

    mode              an offset is ready      and is committed
    RECORD            the listener returned   at once
    BATCH             the listener returned   when all records of the poll are processed
    TIME              the listener returned   ... if more than ack_time passed since the last time
    COUNT             the listener returned   ... if ack_count records or more are ready
    COUNT_TIME        the listener returned   ... if one of both is so
    MANUAL            acknowledge() called    when all records of the poll are processed
    MANUAL_IMMEDIATE  acknowledge() called    at once

"When all records of the poll are processed" is before the next poll, so COUNT with 120 and polls of
50 records commits after 150. When partitions are revoked, or the container stops, all that is ready
is committed, in any mode. What was processed and not committed comes again after a crash.

Invariant: one commit covers the highest offset that is ready of each partition; records below it
that were not acknowledged are passed over with it. MANUAL_IMMEDIATE commits just the offset of its
record, so the group's offset may go back.
Invariant: nothing of a revoked partition that another consumer may have by now is committed later.
"""

from enum import Enum
from typing import NamedTuple

from engine.errors import invalid_config
from engine.model import TopicPartition

Ready = dict[TopicPartition, int]  # the offset to commit: that of the next record


class Trigger(Enum):
    """What makes an offset ready."""

    RETURNED = "the listener returned"
    ACKNOWLEDGED = "acknowledge() was called"


class AckRule(NamedTuple):
    """One line of the table."""

    trigger: Trigger
    at_once: bool = False  # without waiting for the end of the poll
    by_time: bool = False  # only if ack_time has passed
    by_count: bool = False  # only if there are ack_count records


class AckMode(Enum):
    RECORD = AckRule(Trigger.RETURNED, at_once=True)
    BATCH = AckRule(Trigger.RETURNED)
    TIME = AckRule(Trigger.RETURNED, by_time=True)
    COUNT = AckRule(Trigger.RETURNED, by_count=True)
    COUNT_TIME = AckRule(Trigger.RETURNED, by_time=True, by_count=True)
    MANUAL = AckRule(Trigger.ACKNOWLEDGED)
    MANUAL_IMMEDIATE = AckRule(Trigger.ACKNOWLEDGED, at_once=True)

    @property
    def manual(self) -> bool:
        """Whether the listener gets an Acknowledgment."""
        return self.value.trigger is Trigger.ACKNOWLEDGED

    @classmethod
    def named(cls, name: "AckMode | str") -> "AckMode":
        """The mode of a name, also in the form `manual-immediate`, as Spring takes it."""
        if isinstance(name, AckMode):
            return name
        known = name.strip().upper().replace("-", "_")
        if known not in cls.__members__:
            raise invalid_config(f"there is no ack mode {name}, only {', '.join(cls.__members__)}")
        return cls[known]


class PendingAcks:
    """The offsets of one consumer that are ready and not committed yet.

    Each method returns what is to be committed now; nothing, if it is empty.
    """

    def __init__(self, mode: AckMode, ack_time: float, ack_count: int, now: float) -> None:
        self._rule: AckRule = mode.value
        self._time = ack_time  # seconds
        self._limit = ack_count
        self._last = now  # when TIME or COUNT_TIME committed last because of the time
        self._count = 0  # records that became ready since the last commit
        self._ready: Ready = {}

    def returned(self, partition: TopicPartition, offset: int) -> Ready:
        """The listener has processed this record."""
        return self._add(Trigger.RETURNED, partition, offset)

    def acknowledged(self, partition: TopicPartition, offset: int) -> Ready:
        """acknowledge() was called for this record."""
        return self._add(Trigger.ACKNOWLEDGED, partition, offset)

    def _add(self, trigger: Trigger, partition: TopicPartition, offset: int) -> Ready:
        if trigger is not self._rule.trigger:
            return {}
        if self._rule.at_once:
            return {partition: offset + 1}
        self._count += 1
        self._ready[partition] = max(self._ready.get(partition, 0), offset + 1)
        return {}

    def before_poll(self, now: float) -> Ready:
        """All records of the last poll are processed."""
        rule = self._rule
        if rule.by_count and self._count >= self._limit:
            return self.all()
        if rule.by_time and now - self._last > self._time:
            self._last = now
            return self.all()
        return {} if rule.by_count or rule.by_time else self.all()

    def all(self) -> Ready:
        """All that is ready, also if the mode would wait: the container stops."""
        ready, self._ready, self._count = self._ready, {}, 0
        return ready

    def revoked(self) -> Ready:
        """Other consumers get some of the partitions next. COUNT goes on counting, as in Spring."""
        ready, self._ready = self._ready, {}
        return ready
