"""Transactions in a log: what is told of them, and what of it outlives a restart or a cut.

p7: 0, 3 .. aborted at 4      p8: 2 .. open      p9: 5, 6 .. committed at 7
"""

import os
from unittest.mock import patch

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage import control, snapshots
from engine.storage.aborted import Aborted, read_aborted
from engine.storage.batch import Codec, Header
from engine.storage.control import ControlType, Marker
from engine.storage.log import Log
from engine.storage.segment import file_name
from tests.unit.storage.disk import NOW, Disk, batch, marker, sequenced, stored

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT
ENTRY = Aborted(7, 0, 4, 2)  # p8 was open when p7 ended


def write(log: Log, producer: int, sequence: int) -> None:
    log.append(sequenced(producer, sequence, transactional=True), 0, NOW)


def end(log: Log, producer: int, kind: ControlType) -> None:
    log.append(marker(producer, kind), 0, NOW, client=False)


def story(log: Log) -> Log:
    write(log, 7, 0)
    log.append(batch(), 0, NOW)
    write(log, 8, 0)
    write(log, 7, 1)
    end(log, 7, ABORT)
    log.roll(NOW)
    write(log, 9, 0)
    write(log, 9, 1)
    end(log, 9, COMMIT)
    return log


def knows_the_story(log: Log) -> None:
    assert log.aborted(0, log.end_offset) == (ENTRY,)
    assert log.producers.open == {8: 2}
    assert log.producers.known[7].coordinator_epoch == 0
    assert log.producers.first_unstable(log.end_offset) == 2


def test_an_entry_stands_where_its_marker_is(disk: Disk) -> None:
    log = story(disk.open())
    knows_the_story(log)
    assert [name for name in disk.files() if "txnindex" in name] == [file_name(0, ".txnindex")]
    assert read_aborted(disk.directory / file_name(0, ".txnindex")) == [ENTRY]
    end(log, 8, ABORT)
    assert read_aborted(disk.directory / file_name(5, ".txnindex")) == [Aborted(8, 2, 8, 9)]
    assert log.aborted(0, 9) == (ENTRY, Aborted(8, 2, 8, 9))
    assert log.aborted(5, 9) == (Aborted(8, 2, 8, 9),)
    assert log.aborted(0, 1) == (ENTRY,)


def test_a_refused_marker_leaves_no_trace(disk: Disk) -> None:
    log = disk.open()
    write(log, 7, 0)
    log.append(marker(7, ABORT, coordinator=2), 0, NOW, client=False)
    before = stored(log)
    with pytest.raises(ApiException) as raised:
        log.append(marker(7, ABORT, coordinator=1), 0, NOW, client=False)
    assert raised.value.code is ErrorCode.transaction_coordinator_fenced
    with pytest.raises(ApiException) as raised:
        log.append(marker(7, ABORT, coordinator=2), 0, NOW)
    assert raised.value.code is ErrorCode.invalid_record  # a client's
    assert (stored(log), log.aborted(0, 9)) == (before, (Aborted(7, 0, 1, 2),))


def test_a_marker_is_stored_as_it_is(disk: Disk) -> None:
    log = disk.open(compression_type="gzip")
    made = marker(7, COMMIT, coordinator=3)
    log.append(made, 0, NOW, client=False)
    [(header, data)] = stored(log)
    assert (header.codec, data[16:]) == (Codec.NONE, made[16:])
    assert control.find(data, header) == Marker(COMMIT, 3)


@pytest.mark.parametrize("how", ["clean", "killed"])
def test_a_restart_knows_it_again(disk: Disk, how: str) -> None:
    story(disk.open())
    log = disk.restart() if how == "clean" else disk.kill()
    knows_the_story(log)
    end(log, 8, ABORT)
    assert log.aborted(0, 9) == (ENTRY, Aborted(8, 2, 8, 9))


@pytest.mark.parametrize("how", ["clean", "killed"])
@pytest.mark.parametrize(
    ("high_watermark", "unstable"), [(0, 0), (4, 0), (5, 5), (7, 5), (8, 9), (10, 9), (11, None)]
)
def test_a_restart_knows_which_ends_are_not_replicated(
    disk: Disk, how: str, high_watermark: int, unstable: int | None
) -> None:
    log = disk.open()
    write(log, 7, 0)
    for _ in range(3):
        write(log, 7, log.end_offset)
    end(log, 7, ABORT)  # 4
    log.roll(NOW)
    write(log, 9, 0)
    write(log, 9, 1)
    end(log, 9, COMMIT)  # 7
    log.append(batch(), 0, NOW)
    log.roll(NOW)
    write(log, 9, 2)
    end(log, 9, ABORT)  # 10
    restart = disk.restart if how == "clean" else disk.kill
    log = restart(high_watermark=high_watermark)
    assert log.producers.first_unstable(high_watermark) == unstable


def test_of_ends_that_are_replicated_a_clean_start_reads_nothing(disk: Disk) -> None:
    story(disk.open()).append(batch(), 0, NOW)
    with patch.object(snapshots, "_marker", wraps=snapshots._marker) as read:
        disk.restart(high_watermark=9)
        disk.restart(high_watermark=8)
        read.assert_not_called()
        disk.restart(high_watermark=7)
        read.assert_called()


@pytest.mark.parametrize(
    ("offset", "open_"),
    [(8, {8: 2}), (7, {8: 2, 9: 5}), (5, {8: 2}), (4, {7: 0, 8: 2}), (2, {7: 0})],
)
def test_a_cut_takes_the_ends_behind_it(disk: Disk, offset: int, open_: dict[int, int]) -> None:
    """With a high watermark of 3: p7's end at 4, in another segment, is still not replicated."""
    log = story(disk.open())
    log.truncate(offset, NOW)
    assert log.producers.open == open_
    assert log.producers.first_unstable(3) == 0
    assert log.aborted(0, 8) == ((ENTRY,) if offset > 4 else ())


