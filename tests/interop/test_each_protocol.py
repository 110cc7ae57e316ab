"""Stock clients in a secured cluster, with each protocol and mechanism, allowed and denied.

Each call of a client is made by bob, for whom no rule was made, and by the admin, a super user. Bob
is answered by an authorization error; what a client makes of it is not always an error (SILENT).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from itertools import count
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
import kafka
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.helpers import create_ssl_context
from confluent_kafka import ElectionType, IsolationLevel
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka import admin as confluent_admin
from kafka import admin as python_admin

from engine import Cluster
from tests.limits import CHANGE_S

USERS = {"admin": "the, admin's", "bob": "the=builder"}
CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:admin;User:CN=admin",
}
SASL = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
WAYS = [("SSL", None), *((it, how) for it in ("SASL_PLAINTEXT", "SASL_SSL") for how in SASL)]
RULES, CREDENTIALS = "describe rules", "describe credentials"
REFUSED = re.compile(
    r"AUTHORIZATION_FAILED|AuthorizationFailed|error_code(=|': )(29|30|31|53)\b|, (29|30|31|53)[,)]"
)
UNSEEN = "No leaders found|UnknownTopicOrPartition|NotLeaderForPartition"
SILENT = {
    "confluent-kafka": {"list offsets": UNSEEN, "delete records": UNSEEN, RULES: r"\[\]"},
    "kafka-python": {
        "list offsets": UNSEEN,
        "delete records": UNSEEN,
        "producers": UNSEEN,
        "disks": r"'log_dirs': \[\]",  # as in Kafka 2.8: an empty list, and no error
        "describe configs": "{}",
        "alter configs": "Unrecognized configs",  # it describes first
        "alter configs by steps": "Unrecognized configs",
    },
    "aiokafka": {"delete records": UNSEEN},
}
PREFERRED = 0
ISOLATION = IsolationLevel.READ_UNCOMMITTED

_numbers = count()


@pytest.fixture(scope="module", params=["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def secured(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(security=request.param, users=USERS, config=CONFIG) as made:
        made.protocol = request.param
        yield made


@pytest.fixture
def topic(secured: Cluster) -> str:
    return secured.topic(f"topic-{next(_numbers)}", replicas=1)


def mechanisms(cluster: Cluster) -> list[str | None]:
    return [how for protocol, how in WAYS if protocol == cluster.protocol]


def python_settings(cluster: Cluster, user: str, mechanism: str | None) -> dict[str, Any]:
    """For kafka-python, and for aiokafka but for its SSL context."""
    given = cluster.settings(user, mechanism) if mechanism else cluster.settings(user)
    names = {
        "bootstrap.servers": "bootstrap_servers",
        "security.protocol": "security_protocol",
        "ssl.ca.location": "ssl_cafile",
        "ssl.certificate.location": "ssl_certfile",
        "ssl.key.location": "ssl_keyfile",
        "sasl.mechanism": "sasl_mechanism",
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
    }
    return {names[key]: value for key, value in given.items() if key in names}


def aio_settings(cluster: Cluster, user: str, mechanism: str | None) -> dict[str, Any]:
    given = python_settings(cluster, user, mechanism)
    files = {key: given.pop(key) for key in list(given) if key.startswith("ssl_")}
    if files:
        words = {key.removeprefix("ssl_"): value for key, value in files.items()}
        given["ssl_context"] = create_ssl_context(**words)
    return given


# -- records ---------------------------------------------------------------------------------------


def by_confluent(settings: dict[str, Any], topic: str) -> None:
    producer = confluent_kafka.Producer(settings | {"log_level": 0})
    outcome: list[Any] = []
    producer.produce(topic, b"x", on_delivery=lambda error, message: outcome.append(error))
    producer.flush(CHANGE_S)
    if outcome[0] is not None:
        raise confluent_kafka.KafkaException(outcome[0])
    place = {"group.id": f"group-{topic}", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings | place)
    consumer.subscribe([topic])
    try:
        message = consumer.poll(CHANGE_S)
        assert message is not None
        if message.error() is not None:
            raise confluent_kafka.KafkaException(message.error())
        consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def by_kafka_python(settings: dict[str, Any], topic: str) -> None:
    producer = kafka.KafkaProducer(**settings)
    try:
        producer.send(topic, b"x").get(CHANGE_S)
    finally:
        producer.close()
    consumer = kafka.KafkaConsumer(
        topic, **settings, group_id=f"group-{topic}", auto_offset_reset="earliest"
    )
    try:
        assert next(iter(consumer)).value == b"x"
        consumer.commit()
    finally:
        consumer.close()


def by_aiokafka(settings: dict[str, Any], topic: str) -> None:
    async def story() -> None:
        producer = aiokafka.AIOKafkaProducer(**settings)
        await producer.start()
        try:
            await producer.send_and_wait(topic, b"x")
        finally:
            await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(
            topic, **settings, group_id=f"group-{topic}", auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            assert (await consumer.getone()).value == b"x"
            await consumer.commit()
        finally:
            await consumer.stop()

    asyncio.run(story())


def confluent_settings(cluster: Cluster, user: str, mechanism: str | None) -> dict[str, Any]:
    return cluster.settings(user, mechanism) if mechanism else cluster.settings(user)


KITS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any], str], None]]] = {
    "confluent-kafka": (confluent_settings, by_confluent),
    "kafka-python": (python_settings, by_kafka_python),
    "aiokafka": (aio_settings, by_aiokafka),
}


@pytest.mark.parametrize("kit", KITS)
def test_records_by_each_mechanism_allowed_and_denied(
    secured: Cluster, topic: str, kit: str
) -> None:
    settings, story = KITS[kit]
    for mechanism in mechanisms(secured):
        story(settings(secured, "admin", mechanism), topic)
        with pytest.raises(Exception, match=REFUSED) as refused:
            story(settings(secured, "bob", mechanism), topic)
        assert USERS["bob"] not in str(refused.value)


# -- everything else -------------------------------------------------------------------------------


def all_of(futures: dict[Any, Any]) -> list[Any]:
    return [each.result(CHANGE_S) for each in futures.values()]


def confluent_calls(client: Any, topic: str) -> dict[str, Callable[[], Any]]:
    return {
        **confluent_topic_calls(client, topic),
        **confluent_group_calls(client, f"group-{topic}", topic),
        **confluent_rule_calls(client, topic),
        "transactions": client.transact,
        "delete topics": lambda: all_of(client.delete_topics([topic])),
    }


def confluent_topic_calls(client: Any, topic: str) -> dict[str, Callable[[], Any]]:
    part = ConfluentPartition(topic, 0)
    resource = confluent_admin.ConfigResource("topic", topic)
    entry = confluent_admin.ConfigEntry(
        "retention.ms", "1000", incremental_operation=confluent_admin.AlterConfigOpType.SET
    )
    changed = confluent_admin.ConfigResource("topic", topic, incremental_configs=[entry])
    replaced = confluent_admin.ConfigResource("topic", topic, set_config={"retention.ms": "9"})
    newest = {part: confluent_admin.OffsetSpec.latest()}
    named = confluent_kafka.TopicCollection([topic])
    new = confluent_admin.NewTopic(f"{topic}-made", 1, 1)
    more = confluent_admin.NewPartitions(topic, 2)
    preferred = ElectionType.PREFERRED
    return {
        "create topics": lambda: all_of(client.create_topics([new])),
        "describe topics": lambda: all_of(client.describe_topics(named)),
        "create partitions": lambda: all_of(client.create_partitions([more])),
        "describe configs": lambda: all_of(client.describe_configs([resource])),
        "alter configs": lambda: all_of(client.alter_configs([replaced])),
        "alter configs by steps": lambda: all_of(client.incremental_alter_configs([changed])),
        "list offsets": lambda: all_of(client.list_offsets(newest, isolation_level=ISOLATION)),
        "delete records": lambda: all_of(client.delete_records([ConfluentPartition(topic, 0, 0)])),
        "elect leaders": lambda: client.elect_leaders(preferred, [part]).result(CHANGE_S),
    }


def confluent_group_calls(client: Any, group: str, topic: str) -> dict[str, Callable[[], Any]]:
    places = confluent_kafka.ConsumerGroupTopicPartitions(group, [ConfluentPartition(topic, 0, 0)])
    asked = confluent_kafka.ConsumerGroupTopicPartitions(group)
    return {
        "alter group's offsets": lambda: all_of(client.alter_consumer_group_offsets([places])),
        "group's offsets": lambda: all_of(client.list_consumer_group_offsets([asked])),
        "describe groups": lambda: all_of(client.describe_consumer_groups([group])),
        "delete groups": lambda: all_of(client.delete_consumer_groups([group])),
    }


def confluent_rule_calls(client: Any, topic: str) -> dict[str, Callable[[], Any]]:
    """ACLs, and credentials for SCRAM."""
    where = (
        confluent_admin.ResourceType.TOPIC,
        topic,
        confluent_admin.ResourcePatternType.LITERAL,
    )
    may_read = confluent_admin.AclOperation.READ, confluent_admin.AclPermissionType.ALLOW
    anything = confluent_admin.AclOperation.ANY, confluent_admin.AclPermissionType.ANY
    rule = confluent_admin.AclBinding(*where, "User:carol", "*", *may_read)
    rules = confluent_admin.AclBindingFilter(*where, None, None, *anything)
    how = confluent_admin.ScramCredentialInfo(confluent_admin.ScramMechanism.SCRAM_SHA_256, 4096)
    carol = confluent_admin.UserScramCredentialUpsertion("carol", how, b"hers")
    return {
        "create rules": lambda: all_of(client.create_acls([rule])),
        RULES: lambda: client.describe_acls(rules).result(CHANGE_S),
        "delete rules": lambda: all_of(client.delete_acls([rules])),
        "alter credentials": lambda: all_of(client.alter_user_scram_credentials([carol])),
        CREDENTIALS: lambda: all_of(client.describe_user_scram_credentials(["carol"])),
    }


class ConfluentAdmin(confluent_admin.AdminClient):
    """With the producer's part, too."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self._settings = settings

    def transact(self) -> None:
        own = {"transactional.id": f"of-{next(_numbers)}", "log_level": 0}
        confluent_kafka.Producer(self._settings | own).init_transactions(CHANGE_S)


