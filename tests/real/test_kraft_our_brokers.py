"""Our brokers and Apache Kafka's on one quorum of controllers, without ZooKeeper, at level 7."""

import json
import re
import threading
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from engine.cluster.kafka_process import KAFKA, OURS
from tests.cluster.controllers import CLUSTER_ID, KAFKA_41, Controllers
from tests.cluster.kraft_brokers import KRaftBrokers
from tests.interop.watch import until
from tests.limits import CHANGE_S, JVM_S
from tests.real.jars import KAFKA_4, KRAFT, check
from tests.real.kafka import tool

PARTITIONS = 3
SESSION = ("broker.session.timeout.ms=4000",)
# The kinds of controllers, and of brokers.
CLUSTERS = {
    "a controller of Kafka's": ((KAFKA,), {1: OURS, 2: KAFKA, 3: OURS}),
    "controllers of ours": ((OURS, OURS, OURS), {1: OURS, 2: KAFKA, 3: OURS}),
    "a controller of 4.1": ((KAFKA_41,), {1: OURS, 2: KAFKA_41, 3: OURS}),
    "a broker of 4.1": ((OURS, OURS, OURS), {1: KAFKA_41, 2: OURS, 3: OURS}),
}
STEP = 1000  # records that a writer adds between two faults


@pytest.fixture(scope="module", autouse=True)
def kraft_is_here():
    check(KRAFT)
    check(KAFKA_4)


@pytest.fixture(params=CLUSTERS)
def layout(request):
    return CLUSTERS[request.param]


@pytest.fixture
def controllers(layout, tmp_path):
    with Controllers(tmp_path, layout[0], SESSION) as controllers:
        yield controllers


@pytest.fixture
def kinds(layout):
    return layout[1]