def test_a_log_that_begins_anew_knows_of_no_transaction(disk: Disk) -> None:
    log = story(disk.open())
    log.restart_at(100, NOW)
    assert (log.aborted(0, 200), log.producers.first_unstable(0)) == ((), None)
    log.sweep(NOW + 60_000)
    assert not [name for name in disk.files() if "txnindex" in name]


def test_the_index_goes_with_its_segment(disk: Disk) -> None:
    log = story(disk.open())
    log.drop(log.segments[:1], NOW, "a test")
    assert file_name(0, ".txnindex.deleted") in disk.files()
    assert log.aborted(0, 8) == ()
    log.sweep(NOW + 60_000)
    assert not [name for name in disk.files() if "txnindex" in name]


def test_a_follower_learns_what_its_leader_knows(disk: Disk) -> None:
    leader = story(disk.open())
    data = b"".join(it.data for it in stored(leader))
    disk.abandon()
    disk.write({})
    follower = disk.open()
    follower.append_copied(data, NOW)
    knows_the_story(follower)


@pytest.mark.parametrize("damage", [b"torn", bytes(34), b"", "as of another segment"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_damaged_index_is_made_anew(disk: Disk, damage: bytes | str, clean: bool) -> None:
    log = story(disk.open())
    end(log, 8, ABORT)  # 8
    log.roll(NOW)
    log.append(batch(), 0, NOW)
    log.close(NOW)
    entries = bytes.fromhex("0000 0000000000000007" + "0000000000000000" + f"{99:016x}" * 2)
    path = disk.directory / file_name(0, ".txnindex")
    path.write_bytes(damage if isinstance(damage, bytes) else entries)
    log = disk.kill(clean=clean, recovery_point=log.end_offset if clean else 0)
    if damage or not clean:  # an empty one looks like one of a segment without aborts
        assert log.aborted(0, 10) == (ENTRY, Aborted(8, 2, 8, 9))
        assert path.read_bytes()[-8:] == (2).to_bytes(8, "big")
    assert disk.kinds() == ["index.rebuilt"] * (clean and bool(damage))


def test_a_torn_marker_is_no_end(disk: Disk) -> None:
    log = story(disk.open())
    path, size = log.active.path, log.active.size
    disk.abandon()
    os.truncate(path, size - 1)
    log = disk.open()
    assert log.producers.open == {8: 2, 9: 5}
    assert log.end_offset == 7


def test_a_marker_that_a_bit_was_flipped_in_says_nothing(disk: Disk) -> None:
    """After a clean stop nobody checks the CRC of each batch, but of a marker that is replayed."""
    log = story(disk.open())
    *_, last = stored(log)
    path = log.active.path
    log.close(NOW)
    data = path.read_bytes()
    assert last.data[-2] == 0  # the coordinator's epoch
    path.write_bytes(data[:-2] + b"\x01" + data[-1:])
    log = disk.kill(clean=True, high_watermark=0)
    assert log.producers.open == {8: 2, 9: 5}


# -- how far a read got ----------------------------------------------------------------------


def test_a_read_is_followed_by_the_next_index_entry(disk: Disk) -> None:
    log = disk.open(index_interval_bytes=200)
    for _ in range(12):
        log.append(batch(), 0, NOW)
    log.roll(NOW)
    log.append(batch(), 0, NOW)
    indexed = [log.segments[0].offsets[n][0] for n in range(log.segments[0].offsets.count)]
    assert len(indexed) > 2
    size = len(stored(log)[0].data)
    for count in range(1, 12):
        reach = log.reach(0, log.read(0, count * size))
        assert reach == next((it for it in indexed if it >= count), 12)
    assert log.reach(12, log.read(12, size)) == 13


def test_a_lying_index_entry_is_not_believed(disk: Disk) -> None:
    log = disk.open(index_interval_bytes=200)
    for _ in range(12):
        log.append(batch(), 0, NOW)
    log.roll(NOW)
    index = log.segments[0].offsets
    true = [index[n] for n in range(index.count)]
    index.reset(1200)
    index.append(0, true[1][1])
    size = len(stored(log)[0].data)
    assert log.segments[0].following(size) == true[0][0]
    assert [index[n] for n in range(index.count)] == true


def test_an_entry_that_a_full_disk_refused_is_known_all_the_same(disk: Disk) -> None:
    log = disk.open(flush_messages=1)
    write(log, 7, 0)
    with (
        patch("engine.storage.aborted.files.append", _only_logs),
        pytest.raises(ApiException) as raised,
    ):
        end(log, 7, ABORT)
    assert raised.value.code is ErrorCode.kafka_storage_error
    assert (log.end_offset, log.recovery_point) == (2, 1)
    assert log.aborted(0, 2) == (Aborted(7, 0, 1, 2),)
    assert disk.kill(recovery_point=1).aborted(0, 2) == (Aborted(7, 0, 1, 2),)


def _only_logs(fd: int, parts: list[bytes]) -> int:
    if len(parts) == 1:
        raise OSError("full")
    return os.writev(fd, parts)


def test_the_headers_tell_the_story(disk: Disk) -> None:
    """What the picture above says."""
    headers: list[Header] = [it.header for it in stored(story(disk.open()))]
    shown = [(it.base_offset, it.producer_id, it.is_control) for it in headers]
    assert shown == [
        *[(0, 7, False), (1, -1, False), (2, 8, False), (3, 7, False), (4, 7, True)],
        *[(5, 9, False), (6, 9, False), (7, 9, True)],
    ]
