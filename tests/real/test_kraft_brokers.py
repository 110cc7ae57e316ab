"""Brokers and tools of Apache Kafka 3.9.1 on controllers of ours."""

import json
import re
import threading

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from engine.cluster.kafka_process import KAFKA, OURS
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.jars import KRAFT, check
from tests.real.kafka import tool
from tests.real.kraft_brokers import KRaftBrokers, described

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = "kafka.admin.AclCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
RECORDS = 3000
MOST_LEADERS = 12


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    check(KRAFT)
    with KRaftBrokers(tmp_path_factory.mktemp("kraft")) as brokers:
        yield brokers


@pytest.fixture
def admin(brokers):
    return AdminClient({"bootstrap.servers": brokers.bootstrap})


def ask(brokers, main, *arguments):
    """What one of Kafka's tools prints."""
    done = tool(main, "--bootstrap-server", brokers.bootstrap, *arguments, folder=KRAFT.folder)
    return done.code, done.out + done.err


def created(brokers, topic, *arguments):
    code, text = ask(brokers, TOPICS, "--create", "--topic", topic, *arguments)
    assert (code, f"Created topic {topic}." in text) == (0, True), text


def test_topics_are_created_described_altered_and_deleted(brokers):
    created(brokers, "tools", "--partitions", "3", "--replication-factor", "3",
            "--config", "retention.ms=100000")  # fmt: skip
    code, text = ask(brokers, TOPICS, "--create", "--topic", "tools")
    assert (code, "Topic 'tools' already exists." in text) == (1, True), text
    code, text = ask(brokers, TOPICS, "--alter", "--topic", "tools", "--partitions", "5")
    assert code == 0, text
    code, text = ask(brokers, TOPICS, "--describe", "--topic", "tools")
    assert "PartitionCount: 5\tReplicationFactor: 3" in text and "retention.ms=100000" in text
    entity = "--entity-type", "topics", "--entity-name", "tools"
    code, text = ask(brokers, CONFIGS, "--alter", *entity, "--add-config", "max.message.bytes=7777")
    assert code == 0, text
    code, text = ask(brokers, CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    assert code == 0, text
    code, text = ask(brokers, CONFIGS, "--describe", *entity)
    assert "max.message.bytes=7777" in text and "retention.ms" not in text
    code, text = ask(brokers, CONFIGS, "--alter", *entity, "--add-config", "retention.ms=soon")
    assert code == 1 and "Invalid" in text, text
    code, text = ask(brokers, TOPICS, "--delete", "--topic", "tools")
    assert code == 0, text
    code, text = ask(brokers, TOPICS, "--list")
    assert "tools" not in text.split()


def test_quotas_and_access_control_lists(brokers):
    entity = "--entity-type", "users", "--entity-name", "alice"
    code, text = ask(
        brokers, CONFIGS, "--alter", *entity, "--add-config", "producer_byte_rate=1000"
    )
    assert code == 0, text
    until(lambda: "producer_byte_rate=1000" in ask(brokers, CONFIGS, "--describe", *entity)[1])
    rule = "--allow-principal", "User:alice", "--operation", "Read", "--topic", "private"
    code, text = ask(brokers, ACLS, "--add", *rule)
    assert code == 0, text
    listed = "--list", "--topic", "private"
    until(lambda: "principal=User:alice" in ask(brokers, ACLS, *listed)[1])
    code, text = ask(brokers, ACLS, "--remove", "--force", *rule)
    assert code == 0, text
    until(lambda: "principal=User:alice" not in ask(brokers, ACLS, *listed)[1])


def test_partitions_move_and_preferred_leaders_come_back(brokers, admin, tmp_path):
    created(brokers, "moved", "--replica-assignment", "1:2")
    produce(brokers, "moved", 100)
    plan = {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [3, 1]}]}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    file = "--reassignment-json-file", str(path)
    code, text = ask(brokers, REASSIGN, *file, "--execute")
    assert code == 0, text
    until(lambda: "is completed" in ask(brokers, REASSIGN, *file, "--verify")[1], JVM_S)
    assert described(admin, "moved")[0][1:] == (1, 3)
    until(lambda: read(brokers, "moved", 100) == 100)
    where = "--topic", "moved", "--partition", "0"
    code, text = ask(brokers, ELECTION, "--election-type", "preferred", *where)
    assert code == 0, text
    until(lambda: described(admin, "moved")[0][0] == 3)


def test_features_and_the_quorum(brokers):
    code, text = ask(brokers, FEATURES, "describe")
    assert re.search(r"metadata.version.*FinalizedVersionLevel: 3.3-IV3", text), text
    code, text = ask(brokers, FEATURES, "upgrade", "--metadata", "3.9")
    assert code == 1 and "only supports versions" in text, text
    code, text = ask(brokers, FEATURES, "downgrade", "--metadata", "3.3-IV0")
    assert code == 1 and "Refusing to perform the requested downgrade" in text, text
    code, text = ask(brokers, QUORUM, "describe", "--status")
    assert re.search(r"LeaderId: +10[123]\n", text), text
    assert all(f'"id": {id}' in text for id in (1, 2, 3, 101, 102, 103)), text
    where = "--bootstrap-controller", brokers.controllers.address(101)
    done = tool(QUORUM, *where, "describe", "--status", folder=KRAFT.folder)
    assert re.search(r"LeaderId: +10[123]\n", done.out), done
    done = tool(FEATURES, *where, "describe", folder=KRAFT.folder)
    assert re.search(r"metadata.version.*FinalizedVersionLevel: 3.3-IV3", done.out), done
    done = tool(CLUSTER, "cluster-id", "--bootstrap-server", brokers.bootstrap, folder=KRAFT.folder)
    assert "O2whmP1nSWeNENpX08USQQ" in done.out, done
    unregister = "unregister", "--bootstrap-server", brokers.bootstrap, "--id", "77"
    done = tool(CLUSTER, *unregister, folder=KRAFT.folder)
    assert "BrokerIdNotRegistered" in done.out + done.err, done


