"""Users with passwords, and what they may do: stock clients, our own, and the command `acls`."""

import asyncio
import subprocess
import sys

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from confluent_kafka import KafkaError, Producer, TopicPartition

import engine
from tests.interop.alike import OURS, THEIRS
from tests.interop.watch import until
from tests.modes import made, mode_of

CONFIG = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
PATTERN = "--resource-pattern-type", "match"
USERS = {"alice": "in wonderland", "bob": "the builder"}


@pytest.fixture(scope="module")
def cluster(request):
    secured = {"security": "SASL_PLAINTEXT", "users": USERS}
    with made(2, mode_of(request), config=CONFIG, **secured) as cluster:
        cluster.topic("orders", replicas=2)
        yield cluster


def command(cluster, *options, user=None):
    settings = cluster.data / "clients" / f"{user}.properties" if user else root(cluster)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "engine", "acls", "--bootstrap-server", cluster.bootstrap),
            *("--command-config", settings, *options),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return run.returncode, run.stdout, run.stderr


def root(cluster):
    """The settings of the brokers' own user, who may do everything."""
    path = cluster.data / "root.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in cluster.security_settings.items()))
    return path


def delivered(cluster, user, kind=Producer):
    """None, or the error of a record for orders."""
    errors = []
    producer = kind({**cluster.settings(user), "log_level": 0, "message.timeout.ms": 15_000})
    producer.produce("orders", b"x", on_delivery=lambda error, message: errors.append(error))
    producer.flush(20)
    return errors[0] and errors[0].code()


def consumed(cluster, user, group):
    """What a consumer of a group gets first: a value, or an error's code."""
    consumer = confluent_kafka.Consumer(
        {
            **cluster.settings(user),
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])
    try:
        message = consumer.poll(20)
        assert message is not None
        return message.error().code() if message.error() else message.value()
    finally:
        consumer.close()


def test_nothing_is_allowed_until_it_is_and_each_user_gets_his_own(cluster):
    refused = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert delivered(cluster, "alice") == refused
    status, out, err = command(
        cluster, "--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders"
    )
    assert (status, err) == (0, "")
    assert "principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW" in out
    until(lambda: delivered(cluster, "alice") is None)  # another broker hears of it later
    assert delivered(cluster, "alice", engine.Producer) is None
    assert delivered(cluster, "bob") == refused

    assert consumed(cluster, "bob", "billing") == KafkaError.GROUP_AUTHORIZATION_FAILED
    consumer = "--consumer", "--topic", "orders", "--group", "billing"
    command(cluster, "--add", "--allow-principal", "User:bob", *consumer)
    until(lambda: consumed(cluster, "bob", "billing") == b"x")
    assert consumed(cluster, "alice", "billing") == KafkaError.GROUP_AUTHORIZATION_FAILED


def test_who_may_not_alter_the_cluster_changes_no_rule(cluster):
    status, _, err = command(
        cluster, "--add", "--allow-principal", "User:bob", "--topic", "*", user="bob"
    )
    assert status == 1
    assert "cluster authorization failed" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("kit", [OURS, THEIRS], ids=["ours", "confluent-kafka"])
def test_rules_by_an_admin_client(cluster, kit):
    admin = kit.AdminClient({**cluster.security_settings, "bootstrap.servers": cluster.bootstrap})
    binding = kit.AclBinding(
        *(kit.ResourceType.TOPIC, "log-", kit.ResourcePatternType.PREFIXED, "User:bob", "*"),
        *(kit.AclOperation.READ, kit.AclPermissionType.DENY),
    )
    (created,) = admin.create_acls([binding]).values()
    assert created.result(20) is None
    every = kit.AclBindingFilter(
        *("topic", "log-7", kit.ResourcePatternType.MATCH, None, None),
        *(kit.AclOperation.ANY, "any"),
    )
    until(lambda: admin.describe_acls(every).result(20) == [binding])
    (deleted,) = admin.delete_acls([every]).values()
    assert list(deleted.result(20)) == [binding]
    until(lambda: admin.describe_acls(every).result(20) == [])
    bob = kit.AdminClient(cluster.settings("bob"))
    (created,) = bob.create_acls([binding]).values()
    with pytest.raises(kit.KafkaException) as refused:
        created.result(20)
    assert refused.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("kit", [OURS, THEIRS], ids=["ours", "confluent-kafka"])
