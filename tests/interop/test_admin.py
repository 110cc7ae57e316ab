"""Topics, configurations and records, administered by an unmodified confluent-kafka."""

import confluent_kafka
import pytest
from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.interop.plain import new_name
from tests.interop.raw import caught_up

# It would like us to use the incremental one.
pytestmark = pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")

CONFIG = {"log.retention.hours": "48"}


class Administrator(AdminClient):
    def __init__(self, cluster):
        super().__init__({"bootstrap.servers": cluster.bootstrap})
        self.cluster = cluster


@pytest.fixture(scope="module")
def admin(cluster):
    return Administrator(cluster)


@pytest.fixture
def topic():
    return new_name()


def produce(cluster, topic, records):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(records):
        producer.produce(topic, b"record %d" % number, partition=0)
    assert producer.flush(10) == 0


def create(admin, topic, **settings):
    done(admin, admin.create_topics([NewTopic(topic, **settings)]))


def one(futures):
    (future,) = futures.values()
    return future.result(10)


def done(admin, futures):
    """Every broker knows of the change."""
    one(futures)
    caught_up(admin.cluster)


def fails(futures):
    """The name of the error of the only part."""
    with pytest.raises(confluent_kafka.KafkaException) as failure:
        one(futures)
    return failure.value.args[0].name()


def described(admin, resource):
    return one(admin.describe_configs([resource]))


def test_a_topic_from_birth_to_death(admin, topic):
    create(admin, topic, num_partitions=3, replication_factor=1)

    found = admin.list_topics(topic, timeout=20).topics[topic]
    assert found.error is None
    assert {each.leader for each in found.partitions.values()} == {1}
    assert sorted(found.partitions) == [0, 1, 2]

    done(admin, admin.create_partitions([NewPartitions(topic, 5)]))
    assert len(admin.list_topics(topic, timeout=20).topics[topic].partitions) == 5

    done(admin, admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=20).topics


def test_its_name_can_be_used_again_at_once(admin, topic):
    for partitions in (1, 2, 3):
        create(admin, topic, num_partitions=partitions)
        assert len(admin.list_topics(topic, timeout=20).topics[topic].partitions) == partitions
        done(admin, admin.delete_topics([topic]))


def test_a_new_topic_can_be_written_to_at_once(admin, cluster, topic):
    create(admin, topic, num_partitions=1)
    produce(cluster, topic, 10)
    end = one(admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}))
    assert end.offset == 10


def test_describe_topics(admin, topic):
    create(admin, topic, num_partitions=2)
    found = one(admin.describe_topics(TopicCollection([topic])))
    assert found.name == topic
    assert not found.is_internal
    assert [partition.id for partition in found.partitions] == [0, 1]
    assert [node.id for node in found.partitions[0].isr] == [1]
    assert len(str(found.topic_id)) == 22


def test_what_cannot_be_created(admin, topic):
    create(admin, topic)
    assert fails(admin.create_topics([NewTopic(topic)])) == "TOPIC_ALREADY_EXISTS"
    assert fails(admin.create_topics([NewTopic("a/b")])) == "TOPIC_EXCEPTION"
    assert fails(admin.create_topics([NewTopic(f"{topic}-", 1, 2)])) == "INVALID_REPLICATION_FACTOR"
    flawed = NewTopic(f"{topic}-", 1, 1, config={"segment.bytes": "5"})
    assert fails(admin.create_topics([flawed])) == "INVALID_CONFIG"
    assert fails(admin.create_partitions([NewPartitions(topic, 1)])) == ("INVALID_PARTITIONS")
    assert fails(admin.delete_topics([f"{topic}-"])) == "UNKNOWN_TOPIC_OR_PART"


def test_a_dry_run_changes_nothing(admin, topic):
    done(admin, admin.create_topics([NewTopic(topic, 3)], validate_only=True))
    create(admin, topic, num_partitions=2)
    done(admin, admin.create_partitions([NewPartitions(topic, 5)], validate_only=True))
    done(admin, admin.create_partitions([NewPartitions(topic, 3)]))


def test_replicas_by_hand(admin, topic):
    create(admin, topic, num_partitions=2, replica_assignment=[[1], [1]])
    assert len(admin.list_topics(topic, timeout=20).topics[topic].partitions) == 2
    wrong = NewTopic(f"{topic}-", num_partitions=1, replica_assignment=[[7]])
    assert fails(admin.create_topics([wrong])) == "INVALID_REPLICA_ASSIGNMENT"