def kafka_python_calls(client: Any, topic: str) -> dict[str, Callable[[], Any]]:
    group, part = f"group-{topic}", kafka.TopicPartition(topic, 0)
    kind = python_admin.ConfigResourceType.TOPIC
    resource = python_admin.ConfigResource(kind, topic)
    changed = python_admin.ConfigResource(kind, topic, {"retention.ms": "1000"})
    of_topic = python_admin.ResourcePattern(python_admin.ResourceType.TOPIC, topic)
    rule = python_admin.ACL(
        "User:carol",
        "*",
        python_admin.ACLOperation.READ,
        python_admin.ACLPermissionType.ALLOW,
        of_topic,
    )
    rules = python_admin.ACLFilter(
        None,
        None,
        python_admin.ACLOperation.ANY,
        python_admin.ACLPermissionType.ANY,
        python_admin.ResourcePatternFilter(
            python_admin.ResourceType.TOPIC, topic, python_admin.ACLResourcePatternType.LITERAL
        ),
    )
    places = {part: kafka.OffsetAndMetadata(0, "", -1)}
    return {
        "create topics": lambda: client.create_topics([f"{topic}-made"]),
        "describe topics": lambda: client.describe_topics([topic]),
        "create partitions": lambda: client.create_partitions({topic: 2}),
        "describe configs": lambda: client.describe_configs([resource]),
        "alter configs": lambda: client.alter_configs([changed], incremental=False),
        "alter configs by steps": lambda: client.alter_configs([changed]),
        "list offsets": lambda: client.list_partition_offsets(
            {part: python_admin.OffsetSpec.LATEST}
        ),
        "delete records": lambda: client.delete_records({part: 0}),
        "alter group's offsets": lambda: client.alter_group_offsets(group, places),
        "group's offsets": lambda: client.list_group_offsets(group),
        "describe groups": lambda: client.describe_groups([group]),
        "delete groups": lambda: client.delete_groups([group]),
        "create rules": lambda: client.create_acls([rule]),
        RULES: lambda: client.describe_acls(rules),
        "delete rules": lambda: client.delete_acls([rules]),
        CREDENTIALS: client.describe_user_scram_credentials,
        "disks": client.describe_log_dirs,
        "producers": lambda: client.describe_producers([part]),
        "reassignments": client.list_partition_reassignments,
        "reassign": lambda: client.alter_partition_reassignments({part: [1]}),
        "elect leaders": lambda: client.elect_leaders(PREFERRED, {topic: [0]}),
        "delete topics": lambda: client.delete_topics([topic]),
    }