@pytest.mark.parametrize(
    ("place", "value"),
    [(0, "any"), (0, "tea"), (1, None), (2, "match"), (3, None), (5, "any"), (6, "any")],
)
def test_a_rule_that_is_none(kit, place, value):
    arguments = ["topic", "t", "literal", "User:bob", "*", "read", "allow"]
    arguments[place] = value
    with pytest.raises(ValueError, match=r"not None|[Uu]nknown value|Cannot use enum"):
        kit.AclBinding(*arguments)


def test_aiokafka(cluster):
    given = cluster.settings("bob")

    async def sent_and_read():
        how = {
            "bootstrap_servers": given["bootstrap.servers"],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": given["sasl.mechanism"],
            "sasl_plain_username": "bob",
            "sasl_plain_password": USERS["bob"],
        }
        producer = AIOKafkaProducer(**how)
        reader = AIOKafkaConsumer("aio", group_id="aio", auto_offset_reset="earliest", **how)
        try:
            await producer.start()
            await producer.send_and_wait("aio", b"x")
            await reader.start()
            return (await asyncio.wait_for(reader.getone(), 30)).value
        finally:  # also of one that has not started
            await reader.stop()
            await producer.stop()

    def outcome():
        try:
            return asyncio.run(sent_and_read())
        except (TopicAuthorizationFailedError, GroupAuthorizationFailedError) as error:
            return type(error)

    cluster.topic("aio")
    assert outcome() is TopicAuthorizationFailedError
    bob = "--add", "--allow-principal", "User:bob"
    command(cluster, *bob, "--producer", "--topic", "aio")
    until(lambda: outcome() is GroupAuthorizationFailedError)  # each broker hears of the rule
    command(cluster, *bob, "--consumer", "--topic", "aio", "--group", "aio")
    until(lambda: outcome() == b"x")


def test_rules_can_be_listed_and_removed(cluster):
    topic = "--topic", "tmp"
    command(cluster, "--add", "--deny-principal", "User:bob", "--operation", "read", *topic)
    rule = "principal=User:bob, host=*, operation=READ, permissionType=DENY"
    until(lambda: rule in command(cluster, "--list", *topic)[1])
    assert "name=orders" not in command(cluster, "--list", *topic)[1]
    assert command(cluster, "--remove", "--force", *topic) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--add", "--topic", "t"], "--allow-principal, --deny-principal"),
        (["--add", "--allow-principal", "bob", "--topic", "t"], "principalType:principalName"),
        (["--add", "--allow-principal", "User:bob"], "at least one resource"),
        (
            ["--add", "--allow-principal", "User:b", "--group", "g", "--operation", "Write"],
            "GROUP only supports operations Read, Delete, Describe, All",
        ),
        (
            ["--add", "--allow-principal", "User:b", "--topic", "t", "--operation", "Fly"],
            "there is no such operation",
        ),
        (
            ["--add", "--allow-principal", "User:b", "--topic", "t", *PATTERN],
            "is not valid when adding acls",
        ),
    ],
)
def test_wrong_options_are_a_sentence(cluster, options, why):
    status, out, err = command(cluster, *options)
    assert (status, out) == (2, "")
    assert why in err


def test_the_offset_of_a_partition_is_asked_for_with_a_right_to_describe(cluster):
    describe = "--operation", "describe", "--topic", "orders"
    command(cluster, "--add", "--allow-principal", "User:alice", *describe)
    consumer = confluent_kafka.Consumer(
        {**cluster.settings("alice"), "group.id": "none", "log_level": 0}
    )
    low, _ = consumer.get_watermark_offsets(TopicPartition("orders", 0), 20)
    assert low == 0
    consumer.close()