# -- clients, while nodes are killed ---------------------------------------------------------


def producer(brokers, **settings):
    quiet = {"log_level": 0}
    return Producer({"bootstrap.servers": brokers.bootstrap, "acks": "all", **quiet, **settings})


def note(failed):
    """A callback that keeps the errors of records."""
    return lambda error, message: failed.append(error) if error else None


def produce(brokers, topic, count):
    client, failed = producer(brokers, **{"enable.idempotence": True}), []
    for number in range(count):
        client.produce(
            topic, str(number), on_delivery=lambda error, _: error and failed.append(error)
        )
        client.poll(0)
    assert client.flush(JVM_S) == 0 and failed == []


def read(brokers, topic, count, group="readers", **settings):
    """How many values a group reads, each once, until it has so many."""
    client = Consumer({
        "bootstrap.servers": brokers.bootstrap, "group.id": group,
        "auto.offset.reset": "earliest", **settings,
    })  # fmt: skip
    client.subscribe([topic])
    found = set()

    def enough():
        for message in client.consume(500, 1.0):
            if message.error() is None:
                found.add(message.value())
        return len(found) >= count

    try:
        until(enough, JVM_S)
    finally:
        client.close()
    return len(found)


def test_nothing_is_lost_while_the_active_controller_and_a_leader_are_killed(brokers, admin):
    created(brokers, "orders", "--partitions", "3", "--replication-factor", "3",
            "--config", "min.insync.replicas=2")  # fmt: skip
    controllers, failed, stop, sent = brokers.controllers, [], threading.Event(), [0]

    def write():
        client = producer(brokers, **{"enable.idempotence": True, "message.timeout.ms": 120_000})
        while not stop.is_set() or sent[0] < RECORDS:
            client.produce(
                "orders", str(sent[0]), on_delivery=lambda error, _: error and failed.append(error)
            )
            sent[0] += 1
            client.poll(0.001)
        failed.extend(["unsent"] * client.flush(JVM_S))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    active, epoch = controllers.leader(JVM_S), controllers.epoch()
    controllers.children[active].kill()
    others = {101, 102, 103} - {active}
    controllers.leader(JVM_S, others, after=epoch)
    controllers.start(active)
    until(lambda: len(described(admin, "orders")) == 3, JVM_S)
    victim = described(admin, "orders")[0][0]
    brokers.children[victim].kill()
    brokers.lose_disk(victim)  # it gets the metadata by a snapshot, and copies all records
    until(lambda: victim not in described(admin, "orders").get(0, [victim]), JVM_S)
    brokers.start(victim)
    until(lambda: [len(it) for it in described(admin, "orders").values()] == [4, 4, 4], JVM_S)
    assert "Fetching snapshot" in brokers.children[victim].output()
    stop.set()
    writer.join(JVM_S)
    assert failed == []
    assert read(brokers, "orders", sent[0]) == sent[0]
    until(lambda: all(len({*brokers.logs(f"orders-{n}")}) == 1 for n in range(3)))


def test_a_transaction_is_read_when_it_is_committed(brokers):
    created(brokers, "paid", "--partitions", "2", "--replication-factor", "3")
    client = producer(brokers, **{"transactional.id": "shop"})
    client.init_transactions(JVM_S)
    for outcome in ("abort", "commit"):
        client.begin_transaction()
        for number in range(50):
            client.produce("paid", f"{outcome} {number}")
        client.send_offsets_to_transaction(
            [TopicPartition("paid", 0, 1)], consumer_metadata(brokers, "shop"), JVM_S
        )
        getattr(client, f"{outcome}_transaction")(JVM_S)
    assert read(brokers, "paid", 50, "paid", **{"isolation.level": "read_committed"}) == 50


def consumer_metadata(brokers, group):
    client = Consumer({"bootstrap.servers": brokers.bootstrap, "group.id": group})
    try:
        return client.consumer_group_metadata()
    finally:
        client.close()


@pytest.mark.timeout(4 * JVM_S)
def test_the_lead_goes_from_our_controllers_to_kafkas_and_back(tmp_path):
    """Each kind of controller goes on from what the other has written."""
    with KRaftBrokers(tmp_path, (OURS, KAFKA, OURS)) as brokers:
        controllers, led, made = brokers.controllers, [], []
        while {OURS, KAFKA} - set(led[1:-1]):  # each has taken over, and was followed
            leader, epoch = controllers.leader(JVM_S), controllers.epoch()
            led.append(controllers.kinds[leader])
            made.append(f"by-{leader}-{epoch}")
            created(brokers, made[-1], "--partitions", "2", "--replication-factor", "3")
            controllers.children[leader].kill()
            controllers.leader(JVM_S, {101, 102, 103} - {leader}, after=epoch)
            controllers.start(leader)
            assert len(led) < MOST_LEADERS, led
        admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
        for topic in made:
            until(lambda topic=topic: len(described(admin, topic)) == 2, JVM_S)
