"""Others write to ZooKeeper: Kafka's tools, other releases, other programs. No broker ends of it.
Nor of what somebody sends in the controller's name.

Real brokers, a real ZooKeeper. Most cases of this kind are tried on the controller alone, by the
thousand: tests/unit/controller/test_foreign_writes.py.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)

from engine.client.admin.values import AlterConfigOpType, ConfigEntry, ConfigResource
from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from engine.wire.messages.controlled_shutdown import ControlledShutdownRequest
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from engine.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from engine.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from engine.zookeeper import znodes
from tests.cluster.conftest import new_topic
from tests.cluster.probe import Probe
from tests.cluster.truth import Truth
from tests.interop.watch import until
from tests.limits import ANSWER_S, SESSION_MS
from tests.unit.controller.junk import junk

CONFIG = {"zookeeper.session.timeout.ms": SESSION_MS, "offsets.topic.num.partitions": "1"}


@pytest.fixture(scope="module")
def kazoo(cluster: Cluster) -> Iterator[KazooClient]:
    client = KazooClient(cluster.zookeeper, timeout=4)
    client.start()
    yield client
    client.stop()
    client.close()


def put(kazoo: KazooClient, path: str, data: bytes | None) -> None:
    kazoo.ensure_path(path.rpartition("/")[0])
    if kazoo.exists(path) is None:
        kazoo.create(path, data)
    else:
        kazoo.set(path, data)


def configure(kazoo: KazooClient, kind: str, name: str, config: object) -> None:
    """As `kafka-configs --zookeeper` does it."""
    put(kazoo, znodes.config_path(kind, name), json.dumps(config).encode())
    note(kazoo, znodes.encode_config_change(kind, name))


def note(kazoo: KazooClient, data: bytes | None) -> None:
    kazoo.create(znodes.CONFIG_CHANGE, data, sequence=True)


def assigned(kazoo: KazooClient, topic: str, replicas: list[int]) -> None:
    """As `kafka-topics --zookeeper` does it."""
    placed = {0: znodes.ReplicaAssignment(tuple(replicas))}
    put(kazoo, znodes.topic_path(topic), znodes.Topic(uuid4(), placed).encode())


def happened(cluster: Cluster, kind: str) -> list[dict[str, object]]:
    return [each.data for each in cluster.events() if each.kind == kind]


def works(cluster: Cluster, topic: str, partition: int = 0) -> None:
    """A record goes in with acks=all, and comes out."""
    value = uuid4().hex
    producer = cluster.producer({"acks": "all", "message.timeout.ms": 30_000})
    faults: list[object] = []
    producer.produce(
        topic, value, partition=partition, on_delivery=lambda error, _: faults.append(error)
    )
    producer.flush(40)
    assert faults == [None], faults


def reloads(cluster: Cluster, topic: str, value: str) -> None:
    """A change of the configuration of one more entity reaches every broker."""
    it = ConfigResource("topic", topic, incremental_configs=[entry(value)])
    cluster.admin.incremental_alter_configs([it])[it].result()
    for broker in cluster.brokers:
        until(lambda broker=broker: told(cluster, broker, topic).get("retention.ms") == value)


def entry(value: str) -> ConfigEntry:
    return ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)


def told(cluster: Cluster, broker: int, topic: str) -> dict[str, str | None]:
    """The topic's configuration, as one broker has it."""
    resource = DescribeConfigsResource(
        resource_type=2, resource_name=topic, configuration_keys=None
    )
    with Probe(cluster, broker) as probe:
        request = DescribeConfigsRequest(resources=(resource,))
        (result,) = probe.ask(Api.DESCRIBE_CONFIGS, request).results
    return {each.name: each.value for each in result.configs}


