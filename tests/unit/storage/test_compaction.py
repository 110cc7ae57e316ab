"""One round of compaction: what stays of a log, where, and for how long."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.storage import checkpoints, records
from engine.storage.aborted import Aborted, read_aborted
from engine.storage.batch import Codec, Header
from engine.storage.compaction import ENTRY_COST, Compaction
from engine.storage.control import ControlType
from engine.storage.log import Log
from engine.storage.records import Record
from tests.unit.storage.compacted import (
    NOW,
    ORDERS,
    Store,
    age,
    bases,
    batch,
    content,
    fill,
    marker,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    it = Store(tmp_path)
    yield it
    it.log.abandon()


# -- what stays ------------------------------------------------------------------------------


def test_of_each_key_the_latest_record_stays_at_its_offset(store: Store) -> None:
    fill(store.log, "a=1 b=1 a=2 | c=1 b=2 a=3 | a=4")
    event = store.clean()
    assert content(store.log) == {3: "c=1", 4: "b=2", 5: "a=3", 6: "a=4"}
    assert bases(store.log) == [0, 6]
    assert event.kind == "log.cleaned"
    assert event.data["records_kept"] == 3
    assert event.data["records_dropped"] == 3
    assert event.data["bytes_after"] == store.log.segments[0].size
    assert event.data["bytes_before"] == 2 * event.data["bytes_after"]
    assert (event.data["start"], event.data["end"]) == (0, 6)
    assert checkpoints.read_offsets(store.cleaner.path) == {ORDERS: 6}


def test_a_read_goes_on_at_the_next_record_that_is_left(store: Store) -> None:
    fill(store.log, "a=1 b=1 a=2 | c=1 b=2 a=3 | a=4")
    store.clean()
    firsts = [Header.parse(store.log.read(at, 1).read()).base_offset for at in range(7)]
    assert firsts == [3, 3, 3, 3, 4, 5, 6]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_that_loses_records_keeps_all_else(store: Store, codec: Codec) -> None:
    fields = {"codec": codec, "producer_id": 7, "producer_epoch": 3, "base_sequence": 5}
    store.log.append(batch("a=1", "b=1", "c=1", "a=2", **fields), 0, NOW)
    fill(store.log, "| b=2 | z=")
    before = Header.parse(store.log.read(0, 1).read())
    store.clean()
    data = store.log.read(0, 1).read()
    after = Header.parse(data)
    same = before._replace(length=after.length, crc=after.crc, count=2)
    assert after == same
    assert [(it.offset, it.timestamp, it.key, it.value) for it in records.decode(data)] == [
        (2, NOW, b"c", b"1"),
        (3, NOW, b"a", b"2"),
    ]


def test_a_batch_that_loses_nothing_keeps_its_bytes(store: Store) -> None:
    odd = records.encode([Record(0, NOW, b"a", b"1" * 1000)], codec=Codec.GZIP, level=1)
    store.log.append(odd, 0, NOW)
    fill(store.log, "b=1 b=2 | z=")
    before = store.log.read(0, 1).read()
    assert store.clean().data["records_dropped"] == 1
    assert store.log.read(0, 1).read() == before


def test_records_without_a_key_go(tmp_path: Path) -> None:
    store = Store(tmp_path, cleanup_policy=("delete",))
    fill(store.log, "=1 a=1 | z=")
    store.log.config = TopicConfig(cleanup_policy=("compact",))
    store.clean()
    assert content(store.log) == {1: "a=1", 2: "z="}
    store.log.abandon()


def test_a_segment_may_be_left_without_records(store: Store) -> None:
    store.log.config = TopicConfig(cleanup_policy=("compact",), segment_bytes=100)
    fill(store.log, "a=1 | a=2 | a=3 | z=")
    store.clean()
    assert [segment.size > 0 for segment in store.log.segments] == [False, False, True, True]
    assert content(store.log) == {2: "a=3", 3: "z="}
    store.reopen()
    assert content(store.log) == {2: "a=3", 3: "z="}
    assert (store.log.start_offset, store.log.end_offset) == (0, 4)


def test_small_segments_become_one_up_to_segment_bytes(store: Store) -> None:
    fill(store.log, "a=1 | b=1 | c=1 | d=1 | e=1 | z=")
    size = store.log.segments[0].size
    store.log.config = TopicConfig(cleanup_policy=("compact",), segment_bytes=2 * size)
    store.clean()
    assert bases(store.log) == [0, 2, 4, 5]
    assert sorted(path.name[18:] for path in store.log.directory.glob("*.snapshot")) == [
        "02.snapshot",
        "04.snapshot",
        "05.snapshot",
    ]


def test_a_group_stays_within_the_size_of_an_index(store: Store) -> None:
    fill(store.log, "a=1 b=1 | c=1 d=1 | e=1 | z=")
    store.log.config = TopicConfig(
        cleanup_policy=("compact",), index_interval_bytes=0, segment_index_bytes=12 * 6
    )
    store.clean()
    assert bases(store.log) == [0, 4, 5]


def test_a_group_stays_within_the_reach_of_an_index(store: Store) -> None:
    far = 2**31 - 3
    fill(store.log, "a=1 |")
    for offset in (far, far + 5):
        copy = Header.parse(batch("b=1"))
        data = records.retain(copy._replace(base_offset=offset), [Record(offset, NOW, b"b", b"1")])
        store.log.append_copied(data, NOW)
        store.log.roll(NOW)
    assert bases(store.log) == [0, 1, far + 1, far + 6]
    store.clean()
    assert bases(store.log) == [0, far + 1, far + 6]
    assert content(store.log) == {0: "a=1", far + 5: "b=1"}


def test_the_new_segment_is_found_through_its_indexes(store: Store) -> None:
    store.log.config = TopicConfig(cleanup_policy=("compact",), index_interval_bytes=100)
    for number in range(40):
        fill(store.log, f"k{number % 20}=v", first_timestamp=NOW + number)
    fill(store.log, "| z=")
    store.clean()
    segment = store.log.segments[0]
    assert segment.offsets.count > 5
    assert [store.log.offset_for_time(NOW + it) for it in (0, 20, 33)] == [
        (20, NOW + 20, 0),
        (20, NOW + 20, 0),
        (33, NOW + 33, 0),
    ]
    store.reopen()
    assert "index.rebuilt" not in store.kinds()


# -- tombstones ------------------------------------------------------------------------------


def test_a_tombstone_stays_until_its_retention_is_over(tmp_path: Path) -> None:
    store = Store(  # a segment for each record
        tmp_path, segment_bytes=100, delete_retention_ms=100, min_cleanable_dirty_ratio=0.0
    )
    fill(store.log, "a=1 b=1 a= x=1")
    age(store.log, {0: NOW, 1: NOW, 2: NOW})
    store.clean()
    assert bases(store.log) == [0, 1, 2, 3]
    for key, last_clean, tombstone in (("y", 0, "a="), ("z", 99, "a="), ("x", 100, None)):
        fill(store.log, f"{key}=1")
        age(store.log, {3: NOW + 99, 4: NOW + 100, 5: NOW + 101})
        store.clean()
        assert content(store.log).get(2) == tombstone, last_clean
    assert content(store.log) == {1: "b=1", 3: "x=1", 4: "y=1", 5: "z=1", 6: "x=1"}
    assert bases(store.log) == [0, 2, 3, 4, 5, 6]  # the empty one has become one with the next
    assert [it.modified - NOW for it in store.log.segments[:-1]] == [0, 0, 99, 100, 101]
    store.log.abandon()


def test_a_tombstone_never_goes_before_what_it_deletes(tmp_path: Path) -> None:
    store = Store(tmp_path, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0)
    fill(store.log, "a=1 b=1 | z=1")
    store.clean()
    fill(store.log, "a= | z=2")
    age(store.log, {0: NOW, 2: NOW})  # of one age: the tombstone need not wait
    store.cleaner.memory = ENTRY_COST + 1
    store.clean()
    assert store.cleaner.first_dirty == {ORDERS: 3}
    assert content(store.log) == {0: "a=1", 1: "b=1", 2: "z=1", 3: "a=", 4: "z=2"}
    store.clean()
    assert content(store.log) == {1: "b=1", 2: "z=1", 4: "z=2"}
    store.log.abandon()


def test_a_tombstone_behind_the_map_waits_for_the_next_round(tmp_path: Path) -> None:
    store = Store(tmp_path, delete_retention_ms=0, min_cleanable_dirty_ratio=0.0)
    fill(store.log, "a=1 | z=1")
    store.clean()
    store.log.append(batch("z=2", "a="), 0, NOW)
    fill(store.log, "| z=3")
    age(store.log, {0: NOW, 1: NOW})
    store.cleaner.memory = ENTRY_COST + 1
    for left in ({0: "a=1", 2: "z=2", 3: "a=", 4: "z=3"}, {2: "z=2", 4: "z=3"}):
        store.clean()
        assert content(store.log) == left
    store.log.abandon()


# -- producers and transactions --------------------------------------------------------------


def test_the_last_batch_of_a_producer_stays_as_an_empty_one(store: Store) -> None:
    first = batch("a=1", "b=1", producer_id=7, producer_epoch=1, base_sequence=0)
    last = batch("a=2", "b=2", producer_id=7, producer_epoch=1, base_sequence=2)
    store.log.append(first, 0, NOW)
    store.log.append(last, 0, NOW)
    fill(store.log, "a=3 b=3 | z=1")
    store.clean()
    assert content(store.log) == {4: "a=3", 5: "b=3", 6: "z=1"}
    empty = Header.parse(store.log.read(0, 1).read())
    assert (empty.base_offset, empty.count, empty.last_offset) == (2, 0, 3)

    for path in store.log.directory.glob("*.snapshot"):
        path.unlink()
    store.reopen()  # from the log alone
    again = store.log.append(last, 0, NOW)
    assert (again.first_offset, again.last_offset, again.duplicate) == (2, 3, True)
    gap = batch("a=4", producer_id=7, producer_epoch=1, base_sequence=9)
    with pytest.raises(ApiException) as caught:
        store.log.append(gap, 0, NOW)
    assert caught.value.code is ErrorCode.out_of_order_sequence_number
    store.log.append(batch("a=4", producer_id=7, producer_epoch=1, base_sequence=4), 0, NOW)

    fill(store.log, "| z=2 | z=3")  # now it is not the last batch any more
    store.clean()
    assert Header.parse(store.log.read(0, 1).read()).base_offset == 5


def commit(log: Log, kind: ControlType, *texts: str, producer_id: int = 7, first: int = 0) -> None:
    for sequence, text in enumerate(texts, first):
        fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        log.append(batch(text, transactional=True, **fields), 0, NOW)
    log.append(marker(producer_id, kind), 0, NOW, client=False)


def control_offsets(log: Log) -> list[int]:
    return [header.base_offset for _, _, header in log.headers() if header.is_control]


def test_an_aborted_record_goes_and_hides_nothing(store: Store) -> None:
    fill(store.log, "a=1 b=1")
    commit(store.log, ControlType.ABORT, "a=2", "c=2")
    commit(store.log, ControlType.COMMIT, "b=3", first=2)
    fill(store.log, "| z=1")
    store.clean()
    assert content(store.log) == {0: "a=1", 5: "b=3", 7: "z=1"}


def test_an_abort_is_seen_though_its_marker_comes_later(store: Store) -> None:
    fill(store.log, "a=1")
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    store.log.append(batch("a=2", transactional=True, **fields), 0, NOW)
    fill(store.log, "|")
    store.log.append(marker(7, ControlType.ABORT), 0, NOW, client=False)
    store.clean()
    assert content(store.log) == {0: "a=1"}


def test_a_marker_stays_with_its_transaction_and_as_long_as_a_tombstone(store: Store) -> None:
    store.log.config = TopicConfig(cleanup_policy=("compact",), delete_retention_ms=100)
    commit(store.log, ControlType.COMMIT, "a=1", "b=1")  # 0, 1, marker 2
    commit(store.log, ControlType.COMMIT, "a=2", "b=2", first=2)  # 3, 4, marker 5
    fill(store.log, "| z=1")
    age(store.log, {0: NOW})
    store.clean()
    assert content(store.log) == {3: "a=2", 4: "b=2", 6: "z=1"}
    assert control_offsets(store.log) == [2, 5]  # the first one is too young to go
    fill(store.log, "b=3 | z=2")
    age(store.log, {0: NOW, 6: NOW + 100})
    store.cleaner.first_dirty[ORDERS] = 7
    store.log.config = TopicConfig(
        cleanup_policy=("compact",), delete_retention_ms=100, min_cleanable_dirty_ratio=0.0
    )
    store.clean()
    assert content(store.log) == {3: "a=2", 6: "z=1", 7: "b=3", 8: "z=2"}
    assert control_offsets(store.log) == [5]  # of 0 and 1 nothing is left; 3 is still there


def test_a_lonely_marker_keeps_the_epoch_of_its_producer(store: Store) -> None:
    store.log.append(marker(7, ControlType.ABORT, epoch=3), 0, NOW, client=False)
    fill(store.log, "| a=1 | z=1")
    store.log.config = TopicConfig(
        cleanup_policy=("compact",), delete_retention_ms=0, min_cleanable_dirty_ratio=0.0
    )
    for _ in range(2):
        store.cleaner.first_dirty[ORDERS] = 1
        store.clean()
    for path in store.log.directory.glob("*.snapshot"):
        path.unlink()
    store.reopen()
    assert store.log.producers.known[7].epoch == 3


def test_the_list_of_the_aborted_goes_along_with_their_markers(tmp_path: Path) -> None:
    store = Store(tmp_path, min_cleanable_dirty_ratio=0.0, delete_retention_ms=100)
    commit(store.log, ControlType.ABORT, "a=1")  # 0, marker 1
    fill(store.log, "b=1 |")
    commit(store.log, ControlType.ABORT, "c=1", first=1)  # 3, marker 4
    commit(store.log, ControlType.COMMIT, "d=1", first=2)  # 5, marker 6
    fill(store.log, "| z=1")
    age(store.log, {0: NOW, 3: NOW})
    store.clean()
    assert bases(store.log) == [0, 7]
    assert content(store.log) == {2: "b=1", 5: "d=1", 7: "z=1"}
    both = Aborted(7, 0, 1, 2), Aborted(7, 3, 4, 5)
    assert store.log.aborted(0, 8) == both
    assert read_aborted(store.log.segments[0].path.with_suffix(".txnindex")) == [*both]
    store.log.close(NOW)
    store.log = store.open(clean=True)
    assert store.log.aborted(0, 8) == both
    fill(store.log, "y=1 | z=2")
    age(store.log, {0: NOW, 7: NOW + 100})
    store.cleaner.first_dirty[ORDERS] = 8
    store.clean()
    assert control_offsets(store.log) == [6]
    assert store.log.aborted(0, 9) == ()
    assert not list(store.log.directory.glob("*.txnindex"))
    store.log.abandon()


def test_no_marker_goes_in_the_round_that_took_its_records(tmp_path: Path) -> None:
    """However old it is: a follower may have the records, and not the marker yet."""
    store = Store(tmp_path, min_cleanable_dirty_ratio=0.0, delete_retention_ms=0)
    commit(store.log, ControlType.COMMIT, "a=1")  # 0, marker 1
    commit(store.log, ControlType.COMMIT, "b=1", first=1)  # 2, marker 3
    fill(store.log, "| a=2 b=2 | z=1")
    for left in ([1, 3], [3]):  # of 2 an empty batch stays, as it is its producer's last
        store.cleaner.first_dirty[ORDERS] = 4
        age(store.log, {0: NOW, 4: NOW})
        store.clean()
        assert content(store.log) == {4: "a=2", 5: "b=2", 6: "z=1"}
        assert control_offsets(store.log) == left
    store.log.abandon()


def test_what_is_beyond_the_map_keeps_its_entry(tmp_path: Path) -> None:
    """The map has room for one key: the round ends inside of a segment, whose rest stays."""
    store = Store(tmp_path, min_cleanable_dirty_ratio=0.0)
    fill(store.log, "a=1 b=1 |")
    commit(store.log, ControlType.ABORT, "c=1", "c=2")  # 2, 3, marker 4
    fill(store.log, "| z=1")
    work = store.choose()
    assert work is not None
    small = Compaction(store.log, work.start, work.end, 1, NOW)
    assert list(small.run())
    assert small.end == 1
    assert (content(store.log)[2], store.log.aborted(0, 5)) == ("c=1", (Aborted(7, 2, 4, 5),))
    store.log.abandon()


def test_nothing_is_cleaned_that_a_transaction_may_still_undo(store: Store) -> None:
    fill(store.log, "a=1 |")
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    store.log.append(batch("a=2", transactional=True, **fields), 0, NOW)
    fill(store.log, "| z=1")
    unstable = store.log.producers.first_unstable(store.log.end_offset)
    assert unstable == 1
    store.clean(up_to=unstable)
    assert content(store.log) == {0: "a=1", 1: "a=2", 2: "z=1"}
    store.log.append(marker(7, ControlType.ABORT), 0, NOW, client=False)
    assert store.log.producers.first_unstable(3) == 1  # the end is not replicated yet
    assert store.log.producers.first_unstable(4) is None
