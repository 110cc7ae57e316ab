"""`metadata-shell`: a tree of names, with the texts of Kafka 3.9's tool at its leaves."""

from uuid import UUID

import pytest

from engine.cli.main import FAILED, USAGE, main
from engine.metadata.records import brokers, security, topics
from engine.metadata.records.framing import encode_record
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import records
from engine.storage.records import Record

ID = UUID(int=1)
STATE = [
    brokers.FeatureLevelRecord(name="metadata.version", feature_level=7),
    brokers.RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=ID,
        broker_epoch=2,
        end_points=(
            brokers.RecordEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0),
        ),
        features=(
            brokers.RecordFeature(
                name="metadata.version", min_supported_version=1, max_supported_version=7
            ),
        ),
        rack=None,
        fenced=False,
    ),
    topics.TopicRecord(name="orders", topic_id=ID),
    topics.PartitionRecord(
        partition_id=0, topic_id=ID, replicas=(1, 2), isr=(1,), removing_replicas=(),
        adding_replicas=(), leader=1, leader_epoch=3, partition_epoch=4,
    ),
    security.ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="9"),
    security.ConfigRecord(resource_type=2, resource_name="orders", name="unknown.key", value="?"),
    security.ConfigRecord(
        resource_type=4, resource_name="", name="ssl.key.password", value="hidden"
    ),
    security.ConfigRecord(resource_type=16, resource_name="m", name="interval.ms", value="9"),
]  # fmt: skip
LEAVES = {
    "/image/topics/byName/orders/0": (
        "PartitionRegistration(replicas=[1, 2], directories=[AAAAAAAAAAAAAAAAAAAAAA, "
        "AAAAAAAAAAAAAAAAAAAAAA], isr=[1], removingReplicas=[], addingReplicas=[], elr=[], "
        "lastKnownElr=[], leader=1, leaderRecoveryState=RECOVERED, leaderEpoch=3, "
        "partitionEpoch=4)"
    ),
    "/image/topics/byId/AAAAAAAAAAAAAAAAAAAAAQ/name": "orders",
    "/image/cluster/brokers/1": (
        "BrokerRegistration(id=1, epoch=2, incarnationId=AAAAAAAAAAAAAAAAAAAAAQ, "
        "listeners=[Endpoint(listenerName='PLAINTEXT', securityProtocol=PLAINTEXT, host='h', "
        "port=9092)], supportedFeatures={metadata.version: 1-7}, rack=Optional.empty, "
        "fenced=false, inControlledShutdown=false, isMigratingZkBroker=false, directories=[])"
    ),
    "/image/configs/TOPIC:orders/retention.ms": "9",
    "/image/configs/BROKER/ssl.key.password": "[redacted]",
    "/image/configs/TOPIC:orders/unknown.key": "[redacted]",
    "/image/configs/CLIENT_METRICS:m/interval.ms": "9",
    "/image/features/metadataVersion": "3.3-IV3",
    "/image/producerIds/nextProducerId": "-1",
    "/image/provenance": "offset 40, epoch 3, time 1970-01-01T00:00:07.5Z[UTC]",
}


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "00000000000000000041-0000000003.checkpoint"
    path.write_bytes(encode_snapshot(map(encode_record, STATE), 7500, 0, epoch=3))
    return path


def test_each_leaf_has_the_text_of_kafkas_tool(snapshot, capsys):
    assert main(["metadata-shell", "--snapshot", str(snapshot), "cat", *LEAVES]) == 0
    assert capsys.readouterr().out.splitlines() == [*LEAVES.values()]


def test_names_are_listed_found_and_drawn(snapshot, capsys):
    def said(*words):
        assert main(["metadata-shell", "-s", str(snapshot), *words]) == 0
        return capsys.readouterr().out

    assert said("ls", "/image/topics") == "byId\nbyName\n"
    assert said("find", "/image/configs").splitlines()[-1] == (
        "/image/configs/CLIENT_METRICS:m/interval.ms"
    )
    assert said("tree", "/image/features").startswith("metadataVersion:\n  3.3-IV3\n")


def test_a_directory_is_its_newest_snapshot_and_the_log_after_it(snapshot, tmp_path, capsys):
    change = topics.PartitionChangeRecord(partition_id=0, topic_id=ID, leader=2)
    value = encode_record(change)
    batches = [
        records.encode([Record(40, 0, None, value)], base_offset=40, leader_epoch=3),
        records.encode([Record(41, 8000, None, value)], base_offset=41, leader_epoch=4),
    ]
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(batches))
    words = "metadata-shell", "-d", str(tmp_path), "cat"
    assert main([*words, "/image/topics/byName/orders/0", "/image/provenance"]) == 0
    partition, provenance = capsys.readouterr().out.splitlines()
    assert "leader=2, leaderRecoveryState=RECOVERED, leaderEpoch=4, partitionEpoch=5" in partition
    assert provenance == "offset 41, epoch 4, time 1970-01-01T00:00:08Z[UTC]"


def test_lines_are_commands_and_a_wrong_one_is_told(snapshot, monkeypatch, capsys):
    lines = iter(
        ["", "cd /image/topics", "pwd", "ls", "cd ..", "pwd", "cat topics", "cat nothing", "fly",
         "tree", "cd features/metadataVersion", "cd / /image", 'ls "', "exit", "pwd"]
    )  # fmt: skip
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    assert main(["metadata-shell", "-s", str(snapshot)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *("/image/topics", "byId", "byName", "/image"),
        "cat: topics is no leaf: ls shows what is below it",
        "cat: nothing: no such node",
        "fly: there is no such command; help lists them",
        "tree: name a node",
        "cd: features/metadataVersion is a leaf: cat shows it",
        "cd: go to one node at a time",
        "No closing quotation",
    ]
    assert next(lines) == "pwd"


def test_help_lists_each_command(snapshot, capsys):
    assert main(["metadata-shell", "-s", str(snapshot), "help"]) == 0
    told = capsys.readouterr().out
    assert all(f" {name}" in told for name in ("ls", "cat", "tree", "find", "cd", "pwd", "exit"))


def test_what_is_not_there_or_damaged_is_told(snapshot, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["metadata-shell", "-d", str(empty), "ls"]) == USAGE
    assert "has neither a snapshot nor a metadata log" in capsys.readouterr().err
    snapshot.write_bytes(snapshot.read_bytes()[:-3])
    assert main(["metadata-shell", "-s", str(snapshot), "ls"]) == FAILED
    assert f"{snapshot}, byte" in capsys.readouterr().err