def test_keys_and_values_that_kafka_allows_and_we_do_not_know(cluster, truth, kazoo):
    other = new_topic(cluster, truth)
    configure(
        kazoo,
        "topics",
        "foreign",
        {
            "version": 1,
            "config": {
                "remote.storage.enable": "true",
                "message.format.version": "0.10.2",
                "retention.ms": "86400000",
            },
        },
    )
    configure(kazoo, "brokers", "<default>", {"config": {"num.io.threads": "8"}})
    configure(kazoo, "brokers", "1", {"config": {"num.io.threads": "9", "broker.id": "7"}})
    assigned(kazoo, "foreign", [1, 2, 3])
    truth.await_whole("foreign")
    reloads(cluster, other, "7200000")
    works(cluster, "foreign")
    works(cluster, other)
    for broker in cluster.brokers:
        cluster.kill(broker)
        cluster.restart(broker)
    truth.await_whole("foreign")
    works(cluster, "foreign")
    reloads(cluster, other, "3600000")
    ignored = {(each["path"], each["key"]) for each in happened(cluster, "config.ignored")}
    assert ignored >= {
        ("/config/topics/foreign", "remote.storage.enable"),
        ("/config/topics/foreign", "message.format.version"),
        ("/config/brokers/<default>", "num.io.threads"),
        ("/config/brokers/1", "broker.id"),
    }
    told = (cluster.directory(1) / "broker.log").read_text()
    assert "WARNING" in told and "remote.storage.enable" in told

    reloads(cluster, "foreign", "3600000")  # our own alteration leaves what it does not know
    standing = json.loads(kazoo.get("/config/topics/foreign")[0])["config"]
    assert standing == {
        "remote.storage.enable": "true",
        "message.format.version": "0.10.2",
        "retention.ms": "3600000",
    }


def test_a_producer_id_is_never_taken_from_what_nobody_can_read(cluster, kazoo, truth):
    assert kazoo.get("/admin/delete_topics")[0] is None  # null, as Kafka makes it
    block = kazoo.get(znodes.PRODUCER_ID_BLOCK)[0]
    assert block is None or znodes.ProducerIdBlock.decode(block)
    put(kazoo, znodes.PRODUCER_ID_BLOCK, b"nonsense")
    topic = new_topic(cluster, truth)
    producer = cluster.producer({"enable.idempotence": True, "message.timeout.ms": 60_000})
    done: list[object] = []
    producer.produce(topic, "a", partition=0, on_delivery=lambda error, _: done.append(error))
    until(lambda: producer.poll(0.1) or happened(cluster, "znode.unreadable") or done, patience=20)
    put(kazoo, znodes.PRODUCER_ID_BLOCK, None)
    producer.flush(40)
    assert done == [None]


NUMBERS = (-(2**31), -2, -1, 0, 1, 9, 2**31 - 1)
LISTS = ((), (1,), (1, 1), (9, 2, 1), (-1, 1), (2**31 - 1,))
NAMES = ("elsewhere", "", "..", "../up", "a/b", "x" * 300, "é")


def orders(chance: Random, controller: int, epoch: int, living: list[Any]) -> list[tuple[Api, Any]]:
    """What a controller could say and mean, of a partition that is none."""
    name, index = chance.choice(NAMES), chance.choice(NUMBERS)
    sender = {"controller_id": controller, "controller_epoch": epoch}
    state = {
        "partition_index": index,
        "controller_epoch": chance.choice(NUMBERS),
        "leader": chance.choice(NUMBERS),
        "leader_epoch": chance.choice(NUMBERS),
        "isr": chance.choice(LISTS),
        "zk_version": chance.choice(NUMBERS),
        "replicas": chance.choice(LISTS),
    }
    stop = StopReplicaPartitionState(
        partition_index=index,
        leader_epoch=chance.choice(NUMBERS),
        delete_partition=chance.random() < 0.5,
    )
    roles, news = LeaderAndIsrPartitionState(**state), UpdateMetadataPartitionState(**state)
    strange = UpdateMetadataBroker(id=chance.choice((-7, 77, 2**31 - 1)), endpoints=())
    return [
        (
            Api.LEADER_AND_ISR,
            LeaderAndIsrRequest(
                **sender,
                topic_states=(
                    LeaderAndIsrTopicState(topic_name=name, partition_states=(roles, roles)),
                ),
            ),
        ),
        (
            Api.UPDATE_METADATA,
            UpdateMetadataRequest(
                **sender,
                topic_states=(UpdateMetadataTopicState(topic_name=name, partition_states=(news,)),),
                live_brokers=(*living, strange),
            ),
        ),
        (
            Api.STOP_REPLICA,
            StopReplicaRequest(
                **sender,
                topic_states=(StopReplicaTopicState(topic_name=name, partition_states=(stop,)),),
            ),
        ),
        (
            Api.CONTROLLED_SHUTDOWN,
            ControlledShutdownRequest(broker_id=99, broker_epoch=chance.choice(NUMBERS)),
        ),
    ]


