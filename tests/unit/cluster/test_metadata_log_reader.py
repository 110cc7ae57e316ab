"""The metadata log, read from the disks of its voters while they write it."""

import pytest

from engine.cluster.kraft.metadata_log_reader import (
    MetadataEntryKind,
    MetadataLogEntry,
    MetadataLogReader,
)
from engine.metadata.records.brokers import FeatureLevelRecord, NoOpRecord
from engine.metadata.records.framing import encode_record
from engine.raft.control_records import leader_change
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import records
from engine.storage.directory import METADATA
from engine.storage.records import Record

VOTERS = 101, 102, 103
LEVEL = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=7))
IDLE = encode_record(NoOpRecord())


class Voter:
    """A voter's directory, and what it writes."""

    def __init__(self, path):
        self.path = path / METADATA
        self.directory = MetadataDirectory(path, VOTERS, 0)

    def append(self, *values, epoch, at=1000):
        rows = [Record(number, at, None, value) for number, value in enumerate(values)]
        self.directory.log.append(records.encode(rows), epoch, 0)
        self.directory.log.flush(0)

    def lead(self, epoch, leader):
        batch = leader_change(leader, VOTERS, [leader], 1000)
        self.directory.log.append(batch, epoch, 0)
        self.directory.log.flush(0)

    def snapshot(self, end):
        data = encode_snapshot([LEVEL], 0, 2000, epoch=end.epoch)
        self.directory.segments.roll(0)
        self.directory.log.write_snapshot(end, 0, data)
        self.directory.log.finish_snapshot(end)
        self.directory.log.delete_before(end, 0)


@pytest.fixture
def voters(tmp_path):
    found = [Voter(tmp_path / str(number)) for number in VOTERS]
    yield found
    for voter in found:
        voter.directory.close(0)


@pytest.fixture
def reader(voters):
    return MetadataLogReader(lambda: [voter.path for voter in voters])


def said(entries):
    return [(entry.kind.value, entry.offset, entry.epoch, entry.record) for entry in entries]


def test_a_record_is_there_once_although_each_voter_has_it(voters, reader):
    for voter in voters:
        voter.lead(1, 101)
        voter.append(LEVEL, IDLE, epoch=1)
    assert said(reader.entries()) == [
        ("record", 0, 1, "LeaderChangeMessage"),
        ("record", 1, 1, "FeatureLevelRecord"),
        ("record", 2, 1, "NoOpRecord"),
    ]
    assert [entry.number for entry in reader.entries()] == [1, 2, 3]
    level = reader.entries()[1]
    assert level.fields == {"name": "metadata.version", "featureLevel": 7}
    assert level.at == 1000
    assert reader.ends() == {voter.path: 3 for voter in voters}


def test_only_what_is_new_is_read_again(voters, reader):
    voters[0].append(LEVEL, epoch=1)
    assert len(reader.entries()) == 1
    assert reader.entries(1) == []
    voters[0].append(IDLE, epoch=1)
    assert said(reader.entries(1)) == [("record", 1, 1, "NoOpRecord")]


def test_the_record_of_the_later_leader_replaces_one_that_no_majority_had(voters, reader):
    old, new, _ = voters
    for voter in voters:
        voter.lead(1, 101)
    old.append(LEVEL, IDLE, epoch=1)
    reader.entries()
    new.lead(2, 102)
    assert said(reader.entries(3)) == [
        ("truncated", 1, 1, ""),
        ("record", 1, 2, "LeaderChangeMessage"),
    ]
    # It follows, and truncates. The new records are as long as the old ones.
    old.directory.log.truncate(1, 0)
    old.lead(2, 102)
    old.append(IDLE, epoch=2)
    assert said(reader.entries(5)) == [("record", 2, 2, "NoOpRecord")]
    assert reader.epochs() == ((1, 0), (2, 1))


def test_a_record_of_an_old_leader_that_comes_late_is_not_shown(voters, reader):
    voters[1].lead(2, 102)
    reader.entries()
    voters[0].append(LEVEL, epoch=1)
    assert len(reader.entries()) == 1


def test_a_snapshot_tells_how_many_records_stand_for_how_many(voters, reader):
    voters[0].append(LEVEL, IDLE, IDLE, epoch=1)
    reader.entries()
    voters[0].snapshot(OffsetAndEpoch(3, 1))
    voters[0].append(IDLE, epoch=1)
    found = reader.entries(3)
    assert sorted(said(found)) == [("record", 3, 1, "NoOpRecord"), ("snapshot", 3, 1, "")]
    (snapshot,) = [entry for entry in found if entry.kind is MetadataEntryKind.SNAPSHOT]
    assert snapshot.fields == {"FeatureLevelRecord": 1}


def test_a_cluster_that_is_gone_leaves_what_was_read(tmp_path):
    reader = MetadataLogReader(lambda: [tmp_path / "nobody"])
    assert reader.entries() == []


def test_a_track_has_each_entry_once_and_can_be_parsed(voters, reader):
    track = reader.track()
    voters[0].append(LEVEL, epoch=1)
    (row,) = track()
    assert MetadataLogEntry.parse(row) == reader.entries()[0]
    assert track() is None
