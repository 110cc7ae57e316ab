"""Retention against a list of segments."""

import random
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from engine.storage import retention
from engine.storage.log import Log
from tests.search import examples
from tests.unit.storage.disk import NOW, bases, batch, stored, temporary_disk

CHANCE = st.integers(0, 2**32).map(random.Random)


class Part(NamedTuple):
    """What is to be known of a segment."""

    base: int
    end: int
    size: int
    newest: int


def parts(log: Log) -> list[Part]:
    ends = [*bases(log)[1:], log.end_offset]
    return [
        Part(it.base_offset, end, it.size, max(header.max_timestamp for _, header in it.headers()))
        for it, end in zip(log.segments, ends, strict=True)
        if it.size
    ]


def survivors(log: Log, now: int, up_to: int) -> list[Part]:
    """By the book: the oldest go by age; then, of what is left, by size; then by the start.

    Each rule has one turn: a segment that is too old, behind one that only the start lets go, stays
    until the next time.
    """
    left = parts(log)
    keep_ms, keep_bytes = log.config.retention_ms, log.config.retention_bytes
    is_deleted = "delete" in log.config.cleanup_policy
    rules: list[Callable[[], bool]] = [
        lambda: is_deleted and keep_ms >= 0 and now - left[0].newest > keep_ms,
        lambda: is_deleted and keep_bytes >= 0 and sum(it.size for it in left[1:]) >= keep_bytes,
        lambda: left[0].end <= log.start_offset,
    ]
    for may_go in rules:
        while left and left[0].end <= up_to and may_go():
            del left[0]
    return left


@examples(150)
@example(chance=random.Random(25409646), keep_ms=5, keep_bytes=300, policy=("delete",))
@given(
    chance=CHANCE,
    keep_ms=st.sampled_from([-1, 0, 5, 50]),
    keep_bytes=st.sampled_from([-1, 0, 300, 1000, 2500]),
    policy=st.sampled_from([("delete",), ("compact",), ("compact", "delete")]),
)
def test_retention_is_what_the_book_says(
    chance: random.Random, keep_ms: int, keep_bytes: int, policy: tuple[str, ...]
) -> None:
    with temporary_disk(
        segment_bytes=chance.choice([120, 400, 1000]),
        segment_index_bytes=240,
        retention_ms=keep_ms,
        retention_bytes=keep_bytes,
        cleanup_policy=policy,
    ) as disk:
        log = disk.open()
        at = NOW
        for _ in range(chance.randint(1, 15)):
            at += chance.randint(-5, 15)
            log.append(batch(chance.randint(1, 3), chance.randint(0, 10), at=at), 0, NOW)
        for _ in range(3):
            up_to = chance.randint(0, log.end_offset)
            log.advance_start(chance.choice([0, chance.randint(0, up_to)]), NOW)
            now = at + chance.randint(-20, 60)
            wanted, before = survivors(log, now, up_to), parts(log)
            batches = stored(log)
            gone = retention.enforce(log, now, up_to)
            assert gone == len(before) - len(wanted)
            assert parts(log) == wanted
            first = wanted[0].base if wanted else log.end_offset
            assert log.segments[0].base_offset == first
            assert log.start_offset >= first
            assert stored(log) == [it for it in batches if it.header.base_offset >= first]
            log.append(batch(at=at), 0, NOW)
