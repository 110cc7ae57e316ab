"""Which features are finalized, from the records and from a snapshot."""

from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import encode_record
from engine.quorum_server.features import FinalizedFeatures
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import records
from engine.storage.records import Record


def level(number):
    return encode_record(FeatureLevelRecord(name="metadata.version", feature_level=number))


def batch(*values):
    return records.encode([Record(n, 1, None, value) for n, value in enumerate(values)])


def test_a_record_counts_when_it_is_committed(tmp_path):
    directory = MetadataDirectory(tmp_path, [1], 0)
    for value in (level(7), level(8), level(0)):
        directory.log.append(batch(value), 1, 0)
    features = FinalizedFeatures(directory.log, directory.snapshots)
    assert (features.levels, features.epoch) == ({}, -1)
    features.committed(1)
    assert (features.levels, features.epoch) == ({"metadata.version": 7}, 0)
    features.committed(2)
    assert (features.levels, features.epoch) == ({"metadata.version": 8}, 1)
    features.committed(3)
    assert (features.levels, features.epoch) == ({}, 2)
    directory.close(0)


def test_a_snapshot_stands_for_the_records_before_the_start_of_the_log(tmp_path):
    directory = MetadataDirectory(tmp_path, [1], 0)
    snapshot = OffsetAndEpoch(5, 2)
    directory.log.write_snapshot(snapshot, 0, encode_snapshot([level(7)], 0, 0))
    directory.log.finish_snapshot(snapshot)
    directory.log.restart_after(snapshot, 0)
    directory.log.append(batch(level(8)), 2, 0)
    features = FinalizedFeatures(directory.log, directory.snapshots)
    features.committed(5)
    assert (features.levels, features.epoch) == ({"metadata.version": 7}, 4)
    features.committed(6)
    assert (features.levels, features.epoch) == ({"metadata.version": 8}, 5)
    directory.close(0)
