"""A round of compaction in the middle of a broker's life: in steps, among readers and cuts."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event
from engine.storage import files, loading
from engine.storage.batch import Header
from engine.storage.cleaner import Cleaner
from engine.storage.directory import LogDirectory
from tests.unit.storage.compacted import (
    FOREVER,
    MEMORY,
    NOW,
    ORDERS,
    Store,
    age,
    content,
    fill,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    it = Store(tmp_path)
    yield it
    it.log.abandon()


def test_it_works_in_small_pieces_while_the_log_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.storage.compaction.PIECE", 200)
    fill(store.log, " ".join(f"k{number % 5}={number}" for number in range(50)) + "| z=0")
    steps = 0
    for _ in store.start():
        steps += 1
        fill(store.log, f"k0=new{steps} |")
        assert Header.parse(store.log.read(0, 1).read()).base_offset in (0, 45)
    assert steps > 30
    left = content(store.log)
    assert list(left)[:5] == [45, 46, 47, 48, 49]
    assert list(left) == [*range(45, 51), *range(51, 51 + steps)]


def test_a_batch_larger_than_a_piece_is_read_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.storage.compaction.PIECE", 100)
    fill(store.log, f"a=1 b={'x' * 5000} a=2 | z=1")
    store.clean()
    assert list(content(store.log)) == [1, 2, 3]


def test_what_takes_the_place_of_a_record_is_on_the_disk_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store.log, "a=1 b=1 | c=1 a=2 | b=2 | z=1")
    flushed: set[int] = set()
    needed = [segment.file.fileno() for segment in store.log.segments[:-1]]
    swaps: list[str] = []

    def rename(old: Path, new: Path) -> None:
        if new.name.endswith(".log.swap"):
            assert flushed.issuperset([*needed, os.stat(old).st_ino])
            swaps.append(new.name)
        os.replace(old, new)

    monkeypatch.setattr(files, "rename", rename)
    monkeypatch.setattr(files, "flush", lambda fd: flushed.update([fd, os.fstat(fd).st_ino]))
    store.clean()
    assert len(swaps) == 1


def test_a_reader_keeps_its_slice_over_the_swap(store: Store) -> None:
    fill(store.log, "a=1 a=2 | a=3 | z=1")
    slices = [store.log.read(offset, 1 << 20) for offset in (0, 2)]
    before = [it.read() for it in slices]
    store.clean()
    assert list(content(store.log)) == [2, 3]
    assert [it.read() for it in slices] == before
    delay = store.log.config.file_delete_delay_ms
    deleted = list(store.log.directory.glob("*.log.deleted"))
    assert len(deleted) == 2
    store.log.sweep(NOW + delay - 1)
    assert [it.read() for it in slices] == before
    store.log.sweep(NOW + delay)
    assert not list(store.log.directory.glob("*.deleted"))


def begun(store: Store) -> Generator[None, None, None]:
    """A round that is in the middle of its first new segment."""
    run = store.start()
    while not list(store.log.directory.glob("*.cleaned")):
        next(run)
    return run


@pytest.mark.parametrize(
    "cut", ["inside", "and regrown", "whole log", "front", "deleted"], ids=lambda it: it
)
def test_a_log_that_is_cut_meanwhile_is_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr("engine.storage.compaction.PIECE", 200)
    fill(store.log, "a=1 b=1 c=1 d=1 | a=2 b=2 c=2 d=2 | z=1")
    age(store.log, {0: NOW, 4: NOW})
    run = begun(store)
    if cut == "inside":
        store.log.truncate(6, NOW)
    elif cut == "and regrown":
        store.log.truncate(6, NOW)
        fill(store.log, "e=3 f=3 | z=1")
    elif cut == "whole log":
        store.log.restart_at(100, NOW)
    elif cut == "front":
        store.log.drop(store.log.segments[:1], NOW, "test")
    else:
        store.log.abandon()
    before = [segment.base_offset for segment in store.log.segments]
    assert list(run) == []
    assert store.kinds()[-1] == "log.cleaning.aborted"
    assert [segment.base_offset for segment in store.log.segments] == before
    assert not list(store.log.directory.glob("*.cleaned"))
    assert not list(store.log.directory.glob("*.swap"))
    assert store.cleaner.first_dirty == {}
    if cut == "and regrown":
        expected = ["a=1", "b=1", "c=1", "d=1", "a=2", "b=2", "e=3", "f=3", "z=1"]
        assert list(content(store.log).values()) == expected


def test_a_topic_that_is_deleted_meanwhile_leaves_its_namesake_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.storage.compaction.PIECE", 200)
    config, told = TopicConfig(cleanup_policy=("compact",)), list[Event]()
    directory = LogDirectory(tmp_path, told.append)
    log = directory.create(ORDERS, config, NOW)
    fill(log, "a=1 b=1 c=1 d=1 | a=2 b=2 c=2 d=2 | z=1")
    cleaner = Cleaner(tmp_path, MEMORY, NOW, told.append)
    work = cleaner.choose([(log, FOREVER)], NOW)
    assert work is not None
    run = cleaner.clean(work, NOW)
    while not list(log.directory.glob("*.cleaned")):
        next(run)
    directory.delete(ORDERS, NOW)
    new = directory.create(ORDERS, config, NOW)
    fill(new, "e=3 f=3 | z=3")
    files_of_new = sorted(each.name for each in new.directory.iterdir())
    assert list(run) == []
    assert told[-1].kind == "log.cleaning.aborted"
    assert sorted(each.name for each in new.directory.iterdir()) == files_of_new
    new.abandon()
    reopened = loading.load(new.directory, ORDERS, config, now=NOW, emit=told.append)
    assert list(content(reopened).values()) == ["e=3", "f=3", "z=3"]
    reopened.abandon()
    directory.abandon()


@pytest.mark.parametrize("cut", [0, 1, 3], ids=["all", "a segment", "some of the last"])
def test_a_log_that_was_cut_since_it_was_chosen_is_left_alone(store: Store, cut: int) -> None:
    fill(store.log, "a=1 a=2 | a=3 a=4 | z=1")
    run = store.start()
    store.log.truncate(cut, NOW)
    fill(store.log, "a=5 a=6 | z=2")
    left = content(store.log)
    assert list(run) == []
    assert store.kinds()[-1] == "log.cleaning.aborted"
    assert content(store.log) == left


def test_a_round_that_is_given_up_leaves_nothing(store: Store) -> None:
    fill(store.log, "a=1 a=2 | a=3 | z=1")
    names = sorted(path.name for path in store.log.directory.iterdir())
    begun(store).close()
    assert sorted(path.name for path in store.log.directory.iterdir()) == names
    assert list(content(store.log)) == [0, 1, 2, 3]


def test_a_full_disk_is_not_the_logs_fault(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store.log, "a=1 a=2 | z=1")
    monkeypatch.setattr(files, "append", lambda fd, parts: 0)
    with pytest.raises(ApiException) as caught:
        store.clean()
    assert caught.value.code is ErrorCode.kafka_storage_error
    assert not store.cleaner.uncleanable
    assert not list(store.log.directory.glob("*.cleaned"))
