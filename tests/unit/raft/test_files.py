"""The files of a node: quorum state, snapshots, `bootstrap.checkpoint`, and damage to each."""

import pytest

from engine.errors import ApiException
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import encode_record
from engine.raft.control_records import QuorumControlType, decode_control, leader_change
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import ElectionState, OffsetAndEpoch
from engine.raft.quorum_state_file import QuorumStateFile
from engine.raft.snapshot_files import SnapshotFiles
from engine.raft.snapshot_records import decode_snapshot, encode_snapshot
from engine.storage.batch import scan
from engine.storage.checkpoints import read_topic_id
from engine.storage.records import stream
from tests.unit.raft.nodes import batch

VOTERS = (101, 102)
# bootstrap.checkpoint, as `kafka-storage format --release-version 3.3` of Kafka 3.9.1 writes it.
BOOTSTRAP = bytes.fromhex(
    "00000000000000000000004700000000026d4b97f1002000000000000001a21e40344300"
    "0001a21e403443ffffffffffffffffffffffffffff000000012a00000008000000031600"
    "000000000000000000000000000000000000010000004f00000000022187cb5b00000000"
    "0000000001a21e403463000001a21e403463ffffffffffffffffffffffffffff00000001"
    "3a000000012e010c00116d657461646174612e76657273696f6e00070000000000000000"
    "00020000003f000000000203036c2c002000000000000001a21e403464000001a21e4034"
    "64ffffffffffffffffffffffffffff000000011a00000008000000040600000000"
)
# __cluster_metadata-0/quorum-state of a leader, by the same release.
QUORUM_STATE = (
    '{"clusterId":"","leaderId":101,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":101}],"data_version":0}'
)


# -- quorum-state ----------------------------------------------------------------------------


def test_the_quorum_state_is_kafkas_to_the_byte(tmp_path):
    file = QuorumStateFile(tmp_path, [101])
    assert file.read() is None
    file.write(ElectionState(1, leader=101))
    assert file.path.read_text() == QUORUM_STATE
    assert file.read() == ElectionState(1, leader=101)


def test_a_vote_survives_and_is_forgotten_once_the_leader_is_known(tmp_path):
    file = QuorumStateFile(tmp_path, VOTERS)
    file.write(ElectionState(7, voted=102))
    assert file.read() == ElectionState(7, voted=102)
    file.path.write_text(file.path.read_text().replace('"leaderId":-1', '"leaderId":101'))
    assert file.read() == ElectionState(7, leader=101)


def test_a_file_of_other_voters_is_refused(tmp_path):
    """The new ones have no log, and may be the majority."""
    QuorumStateFile(tmp_path, [101]).write(ElectionState(1, leader=101))
    file = QuorumStateFile(tmp_path, [101, 102, 103])
    assert file.voters() == [101]
    with pytest.raises(ApiException, match=r"quorum-state is of the voters 101, and .* 102, 103: "):
        file.read()
    assert file.path.read_text() == QUORUM_STATE


def test_the_file_of_a_dynamic_quorum_is_read(tmp_path):
    file = QuorumStateFile(tmp_path, VOTERS)
    file.path.write_text(
        '{"leaderId":-1,"leaderEpoch":4,"votedId":102,'
        '"votedDirectoryId":"7iBgancjbi8a8Ky6ppt3ew","data_version":1}'
    )
    assert file.read() == ElectionState(4, voted=102)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", QUORUM_STATE[:-2], QUORUM_STATE.replace("101,", '"x",', 1),
     QUORUM_STATE.replace('"data_version":0', '"data_version":9')],
)  # fmt: skip
def test_a_quorum_state_that_makes_no_sense_is_an_error_with_its_name(text, tmp_path):
    file = QuorumStateFile(tmp_path, VOTERS)
    file.path.write_text(text)
    with pytest.raises(ApiException, match=r"malformed .*/quorum-state: "):
        file.read()


# -- snapshots -------------------------------------------------------------------------------


