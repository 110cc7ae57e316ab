"""Source and sink on a secured cluster: a user's password, TLS, and what the user may do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from engine.cluster.cluster import Cluster
from sparkstreams.source import FORMAT

USERS = {"alice": "in wonderland", "bob": "the builder"}
CONFIG = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
ROWS = 200

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(1, config=CONFIG, security="SASL_SSL", users=USERS) as cluster:
        for topic in ("orders", "copied"):
            cluster.topic(topic, partitions=2, replicas=1)
        alice = [
            (ResourceType.TOPIC, "orders", AclOperation.READ),
            (ResourceType.TOPIC, "orders", AclOperation.WRITE),
            (ResourceType.TOPIC, "copied", AclOperation.WRITE),
            (ResourceType.TOPIC, "copied", AclOperation.READ),
            (ResourceType.TOPIC, "copied-staging", AclOperation.ALL),
            (ResourceType.TOPIC, "spark-epochs", AclOperation.ALL),
            (ResourceType.BROKER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE),
        ]
        rules = [
            AclBinding(
                *(kind, name, ResourcePatternType.LITERAL, "User:alice", "*"),
                *(operation, AclPermissionType.ALLOW),
            )
            for kind, name, operation in alice
        ]
        root = AdminClient({"bootstrap.servers": cluster.bootstrap, **cluster.security_settings})
        for future in root.create_acls(rules).values():
            future.result(30)
        yield cluster


def options(cluster: Cluster, user: str, **more: str) -> dict[str, str]:
    """For Spark: the settings of any client, and `kafka.` before each."""
    return {f"kafka.{name}": text for name, text in cluster.settings(user).items()} | more


def test_a_stream_as_alice_from_a_topic_to_another_exactly_once(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    rows = spark.range(ROWS).select(expr("string(id)").alias("value"))
    rows.write.format(FORMAT).options(**options(cluster, "alice", topic="orders")).mode(
        "append"
    ).save()

    source = options(cluster, "alice", subscribe="orders", startingOffsets="earliest")
    (
        spark.readStream.format(FORMAT)
        .options(**source)
        .load()
        .select("key", "value")
        .writeStream.format(FORMAT)
        .options(**options(cluster, "alice", topic="copied", exactlyOnce="true"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )

    reader = Consumer(
        {**cluster.security_settings, "bootstrap.servers": cluster.bootstrap}
        | {"group.id": "found", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(["copied"])
    values = sorted(int(it.value()) for it in reader.consume(ROWS, 60))
    reader.close()
    assert values == list(range(ROWS))


@pytest.mark.parametrize(
    ("user", "password", "told"),
    [
        ("bob", USERS["bob"], "UNKNOWN_TOPIC|TOPIC_AUTHORIZATION_FAILED|there is no topic orders"),
        ("alice", "a wrong guess", "SASL_AUTHENTICATION_FAILED|[Aa]uthentication failed"),
    ],
)
def test_who_may_not_read_is_told_so_and_no_password_is_shown(
    spark: SparkSession, cluster: Cluster, user: str, password: str, told: str
) -> None:
    given = options(cluster, user, subscribe="orders") | {"kafka.sasl.password": password}
    with pytest.raises(Exception, match=told) as refused:
        spark.read.format(FORMAT).options(**given).load().count()
    assert password not in str(refused.value)
