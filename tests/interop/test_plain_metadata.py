"""Brokers whose metadata comes from a file serve a stock client: they need no ZooKeeper."""

from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tests.interop.plain_metadata import ListController, PlainCluster
from tests.interop.watch import until
from tests.limits import ANSWER_S, START_S

WORDS = [f"word {number}" for number in range(60)]


def produce(bootstrap: str, words: list[str], partition: int = -1) -> None:
    """To one partition; -1: to whichever the producer takes."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True})
    refused: list[object] = []
    for word in words:
        producer.produce(
            "orders",
            word,
            partition=partition,
            on_delivery=lambda error, message: error and refused.append(error),
        )
    assert producer.flush(START_S) == 0
    assert refused == []


def consume(bootstrap: str, group: str, count: int) -> list[str]:
    """As a member of a group that commits."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    found: list[str] = []

    def enough() -> bool:
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message.value().decode())
        return len(found) >= count

    until(enough, START_S)
    consumer.commit(asynchronous=False)
    places = [TopicPartition("orders", number) for number in range(3)]
    assert sum(max(0, each.offset) for each in consumer.committed(places, ANSWER_S)) == count
    consumer.close()
    return found


def test_a_broker_serves_topics_produce_fetch_and_groups_without_zookeeper(tmp_path: Path) -> None:
    """It stops and starts again from the file; a leader that leaves is replaced."""
    file, controller = tmp_path / "metadata.json", ListController(tmp_path / "metadata.json")
    with PlainCluster(controller, tmp_path, brokers=2) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        config = {"retention.ms": "1234567"}
        admin.create_topics([NewTopic("orders", 3, 2, config=config)])["orders"].result(ANSWER_S)
        partitions = admin.list_topics("orders", ANSWER_S).topics["orders"].partitions
        assert {each.leader for each in partitions.values()} == {1, 2}
        produce(cluster.bootstrap, WORDS)
        assert sorted(consume(cluster.bootstrap, "readers", 60)) == sorted(WORDS)

        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
        described = admin.describe_configs([resource])[resource].result(ANSWER_S)
        assert described["retention.ms"].value == "1234567"
        resource.add_incremental_config(
            ConfigEntry("max.message.bytes", "2048", incremental_operation=AlterConfigOpType.SET)
        )
        admin.incremental_alter_configs([resource])[resource].result(ANSWER_S)
        described = admin.describe_configs([resource])[resource].result(ANSWER_S)
        assert described["max.message.bytes"].value == "2048"

        admin.create_topics([NewTopic("spare", 1, 1)])["spare"].result(ANSWER_S)
        admin.create_partitions([NewPartitions("spare", 2)])["spare"].result(ANSWER_S)
        admin.delete_topics(["spare"])["spare"].result(ANSWER_S)
        assert "spare" not in admin.list_topics(timeout=ANSWER_S).topics

        cluster.stop(2)  # its leaderships go to broker 1, and the ISR is broker 1 alone
        until(lambda: ("leave", 2) in controller.changes)
        for partition in range(3):  # broker 2 led one or two of them, and followed in the others
            produce(cluster.bootstrap, ["a word to one broker"], partition)

    kinds = {what[0] for what in controller.changes}
    asked = {"create", "grow", "delete", "configure", "producer ids"}
    assert kinds == asked | {"register", "leave", "isr"}

    with PlainCluster(ListController(file), tmp_path, brokers=2) as cluster:
        assert len(consume(cluster.bootstrap, "others", 63)) == 63
