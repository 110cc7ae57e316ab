"""Brokers of a cluster without ZooKeeper, when controllers and sessions come and go."""

import subprocess
import sys

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from engine.cluster.cluster import Cluster
from engine.raft.bootstrap import format_directory
from tests.interop.watch import until
from tests.limits import ANSWER_S, CHANGE_S, START_S

SESSION = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
QUICK = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}


@pytest.fixture
def kraft():
    with Cluster(brokers=3, metadata="kraft", controllers=1, config=SESSION | QUICK) as kraft:
        yield kraft


def created(cluster, name="orders"):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topic = NewTopic(name, 3, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[name].result()
    until(lambda: name in admin.list_topics().topics)
    return admin


def write(cluster, count=50):
    """Records with acks=all, each of them acknowledged."""
    errors = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        producer.produce("orders", str(number), on_delivery=lambda e, _: errors.append(e))
    assert producer.flush(CHANGE_S) == 0
    assert errors == [None] * count


def in_sync(admin, brokers, topic="orders"):
    rows = admin.list_topics(topic).topics[topic].partitions.values()
    return all(set(row.isrs) == brokers and row.leader in brokers for row in rows)


def test_without_controllers_a_broker_serves_what_it_leads(kraft):
    """All controllers are gone: clients read and write. Then they are back, and decide again."""
    admin = created(kraft)
    write(kraft)
    kraft.kill("controller-1")
    write(kraft)
    kraft.restart("controller-1")
    created(kraft, "later")
    write(kraft)
    assert in_sync(admin, {1, 2, 3})


def test_a_paused_broker_is_fenced_and_comes_back(kraft):
    """Others lead what it led; when it goes on it follows them, and joins the ISR again."""
    admin = created(kraft)
    write(kraft)
    kraft.pause(2)
    until(lambda: in_sync(admin, {1, 3}), CHANGE_S)
    write(kraft)
    kraft.resume(2)
    until(lambda: in_sync(admin, {1, 2, 3}), CHANGE_S)
    write(kraft)


def test_what_is_created_while_a_broker_is_down_has_replicas_there(kraft):
    """A topic, and partitions that are added. They join the ISR when the broker is back."""
    admin = created(kraft)
    kraft.kill(3)
    until(lambda: in_sync(admin, {1, 2}), CHANGE_S)
    created(kraft, "later")
    admin.create_partitions([NewPartitions("later", 5)])["later"].result()
    until(lambda: len(admin.list_topics("later").topics["later"].partitions) == 5)
    rows = admin.list_topics("later").topics["later"].partitions.values()
    assert {frozenset(row.replicas) for row in rows} == {frozenset({1, 2, 3})}
    assert in_sync(admin, {1, 2}, "later")
    kraft.restart(3)
    until(lambda: in_sync(admin, {1, 2, 3}, "later"), CHANGE_S)


def test_a_killed_broker_registers_as_another_incarnation(kraft):
    """It starts before its old session is over, and waits for that."""
    admin = created(kraft)
    write(kraft)
    kraft.kill(1)
    kraft.restart(1)
    until(lambda: in_sync(admin, {1, 2, 3}), START_S)
    write(kraft)


def test_stopped_brokers_hand_over_and_find_their_topics_again(kraft):
    """A topic was deleted meanwhile: its log is removed when the broker is back."""
    admin = created(kraft)
    created(kraft, "old")
    directory = kraft.directory(3)
    until(lambda: list(directory.glob("old-?")), CHANGE_S)
    kraft.stop_broker(3)
    assert in_sync(admin, {1, 2}), "it has handed over nothing"
    admin.delete_topics(["old"])["old"].result()
    kraft.restart(3)
    until(lambda: in_sync(admin, {1, 2, 3}), CHANGE_S)
    until(lambda: not list(directory.glob("old-?")), CHANGE_S)


def test_one_more_broker_is_started_by_kafkas_scripts(kraft):
    """As in Kafka, its directory is formatted first; without that it says so."""

    def typed(line):
        words = ["/bin/sh", "-c", line]
        done = subprocess.run(
            words, cwd=kraft.data, capture_output=True, text=True, timeout=START_S, check=True
        )
        return done.stdout

    start, out = "bin/kafka-server-start.sh -daemon config/server.properties", kraft.data / "logs"
    typed(start)
    told = "have you run `kafka-storage.sh` to format the directory?"
    until(lambda: told in (out / "kafkaServer.out").read_text(), START_S)
    id = (kraft.directory(1) / "meta.properties").read_text().partition("cluster.id=")[2].split()[0]
    typed(f"bin/kafka-storage.sh format -t {id} -c config/server.properties")
    typed(start)
    admin = AdminClient({"bootstrap.servers": kraft.bootstrap})
    until(lambda: set(admin.list_topics().brokers) == {0, 1, 2, 3}, START_S)
    typed("bin/kafka-server-stop.sh")
    until(lambda: set(admin.list_topics().brokers) == {1, 2, 3}, START_S)


def refused(cluster, directory, id, *keys):
    """What a broker says that does not start."""
    command = sys.executable, "-m", "engine", "broker", "--id", str(id), "--port", "0"
    where = "--data", str(directory), "--controllers", cluster.controllers
    words = [word for key in keys for word in ("--config", key)]
    done = subprocess.run(
        [*command, *where, *words], capture_output=True, text=True, timeout=START_S, check=False
    )
    assert done.returncode != 0
    return done.stdout + done.stderr


def test_a_broker_that_may_not_join_says_why(kraft, tmp_path):
    """Not formatted; of another cluster; with the id of a broker that is there."""
    said = refused(kraft, tmp_path / "none", 7)
    assert "have you run `kafka-storage.sh` to format the directory?" in said
    short = f"initial.broker.registration.timeout.ms={1000 * ANSWER_S / 10:.0f}"
    format_directory(tmp_path / "other", 7, "O2whmP1nSWeNENpX08USQQ", 0)
    assert "unable to register" in refused(kraft, tmp_path / "other", 7, short)
    own = (kraft.directory(1) / "meta.properties").read_text()
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "meta.properties").write_text(own)
    said = refused(kraft, tmp_path / "twin", 1, short)
    assert "duplicate_broker_registration" in said


def test_nodes_that_are_broker_and_controller_elect_and_go_on():
    """The one that leads the quorum is killed, with all that it led as a broker."""
    with Cluster(brokers=3, metadata="kraft", controllers=0, config=SESSION | QUICK) as kraft:
        admin = created(kraft)
        write(kraft)
        victim = kraft.state().controller
        kraft.kill(victim)
        until(lambda: in_sync(admin, {1, 2, 3} - {victim}), CHANGE_S)
        write(kraft)
        kraft.restart(victim)
        until(lambda: in_sync(admin, {1, 2, 3}), CHANGE_S)