def test_orders_that_make_no_sense(cluster, truth):
    topic, chance = new_topic(cluster, truth), Random(5)
    addresses = zip(cluster.brokers, cluster.bootstrap.split(","), strict=True)
    living = [
        UpdateMetadataBroker(
            id=broker,
            endpoints=(UpdateMetadataEndpoint(host="127.0.0.1", port=int(it.rpartition(":")[2])),),
        )
        for broker, it in addresses
    ]
    for broker in cluster.brokers:
        with Probe(cluster, broker) as probe:
            for _ in range(30):
                said = orders(chance, truth.controller(), truth.controller_epoch(), living)
                for api, request in said:
                    answer = probe.ask(api, request)
                    codes = [answer.error_code]
                    codes += [each.error_code for each in getattr(answer, "partition_errors", ())]
                    assert ErrorCode.unknown_server_error not in codes
    for partition in range(3):
        works(cluster, topic, partition)
    works(cluster, new_topic(cluster, truth))


HARMED = "harmed"
P0 = TopicPartition(HARMED, 0)
MOVES = {"version": 1, "partitions": [{"topic": HARMED, "partition": 0, "replicas": [3, 2]}]}
CONFIGURED = {"version": 1, "config": {"retention.ms": "1", "cleanup.policy": "compact"}}
WRITTEN: dict[str, object] = {
    znodes.topic_path(HARMED): None,
    znodes.topic_path("extra"): {"version": 1, "partitions": {"0": [1, 2]}},
    znodes.state_path(P0): None,
    znodes.config_path("topics", HARMED): CONFIGURED,
    znodes.config_path("brokers", "<default>"): CONFIGURED,
    znodes.config_path("brokers", "2"): CONFIGURED,
    znodes.config_path("users", "alice"): CONFIGURED,
    znodes.REASSIGN_PARTITIONS: MOVES,
    znodes.PREFERRED_ELECTION: MOVES,
    f"{znodes.ISR_CHANGE}9999999999": MOVES,
    f"{znodes.LOG_DIR_EVENT}x": {"version": 1, "broker": 2, "event": 1},
    f"{znodes.CONFIG_CHANGE}9999999999": {"version": 2, "entity_path": f"topics/{HARMED}"},
    f"{znodes.CONFIG_CHANGES}/x": {"version": 1, "entity_type": "topics", "entity_name": HARMED},
    f"{znodes.BROKER_IDS}/x": {},
    f"{znodes.BROKER_IDS}/77": {"version": 4, "endpoints": ["PLAINTEXT://a..b:99999"]},
    znodes.BROKER_SEQUENCE: {},
    znodes.FEATURES: {"features": {}, "version": 1, "status": 1},
}


def storm(cluster: Cluster, kazoo: KazooClient, truth: Truth, chance: Random, count: int) -> None:
    """Junk here and there, notes of it, the controller killed; and all that is left out is well."""
    for path in chance.choices(sorted(WRITTEN), k=count):
        sample = WRITTEN[path]
        if sample is None:
            sample = {"version": 1, "partitions": {"0": [1, 2]}, "leader": 1, "isr": [1]}
        with suppress(NoNodeError):
            put(kazoo, path, chance.choice((junk(chance, sample), None)))
        kind = chance.choice(("topics/harmed", "brokers/<default>", "brokers/2", "users/alice"))
        note(kazoo, junk(chance, {"version": 2, "entity_path": kind}))
        note(kazoo, znodes.encode_config_change(*kind.split("/")))
    controller = until(lambda: (found := truth.controller()) > 0 and found)
    cluster.kill(controller)
    until(lambda: truth.controller() not in (-1, controller), ANSWER_S)
    cluster.restart(controller)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_junk_everywhere(cluster, truth, kazoo, seed):
    well = new_topic(cluster, truth)
    assigned(kazoo, HARMED, [1, 2, 3])
    storm(cluster, kazoo, truth, Random(seed), 40)
    truth.await_whole(well)
    for partition in range(3):
        works(cluster, well, partition)
    reloads(cluster, well, "7200000")
    assert happened(cluster, "znode.unreadable")
    assert cluster.state().brokers.keys() >= set(cluster.brokers)
    for path in WRITTEN:
        if path not in (znodes.BROKER_SEQUENCE, znodes.FEATURES):
            kazoo.delete(path, recursive=True) if kazoo.exists(path) else None
    works(cluster, new_topic(cluster, truth))
