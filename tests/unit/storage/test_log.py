"""One log: what an append gives, when a segment is rolled, and a disk that fills up half-way."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from engine.config import TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.storage import files, records
from engine.storage.batch import Codec, Header, check
from engine.storage.log import Appended
from tests.unit.storage.disk import NOW, Disk, bases, batch, place, sequenced, stored


def test_an_append_gives_a_batch_its_place(disk: Disk) -> None:
    log = disk.open()
    assert log.append(batch(3), 4, NOW) == Appended(0, 2, -1, False)
    assert log.append(batch(2), 4, NOW) == Appended(3, 4, -1, False)
    assert [it.data for it in stored(log)] == [place(batch(3), 0, 4), place(batch(2), 3, 4)]
    assert (log.start_offset, log.end_offset, log.epochs.entries) == (0, 5, [(4, 0)])
    assert log.size == sum(len(it.data) for it in stored(log))


def test_what_is_refused_leaves_no_trace(disk: Disk) -> None:
    log = disk.open()
    log.append(sequenced(7, 0), 0, NOW)
    before = stored(log)
    for bad in (b"", batch()[:-1], sequenced(7, 5), sequenced(7, 0, 2)):
        with pytest.raises(ApiException):
            log.append(bad, 1, NOW)
    assert (stored(log), log.end_offset, log.epochs.entries) == (before, 1, [(0, 0)])


def test_a_duplicate_is_answered_as_before(disk: Disk) -> None:
    log = disk.open()
    for sequence in range(0, 9, 3):
        log.append(sequenced(7, sequence, 3), 0, NOW)
    assert log.append(sequenced(7, 3, 3), 0, NOW) == Appended(3, 5, -1, True)
    assert log.end_offset == 9


def test_log_append_time_is_the_brokers(disk: Disk) -> None:
    log = disk.open(message_timestamp_type="LogAppendTime")
    assert log.append(batch(2, at=5), 0, NOW).append_time == NOW
    ((header, data),) = stored(log)
    assert (header.max_timestamp, header.is_log_append_time) == (NOW, True)
    assert {record.timestamp for record in records.decode(data)} == {NOW}
    assert check(data) == header
    assert log.offset_for_time(NOW) == (0, NOW, 0)


@pytest.mark.parametrize("sent", list(Codec))
@pytest.mark.parametrize("kept", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_may_have_a_codec_of_its_own(disk: Disk, sent: Codec, kept: str) -> None:
    log = disk.open(compression_type=kept)
    made = [records.Record(n, NOW, b"key", b"value" * 20) for n in range(5)]
    log.append(records.encode(made, codec=sent, producer_id=7, base_sequence=0), 0, NOW)
    ((header, data),) = stored(log)
    assert header.codec is (Codec.NONE if kept == "uncompressed" else Codec[kept.upper()])
    assert (check(data), records.decode(data)) == (header, made)
    assert log.producers.known[7].last_sequence == 4


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ({"max_message_bytes": 1000}, ErrorCode.message_too_large),
        ({"segment_bytes": 1000}, ErrorCode.record_list_too_large),
    ],
)
def test_a_batch_is_not_larger_than_allowed_in_the_topics_codec(disk: Disk, limit, code) -> None:
    log = disk.open(compression_type="uncompressed", **limit)
    small = records.encode([records.Record(0, NOW, b"key", bytes(2000))], codec=Codec.GZIP)
    assert len(small) < 200
    with pytest.raises(ApiException, match="the batch has 20") as raised:
        log.append(small, 0, NOW)
    assert raised.value.code is code
    assert log.end_offset == 0


def test_reading_out_of_range(disk: Disk) -> None:
    log = disk.open()
    log.append(batch(5), 0, NOW)
    log.advance_start(2, NOW)
    for offset in (-1, 0, 1, 6):
        with pytest.raises(ApiException, match="has offsets 2 to 5") as raised:
            log.read(offset, 100)
        assert raised.value.code is ErrorCode.offset_out_of_range
    assert log.read(5, 100).size == 0
    assert Header.parse(log.read(2, 100).read()).base_offset == 0  # a batch is never split


# -- rolling ---------------------------------------------------------------------------------


def reasons(disk: Disk) -> list[str]:
    return [event["reason"] for event in disk.told("segment.rolled")]


def test_roll_by_size_before_the_batch_that_does_not_fit(disk: Disk) -> None:
    size = len(batch(1, 100))
    log = disk.open(segment_bytes=3 * size)
    for _ in range(7):
        log.append(batch(1, 100), 0, NOW)
    assert bases(log) == [0, 3, 6]
    assert [segment.size for segment in log.segments] == [3 * size, 3 * size, size]
    assert reasons(disk) == ["size", "size"]


def test_roll_by_the_records_own_time(disk: Disk) -> None:
    log = disk.open(segment_ms=1000)
    for at in (NOW, NOW + 1000, NOW + 1001, NOW + 500, NOW + 2002):
        log.append(batch(at=at), 0, NOW + 10**9)  # whatever the clock says
    assert bases(log) == [0, 2, 4]
    assert reasons(disk) == ["time", "time"]


def test_roll_by_the_clock_where_records_have_no_time(disk: Disk) -> None:
    log = disk.open(segment_ms=1000)
    for now in (NOW + 1000, NOW + 1000, NOW + 1001, NOW + 1002):
        log.append(batch(at=-1), 0, now)
    assert bases(log) == [0, 2]
    assert reasons(disk) == ["time"]


def test_a_compacted_log_rolls_in_time_to_be_compacted(disk: Disk) -> None:
    """Only closed segments are compacted: a deletion must not wait for `segment.ms`."""
    log = disk.open(cleanup_policy=("compact",), max_compaction_lag_ms=1000)
    for at in (NOW, NOW + 1000, NOW + 1001):
        log.append(batch(at=at), 0, NOW)
    assert bases(log) == [0, 2]
    assert reasons(disk) == ["time"]


def test_jitter_makes_segments_roll_earlier_each_at_its_own_time(disk: Disk) -> None:
    log = disk.open(segment_ms=1000, segment_jitter_ms=900)
    for at in range(NOW, NOW + 5000, 10):
        log.append(batch(at=at), 0, NOW)
    begun = [segment.first_timestamp or 0 for segment in log.segments]
    ages = [after - before for before, after in pairwise(begun)]
    assert all(100 < age <= 1010 for age in ages)
    assert len(set(ages)) > 1


def test_roll_when_an_index_is_full(disk: Disk) -> None:
    log = disk.open(index_interval_bytes=0, segment_index_bytes=48)  # 6 offsets, 4 times
    for n in range(20):
        log.append(batch(at=NOW + n), 0, NOW)
    # Of the time index one slot is kept for the close; the first batch needs no entry.
    assert bases(log) == [0, 4, 8, 12, 16]
    assert reasons(disk) == ["index full"] * 4


def test_a_follower_leaps_to_where_an_index_can_reach(disk: Disk) -> None:
    """Compaction may leave a gap that the four bytes of an entry cannot bridge."""
    log = disk.open(index_interval_bytes=0)
    far, farther = 2**31 - 2, 2**40
    log.append_copied(place(batch(2), far), NOW)  # the last offset within reach
    assert bases(log) == [0]
    log.append_copied(place(batch(1), far + 2), NOW)
    log.append_copied(place(batch(1), farther) + place(batch(1), farther + 3), NOW)
    log.append_copied(place(batch(1), farther + 9), NOW)
    assert bases(log) == [0, far + 2, farther]
    assert reasons(disk) == ["offset range", "offset range"]
    assert Header.parse(log.read(far + 3, 1).read()).base_offset == farther
    again = disk.kill()
    assert "log.cut" not in disk.kinds()
    assert (bases(again), again.end_offset) == ([0, far + 2, farther], farther + 10)


def test_an_empty_segment_that_begins_too_early_is_replaced(disk: Disk) -> None:
    log = disk.open()
    log.append_copied(place(batch(1), 2**33), NOW)
    assert bases(log) == [2**33]
    assert [name for name in disk.files() if name.endswith(".log")] == [f"{2**33:020d}.log"]


def test_rolled_indexes_are_trimmed_and_the_new_ones_preallocated(disk: Disk) -> None:
    log = disk.open(segment_index_bytes=10 << 20, index_interval_bytes=200)
    for n in range(10):
        log.append(batch(1, 100, at=NOW + n), 0, NOW)
    active = log.active.paths[1].stat()
    assert active.st_size == 10 << 20
    assert active.st_blocks * 512 < 1 << 20
    log.roll(NOW)
    log.append(batch(), 0, NOW)
    closed = log.segments[0]
    assert [path.stat().st_size for path in closed.paths[1:]] == [4 * 8, 5 * 12]
    assert closed.times[-1] == (NOW + 9, 9)  # the largest timestamp, as a segment is closed
    assert log.active.paths[1].stat().st_size == 10 << 20


def test_an_empty_segment_is_not_rolled(disk: Disk) -> None:
    log = disk.open()
    log.roll(NOW)
    assert (bases(log), disk.kinds()) == ([0], [])


# -- flushing --------------------------------------------------------------------------------


def test_flush_by_messages_and_by_time(disk: Disk) -> None:
    log = disk.open(flush_messages=5, flush_ms=1000)
    log.append(batch(4), 0, NOW)
    assert log.recovery_point == 0
    log.append(batch(1), 0, NOW)
    assert log.recovery_point == 5
    log.append(batch(1), 0, NOW)
    log.flush_if_due(NOW + 999)
    assert log.recovery_point == 5
    log.flush_if_due(NOW + 1000)
    assert (log.recovery_point, log.last_flush) == (6, NOW + 1000)


def test_a_flush_forces_the_epochs_before_the_directory(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, forced = disk.open(), list[str]()
    log.append(batch(), 3, NOW)
    monkeypatch.setattr(files, "flush_path", lambda path: forced.append(path.name))
    log.flush(NOW)
    assert forced == [log.epochs.path.name, log.directory.name]


def test_a_flush_forces_every_file_since_the_recovery_point(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    monkeypatch.setattr(files, "flush", lambda fd: forced.append(str(os.fstat(fd).st_ino)))
    log = disk.open()
    for _ in range(3):
        log.append(batch(), 0, NOW)
        log.roll(NOW)
    log.flush(NOW)
    assert set(forced) == {str(path.stat().st_ino) for it in log.segments for path in it.paths}
    forced.clear()
    log.append(batch(), 0, NOW)
    log.flush(NOW)
    assert set(forced) == {str(path.stat().st_ino) for path in log.active.paths}


def test_flushed_records_leave_the_indexes_out_where_no_file_is_new(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    monkeypatch.setattr(files, "flush", lambda fd: forced.append(str(os.fstat(fd).st_ino)))
    log = disk.open()

    def flushed_after_an_append(epoch: int) -> set[str]:
        log.append(batch(), epoch, NOW)
        forced.clear()
        log.flush_records(NOW)
        assert log.recovery_point == log.end_offset
        return set(forced)

    def all_files() -> set[str]:
        return {str(path.stat().st_ino) for path in log.active.paths}

    assert flushed_after_an_append(1) == all_files()
    assert flushed_after_an_append(1) == {str(log.active.path.stat().st_ino)}
    assert flushed_after_an_append(2) == all_files()
    log.roll(NOW)
    assert flushed_after_an_append(2) >= all_files()


def test_the_topic_id_is_flushed_before_the_first_record(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, forced = disk.open(), list[tuple[str, int]]()
    size = lambda: log.active.path.stat().st_size  # noqa: E731
    monkeypatch.setattr(files, "flush_path", lambda path: forced.append((path.name, size())))
    log.assign_topic_id(UUID(int=7))
    assert forced == []
    log.append(batch(), 0, NOW)
    log.append(batch(), 0, NOW)
    assert forced == [("partition.metadata", 0), (log.directory.name, 0)]


# -- a disk that fills up --------------------------------------------------------------------

Append = Callable[[int, Sequence[files.Buffer]], int]


def half(fd: int, parts: Sequence[files.Buffer]) -> int:
    whole = b"".join(bytes(part) for part in parts)
    return os.write(fd, whole[: len(whole) // 2])


def nothing(fd: int, parts: Sequence[files.Buffer]) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def half_and_fail(fd: int, parts: Sequence[files.Buffer]) -> int:
    half(fd, parts)
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("failing", [half, nothing, half_and_fail])
@pytest.mark.parametrize("copied", [False, True])
def test_of_an_append_that_fails_nothing_stays(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, failing: Append, copied: bool
) -> None:
    log = disk.open(index_interval_bytes=0, segment_bytes=1000)

    def append(number: int, epoch: int) -> None:
        if copied:
            log.append_copied(place(sequenced(7, number, size=200), number, epoch), NOW)
        else:
            log.append(sequenced(7, number, size=200), epoch, NOW)

    for number in range(9):
        if number in (0, 2, 6):  # an empty file, a file with room, and one that is full
            with monkeypatch.context() as patch:
                patch.setattr(files, "append", failing)
                with pytest.raises(ApiException, match=r"cannot append to .*\.log") as raised:
                    append(number, number)
                assert raised.value.code is ErrorCode.kafka_storage_error
            assert log.end_offset == number
            assert log.size == sum(path.stat().st_size for path in log.directory.glob("*.log"))
        append(number, number)  # there is room again
    assert [it.data for it in stored(log)] == [
        place(sequenced(7, number, size=200), number, number) for number in range(9)
    ]
    before = stored(log), log.epochs.entries, log.producers.known[7].last_sequence
    again = disk.kill()
    assert "log.cut" not in disk.kinds()
    assert before == (stored(again), again.epochs.entries, again.producers.known[7].last_sequence)


SMALL_DISK = """
import resource, signal, sys
from pathlib import Path
from engine.config import TopicConfig
from engine.errors import ApiException
from tests.unit.storage.disk import NOW, ORDERS, batch
from engine.storage.loading import load

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
log = load(Path(sys.argv[1]), ORDERS, TopicConfig(segment_index_bytes=120), now=NOW)
for _ in range(9):
    try:
        log.append(batch(1, 340), 0, NOW)
    except ApiException as error:
        print(log.end_offset, log.active.path.stat().st_size == log.size, error.message)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(log.append(batch(1, 340), 0, NOW).first_offset)
