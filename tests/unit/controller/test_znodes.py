"""Every znode's bytes, against strings that Kafka clusters have shown to the world."""

import json
from random import Random

import pytest

from engine.model import TopicPartition, parse_id
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Unreadable, decoded
from engine.zookeeper.znodes import (
    BrokerEndPoint,
    BrokerInfo,
    ControllerInfo,
    Features,
    LeaderAndIsr,
    ProducerIdBlock,
    ReplicaAssignment,
    Topic,
)
from tests.unit.controller.junk import junk

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ID = "ZOLr9CLNQjSW70hyIHx6BQ"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            BrokerInfo((BrokerEndPoint("PLAINTEXT", "192.168.1.21", 9092),), 1779856878276),
            '{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
            '"endpoints":["PLAINTEXT://192.168.1.21:9092"],"jmx_port":-1,"features":{},'
            '"host":"192.168.1.21","timestamp":"1779856878276","port":9092,"version":5}',
        ),
        (
            BrokerInfo(
                (
                    BrokerEndPoint("INTERNAL", "kf01", 9092),
                    BrokerEndPoint("EXTERNAL", "::1", 19092, "SASL_SSL"),
                ),
                1684599876292,
                rack="usw2-az3",
                jmx_port=9099,
                features={"f": {"min_version": 1, "max_version": 3}},
            ),
            '{"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","EXTERNAL":"SASL_SSL"},'
            '"endpoints":["INTERNAL://kf01:9092","EXTERNAL://[::1]:19092"],"rack":"usw2-az3",'
            '"jmx_port":9099,"features":{"f":{"min_version":1,"max_version":3}},'
            '"host":"kf01","timestamp":"1684599876292","port":9092,"version":5}',
        ),
        (
            Topic(parse_id(ID), {0: ReplicaAssignment((0,))}),
            '{"removing_replicas":{},"partitions":{"0":[0]},'
            f'"topic_id":"{ID}","adding_replicas":{{}},"version":3}}',
        ),
        (
            Topic(None, {0: ReplicaAssignment((2,)), 1: ReplicaAssignment((1,))}),
            '{"partitions":{"0":[2],"1":[1]},"adding_replicas":{},"removing_replicas":{},'
            '"version":3}',
        ),
        (
            Topic(
                parse_id(ID),
                {
                    1: ReplicaAssignment((1, 3, 2), adding=(3,), removing=(2,)),
                    0: ReplicaAssignment((3, 1)),
                },
            ),
            '{"removing_replicas":{"1":[2]},"partitions":{"0":[3,1],"1":[1,3,2]},'
            f'"topic_id":"{ID}","adding_replicas":{{"1":[3]}},"version":3}}',
        ),
        (
            LeaderAndIsr(leader=2, leader_epoch=0, isr=(2, 3, 1), controller_epoch=1),
            '{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,3,1]}',
        ),
        (
            ControllerInfo(0, 1719917952299),
            '{"version":1,"brokerid":0,"timestamp":"1719917952299"}',
        ),
        (
            ProducerIdBlock(0, 0, 999),
            '{"version":1,"broker":0,"block_start":"0","block_end":"999"}',
        ),
        (Features(), '{"features":{},"version":1,"status":1}'),
    ],
)
def test_a_value_is_written_as_kafka_writes_it_and_read_back(value, text):
    assert value.encode().decode() == text
    assert type(value).decode(text.encode()) == value


@pytest.mark.parametrize(
    ("encode", "decode", "value", "text"),
    [
        (znodes.encode_cluster_id, znodes.decode_cluster_id, ID, f'{{"version":"1","id":"{ID}"}}'),
        (znodes.encode_epoch, znodes.decode_epoch, 7, "7"),
        (
            znodes.encode_config,
            znodes.decode_config,
            {"retention.ms": "1000", "cleanup.policy": "compact"},
            '{"version":1,"config":{"retention.ms":"1000","cleanup.policy":"compact"}}',
        ),
        (
            znodes.encode_partitions,
            znodes.decode_partitions,
            {T1, T0},
            '{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"t","partition":1}]}',
        ),
        (
            znodes.encode_reassignment,
            znodes.decode_reassignment,
            {TopicPartition("foo", 0): (1, 2)},
            '{"version":1,"partitions":[{"topic":"foo","partition":0,"replicas":[1,2]}]}',
        ),
    ],
)
def test_so_is_a_value_that_needs_no_class(encode, decode, value, text):
    assert encode(value).decode() == text
    assert decode(text.encode()) == value


