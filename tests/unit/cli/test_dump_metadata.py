"""`dump-log --cluster-metadata-decoder`: the text of Kafka 3.9's tool for each record."""

from uuid import UUID

import pytest

from engine.cli.dump.metadata import payload
from engine.cli.main import FAILED, main
from engine.metadata.records import brokers, security, topics
from engine.metadata.records.framing import encode_record
from engine.raft.control_records import leader_change
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import records
from engine.storage.records import Record

ID = UUID(int=1)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (brokers.NoOpRecord(), '{"type":"NO_OP_RECORD","version":0,"data":{}}'),
        (
            topics.PartitionChangeRecord(partition_id=0, topic_id=ID, leader=-1),
            '{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":0,'
            '"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","leader":-1}}',
        ),
        (
            security.ConfigRecord(resource_type=2, resource_name="t", name="é", value=None),
            '{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"t",'
            '"name":"é","value":null}}',
        ),
        (
            security.UserScramCredentialRecord(
                name="ada", mechanism=1, salt=b"salt", stored_key=b"", server_key=b"k", iterations=1
            ),
            '{"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"ada",'
            '"mechanism":1,"salt":"c2FsdA==","storedKey":"","serverKey":"aw==","iterations":1}}',
        ),
        (
            brokers.RegisterBrokerRecord(
                broker_id=1,
                incarnation_id=None,
                broker_epoch=5,
                end_points=(
                    brokers.RecordEndpoint(name="P", host="h", port=9092, security_protocol=0),
                ),
                features=(),
                rack=None,
            ),
            '{"type":"REGISTER_BROKER_RECORD","version":1,"data":{"brokerId":1,'
            '"incarnationId":"AAAAAAAAAAAAAAAAAAAAAA","brokerEpoch":5,"endPoints":[{"name":"P",'
            '"host":"h","port":9092,"securityProtocol":0}],"features":[],"rack":null,'
            '"fenced":true,"inControlledShutdown":false}}',
        ),
    ],
)
def test_a_record_is_json(record, text):
    assert payload(Record(0, 0, None, encode_record(record))) == text


def dump(path, capsys):
    status = main(["dump-log", "--cluster-metadata-decoder", "--files", str(path)])
    out, err = capsys.readouterr()
    return status, [line.partition("headerKeys: [] ")[2] or line for line in out.splitlines()], err


def test_a_log_with_control_records(tmp_path, capsys):
    path = tmp_path / "00000000000000000000.log"
    value = encode_record(brokers.NoOpRecord())
    path.write_bytes(
        leader_change(1, [1], [1], 0) + records.encode([Record(1, 0, None, value)], base_offset=1)
    )
    status, lines, _ = dump(path, capsys)
    assert status == 0
    assert [lines[3], lines[5]] == [
        "controlType: LEADER_CHANGE(2)",
        'payload: {"type":"NO_OP_RECORD","version":0,"data":{}}',
    ]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("bootstrap.checkpoint", "KRaft bootstrap snapshot"),
        (
            "00000000000000000080-0000000004.checkpoint",
            "Snapshot end offset: 80, epoch: 4",
        ),
    ],
)
def test_a_snapshot(name, first, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(encode_snapshot([encode_record(brokers.NoOpRecord())], 5, 6))
    status, lines, _ = dump(path, capsys)
    assert status == 0
    assert lines[1] == first
    assert lines[3] == 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":5}'
    assert lines[7] == 'SnapshotFooter {"version":0}'


def test_a_record_that_is_not_known_is_told_with_its_place(tmp_path, capsys):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(records.encode([Record(0, 0, None, b"\x01\x63\x00")]))
    status, _, err = dump(path, capsys)
    assert status == FAILED
    assert f"{path}: position 0: metadata record at offset 0: there is no record type 99" in err
