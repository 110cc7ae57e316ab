"""The image that a node makes from committed records, and from a snapshot."""

from uuid import UUID

import pytest

from engine.errors import ApiException
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import encode_record
from engine.metadata.records.topics import RemoveTopicRecord, TopicRecord
from engine.raft.control_records import leader_change
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.metadata_loader import MetadataLoader
from engine.raft.model import OffsetAndEpoch
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import records
from engine.storage.records import Record

ORDERS, CLICKS = UUID(int=1000), UUID(int=1001)


def level(number):
    return encode_record(FeatureLevelRecord(name="metadata.version", feature_level=number))


def topic(name, id):
    return encode_record(TopicRecord(name=name, topic_id=id))


def batch(*values):
    return records.encode([Record(n, 1, None, value) for n, value in enumerate(values)])


@pytest.fixture
def directory(tmp_path):
    made = MetadataDirectory(tmp_path, [1], 0)
    yield made
    made.close(0)


def test_a_record_counts_when_it_is_committed(directory):
    for data in (batch(level(7)), leader_change(1, [1], [1], 0), batch(level(6))):
        directory.log.append(data, 3, 0)
    loader = MetadataLoader(directory.log)
    image = loader.image
    assert (image.features, image.offset, image.epoch) == ({}, -1, -1)
    loader.committed(1)
    assert (image.features, image.offset, image.epoch) == ({"metadata.version": 7}, 0, 3)
    loader.committed(2)
    assert (image.features, image.offset) == ({"metadata.version": 7}, 1)
    loader.committed(3)
    assert (image.features, image.offset) == ({"metadata.version": 6}, 2)
    assert loader.bytes_since_snapshot > 0


def test_a_watcher_sees_each_record_before_it_is_applied(directory):
    seen = []
    directory.log.append(batch(topic("orders", ORDERS), topic("clicks", CLICKS)), 1, 0)
    watch = lambda image, record: seen.append((list(image.topics), record.name))  # noqa: E731
    MetadataLoader(directory.log, watch).committed(2)
    assert seen == [([], "orders"), (["orders"], "clicks")]


def test_a_record_that_makes_no_sense_stops_the_node(directory):
    directory.log.append(batch(encode_record(RemoveTopicRecord(topic_id=ORDERS))), 1, 0)
    with pytest.raises(ApiException, match="no topic with the id"):
        MetadataLoader(directory.log).committed(1)


def test_a_snapshot_stands_for_the_records_before_the_start_of_the_log(directory):
    directory.log.append(batch(topic("orders", ORDERS)), 1, 0)
    loader = MetadataLoader(directory.log)
    loader.committed(1)
    loader.image.take_changes()
    snapshot = OffsetAndEpoch(5, 2)
    data = encode_snapshot([level(7), topic("clicks", CLICKS)], 77, 0)
    directory.log.write_snapshot(snapshot, 0, data)
    directory.log.finish_snapshot(snapshot)
    directory.log.restart_after(snapshot, 0)
    directory.log.append(batch(level(6)), 3, 0)
    loader.committed(5)
    image = loader.image
    assert (image.features, list(image.topics)) == ({"metadata.version": 7}, ["clicks"])
    assert (image.offset, image.epoch, loader.last_contained_ms) == (4, 2, 77)
    assert list(image.take_changes().removed_topics) == [ORDERS]  # nobody has told of it
    loader.committed(6)
    assert (image.features, image.offset, image.epoch) == ({"metadata.version": 6}, 5, 3)