class Writer:
    """Writes numbers with acks=all, until it is stopped, and notes which are acknowledged."""

    def __init__(self, bootstrap, topic):
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        self.acknowledged, self._topic = set(), topic
        self._producer = Producer(settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(JVM_S) == 0

    def _run(self):
        number = 0
        while not self._stop.is_set():
            self._producer.produce(self._topic, str(number), on_delivery=self._delivered)
            self._producer.poll(0.002)
            number += 1

    def _delivered(self, error, message):
        if error is None:
            self.acknowledged.add(message.value())

    def advance(self):
        goal = len(self.acknowledged) + STEP
        until(lambda: len(self.acknowledged) >= goal, JVM_S)


def read_all(brokers, topic, **settings):
    """All records of a topic, to the ends that it has now."""
    consumer = Consumer(
        {"bootstrap.servers": brokers.bootstrap, "group.id": "all", "enable.auto.commit": False}
        | settings
    )
    parts = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    ends = {each.partition: consumer.get_watermark_offsets(each, JVM_S)[1] for each in parts}
    consumer.assign(parts)
    values = []

    def done():
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None, message.error()
            values.append(message.value())
        at = {each.partition: each.offset for each in consumer.position(parts)}
        return all(at[number] >= end for number, end in ends.items())

    until(done, JVM_S)
    consumer.close()
    return values


def create(brokers, topic):
    new = NewTopic(topic, PARTITIONS, 3, config={"min.insync.replicas": "2"})
    admin = brokers.admin
    admin.create_topics([new])[topic].result()
    until(lambda: topic in admin.list_topics().topics)


def test_leaders_of_both_kinds_are_killed_under_load(controllers, kinds):
    """Each acknowledged record is there once, and the logs of all replicas are alike."""
    with KRaftBrokers(controllers, kinds) as brokers:
        create(brokers, "orders")
        with Writer(brokers.bootstrap, "orders") as writer:
            writer.advance()
            for victim in (1, 2, 3, 2):
                brokers.kill(victim)
                brokers.await_registered(*(brokers.kinds.keys() - {victim}))
                writer.advance()
                brokers.start(victim)
                brokers.await_registered(*brokers.kinds)
                brokers.await_in_sync("orders")
                writer.advance()
        values = read_all(brokers, "orders")
        assert len(values) == len(set(values)), "a record is there twice"
        assert writer.acknowledged <= set(values)
        for number in range(PARTITIONS):
            until(lambda number=number: alike(brokers, "orders", number), CHANGE_S)


def alike(brokers, topic, number):
    logs = {brokers.records_of(id, topic, number) for id in brokers.kinds}
    return len(logs) == 1 and logs != {b""}


def test_groups_and_transactions_whose_coordinators_are_of_either_kind(controllers, kinds):
    """A transaction is read whole or not at all; a group goes on where it has committed, after its
    coordinator was killed."""
    with KRaftBrokers(controllers, kinds) as brokers:
        create(brokers, "orders")
        for number in range(6):  # their coordinators are on all three brokers
            settings = {"bootstrap.servers": brokers.bootstrap, "transactional.id": f"t{number}"}
            producer = Producer(settings)
            producer.init_transactions(JVM_S)
            for outcome in (producer.commit_transaction, producer.abort_transaction):
                producer.begin_transaction()
                for partition in range(PARTITIONS):
                    text = f"{number}-{partition}-{outcome.__name__}"
                    producer.produce("orders", text, partition=partition)
                outcome(JVM_S)
        committed = {
            f"{number}-{partition}-commit_transaction".encode()
            for number in range(6)
            for partition in range(PARTITIONS)
        }
        how = {"isolation.level": "read_committed"}
        assert sorted(read_all(brokers, "orders", **how)) == sorted(committed)
        for victim in (2, 1):
            check_groups(brokers, victim)


def committed(consumer, where):
    """What is committed; None while the broker that is asked has not heard of its own role."""
    try:
        return consumer.committed([where], JVM_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.NOT_COORDINATOR:
            raise
        return None


def check_groups(brokers, victim):
    """Six groups commit, a broker dies, and each of them goes on where it was."""
    groups = [f"group-{victim}-{number}" for number in range(6)]
    where = TopicPartition("orders", 0, 5)
    for group in groups:
        settings = {"bootstrap.servers": brokers.bootstrap, "group.id": group}
        consumer = Consumer(settings)
        until(lambda consumer=consumer: commits(consumer, where), JVM_S)
        consumer.close()
    brokers.kill(victim)
    brokers.await_registered(*(brokers.kinds.keys() - {victim}))
    for group in groups:
        consumer = Consumer({"bootstrap.servers": brokers.bootstrap, "group.id": group})
        (found,) = until(lambda consumer=consumer: committed(consumer, where), JVM_S)
        assert found.offset == 5, group
        consumer.close()
    brokers.start(victim)
    brokers.await_registered(*brokers.kinds)
    brokers.await_in_sync("orders")


def commits(consumer, where):
    return consumer.commit(offsets=[where], asynchronous=False)[0].error is None


QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
MOVES = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
NODES = "org.apache.kafka.tools.ClusterTool"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
DISKS = "org.apache.kafka.tools.LogDirsCommand"


@contextmanager
def hanging(bootstrap, topic):
    """A transaction that is open, with a record in partition 0."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "billing"})
    producer.init_transactions(JVM_S)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    assert producer.flush(JVM_S) == 0
    yield
    producer.abort_transaction(JVM_S)


def test_kafkas_tools_on_our_brokers(controllers, kinds, tmp_path):
    """They ask a broker, which passes on what the controller has to decide."""
    with KRaftBrokers(controllers, dict.fromkeys(kinds, OURS)) as brokers:
        where = "--bootstrap-server", brokers.bootstrap

        def run(name, *arguments):
            done = tool(name, *arguments, folder=KRAFT.folder)
            assert done.code == 0, done
            return done.out

        run(TOPICS, *where, *["--create", "--topic", "orders", "--partitions", "1"])
        topic = ("--entity-type", "topics", "--entity-name", "orders")
        run(CONFIGS, *where, "--alter", *topic, "--add-config", "retention.ms=777777")
        assert "retention.ms=777777" in run(CONFIGS, *where, "--describe", *topic)
        with hanging(brokers.bootstrap, "orders"):
            listed = run(TRANSACTIONS, *where, "list")
            assert re.search(r"billing\s+[123]\s+\d+\s+Ongoing", listed), listed
            told = run(TRANSACTIONS, *where, "describe", "--transactional-id", "billing")
            assert re.search(r"billing\s.*Ongoing\s.*orders-0", told), told
        disks = json.loads(run(DISKS, *where, "--describe").splitlines()[-1])
        assert {each["broker"] for each in disks["brokers"]} == {1, 2, 3}
        moves = tmp_path / "moves.json"
        move = {"topic": "orders", "partition": 0, "replicas": [3, 2]}
        moves.write_text(json.dumps({"version": 1, "partitions": [move]}))
        file = "--reassignment-json-file", str(moves)
        run(MOVES, *where, *file, "--execute")
        until(lambda: "is completed" in run(MOVES, *where, *file, "--verify"), JVM_S)
        assert "Replicas: 3,2" in run(TOPICS, *where, "--describe", "--topic", "orders")
        assert "LeaderId:" in run(QUORUM, *where, "describe", "--status")
        assert CLUSTER_ID in run(NODES, "cluster-id", *where)
        brokers.kill(1)
        brokers.await_registered(2, 3)
        run(NODES, "unregister", *where, "--id", "1")
        run(TOPICS, *where, "--delete", "--topic", "orders")
