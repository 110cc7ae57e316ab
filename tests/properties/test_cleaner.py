"""Compaction against a dict, and against a crash between any two changes to the disk."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import files, loading, records
from engine.storage.batch import Codec, scan
from engine.storage.cleaner import Cleaner
from engine.storage.compaction import ENTRY_COST
from engine.storage.log import Log
from engine.storage.records import Record
from tests.search import examples

PARTITION = TopicPartition("t", 0)
NOW = 1_000_000
CONFIG = TopicConfig(
    cleanup_policy=("compact",),
    segment_bytes=600,
    index_interval_bytes=150,
    segment_index_bytes=1200,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=0,
)

# -- what a log must be, whatever was compacted ------------------------------------------


class Append(NamedTuple):
    pairs: list[tuple[int, int | None]]  # key, value
    codec: Codec = Codec.NONE
    producer: int = -1


class Clean(NamedTuple):
    keys: int  # how many the map has room for
    disturbed: bool = False  # appends happen while it is at work


class Simple(NamedTuple):
    name: str


ROLL, REOPEN = Simple("roll"), Simple("reopen")
Step = Append | Clean | Simple


class World:
    """A log beside the plain list of all that was ever appended to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: dict[int, Record] = {}
        self.latest: dict[bytes, Record] = {}
        self.sent: dict[int, tuple[bytes, int]] = {}  # producer -> last batch, its first offset
        self.sequences: dict[int, int] = {}
        self.open()

    def open(self, *, clean: bool = False) -> None:
        self.log = loading.load(self.path / "t-0", PARTITION, CONFIG, now=NOW, clean=clean)
        self.cleaner = Cleaner(self.path, 0, NOW)

    def copied(self, name: str, suffix: str = "") -> "World":
        """The same history and another disk like it, not opened yet."""
        path = self.path.with_name(f"{self.path.name}-{name}")
        shutil.copytree(self.path.with_suffix(suffix), path)
        other = World.__new__(World)
        other.__dict__.update(self.__dict__, path=path)
        return other

    def do(self, step: Step, following: list[Step]) -> None:
        match step:
            case Append():
                self.append(step)
            case Clean():
                self.clean(step, following)
            case Simple("roll"):
                self.log.roll(NOW)
            case Simple():
                self.log.abandon()
                self.open()

    def append(self, step: Append) -> None:
        first = self.log.end_offset
        made = [
            Record(first + number, NOW + first + number, b"k%d" % key, value and b"%d" % value)
            for number, (key, value) in enumerate(step.pairs)
        ]
        relative = [record._replace(offset=number) for number, record in enumerate(made)]
        fields: dict[str, Any] = {}
        if step.producer >= 0:
            sequence = self.sequences.get(step.producer, 0)
            self.sequences[step.producer] = sequence + len(made)
            fields = {"producer_id": step.producer, "producer_epoch": 0, "base_sequence": sequence}
        data = records.encode(relative, codec=step.codec, **fields)
        assert self.log.append(data, 0, NOW).first_offset == first
        self.written |= {record.offset: record for record in made}
        self.latest |= {record.key: record for record in made if record.key}
        if step.producer >= 0:
            self.sent[step.producer] = data, first

    def clean(self, step: Clean, following: list[Step]) -> None:
        for segment in self.log.segments:  # of one age: tombstones go as soon as they may
            files.set_modified(segment.file.fileno(), NOW)
        self.cleaner.memory = step.keys * (ENTRY_COST + 2)
        work = self.cleaner.choose([(self.log, self.log.end_offset)], NOW)
        for _ in self.cleaner.clean(work, NOW) if work else ():
            if step.disturbed and following and isinstance(following[0], Append):
                self.append(following.pop(0))

    # -- checks --------------------------------------------------------------------------

    def check(self) -> None:
        left = list(read(self.log, self.log.start_offset))
        assert left == [self.written[record.offset] for record in left]  # nothing is invented
        offsets = [record.offset for record in left]
        assert offsets == sorted(set(offsets))
        first_of_key = {record.key: record for record in reversed(left)}
        for key, record in self.latest.items():
            if record.value is not None:
                assert record in left
            elif record not in left:
                assert key not in first_of_key, "a deleted key came back"
        assert self.log.end_offset == len(self.written)
        for offset in range(self.log.end_offset + 1):
            assert [it.offset for it in read(self.log, offset)] == [
                it for it in offsets if it >= offset
            ]

    def check_clean(self) -> None:
        """Where the cleaner has been, no key is there twice."""
        end = self.cleaner.first_dirty.get(PARTITION, 0)
        keys = [record.key for record in read(self.log, 0) if record.offset < end]
        assert len(keys) == len(set(keys))

    def check_producers(self) -> None:
        """The log alone knows what each producer sent last."""
        self.log.abandon()
        for path in self.log.directory.glob("*.snapshot"):
            path.unlink()
        self.open()
        for data, first in self.sent.values():
            again = self.log.append(data, 0, NOW)
            assert (again.duplicate, again.first_offset) == (True, first)


def read(log: Log, offset: int) -> Iterator[Record]:
    """As a consumer does: fetch, skip what lies before the offset, go on behind the last batch."""
    while offset < log.end_offset:
        data = log.read(offset, 300).read()
        position = None
        for position, header in scan(data):
            for record in records.decode(data[position : position + header.size]):
                if record.offset >= offset:
                    yield record
            offset = max(offset, header.next_offset)
        if position is None:
            return  # compaction left nothing up to the end