"""


def test_a_file_that_may_really_not_grow(disk: Disk) -> None:
    """The kernel writes a part of the batch, up to the limit: a short write, and a real one."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SMALL_DISK, disk.directory],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    first, second = run.stdout.splitlines()
    assert first.startswith("7 True cannot append to ")
    assert second == "7"
    log = disk.open()
    assert "log.cut" not in disk.kinds()
    assert [it.header.base_offset for it in stored(log)] == list(range(8))


def test_a_roll_that_fails_is_done_by_the_next_append(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = disk.open(segment_bytes=100)
    log.append(batch(), 0, NOW)

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", fail)  # the snapshot of the producers
        with pytest.raises(OSError, match="No space"):
            log.append(batch(), 0, NOW)
    assert (bases(log), log.end_offset) == ([0], 1)
    log.append(batch(), 0, NOW)
    assert (bases(log), log.end_offset) == ([0, 1], 2)
    assert disk.kill().end_offset == 2


# -- cutting ---------------------------------------------------------------------------------


def test_truncation_behind_a_gap_ends_the_log_before_it(disk: Disk) -> None:
    """Or a new leader's records at 7, 8 and 9 would never be fetched."""
    log = disk.open()
    log.append_copied(place(batch(5), 0) + place(batch(5), 10), NOW)
    log.truncate(7, NOW)
    assert log.end_offset == 7
    log.append_copied(place(batch(3), 7, 1), NOW)
    assert [it.header.base_offset for it in stored(log)] == [0, 7]


def test_a_reader_goes_on_while_segments_are_cut_away(disk: Disk) -> None:
    log = disk.open(segment_bytes=100)
    for _ in range(3):
        log.append(batch(), 0, NOW)
    slices = [log.read(offset, 1000) for offset in (0, 2)]  # 1 will be cut in its file
    before = [it.read() for it in slices]
    log.truncate(1, NOW)
    log.restart_at(0, NOW)
    log.append(batch(), 0, NOW)
    assert [it.read() for it in slices] == before
    log.sweep(NOW + log.config.file_delete_delay_ms - 1)
    assert [it.read() for it in slices] == before
    log.sweep(NOW + log.config.file_delete_delay_ms)
    assert all(it.file.closed for it in slices)
    assert sorted(path.name for path in log.directory.glob("*.log*")) == [f"{0:020d}.log"]


def test_advancing_the_start(disk: Disk) -> None:
    log = disk.open()
    log.append(batch(5), 0, NOW)
    log.advance_start(3, NOW)
    log.advance_start(2, NOW)  # never back
    assert (log.start_offset, log.epochs.entries) == (3, [(0, 3)])
    assert [event["start_offset"] for event in disk.told("log.start")] == [3]


def test_a_new_configuration_counts_from_the_next_append(disk: Disk) -> None:
    log = disk.open()
    log.append(batch(), 0, NOW)
    log.reconfigure(TopicConfig(segment_bytes=100, segment_index_bytes=4096))
    log.append(batch(), 0, NOW)
    assert bases(log) == [0, 1]