def test_a_config_change_names_its_entity_with_all_its_levels():
    text = b'{"version":2,"entity_path":"users/alice/clients/app"}'
    assert znodes.encode_config_change("users", "alice/clients/app") == text
    assert znodes.decode_config_change(text) == ("users", "alice/clients/app")
    old = b'{"version":1,"entity_type":"topics","entity_name":"t"}'
    assert znodes.decode_config_change(old) == ("topics", "t")


def test_a_log_dir_failure_names_its_broker():
    assert znodes.decode_log_dir_failure(b'{"version":1,"broker":3,"event":1}') == 3


def test_a_broker_without_plaintext_shows_old_clients_no_address():
    written = json.loads(BrokerInfo((BrokerEndPoint("SSL", "h", 1, "SSL"),), 5).encode())
    assert (written["host"], written["port"]) == (None, -1)


@pytest.mark.parametrize(
    ("text", "endpoints", "rack"),
    [
        (
            '{"version":1,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"22"}',
            [BrokerEndPoint("PLAINTEXT", "localhost", 9092)],
            None,
        ),
        (
            '{"version":2,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"22",'
            '"endpoints":["PLAINTEXT://host1:9092","SSL://host1:9093"]}',
            [
                BrokerEndPoint("PLAINTEXT", "host1", 9092),
                BrokerEndPoint("SSL", "host1", 9093, "SSL"),
            ],
            None,
        ),
        (
            '{"version":3,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"22",'
            '"endpoints":["PLAINTEXT://[::1]:9092"],"rack":"dc1"}',
            [BrokerEndPoint("PLAINTEXT", "::1", 9092)],
            "dc1",
        ),
        (
            '{"version":4,"host":null,"port":-1,"jmx_port":9999,"timestamp":"22",'
            '"endpoints":["client://host1:9092"],'
            '"listener_security_protocol_map":{"CLIENT":"SSL"},"rack":"dc1","novelty":1}',
            [BrokerEndPoint("CLIENT", "host1", 9092, "SSL")],
            "dc1",
        ),
    ],
)
def test_registrations_of_older_brokers_are_read(text, endpoints, rack):
    broker = BrokerInfo.decode(text.encode())
    assert list(broker.endpoints) == endpoints
    assert (broker.rack, broker.jmx_port, broker.timestamp) == (rack, 9999, 22)


def test_topics_of_older_controllers_are_read():
    assert Topic.decode(b'{"version":1,"partitions":{"0":[1,2]}}') == Topic(
        None, {0: ReplicaAssignment((1, 2))}
    )
    second = b'{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{"0":[2]},' + (
        b'"removing_replicas":{}}'
    )
    assert Topic.decode(second) == Topic(None, {0: ReplicaAssignment((1, 2), adding=(2,))})


@pytest.mark.parametrize("nothing", [b"", b"{}", b'{"version":1}', b'{"version":1,"config":{}}'])
def test_no_config_is_an_empty_config(nothing):
    assert znodes.decode_config(nothing) == {}


@pytest.mark.parametrize("junk", [b"{}", b"[]", b"nonsense", b"\xff", b'{"version":0}'])
def test_junk_is_no_broker(junk):
    with pytest.raises(ValueError, match=r"not a JSON object|version"):
        BrokerInfo.decode(junk)


def test_paths():
    assert znodes.broker_path(1) == "/brokers/ids/1"
    assert znodes.topic_path("t") == "/brokers/topics/t"
    assert znodes.state_path(T0) == "/brokers/topics/t/partitions/0/state"
    assert znodes.config_path("topics", "t") == "/config/topics/t"
    assert znodes.config_path("users", znodes.DEFAULT_ENTITY) == "/config/users/<default>"
    assert znodes.deleted_topic_path("t") == "/admin/delete_topics/t"