# -- against a dict ----------------------------------------------------------------------

APPENDS = st.builds(
    Append,
    st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(1, 99)), min_size=1, max_size=6),
    st.just(Codec.NONE) | st.sampled_from(Codec),
    st.integers(-1, 2),
)
CLEANS = st.builds(Clean, st.integers(0, 8), st.booleans())
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(APPENDS, APPENDS, APPENDS, st.just(ROLL), CLEANS, st.just(REOPEN)),
    min_size=5,
    max_size=40,
)


@contextmanager
def world() -> Iterator[World]:
    """In a directory of its own, and in pieces of some batches, so that much can happen between."""
    small = patch("engine.storage.compaction.PIECE", 200)
    with tempfile.TemporaryDirectory() as path, small, patch("os.fsync"):
        it = World(Path(path, "data"))
        try:
            yield it
        finally:
            it.log.abandon()


@given(STEPS)
@examples(150)
def test_compaction_is_a_dict_that_remembers_where(steps: list[Step]) -> None:
    with world() as it:
        following = [*steps, ROLL, Clean(9)]
        while following:
            step = following.pop(0)
            it.do(step, following)
            if isinstance(step, Clean):
                it.check()
                it.check_clean()
        it.check_producers()
        it.check()


# -- against a crash ---------------------------------------------------------------------


class Crash(BaseException):
    """The power went out. Nothing of ours may catch this."""


CHANGES = {name: it for name, it in getmembers(files, isfunction) if name != "replace"}


class Door:
    """Stands in engine.storage.files, and shuts for good before the n-th change."""

    def __init__(self, last: float) -> None:
        self.count, self.last = 0, last

    def guard(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **how: Any) -> Any:
            self.count += 1
            if self.count >= self.last:
                raise Crash
            return change(*args, **how)

        return guarded

    @contextmanager
    def standing(self) -> Iterator["Door"]:
        with patch.multiple(files, **{name: self.guard(it) for name, it in CHANGES.items()}):
            yield self


def crash(it: World, last: float) -> bool:
    """Clean up to the n-th change to the disk. False if there were not so many."""
    it.open()
    try:
        with Door(last).standing():
            it.clean(Clean(9), [])
    except Crash:
        return True
    finally:
        shutil.copytree(it.path, it.path.with_suffix(".crashed"))  # before anything is closed
        it.log.abandon()
    return False


def check_restart(crashed: World, *, clean: bool) -> None:
    """It comes up whole, has tidied up, stays so, and can be cleaned as if nothing had been."""
    for _ in range(2):
        crashed.open(clean=clean)
        crashed.check()
        names = {path.suffix for path in crashed.log.directory.iterdir()}
        assert not names & {".cleaned", ".swap"}
        crashed.log.sweep(NOW + CONFIG.file_delete_delay_ms)
        assert not list(crashed.log.directory.glob("*.deleted"))
        logs = {path.stem for path in crashed.log.directory.glob("*.log")}
        assert {path.stem for path in crashed.log.directory.glob("*index")} == logs
        crashed.log.abandon()
    crashed.open(clean=clean)
    crashed.clean(Clean(9), [])
    crashed.check()
    crashed.check_clean()
    crashed.check_producers()
    crashed.log.abandon()


def crash_everywhere(steps: list[Step], points: Iterable[int]) -> list[bool]:
    """Run a story and crash its last compaction, at each point anew. Which points did it reach?

    Before a change to the disk is after the one before it, so one side is enough.
    """
    reached = []
    with world() as it:
        tell(it, steps)
        it.log.abandon()
        for last in points:
            trial = it.copied(f"{last}")
            reached.append(crash(trial, last))
            for clean in (True, False):
                check_restart(trial.copied(f"{clean}", ".crashed"), clean=clean)
    return reached


def tell(it: World, steps: list[Step]) -> None:
    following = [*steps, ROLL]
    while following:
        it.do(following.pop(0), following)


# Who crashes closes no file.
crashing = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

STORY: list[Step] = [
    *[Append([(key, 1), (key + 1, 2)], producer=key % 2) for key in range(6)],
    ROLL,
    Append([(3, None), (0, None)], Codec.LZ4),
    ROLL,
    Clean(9),
    *[Append([(key, 3)], producer=key % 2) for key in (1, 3, 5, 2, 4)],
    Append([(4, None)]),
    ROLL,
    Append([(key, 5) for key in range(4, 7)], Codec.ZSTD, 1),
    ROLL,
    Append([(2, 6), (1, None)]),
    ROLL,
    Append([(6, 7)]),
]


@crashing
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_crash_between_any_two_changes_to_the_disk_loses_nothing(step: int) -> None:
    with world() as it:
        tell(it, STORY)
        before = len(it.log.segments)
        with Door(float("inf")).standing() as door:
            it.clean(Clean(9), [])
        assert 2 < len(it.log.segments) < before  # several groups, some of several segments
    points = [*range(1, door.count + 1, step), door.count + 1]
    assert crash_everywhere(STORY, points) == [True] * (len(points) - 1) + [False]


@crashing
@given(STEPS, st.integers(1, 40))
@examples(20)
def test_a_crash_in_any_story_loses_nothing(steps: list[Step], last: int) -> None:
    crash_everywhere([*steps, ROLL, *STORY[:3]], [last])