def test_bootstrap_checkpoint_is_kafkas_to_the_byte(tmp_path):
    value = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=7))
    content = decode_snapshot(BOOTSTRAP, tmp_path)
    assert [record.value for record in content.records] == [value]
    headers = [header for _, header in scan(BOOTSTRAP)]
    made = encode_snapshot([value], content.last_contained_ms, headers[0].max_timestamp)
    assert len(made) == len(BOOTSTRAP) == 249
    # Kafka's three batches have a time each; all else is the same.
    times = [header.max_timestamp for header in headers]
    for (place, ours), (_, theirs) in zip(scan(made), scan(BOOTSTRAP), strict=True):
        assert ours._replace(crc=0, base_timestamp=0, max_timestamp=0) == theirs._replace(
            crc=0, base_timestamp=0, max_timestamp=0
        )
        after = place + 61
        assert made[after : place + ours.size] == BOOTSTRAP[after : place + ours.size]
    assert len(set(times)) == 3


def test_a_large_snapshot_has_several_batches(tmp_path):
    values = [b"%6d" % number * 20_000 for number in range(30)]
    data = encode_snapshot(values, 5, 6, epoch=3)
    content = decode_snapshot(data, tmp_path)
    assert content.last_contained_ms == 5
    assert [record.value for record in content.records] == values
    assert [record.offset for record in content.records] == list(range(1, 31))
    assert len(list(scan(data))) > 4
    assert {header.leader_epoch for _, header in scan(data)} == {3}


SNAPSHOT = encode_snapshot([b"one", b"two"], 5, 6)
FOOTER_AT = [place for place, _ in scan(SNAPSHOT)][-1]


@pytest.mark.parametrize(
    ("data", "place", "why"),
    [
        (SNAPSHOT[:-1], FOOTER_AT, "the rest is no whole batch"),
        (SNAPSHOT[:FOOTER_AT], FOOTER_AT, "it ends without a footer"),
        (SNAPSHOT[:100] + b"x" + SNAPSHOT[101:], 83, "the batch does not match the CRC"),
        (SNAPSHOT[83:], 0, "the first record is no snapshot header"),
        (SNAPSHOT + SNAPSHOT, len(SNAPSHOT), "there are batches after the footer"),
        (b"", 0, "the rest is no whole batch"),
    ],
)
def test_a_damaged_snapshot_ends_in_a_sentence_with_file_and_byte(data, place, why, tmp_path):
    path = tmp_path / "00000000000000000002-0000000001.checkpoint"
    path.write_bytes(data)
    with pytest.raises(ApiException, match=f"0001.checkpoint, byte {place}: {why}"):
        SnapshotFiles(tmp_path)


def test_a_snapshot_gets_its_name_when_it_is_whole(tmp_path):
    id, files = OffsetAndEpoch(80, 4), SnapshotFiles(tmp_path)
    files.write(id, 0, SNAPSHOT[:50])
    files.write(id, 20, SNAPSHOT[20:])
    assert files.ids == []
    assert [path.name for path in tmp_path.iterdir()] == [
        "00000000000000000080-0000000004.checkpoint.part"
    ]
    files.finish(id)
    assert files.ids == SnapshotFiles(tmp_path).ids == [id]
    assert (files.size(id), files.read(id, 10, 5)) == (len(SNAPSHOT), SNAPSHOT[10:15])
    files.write(OffsetAndEpoch(90, 4), 0, SNAPSHOT[:50])
    with pytest.raises(ApiException, match=r"checkpoint\.part, byte 0: the rest is no whole"):
        files.finish(OffsetAndEpoch(90, 4))
    assert SnapshotFiles(tmp_path).ids == [id]  # a new process forgets what was not finished
    files.delete(id)
    assert list(tmp_path.iterdir()) == []


# -- the directory ---------------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path):
    """Opens the directory, as a new process does; in the end all files are closed."""
    directories = []

    def open_directory():
        for directory in directories:
            directory.segments.abandon()
        directories.append(MetadataDirectory(tmp_path, VOTERS, 0))
        return directories[-1]

    yield open_directory
    for directory in directories:
        directory.segments.abandon()


