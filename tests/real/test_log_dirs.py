"""A replica is to move to another directory of its broker: ours answers as Kafka's, which has one
directory, too.
"""

import json
from types import SimpleNamespace as Message

import pytest

from engine.cluster.kafka_process import KAFKA, OURS
from engine.wire.apis import Api
from tests.interop.raw import Raw
from tests.real.conftest import new_topic
from tests.real.kafka import Output

LAYOUTS = [({1: OURS, 2: KAFKA}, "2.8")]
SETTINGS = {"min.insync.replicas": "1"}
LONG = "t" * 240


def moved(address: str, topic: str, partition: int, path: str, version: int) -> str:
    with Raw(address) as client:
        topics = (Message(name=topic, partitions=(partition,)),)
        request = Message(dirs=(Message(path=path, topics=topics),))
        (answer,) = client.ask(Api.ALTER_REPLICA_LOG_DIRS, request, version).results
        assert answer.topic_name == topic
        return str(answer.partitions[0].error_code.name)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_directory_is_asked_of_each_broker(cluster, truth, version):
    topic = new_topic(cluster, truth, [[1, 2]])
    addresses = dict(zip(cluster.brokers, cluster.bootstrap.split(","), strict=True))
    for broker, address in addresses.items():
        own, other = str(cluster.directory(broker)), str(cluster.directory(3 - broker))
        assert moved(address, topic, 0, own, version) == "none"
        assert moved(address, topic, 0, other, version) == "log_dir_not_found"
        assert moved(address, topic, 0, "", version) == "log_dir_not_found"
        assert moved(address, topic, 9, own, version) == "unknown_topic_or_partition"
        assert moved(address, "nowhere", 0, own, version) == "unknown_topic_or_partition"
        elsewhere = new_topic(cluster, truth, [[3 - broker]])
        assert moved(address, elsewhere, 0, own, version) == "replica_not_available"
        assert moved(address, LONG, 0, own, version) == "invalid_topic_exception"


def test_a_reassignment_with_log_dirs(cluster, truth, tmp_path):
    topic = new_topic(cluster, truth, [[1, 2]])

    def reassign(directory: str) -> Output:
        wanted = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [directory]}
        path = tmp_path / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
        command = ("--execute", "--reassignment-json-file", str(path), "--timeout", "5000")
        return cluster.client_tool("kafka.admin.ReassignPartitionsCommand", *command)

    refused = reassign("/nowhere")
    assert "Successfully started partition reassignment" in refused.out
    assert "LogDirNotFoundException" in refused.out + refused.err
    assert "Successfully started" in reassign(str(cluster.directory(1))).out
