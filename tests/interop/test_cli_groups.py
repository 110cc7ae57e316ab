"""`consumer-groups` on a real broker: what it tells of groups, and how it deletes them."""

from collections.abc import Callable

import confluent_kafka
import pytest

from engine.cli.main import main
from engine.cluster.cluster import Cluster
from tests.interop import grouping
from tests.interop.grouping import Groups, committer, member, new_group, new_topic

OFFSETS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
CONFIG = grouping.CONFIG


@pytest.fixture
def groups(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Groups:
    return Groups(cluster, capsys)


@pytest.fixture
def group() -> str:
    return new_group()


@pytest.fixture
def topic(cluster: Cluster) -> str:
    return new_topic(cluster)


@pytest.fixture
def commit(cluster: Cluster, group: str, topic: str) -> Callable[..., None]:
    return committer(cluster, group, topic)


# -- looking -----------------------------------------------------------------------------------


def test_a_group_at_work(cluster: Cluster, groups: Groups, group: str, topic: str) -> None:
    with member(cluster, group, topic, client_id="reader") as consumer:
        consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 4)], asynchronous=False)
        me = consumer.memberid()
        assert groups.out("--describe", "--group", group) == [
            [*OFFSETS, "CONSUMER-ID", "HOST", "CLIENT-ID"],
            [group, topic, "0", "4", "10", "6", me, "/127.0.0.1", "reader"],
            [group, topic, "1", "-", "0", "-", me, "/127.0.0.1", "reader"],
        ]
        assert groups.out("--describe", "--group", group, "--members", "--verbose") == [
            ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"],
            [group, me, "/127.0.0.1", "reader", "2", f"{topic}(0,1)"],
        ]
        assert groups.out("--describe", "--group", group, "--state") == [
            ["GROUP", "COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"],
            [group, cluster.bootstrap, "(1)", "range", "Stable", "1"],
        ]
        assert [group, "Stable"] in groups.out("--list", "--state", "stable,Empty")
        assert [group, "Stable"] not in groups.out("--list", "--state", "empty")


def test_a_static_member_is_shown_by_its_name(
    cluster: Cluster, groups: Groups, group: str, topic: str
) -> None:
    with member(cluster, group, topic, group_instance_id="desk-7", client_id="reader"):
        heads, row = groups.out("--describe", "--group", group, "--members")
    assert heads[2] == "GROUP-INSTANCE-ID"
    assert row[2:] == ["desk-7", "/127.0.0.1", "reader", "2"]


def test_a_group_whose_members_are_gone(
    groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    commit(4)
    status, out, err = groups.run("--describe", "--group", group)
    assert (status, err) == (0, f"\nConsumer group '{group}' has no active members.\n")
    assert out.splitlines() == [
        "",
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG"
        "             CONSUMER-ID     HOST            CLIENT-ID",
        f"{group:15} {topic:15} 0          4               10              6"
        "               -               -               -",
    ]
    assert [group] in groups.out("--list")
    assert [group, "Empty"] in groups.out("--list", "--state")
    assert groups.run("--describe", "--group", group, "--members")[1] == ""


def test_a_topic_that_is_gone_has_no_end(
    cluster: Cluster, groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    """Until the coordinator has heard of it, too, and forgets the offset."""
    kept = f"{topic}-kept"
    cluster.admin.create_topic(kept)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(kept, 0, 0)], asynchronous=False)
    consumer.close()
    commit(4)
    cluster.admin.delete_topic(topic)
    rows = [
        line.split()[1:6] for line in groups.run("--describe", "--group", group)[1].splitlines()
    ]
    assert [kept, "0", "0", "0", "0"] in rows
    assert [row for row in rows if row[:1] == [topic]] in ([], [[topic, "0", "4", "-", "-"]])


def test_a_group_that_there_is_not(groups: Groups, topic: str) -> None:
    for action in ("--describe", "--describe --members", "--describe --state"):
        told = groups.error(*action.split(), "--group", "nobody")
        assert told == "Consumer group 'nobody' does not exist."
    assert groups.error("--delete", "--group", "nobody") == (
        "Deletion of some consumer groups failed: Group 'nobody' could not be deleted due to: "
        "The group id does not exist."
    )
    assert groups.error("--delete-offsets", "--group", "nobody", "--topic", topic) == (
        "The group id does not exist."
    )


def test_the_records_of_a_group(cluster: Cluster, groups: Groups, group: str, topic: str) -> None:
    """What the broker has written down of it, and that it was forgotten."""
    with member(cluster, group, topic) as consumer:
        place = confluent_kafka.TopicPartition(topic, 0, 4)
        consumer.commit(offsets=[place], asynchronous=False)
        me = consumer.memberid()
    groups.run("--delete", "--group", group)
    (log,) = cluster.directory(1).glob("__consumer_offsets-0/*.log")
    assert main(["dump-log", "--files", str(log), "--offsets-decoder"]) == 0
    lines = groups.capsys.readouterr().out.splitlines()
    found = [line.partition(" key: ")[2] for line in lines if f"group={group}" in line]
    assert found[-5:] == [
        f"group_metadata::group={group} payload: "
        '{"protocolType":"consumer","protocol":"range","generationId":1,'
        f'"assignment":"{{{me}=[{topic}-0, {topic}-1]}}"}}',
        f"offset_commit::group={group},partition={topic}-0 payload: offset=4",
        f"group_metadata::group={group} payload: "
        '{"protocolType":"consumer","protocol":null,"generationId":2,"assignment":"{}"}',
        f"offset_commit::group={group},partition={topic}-0 payload: <DELETE>",
        f"group_metadata::group={group} payload: <DELETE>",
    ]


# -- deleting ----------------------------------------------------------------------------------


def test_a_group_is_deleted_with_its_offsets(
    groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    commit(4)
    status, out, _ = groups.run("--delete", "--group", group)
    assert status == 0
    assert out == f"Deletion of requested consumer groups ('{group}') was successful.\n"
    assert [group] not in groups.out("--list")


def test_offsets_of_one_topic_are_deleted(
    groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    commit(4, 0)
    status, out, _ = groups.run("--delete-offsets", "--group", group, "--topic", f"{topic}:0")
    assert status == 0
    assert out.splitlines() == [
        f"Request succeed for deleting offsets with topic {topic}:0 group {group}",
        "",
        "TOPIC                          PARTITION       STATUS",
        f"{topic:30} 0               Successful",
    ]
    assert groups.committed(group) == {(topic, 1): 0}