def test_the_log_is_segments_as_of_any_partition(opened, tmp_path):
    directory = opened()
    directory.log.append(leader_change(101, VOTERS, [101], 0), 3, 0)
    directory.log.append(batch(), 3, 0)
    directory.log.flush(0)
    path = tmp_path / "__cluster_metadata-0"
    data = (path / "00000000000000000000.log").read_bytes()
    (place, first), (_, second) = scan(data)
    assert (first.is_control, first.leader_epoch, second.base_offset) == (True, 3, 1)
    (record,) = stream(data[place : place + first.size])
    type, message = decode_control(record)
    assert (type, message.leader_id) == (QuorumControlType.LEADER_CHANGE, 101)
    assert (path / "leader-epoch-checkpoint").read_text() == "0\n1\n3 0\n"
    assert read_topic_id(path / "partition.metadata").int == 1
    directory.close(0)
    assert opened().log.end == OffsetAndEpoch(2, 3)


def test_a_snapshot_replaces_the_start_of_the_log_and_both_survive(opened):
    directory = opened()
    for number in range(6):
        directory.log.append(batch(), 1 + number // 4, 0)
    snapshot = OffsetAndEpoch(5, 2)
    directory.segments.roll(0)
    directory.log.append(batch(), 2, 0)
    directory.log.write_snapshot(snapshot, 0, SNAPSHOT)
    directory.log.finish_snapshot(snapshot)
    directory.log.delete_before(snapshot, 0)
    assert directory.log.start_offset == 5
    log = opened().log
    assert (log.end, log.last_snapshot) == (OffsetAndEpoch(7, 2), snapshot)


def test_segments_before_a_snapshot_are_deleted(opened):
    directory = opened()
    for _ in range(3):
        directory.log.append(batch(), 1, 0)
        directory.segments.roll(0)
    snapshot = OffsetAndEpoch(2, 1)
    directory.log.write_snapshot(snapshot, 0, SNAPSHOT)
    directory.log.finish_snapshot(snapshot)
    directory.log.delete_before(snapshot, 0)
    assert len([*directory.path.glob("*.log.deleted")]) == 2
    directory.log.delete_before(snapshot, directory.segments.config.file_delete_delay_ms)
    assert [*directory.path.glob("*.deleted")] == []
    log = opened().log
    assert (log.start_offset, log.end) == (2, OffsetAndEpoch(3, 1))


def test_a_log_that_was_replaced_by_a_snapshot_begins_at_its_end(opened):
    directory = opened()
    directory.log.append(batch(), 1, 0)
    snapshot = OffsetAndEpoch(50, 4)
    directory.log.write_snapshot(snapshot, 0, SNAPSHOT)
    directory.log.finish_snapshot(snapshot)  # here the process dies
    directory = opened()
    assert (directory.log.start_offset, directory.log.end) == (50, OffsetAndEpoch(50, 4))
    directory.log.append(batch(), 6, 0)
    assert opened().log.end == OffsetAndEpoch(51, 6)


def three_batches(opened):
    directory = opened()
    for _ in range(3):
        directory.log.append(batch(), 1, 0)
    directory.log.flush(0)
    directory.segments.abandon()
    path = directory.path / "00000000000000000000.log"
    return path, path.read_bytes(), [place for place, _ in scan(path.read_bytes())]


def test_a_torn_end_is_cut(opened):
    path, data, (_, _, last) = three_batches(opened)
    path.write_bytes(data[: last + 30])
    directory = opened()
    assert directory.log.end.offset == 2
    assert path.read_bytes() == data[:last]


def test_damage_before_the_end_is_refused_and_nothing_is_cut(opened):
    path, data, (_, middle, _) = three_batches(opened)
    broken = bytearray(data)
    broken[middle + 63] ^= 1
    path.write_bytes(broken)
    with pytest.raises(
        ApiException, match=rf"0\.log, byte {middle}: the batch at offset 1 is damaged, and whole"
    ):
        opened()
    assert path.read_bytes() == broken


def test_a_log_that_begins_after_its_last_snapshot_is_refused(opened):
    directory = opened()
    directory.segments.restart_at(40, 0)
    directory.segments.abandon()
    with pytest.raises(ApiException, match=r"begins at offset 40.* no snapshot is there"):
        opened()
    directory.snapshots.write(OffsetAndEpoch(30, 1), 0, SNAPSHOT)
    directory.snapshots.finish(OffsetAndEpoch(30, 1))
    with pytest.raises(ApiException, match="the last one ends at 30"):
        opened()
