"""Topics, configurations and records, administered by unmodified kafka-python and aiokafka."""

import asyncio
from contextlib import closing

import confluent_kafka
import kafka
import kafka.errors
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.structs import TopicPartition as AioTopicPartition
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

from tests.interop.plain import new_name
from tests.interop.raw import caught_up


@pytest.fixture(scope="module")
def admin(cluster):
    with closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        yield admin


@pytest.fixture
def topic():
    return new_name()


def produce(cluster, topic, records):
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    producer = confluent_kafka.Producer(settings)
    for number in range(records):
        producer.produce(topic, b"record %d" % number, partition=0)
    assert producer.flush(10) == 0


class TestKafkaPython:
    def test_a_topic_from_birth_to_death(self, admin, cluster, topic):
        admin.create_topics({topic: {"num_partitions": 2, "configs": {"retention.ms": "1000"}}})
        caught_up(cluster)
        (described,) = admin.describe_topics([topic])
        assert described["error_code"] == 0
        assert [each["leader_id"] for each in described["partitions"]] == [1, 1]

        admin.create_partitions({topic: 3})
        caught_up(cluster)
        (described,) = admin.describe_topics([topic])
        assert len(described["partitions"]) == 3

        admin.delete_topics([topic])
        caught_up(cluster)
        assert topic not in admin.list_topics()

    def test_errors(self, admin, cluster, topic):
        admin.create_topics([topic])
        caught_up(cluster)
        with pytest.raises(kafka.errors.TopicAlreadyExistsError):
            admin.create_topics([topic])
        with pytest.raises(kafka.errors.InvalidTopicError):
            admin.create_topics(["a/b"])
        with pytest.raises(kafka.errors.UnknownTopicOrPartitionError):
            admin.delete_topics([f"{topic}-"])
        with pytest.raises(kafka.errors.InvalidPartitionsError):
            admin.create_partitions({topic: 1})

    def test_configurations(self, admin, cluster, topic):
        kind, operation = ConfigResourceType.TOPIC, AlterConfigOp
        admin.create_topics({topic: {"configs": {"retention.ms": "1000"}}})
        caught_up(cluster)

        def modified():
            described = admin.describe_configs([ConfigResource(kind, topic)])["topic"][topic]
            return {
                name: entry["value"]
                for name, entry in described.items()
                if entry["config_source"] == "DYNAMIC_TOPIC_CONFIG"
            }

        assert modified() == {"retention.ms": "1000"}
        changes = {
            "retention.ms": (operation.DELETE, None),
            "cleanup.policy": (operation.APPEND, "compact"),
        }
        assert admin.alter_configs([ConfigResource(kind, topic, changes)]) == {
            "topic": {topic: "OK"}
        }
        caught_up(cluster)
        assert modified() == {"cleanup.policy": "delete,compact"}
        replaced = ConfigResource(kind, topic, {"segment.bytes": "2000"})
        admin.alter_configs([replaced], incremental=False)
        caught_up(cluster)
        assert modified() == {"cleanup.policy": "delete,compact", "segment.bytes": "2000"}
        admin.reset_configs([ConfigResource(kind, topic, {})])
        caught_up(cluster)
        assert modified() == {}

    def test_records_producers_and_disks(self, admin, cluster, topic):
        admin.create_topics([topic])
        caught_up(cluster)
        produce(cluster, topic, 10)

        partition = kafka.TopicPartition(topic, 0)
        (state,) = admin.describe_producers([partition])[partition].active_producers
        assert (state.producer_epoch, state.last_sequence) == (0, 9)

        disks = admin.describe_log_dirs()
        sizes = {
            (found["name"], each["partition_index"]): each["partition_size"]
            for disk in disks[0]["log_dirs"]
            for found in disk["topics"]
            for each in found["partitions"]
        }
        log = cluster.directory(1) / f"{topic}-0" / "00000000000000000000.log"
        assert sizes[topic, 0] == log.stat().st_size

        assert admin.delete_records({partition: 7})[partition]["low_watermark"] == 7


class TestAiokafka:
    def told(self, cluster, story):
        async def tell():
            admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
            await admin.start()
            try:
                await story(admin)
            finally:
                await admin.close()

        asyncio.run(tell())

    def test_a_topic_from_birth_to_death(self, cluster, topic):
        async def story(admin):
            created = await admin.create_topics([AioNewTopic(topic, 2, 1)])
            caught_up(cluster)
            assert created.topic_errors == [(topic, 0, None)]
            (described,) = await admin.describe_topics([topic])
            assert (described["topic"], len(described["partitions"])) == (topic, 2)

            grown = await admin.create_partitions({topic: AioNewPartitions(3)})
            caught_up(cluster)
            assert grown.topic_errors == [(topic, 0, None)]
            (described,) = await admin.describe_topics([topic])
            assert len(described["partitions"]) == 3

            again = await admin.create_topics([AioNewTopic(topic, 2, 1)])
            caught_up(cluster)
            assert again.topic_errors == [(topic, 36, f"Topic '{topic}' already exists.")]

            deleted = await admin.delete_topics([topic])
            caught_up(cluster)
            assert deleted.topic_error_codes == [(topic, 0)]
            assert topic not in await admin.list_topics()

        self.told(cluster, story)

    def test_configurations(self, cluster, topic):
        async def story(admin):
            kind = AioConfigResourceType.TOPIC
            await admin.create_topics([AioNewTopic(topic, 1, 1)])
            caught_up(cluster)
            change = AioConfigResource(kind, topic, {"retention.ms": "1000"})
            ((altered,),) = [answer.resources for answer in await admin.alter_configs([change])]
            caught_up(cluster)
            assert altered == (0, None, 2, topic)
            asked = AioConfigResource(kind, topic, {"retention.ms": None})
            (answer,) = await admin.describe_configs([asked], include_synonyms=True)
            (error, _, _, name, entries) = answer.resources[0]
            assert (error, name) == (0, topic)
            ((key, value, read_only, _source, sensitive, synonyms),) = entries
            assert (key, value, read_only, sensitive) == ("retention.ms", "1000", False, False)
            assert synonyms[0] == ("retention.ms", "1000", 1)

        self.told(cluster, story)

    def test_records_and_cluster(self, cluster, topic):
        async def story(admin):
            await admin.create_topics([AioNewTopic(topic, 1, 1)])
            caught_up(cluster)
            await asyncio.to_thread(produce, cluster, topic, 5)
            partition = AioTopicPartition(topic, 0)
            deleted = await admin.delete_records({partition: RecordsToDelete(3)})
            assert deleted == {partition: 3}
            described = await admin.describe_cluster()
            assert described["controller_id"] == 1

        self.told(cluster, story)