def test_the_configuration_of_a_topic(admin, topic):
    resource = ConfigResource(ResourceType.TOPIC, topic)
    create(admin, topic, config={"retention.bytes": "1000"})
    configs = described(admin, resource)
    assert configs["retention.bytes"].value == "1000"
    assert configs["retention.bytes"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert configs["cleanup.policy"].value == "delete"
    assert configs["cleanup.policy"].is_default

    inherited = configs["retention.ms"]
    assert inherited.value == str(48 * 60 * 60 * 1000)
    assert inherited.source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert [synonym.name for synonym in inherited.synonyms.values()] == ["log.retention.hours"]


def test_alter_replaces_everything(admin, topic):
    create(admin, topic, config={"retention.bytes": "1000"})
    changed = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.bytes": "2000"})
    done(admin, admin.alter_configs([changed]))
    configs = described(admin, ConfigResource(ResourceType.TOPIC, topic))
    assert configs["segment.bytes"].value == "2000"
    assert configs["retention.bytes"].value == "-1"


def test_incremental_alter_changes_key_by_key(admin, topic):
    create(admin, topic, config={"retention.bytes": "1000", "segment.bytes": "2000"})
    operation = AlterConfigOpType
    for name, value, what, after in [
        ("retention.bytes", "3000", operation.SET, "3000"),
        ("segment.bytes", None, operation.DELETE, str(1 << 30)),
        ("cleanup.policy", "compact", operation.APPEND, "delete,compact"),
        ("cleanup.policy", "delete", operation.SUBTRACT, "compact"),
    ]:
        entry = ConfigEntry(name, value, incremental_operation=what)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        done(admin, admin.incremental_alter_configs([resource]))
        configs = described(admin, ConfigResource(ResourceType.TOPIC, topic))
        assert configs[name].value == after
    assert configs["retention.bytes"].value == "3000"


def test_a_change_counts_for_the_next_record(admin, cluster, topic):
    create(admin, topic)
    produce(cluster, topic, 1)
    small = ConfigResource(ResourceType.TOPIC, topic, set_config={"max.message.bytes": "10"})
    done(admin, admin.alter_configs([small]))
    failures = []
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(topic, b"too large now", on_delivery=lambda e, _: failures.append(e))
    producer.flush(10)
    assert failures[0].name() == "MSG_SIZE_TOO_LARGE"


def test_the_configuration_of_a_broker(admin):
    broker = ConfigResource(ResourceType.BROKER, "1")
    configs = described(admin, broker)
    assert configs["log.retention.hours"].value == "48"
    assert configs["log.retention.hours"].source == ConfigSource.STATIC_BROKER_CONFIG.value
    assert configs["broker.id"].is_read_only
    assert not configs["log.retention.ms"].is_read_only

    changed = ConfigResource(ResourceType.BROKER, "1", set_config={"log.cleaner.backoff.ms": "77"})
    done(admin, admin.alter_configs([changed]))
    altered = described(admin, broker)["log.cleaner.backoff.ms"]
    assert (altered.value, altered.source) == (
        "77",
        ConfigSource.DYNAMIC_BROKER_CONFIG.value,
    )
    done(admin, admin.alter_configs([broker]))
    assert described(admin, broker)["log.cleaner.backoff.ms"].is_default


def test_configurations_that_cannot_be(admin, cluster, topic):
    create(admin, topic)

    def alter(kind, name, **values):
        resource = ConfigResource(kind, name, set_config=values)
        return fails(admin.alter_configs([resource]))

    topics, brokers = ResourceType.TOPIC, ResourceType.BROKER
    wrong_value = "INVALID_CONFIG" if cluster.is_kraft else "INVALID_REQUEST"
    assert alter(topics, topic, **{"retention.mss": "1"}) == "INVALID_CONFIG"
    assert alter(topics, topic, **{"retention.ms": "soon"}) == wrong_value
    assert alter(topics, f"{topic}-", **{"retention.ms": "1"}) == "UNKNOWN_TOPIC_OR_PART"
    assert alter(brokers, "1", **{"zookeeper.connect": "there:1"}) == "INVALID_REQUEST"
    unknown = admin.describe_configs([ConfigResource(topics, f"{topic}-")])
    assert fails(unknown) == "UNKNOWN_TOPIC_OR_PART"


def test_records_deleted_from_the_front(admin, cluster, topic):
    create(admin, topic)
    produce(cluster, topic, 10)
    deleted = one(admin.delete_records([TopicPartition(topic, 0, 4)]))
    assert deleted.low_watermark == 4
    first = one(admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.earliest()}))
    assert first.offset == 4

    beyond = admin.delete_records([TopicPartition(topic, 0, 11)])
    assert fails(beyond) == "OFFSET_OUT_OF_RANGE"

    everything = admin.delete_records([TopicPartition(topic, 0, confluent_kafka.OFFSET_END)])
    assert one(everything).low_watermark == 10


def test_records_that_are_old_stay_when_those_before_them_are_deleted(admin, cluster, topic):
    """Retention has a time of its own."""
    create(admin, topic)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for at in range(10):
        producer.produce(topic, b"x", partition=0, timestamp=1000 + at)
    assert producer.flush(20) == 0
    assert one(admin.delete_records([TopicPartition(topic, 0, 4)])).low_watermark == 4


def test_describe_cluster(admin, cluster):
    answer = admin.describe_cluster(include_authorized_operations=True).result(10)
    assert answer.controller.id == 1
    assert [f"{node.host}:{node.port}" for node in answer.nodes] == [cluster.bootstrap]
    assert len(answer.cluster_id) == 22
    assert {operation.name for operation in answer.authorized_operations} == {
        "CREATE",
        "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
        "IDEMPOTENT_WRITE",
        "ALTER",
        "DESCRIBE",
    }


def test_a_topic_is_created_when_it_is_written_to(admin, cluster, topic):
    produce(cluster, topic, 1)
    assert len(admin.list_topics(topic, timeout=20).topics[topic].partitions) == 1