def test_what_every_broker_makes_sure_of():
    assert set(znodes.PERSISTENT_PATHS) == {
        "/consumers",
        "/brokers/ids",
        "/brokers/topics",
        "/brokers/seqid",
        "/config/changes",
        "/config/topics",
        "/config/clients",
        "/config/users",
        "/config/brokers",
        "/config/ips",
        "/admin/delete_topics",
        "/isr_change_notification",
        "/latest_producer_id_block",
        "/log_dir_event_notification",
    }


DECODERS = {
    BrokerInfo.decode: BrokerInfo((BrokerEndPoint("PLAINTEXT", "h", 9092),), 1, "r").encode(),
    Topic.decode: Topic(
        parse_id(ID), {0: ReplicaAssignment((1, 2), (2,), ()), 1: ReplicaAssignment((1,))}
    ).encode(),
    LeaderAndIsr.decode: LeaderAndIsr(1, 2, (1, 2), 3).encode(),
    ControllerInfo.decode: ControllerInfo(1, 2).encode(),
    ProducerIdBlock.decode: ProducerIdBlock(1, 0, 999).encode(),
    Features.decode: Features(True, {"f": {"min": 1}}).encode(),
    znodes.decode_cluster_id: znodes.encode_cluster_id("x"),
    znodes.decode_epoch: b"7",
    znodes.decode_config: znodes.encode_config({"a": "b"}),
    znodes.decode_config_change: znodes.encode_config_change("topics", "t"),
    znodes.decode_partitions: znodes.encode_partitions([T0, T1]),
    znodes.decode_log_dir_failure: b'{"version":1,"broker":1,"event":1}',
    znodes.decode_reassignment: znodes.encode_reassignment({T0: [1, 2]}),
}


@pytest.mark.parametrize("decode", DECODERS, ids=lambda decode: decode.__qualname__)
def test_whatever_stands_there_is_a_value_or_a_value_error(decode):
    """What was read can be written, and read again."""
    chance, sample, read = Random(1), json.loads(DECODERS[decode]), 0
    for _ in range(300):
        found = decoded(decode, junk(chance, sample))
        if isinstance(found, Unreadable):
            assert 0 < len(found.why) < 300, found
        else:
            read += 1
            if decode is znodes.decode_config:
                assert decode(znodes.encode_config(found)) == found
            if hasattr(found, "encode") and not isinstance(found, str):
                assert decode(found.encode()) == found
    assert read


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"partitions":{"0":[1,1]}}', "names a broker twice"),
        ('{"partitions":{"0":[-1]}}', "-1 is negative"),
        ('{"partitions":{"-1":[1]}}', "-1 is negative"),
        ('{"partitions":{"0":[]}}', "has no replicas"),
        ('{"partitions":{"0":[1,2]},"removing_replicas":{"0":[1,2]}}', "has no replicas"),
        ('{"partitions":{"0":[1,2]},"adding_replicas":{"0":[2,1]}}', "has no replicas"),
        ('{"partitions":{"0":1}}', "0: 1 is not a list"),
        ('{"partitions":{"0":[1]},"topic_id":7}', "topic_id: 7 is not a text"),
    ],
)
def test_an_assignment_that_would_lose_a_partition_is_none(text, why):
    """A move to nowhere would delete every replica."""
    found = decoded(Topic.decode, text.encode())
    assert isinstance(found, Unreadable)
    assert why in found.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"leader": -2}, "not a broker"),
        ({"leader": True}, "not a number"),
        ({"leader_epoch": 2**31 - 1}, "cannot be incremented"),
        ({"leader_epoch": -1}, "negative"),
        ({"isr": [1, 1]}, "twice"),
        ({"controller_epoch": 2**31}, "too large"),
        ({"controller_epoch": None}, "controller_epoch"),
    ],
)
def test_a_state_that_makes_no_sense_is_none(change, why):
    value = json.loads(LeaderAndIsr(1, 2, (1, 2), 3).encode()) | change
    found = decoded(LeaderAndIsr.decode, json.dumps(value).encode())
    assert isinstance(found, Unreadable)
    assert why in found.why