def aiokafka_calls(client: Any, topic: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    group, part = f"group-{topic}", aiokafka.TopicPartition(topic, 0)
    changed = AioConfigResource(AioConfigResourceType.TOPIC, topic, {"retention.ms": "1000"})
    asked = AioConfigResource(AioConfigResourceType.TOPIC, topic, {"retention.ms": None})
    return {
        "create topics": lambda: client.create_topics([AioNewTopic(f"{topic}-made", 1, 1)]),
        "describe topics": lambda: client.describe_topics([topic]),
        "create partitions": lambda: client.create_partitions({topic: AioNewPartitions(2)}),
        "describe configs": lambda: client.describe_configs([asked]),
        "alter configs": lambda: client.alter_configs([changed]),
        "delete records": lambda: client.delete_records({part: RecordsToDelete(0)}),
        "group's offsets": lambda: client.list_consumer_group_offsets(group),
        "describe groups": lambda: client.describe_consumer_groups([group]),
        "delete topics": lambda: client.delete_topics([topic]),
    }


class Outcome(NamedTuple):
    raised: bool
    text: str

    @property
    def refused(self) -> bool:
        return REFUSED.search(self.text) is not None


def outcome(call: Callable[[], Any]) -> Outcome:
    """What a client gave or raised, as text; each has its own form for an error."""
    try:
        return Outcome(False, str(call()))
    except Exception as error:
        return Outcome(True, repr(error))


def check(kit: str, user: str, told: dict[str, Outcome]) -> None:
    if user == "admin":
        assert {name: it for name, it in told.items() if it.raised or it.refused} == {}
        return
    silent = {name: it.text for name, it in told.items() if not it.refused}
    assert silent.keys() == SILENT[kit].keys(), silent
    assert all(re.search(words, silent[name]) for name, words in SILENT[kit].items()), silent


@pytest.fixture
def grouped(secured: Cluster, topic: str) -> str:
    """A topic that a group has read."""
    by_confluent(secured.settings("admin"), topic)
    return topic


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
@pytest.mark.parametrize("user", USERS)
def test_confluent_kafka(secured: Cluster, grouped: str, user: str) -> None:
    client = ConfluentAdmin(secured.settings(user) | {"log_level": 0})
    calls = confluent_calls(client, grouped)
    if user == "bob":
        del calls[CREDENTIALS]  # librdkafka 2.16 ends the process when this is refused
    check("confluent-kafka", user, {name: outcome(call) for name, call in calls.items()})


@pytest.mark.parametrize("user", USERS)
def test_kafka_python(secured: Cluster, grouped: str, user: str) -> None:
    with closing(kafka.KafkaAdminClient(**python_settings(secured, user, None))) as client:
        calls = kafka_python_calls(client, grouped)
        check("kafka-python", user, {name: outcome(call) for name, call in calls.items()})


@pytest.mark.parametrize("user", USERS)
def test_aiokafka(secured: Cluster, grouped: str, user: str) -> None:
    async def story() -> dict[str, Outcome]:
        client = AIOKafkaAdminClient(**aio_settings(secured, user, None))
        await client.start()
        told = {}
        try:
            for name, call in aiokafka_calls(client, grouped).items():
                try:
                    told[name] = Outcome(False, str(await call()))
                except Exception as error:
                    told[name] = Outcome(True, repr(error))
        finally:
            await client.close()
        return told

    check("aiokafka", user, asyncio.run(story()))
