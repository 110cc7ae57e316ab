"""The metadata log on the page: rows, what they say, the mark, and what a click does."""

import pytest

from engine.cluster.kraft.metadata_log_reader import MetadataEntryKind, MetadataLogEntry
from engine.cluster.recording import Recording
from engine.cluster.state import ClusterState, ControllerState, Status
from widgets import MetadataLogView

T = 1_700_000_000_000
RECORD, TRUNCATED, SNAPSHOT = MetadataEntryKind
TEAS = {"name": "teas", "topicId": "9OV7Gh5SSo6Md0ObghdpCQ"}
PARTITION = {"partitionId": 0, "topicId": TEAS["topicId"]}
ENTRIES = [
    (0, RECORD, 0, 1, "LeaderChangeMessage", {"leaderId": 101, "grantingVoters": [
        {"voterId": 101}, {"voterId": 102}]}),
    (0, RECORD, 1, 1, "FeatureLevelRecord", {"name": "metadata.version", "featureLevel": 7}),
    (10, RECORD, 2, 1, "NoOpRecord", {}),
    (20, RECORD, 3, 1, "NoOpRecord", {}),
    (1000, RECORD, 4, 1, "TopicRecord", TEAS),
    (1000, RECORD, 5, 1, "PartitionRecord", PARTITION | {"leader": 1, "isr": [1, 2], "replicas": [
        1, 2], "leaderEpoch": 0}),
    (2000, RECORD, 6, 1, "PartitionChangeRecord", PARTITION | {"leader": 2, "isr": [2]}),
    (5000, TRUNCATED, 6, 1, "", {}),
    (5000, RECORD, 6, 2, "LeaderChangeMessage", {"leaderId": 102, "grantingVoters": []}),
    (6000, SNAPSHOT, 4, 1, "", {"FeatureLevelRecord": 1}),
]  # fmt: skip


def state(at, mark, start=0, epoch=1):
    known = ControllerState(
        Status.UP, True, 1, 1, "leader", epoch, log_start=start, log_end=7, high_watermark=mark
    )
    return ClusterState(at, 101, {}, {}, controllers={100 + epoch: known})


@pytest.fixture
def view():
    entries = [
        MetadataLogEntry(number, T + at, *others) for number, (at, *others) in enumerate(ENTRIES, 1)
    ]
    states = [state(T, 2), state(T + 2000, 6), state(T + 5000, 7, epoch=2)]
    states.append(state(T + 9000, 7, start=4, epoch=2))
    track = {"metadata_log": [(T, [entry.row() for entry in entries])]}
    view = MetadataLogView(Recording(states, [], track))
    view.fit(960)
    yield view
    view.close()


def keys(view):
    return [it.key for it in view.picture.shapes if it.key.startswith(("record", "idle", "mark"))]


def texts(view, key):
    return [it.content for it in view.picture[key].content if it.kind == "text"]


def test_records_as_they_come_with_what_they_say(view):
    view.follow(T + 3000)
    before, after = ["record 1", "record 2", "idle 2", "record 5", "record 6"], ["record 7"]
    assert keys(view) == [*before, "mark", *after]
    assert texts(view, "record 1")[2:] == [
        "LeaderChange",
        "the quorum",
        "controller-1 leads epoch 1, with votes of 101, 102",
    ]
    assert texts(view, "record 2")[2:] == [
        "FeatureLevel", "metadata.version", "level 7 (3.3-IV3)"]  # fmt: skip
    assert texts(view, "record 6")[2:] == [
        "Partition", "teas-0", "leader 1, isr 1 2, leaderEpoch 0, replicas 1 2"]  # fmt: skip
    assert view.picture["mark"].label == "high watermark 6: all records before it are committed"
    assert view.picture["record 7"].label.endswith("Epoch 1, not committed")
    assert view.about == "epoch 1 · controller-1 leads · 7 records · committed up to offset 6"


def test_what_was_truncated_stays_in_sight_before_what_replaced_it(view):
    view.follow(T + 5500)
    assert keys(view)[-3:] == ["record 7", "record 9", "mark"]
    assert texts(view, "record 7")[-1] == "truncated: no majority had it"
    assert view.picture["record 9"].label.endswith("Epoch 2, committed")


def test_a_snapshot_stands_for_the_records_before_it(view):
    view.live()
    assert keys(view)[:4] == ["record 1", "record 2", "idle 2", "record 10"]
    words = "snapshot 4-1: 1 record for these 4, which are deleted"
    assert view.picture["record 10"].label == words
    assert "only in the snapshot now" in view.picture["record 1"].label


def test_by_thing_each_has_its_records(view):
    view.follow(T + 3000)
    view.do("fold")
    assert texts(view, "thing teas-0") == ["teas-0", "PartitionChange: leader 2, isr 2"]
    assert [it for it in keys(view) if it != "mark"] == [
        "record 5", "record 6", "record 7", "record 2", "record 1"]  # fmt: skip
    view.do("only", "partitions")
    assert keys(view) == ["record 6", "record 7"]
    view.do("fold")
    assert keys(view) == ["record 6", "mark", "record 7"]


def test_a_click_shows_all_fields_and_another_closes_them(view):
    view.follow(T + 3000)
    view.do("choose", 6)
    opened = view.picture["opened 6"]
    said = [it.content for it in opened.content if it.kind == "text"]
    assert "PartitionRecord" in said
    assert "[1, 2]" in said
    view.do("choose", 6)
    assert "opened 6" not in view.picture.by_key
    view.do("choose", 99)
    assert view.trouble == "there is no entry 99"


def test_it_goes_from_record_to_record(view):
    view.live()
    times = []
    for _ in range(5):
        view.do("back")
        times.append(view.head - T)
    assert times == [6000, 5000, 2000, 1000, 0]
    view.do("forward")
    assert view.head == T + 1000


def test_a_recording_without_the_log_says_how_one_is_made():
    view = MetadataLogView(Recording([state(T, 0), state(T + 10, 0)], []))
    assert "metadata_log=True" in view.picture["nothing"].content
    view.close()
