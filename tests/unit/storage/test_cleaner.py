"""The cleaner: which log is due, and how far it has come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import checkpoints, loading, retention
from engine.storage.cleaner import Cleaner
from engine.storage.compaction import ENTRY_COST
from tests.unit.storage.compacted import (
    FOREVER,
    MEMORY,
    NOW,
    ORDERS,
    Store,
    age,
    bases,
    batch,
    content,
    fill,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    it = Store(tmp_path)
    yield it
    it.log.abandon()


# -- when ------------------------------------------------------------------------------------


def test_a_log_is_due_when_dirty_enough(store: Store) -> None:
    fill(store.log, "a=1 b=1 c=1 | z=1")
    work = store.choose()
    assert work is not None
    assert (work.start, work.end, work.dirty) == (0, 3, 1.0)
    store.clean()
    fill(store.log, "| y=1 | x=1")
    assert store.choose() is None  # two of five: not more than half
    fill(store.log, "w=1 | v=1")
    work = store.choose()
    assert work is not None
    assert (work.start, work.end, work.dirty) == (3, 7, 4 / 7)


def test_the_active_segment_is_never_touched(store: Store) -> None:
    fill(store.log, "a=1 a=2 a=3")
    assert store.choose() is None


def test_nothing_is_cleaned_beyond_the_last_stable_offset(store: Store) -> None:
    fill(store.log, "a=1 a=2 | a=3 a=4 | a=5")
    assert store.choose(up_to=1) is None
    store.clean(up_to=3)
    assert content(store.log) == {1: "a=2", 2: "a=3", 3: "a=4", 4: "a=5"}


def test_young_records_wait(store: Store) -> None:
    store.log.config = TopicConfig(cleanup_policy=("compact",), min_compaction_lag_ms=100)
    fill(store.log, "a=1 a=2 |", first_timestamp=NOW)
    fill(store.log, "a=3 a=4 |", first_timestamp=NOW + 50)
    assert store.choose(NOW + 99) is None
    for now, end in ((NOW + 100, 2), (NOW + 149, 2), (NOW + 150, 4)):
        work = store.choose(now)
        assert work is not None
        assert work.end == end


def test_young_records_without_a_time_wait_by_the_age_of_the_file(store: Store) -> None:
    store.log.config = TopicConfig(cleanup_policy=("compact",), min_compaction_lag_ms=100)
    fill(store.log, "a=1 a=2 |", first_timestamp=-1)
    age(store.log, {0: NOW})
    assert store.choose(NOW + 99) is None
    assert store.choose(NOW + 100) is not None


def test_nothing_waits_longer_than_the_maximum(store: Store) -> None:
    store.log.config = TopicConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100
    )
    fill(store.log, "a=1 a=2 |")
    assert store.choose(NOW + 100) is None
    assert store.choose(NOW + 101) is not None
    assert store.choose(NOW + 101, up_to=1) is None  # due or not, nothing may be cleaned


def test_records_without_a_time_are_not_overdue(store: Store) -> None:
    store.log.config = TopicConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100
    )
    fill(store.log, "a=1 a=2 |", first_timestamp=-1)
    assert store.choose() is None


def test_the_dirtiest_log_comes_first(tmp_path: Path) -> None:
    cleaner, logs = Cleaner(tmp_path, MEMORY, NOW), []
    for number, start in enumerate((1, 2, 0)):
        partition = TopicPartition("t", number)
        config = TopicConfig(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
        logs.append(loading.load(tmp_path / str(partition), partition, config, now=NOW))
        fill(logs[-1], "a=1 | a=2 | a=3 | a=4")
        cleaner.first_dirty[partition] = start
    plain = TopicPartition("plain", 0)
    logs.append(loading.load(tmp_path / str(plain), plain, TopicConfig(), now=NOW))
    fill(logs[-1], "a=1 | a=2")
    order = []
    while work := cleaner.choose([(log, FOREVER) for log in logs], NOW):
        order.append(work.log.partition.partition)
        for _ in cleaner.clean(work, NOW):
            pass
    assert order == [2, 0, 1]
    for log in logs:
        log.abandon()


# -- the first dirty offset ------------------------------------------------------------------


@pytest.mark.parametrize("first_dirty", [1, 99])
def test_a_first_dirty_offset_outside_the_log_is_reset(store: Store, first_dirty: int) -> None:
    fill(store.log, "a=1 a=2 a=3 a=4 | z=")
    store.log.advance_start(2, NOW)
    store.cleaner.first_dirty[ORDERS] = first_dirty
    work = store.choose()
    assert work is not None
    assert work.start == 2
    assert checkpoints.read_offsets(store.cleaner.path) == {ORDERS: 2}


def test_what_comes_after_a_cut_is_dirty(store: Store) -> None:
    fill(store.log, "a=1 b=1 | c=1 | z=1")
    store.clean()
    store.log.truncate(1, NOW)
    store.cleaner.truncated(store.log)
    assert checkpoints.read_offsets(store.cleaner.path) == {ORDERS: 1}
    fill(store.log, "a=2 c=2 | y=1 | z=2")
    store.clean()
    assert content(store.log) == {1: "a=2", 2: "c=2", 3: "y=1", 4: "z=2"}


def test_a_log_of_the_same_name_begins_dirty(store: Store) -> None:
    fill(store.log, "a=1 | z=1")
    store.clean()
    store.cleaner.uncleanable.add(ORDERS)
    store.cleaner.forget(ORDERS)
    store.cleaner.forget(ORDERS)
    assert checkpoints.read_offsets(store.cleaner.path) == {}
    assert not store.cleaner.uncleanable


def test_a_restart_goes_on_where_the_cleaner_was(store: Store) -> None:
    fill(store.log, "a=1 b=1 c=1 | z=1")
    store.clean()
    store.reopen()
    assert store.cleaner.first_dirty == {ORDERS: 3}


def test_a_damaged_checkpoint_makes_everything_dirty(store: Store) -> None:
    store.cleaner.path.write_text("0\n1\nnonsense\n")
    store.reopen()
    assert store.events[-1].kind == "checkpoint.damaged"
    assert store.cleaner.first_dirty == {}


def test_a_full_map_ends_the_round(store: Store) -> None:
    fill(store.log, "a=1 b=1 a=2 c=1 b=2 | a=3 | z=1")
    store.cleaner.memory = 2 * (ENTRY_COST + 1)
    store.clean()
    assert store.cleaner.first_dirty == {ORDERS: 3}  # c did not fit
    assert content(store.log) == {1: "b=1", 2: "a=2", 3: "c=1", 4: "b=2", 5: "a=3", 6: "z=1"}
    store.clean()
    assert store.cleaner.first_dirty == {ORDERS: 5}
    assert content(store.log) == {2: "a=2", 3: "c=1", 4: "b=2", 5: "a=3", 6: "z=1"}


def test_a_map_with_no_room_at_all_still_gets_on(store: Store) -> None:
    store.log.append(batch("a=1", "b=1", "a=2", "b=2"), 0, NOW)
    fill(store.log, "| z=1")
    store.cleaner.memory = 0
    rounds = 0
    while store.choose():
        store.clean()
        rounds += 1
    assert rounds == 4
    assert content(store.log) == {2: "a=2", 3: "b=2", 4: "z=1"}


# -- damage ----------------------------------------------------------------------------------


def test_a_damaged_log_is_left_alone_and_others_go_on(store: Store) -> None:
    fill(store.log, "a=1 a=2 | a=3 | z=1")
    path = store.log.segments[0].path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    event = store.clean()
    assert event.kind == "log.uncleanable"
    assert f"{path.name}, position {len(data) // 2}" in event.data["reason"]
    assert path.read_bytes() == data
    assert store.choose() is None

    other = TopicPartition("orders", 1)
    log = loading.load(store.path / str(other), other, store.config, now=NOW)
    fill(log, "a=1 a=2 | z=1")
    work = store.cleaner.choose([(store.log, FOREVER), (log, FOREVER)], NOW)
    assert work is not None
    assert work.log is log
    log.abandon()


def test_a_damaged_length_is_found_too(store: Store) -> None:
    fill(store.log, "a=1 a=2 | z=1")
    path = store.log.segments[0].path
    data = bytearray(path.read_bytes())
    data[8] = 0x7F
    path.write_bytes(data)
    assert store.clean().kind == "log.uncleanable"


# -- both policies ---------------------------------------------------------------------------


def test_both_policies_together(tmp_path: Path) -> None:
    both = ("compact", "delete")
    store = Store(tmp_path, cleanup_policy=both, retention_ms=1000, segment_bytes=150)
    fill(store.log, "a=1 a=2 | b=1 b=2 |", first_timestamp=NOW)
    fill(store.log, "a=3 b=3 | z=1", first_timestamp=NOW + 500)
    age(store.log, {0: NOW, 2: NOW})
    store.clean(NOW + 500)
    assert content(store.log) == {4: "a=3", 5: "b=3", 6: "z=1"}
    assert bases(store.log) == [0, 2, 4, 6]
    assert retention.enforce(store.log, NOW + 1000, FOREVER) == 0
    assert retention.enforce(store.log, NOW + 1500, FOREVER) == 2  # empty, and as old as before
    assert (bases(store.log), store.log.start_offset) == ([4, 6], 4)
    retention.enforce(store.log, NOW + 1501, FOREVER)
    assert content(store.log) == {}
    store.log.abandon()
