"""AdminClient on three brokers: what it has done is so everywhere, and goes on when one dies."""

from collections.abc import Iterator
from itertools import count

import pytest

from engine.client.address import Address
from engine.client.admin.client import AdminClient
from engine.client.admin.values import ConsumerGroupTopicPartitions, ElectionType, TopicCollection
from engine.client.cluster import ClusterClient
from engine.client.values import KafkaError, TopicPartition
from engine.cluster.cluster import Cluster
from engine.errors import ErrorCode
from tests.interop.watch import until

CONFIG = {"offsets.topic.num.partitions": "3"}

_numbers = count()


@pytest.fixture
def admin(cluster: Cluster) -> AdminClient:
    return cluster.admin


@pytest.fixture
def name() -> str:
    return f"admin-{next(_numbers)}"


@pytest.fixture
def view(cluster: Cluster) -> Iterator[ClusterClient]:
    with ClusterClient([Address.parse(each) for each in cluster.bootstrap.split(",")]) as view:
        yield view


def replicas(admin: AdminClient, name: str) -> list[list[int]]:
    found = admin.describe_topics(TopicCollection([name]))[name].result()
    return [[each.id for each in partition.replicas] for partition in found.partitions]


def test_a_new_topic_is_known_to_every_broker(
    cluster: Cluster, admin: AdminClient, view: ClusterClient, name: str
) -> None:
    """Without a wait, and so is that it is gone."""
    admin.create_topic(name, partitions=3, replication=3, config={"min.insync.replicas": 2})
    for broker in cluster.brokers:
        topic = view.describe([name], broker=broker).topics[name]
        assert len(topic.partitions) == 3
        assert all(each.leader in cluster.brokers for each in topic.partitions.values())
    admin.delete_topic(name)
    for broker in cluster.brokers:
        topic = view.describe([name], broker=broker).topics[name]
        assert topic.error == ErrorCode.unknown_topic_or_partition


def test_a_partition_moves(admin: AdminClient, name: str) -> None:
    """From broker 1 to 2, which had been only a name; the other one stays where it is."""
    admin.create_topic(name, partitions=2, replication=1)
    place = TopicPartition(name, 0)
    old, other = replicas(admin, name)
    new = [each for each in (1, 2, 3) if each not in old][:1]
    moves = admin.alter_partition_reassignments({place: new, TopicPartition(name, 9): [1]})
    assert moves[place].result() is None
    refused = moves[TopicPartition(name, 9)].exception()
    assert refused is not None
    assert refused.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    until(lambda: replicas(admin, name) == [new, other])
    assert admin.list_partition_reassignments().result() == {}
    on_disk = admin.describe_log_dirs(new)[new[0]].result()
    (directory,) = on_disk.values()
    assert directory.error is None
    assert (directory.replica_infos[place].size, directory.replica_infos[place].is_future) == (
        0,
        False,
    )


def test_the_preferred_leader_leads_again(cluster: Cluster, admin: AdminClient, name: str) -> None:
    """Once it is back from the dead and in sync."""

    def leader() -> int:
        found = admin.describe_topics(TopicCollection([name]))[name].result()
        at = found.partitions[0].leader
        return at.id if at else -1

    def in_sync() -> int:
        found = admin.describe_topics(TopicCollection([name]))[name].result()
        return len(found.partitions[0].isr)

    admin.create_topic(name, partitions=1, replication=3)
    first, place = leader(), TopicPartition(name, 0)
    cluster.kill(first)
    until(lambda: leader() not in (first, -1))
    cluster.restart(first)
    until(lambda: in_sync() == 3)
    elected = admin.elect_leaders(ElectionType.PREFERRED, [place]).result()
    if elected[place] is not None:  # auto.leader.rebalance was quicker
        assert elected[place] == KafkaError.ELECTION_NOT_NEEDED
    until(lambda: leader() == first)


def test_groups_are_found_wherever_they_are(
    cluster: Cluster, admin: AdminClient, name: str
) -> None:
    """Each broker knows its own; the offsets of one that dies are known to another."""
    admin.create_topic(name, partitions=1, replication=3)
    groups = [f"{name}-{n}" for n in range(6)]

    def place(offset: int) -> list[TopicPartition]:
        return [TopicPartition(name, 0, offset)]

    for offset, group in enumerate(groups):
        wanted = ConsumerGroupTopicPartitions(group, place(offset))
        (done,) = admin.alter_consumer_group_offsets([wanted])[group].result().topic_partitions
        assert done.error is None

    def listed() -> set[str]:
        found = admin.list_consumer_groups().result()
        assert found.errors == []
        return {each.group_id for each in found.valid}

    def coordinator(group: str) -> int:
        return admin.describe_consumer_groups([group])[group].result().coordinator.id

    assert listed() >= set(groups)
    assert {coordinator(group) for group in groups} == {1, 2, 3}

    cluster.kill(coordinator(groups[5]))
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(groups[5])])
    (kept,) = found[groups[5]].result().topic_partitions
    assert (kept.topic, kept.offset) == (name, 5)
    until(lambda: listed() >= set(groups))
    deleted = admin.delete_consumer_groups(groups)
    assert [each.result() for each in deleted.values()] == [None] * 6
    assert listed().isdisjoint(groups)
