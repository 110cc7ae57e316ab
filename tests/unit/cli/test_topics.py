"""`topics --describe`: which partitions are shown, and how one looks that is being moved."""

from argparse import Namespace
from collections.abc import Iterator
from typing import cast

import pytest

from engine.cli import zookeeper_topics
from engine.cli.options import topic_matcher
from engine.cli.zookeeper_session import ZnodeClient
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.cli.pretend import At, Pretended, complaint, pretended, printed
from tests.unit.client.fake import FakeBroker

HEALTHY, BEHIND, ALONE, LOST, LED_BY_THE_DEAD, MOVING = range(6)


@pytest.fixture
def cluster() -> Iterator[Pretended]:
    """Broker 3 is dead. Replication 3, of which two should be in sync."""
    with pretended() as cluster:
        cluster.alive = {1, 2, 4}
        cluster.min_isr = "2"
        cluster.topics = {
            "a": [
                At(1, (1, 2, 4), (1, 2, 4)),
                At(1, (1, 2, 3), (1, 2)),
                At(2, (1, 2, 3), (2,)),
                At(-1, (3, 2, 1), (3,)),
                At(3, (3, 2, 1), (3, 2)),
                At(1, (1, 2, 4, 3), (1, 2, 4)),
            ]
        }
        cluster.under_way = {TopicPartition("a", MOVING): ((1, 2, 4, 3), (3,), (4,))}
        yield cluster


@pytest.mark.parametrize(
    ("only", "partitions"),
    [
        ("under-replicated", [BEHIND, ALONE, LOST, LED_BY_THE_DEAD]),
        ("unavailable", [LOST, LED_BY_THE_DEAD]),
        ("under-min-isr", [ALONE, LOST, LED_BY_THE_DEAD]),
        ("at-min-isr", [BEHIND, LED_BY_THE_DEAD]),
    ],
)
def test_only_those_that_are_not_well(
    cluster: Pretended, only: str, partitions: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A partition that is being moved lacks nothing as long as it has what it had."""
    assert cluster.run(f"topics --describe --{only}-partitions") == 0
    assert [line.split("\t")[:3] for line in printed(capsys)] == [
        ["", "Topic: a", f"Partition: {number}"] for number in partitions
    ]


def test_a_partition_that_is_being_moved(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("topics --describe --topic a") == 0
    lines = printed(capsys)
    assert lines[0] == "Topic: a\tPartitionCount: 6\tReplicationFactor: 3\tConfigs: "
    assert lines[1 + LOST] == "\tTopic: a\tPartition: 3\tLeader: none\tReplicas: 3,2,1\tIsr: 3"
    assert lines[1 + MOVING] == (
        "\tTopic: a\tPartition: 5\tLeader: 1\tReplicas: 1,2,4,3\tIsr: 1,2,4"
        "\tAdding Replicas: 3\tRemoving Replicas: 4"
    )


def test_the_replication_factor_of_a_topic_does_not_grow_while_it_moves(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.topics["a"] = cluster.topics["a"][MOVING:]
    cluster.under_way = {TopicPartition("a", 0): ((1, 2, 4, 3), (3,), (4,))}
    assert cluster.run("topics --describe") == 0
    assert "\tReplicationFactor: 3\t" in printed(capsys)[0]


def test_brokers_that_cannot_tell_of_moves(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {api: (api.oldest, api.newest) for api in Api}
    del old[Api.LIST_PARTITION_REASSIGNMENTS]
    cluster.broker.stop()
    cluster.broker = FakeBroker(cluster.broker.answers, old)
    with cluster.broker:
        assert cluster.run("topics --describe") == 0
    assert printed(capsys)[1 + MOVING].endswith("Replicas: 1,2,4,3\tIsr: 1,2,4")


def test_another_failure_is_not_taken_for_that(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = ApiException(ErrorCode.cluster_authorization_failed, "not for you")
    cluster.refusals = [(refused.code, refused.message)]
    assert cluster.run("topics --describe") == 1
    assert complaint(capsys) == "not for you"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--list --unavailable-partitions", "can't be used with --list"),
        (
            "--describe --unavailable-partitions --at-min-isr-partitions",
            "--at-min-isr-partitions: not allowed with argument --unavailable-partitions",
        ),
    ],
)
def test_options_that_make_no_sense(
    cluster: Pretended, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run(f"topics {options}") == 2
    assert told in complaint(capsys)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("orders,lines", ["lines", "orders"]),
        (" orders, lines ", ["lines", "orders"]),
        ("'orders'", ["orders"]),
        ("ord.*", ["orders", "orders-old"]),
        ("orders|lines", ["lines", "orders"]),
        ("order", []),
        ("", []),
        ("''", []),
    ],
)
def test_which_topics_a_list_or_a_pattern_names(named: str, found: list[str]) -> None:
    """The pattern is read as Kafka's IncludeList reads it, which an empty text matches nowhere."""
    names = ["lines", "orders", "orders-old"]
    assert [name for name in names if topic_matcher(named)(name)] == found


def test_without_topic_all_are_named() -> None:
    assert topic_matcher(None)("orders")


def test_an_empty_topic_deletes_none(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("topics --delete", "--topic", "") == 1
    assert complaint(capsys) == "there is no topic '' in this cluster; there is one other"
    assert not cluster.broker.requests(Api.DELETE_TOPICS)


class Znodes:
    """A ZooKeeper with two topics; whoever creates a znode there deletes one."""

    def children(self, path: str) -> list[str]:
        return ["lines", "orders"]

    def create(self, path: str) -> bool:
        raise AssertionError(path)


def test_an_empty_topic_deletes_none_by_its_znode_either() -> None:
    options = Namespace(topic="", exclude_internal=False, if_exists=False)
    with pytest.raises(ApiException, match="Topic '' does not exist as expected"):
        zookeeper_topics.ACTIONS["delete"](cast(ZnodeClient, Znodes()), options)
