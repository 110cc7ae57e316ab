"""A query's position, and the end of its next micro-batch: arithmetic on offsets, nothing else.

    orders-0   |.......|############|........|          . waits for a later batch
               earliest start       end      latest
    orders-1      |....|####|..|                        # is this micro-batch

Spark has offsets as `{"orders": {"0": 17, "1": 3}}` in its checkpoint and in a query's progress. An
offset is that of the next record, so a range includes its start and not its end.

The start of a query and the end of a batch are each a `Bound`: an offset or a time, the same for
all partitions or one for each. -2 is the earliest offset and -1 the latest, as in ListOffsets.

Invariant: the JSON of an `Offsets` is sorted, since Spark compares texts.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

EARLIEST, LATEST = -2, -1
WORDS = {"earliest": EARLIEST, "latest": LATEST}

Offsets = Mapping[TopicPartition, int]
Json = dict[str, dict[str, int]]


class Bound(NamedTuple):
    """The start or the end of a query."""

    option: str  # that has set it
    value: int | Offsets  # the same for all partitions, or one for each
    by_time: bool = False  # milliseconds since 1970 instead of offsets

    def of(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The offset or the time of each partition. If the option names partitions, it has to name
        all that there are, and no others."""
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


class OffsetRange(NamedTuple):
    """The offsets of a partition to read: from `start` to below `end`."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        """The most records that it can have; compaction may have removed some."""
        return max(self.end - self.start, 0)


# -- Spark's JSON ----------------------------------------------------------------------------


def to_json(offsets: Offsets) -> Json:
    """{"orders": {"0": 17, "1": 3}}"""
    nested: Json = {}
    for partition in sorted(offsets):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return nested


def of_json(value: Any, where: str) -> dict[TopicPartition, int]:
    """The offsets of such a JSON value; an error names `where` it was."""
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


# -- the size of a micro-batch ---------------------------------------------------------------


def waiting(begin: Offsets, latest: Offsets) -> int:
    """How many records are in between, in all partitions together."""
    return sum(max(end - begin[partition], 0) for partition, end in latest.items())


def admit(begin: Offsets, latest: Offsets, most: int | None) -> dict[TopicPartition, int]:
    """The end of a micro-batch of about `most` records.

    Each partition has a share in proportion to its waiting records, but at least one record, so
    that short partitions make progress; the batch may therefore be a little larger than `most`.
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
    """Whether to run a micro-batch: `least` records wait, or the last one is `patience` ago."""
    return least is None or waits >= least or now - since >= patience


# -- errors ----------------------------------------------------------------------------------


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


def bad(option: str, why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_config, f"{option}: {why}")


def listed(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(each) for each in sorted(partitions))
