"""How far a query has come, and how far it goes next: arithmetic on offsets, nothing else.

    orders-0   |.......|############|........|          . waits for a later batch
               earliest start       end      latest
    orders-1      |....|####|..|                        # is this micro-batch

Spark sees offsets as `{"orders": {"0": 17, "1": 3}}`: that is what stands in its checkpoint and in
a query's progress. An offset is that of the next record, so a range runs from its start to just
below its end.

Where a query begins, and where a batch ends, is a `Bound`: an offset or a time, for all partitions
alike or for each. The numbers -2 and -1 stand for the earliest and the latest, as in ListOffsets.

Invariant: an `Offsets` that leaves here as JSON is sorted, since Spark compares texts.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from engine.errors import ErrorCode, KafkaError
from engine.model import TopicPartition

EARLIEST, LATEST = -2, -1
WORDS = {"earliest": EARLIEST, "latest": LATEST}

Offsets = Mapping[TopicPartition, int]
Json = dict[str, dict[str, int]]


class Bound(NamedTuple):
    """Where to begin, or where to end."""

    option: str  # by which it was set
    value: int | Offsets  # for all partitions alike, or of each
    by_time: bool = False  # milliseconds since 1970, not offsets

    def of(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The offset or the time of each partition. Those that are named one by one are all that
        there are: no more, and no fewer."""
        if isinstance(self.value, int):
            return dict.fromkeys(sorted(partitions), self.value)
        for text, odd in (
            ("says nothing of {}; name every partition, -2 is its earliest offset, -1 its latest",
             partitions - self.value.keys()),
            ("names {}, which this query does not read", self.value.keys() - partitions),
        ):  # fmt: skip
            if odd:
                raise bad(self.option, text.format(listed(odd)))
        return self.value


class Span(NamedTuple):
    """What is to be read of a partition: from `start` to just below `end`."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """At most so many records; compaction may have thinned them out."""
        return max(self.end - self.start, 0)


# -- as Spark has them -----------------------------------------------------------------------


def to_json(offsets: Offsets) -> Json:
    """{"orders": {"0": 17, "1": 3}}"""
    nested: Json = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def of_json(value: Any, where: str) -> dict[TopicPartition, int]:
    """The same, the other way round; `where` it stands is told if it is something else."""
    example = '{"orders": {"0": 17}}'
    if not isinstance(value, dict) or not all(isinstance(it, dict) for it in value.values()):
        raise bad(where, f"{json.dumps(value)} is not of the form {example}")
    for topic, partitions in value.items():
        for number, offset in partitions.items():
            if not number.isdecimal():
                raise bad(where, f"{number!r} is no partition of {topic}, as in {example}")
            if not isinstance(offset, int) or isinstance(offset, bool):
                raise bad(where, f"{offset!r} is no offset of {topic}-{number}, as in {example}")
    return {
        TopicPartition(topic, int(number)): offset
        for topic, partitions in value.items()
        for number, offset in partitions.items()
    }


# -- how much of what waits ------------------------------------------------------------------


def waiting(begin: Offsets, latest: Offsets) -> int:
    """How many records lie between, in all partitions together."""
    return sum(max(end - begin[partition], 0) for partition, end in latest.items())


def admit(begin: Offsets, latest: Offsets, most: int | None) -> dict[TopicPartition, int]:
    """Where a micro-batch of about `most` records ends.

    Each partition gives in proportion to what waits in it, but never nothing: so that the long
    ones don't starve the short ones, the last few records come on top of `most`.
    """
    total = waiting(begin, latest)
    if most is None or total <= most:
        return dict(latest)
    shares = {each: max(end - begin[each], 0) * most / total for each, end in latest.items()}
    return {
        each: min(end, begin[each] + (math.ceil if shares[each] < 1 else math.floor)(shares[each]))
        for each, end in latest.items()
    }


def is_due(waits: int, least: int | None, since: float, now: float, patience: float) -> bool:
    """Whether a micro-batch is worth it: `least` records are there, or the last one is long ago."""
    return least is None or waits >= least or now - since >= patience


# -- what can't be ---------------------------------------------------------------------------


def check_inside(bound: Bound, offsets: Offsets, latest: Offsets) -> None:
    """An offset that was given must not be beyond the end."""
    for partition, offset in offsets.items():
        if offset > latest[partition]:
            why = f"{offset} of {partition} is beyond its end, which is {latest[partition]}"
            raise bad(bound.option, why)


def check_order(begin: Offsets, end: Offsets, starting: Bound, ending: Bound) -> None:
    for partition, offset in begin.items():
        if offset > end[partition]:
            why = f"{partition} would begin at {offset}, after its end {end[partition]}"
            raise bad(starting.option, f"{why} by {ending.option}")


def bad(option: str, why: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_config, f"{option}: {why}")


def listed(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(each) for each in sorted(partitions))
