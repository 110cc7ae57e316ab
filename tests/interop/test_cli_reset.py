"""A group goes on elsewhere: `consumer-groups --reset-offsets`, and `console-consumer --group`."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from engine.cluster.cluster import Cluster
from tests.interop import grouping
from tests.interop.grouping import Groups, committer, member, new_group, new_topic
from tests.interop.shell import Running, Shell
from tests.interop.watch import until

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


# -- resetting ---------------------------------------------------------------------------------


def test_every_way_to_reset(
    groups: Groups, group: str, topic: str, commit: Callable[..., None], tmp_path: Path
) -> None:
    """A dry run changes nothing."""
    commit(4, 0)
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,3\n")
    for scenario, offset in {
        "--to-earliest": 0,
        "--to-latest": 10,
        "--to-current": 4,
        "--to-offset 0": 0,
        "--to-offset 7": 7,
        "--shift-by 0": 4,
        "--shift-by 2": 6,
        "--shift-by -3": 1,
        "--to-datetime 2023-11-14T23:13:20.000": 1,  # one hour after the first record
        "--to-datetime 2023-11-14T23:13:20.001": 2,
        "--to-datetime 2023-11-15T00:13:20.000+01:00": 1,
        "--to-datetime 2099-01-01T00:00:00.000": 10,
        "--by-duration P1D": 10,
        f"--from-file {plan}": 3,
    }.items():
        scope = [] if "file" in scenario else ["--topic", f"{topic}:0"]
        asked = groups.reset(group, *scope, *scenario.split(), "--dry-run")
        assert asked == {(topic, 0): offset}, scenario
    assert groups.committed(group) == {(topic, 0): 4, (topic, 1): 0}


def test_what_is_reset_is_where_the_group_goes_on(
    cluster: Cluster, groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    commit(4)
    done = groups.reset(group, "--topic", f"{topic}:0", "--to-offset", "8", "--execute")
    assert done == {(topic, 0): 8}
    assert groups.committed(group) == {(topic, 0): 8}
    with member(cluster, group, topic) as consumer:
        message = until(lambda: consumer.poll(0.05))
        assert message
        assert (message.partition(), message.offset()) == (0, 8)


def test_a_group_is_made_by_a_reset(groups: Groups, group: str, topic: str) -> None:
    groups.reset(group, "--topic", topic, "--to-latest", "--execute")
    assert groups.committed(group) == {(topic, 0): 10, (topic, 1): 0}


def test_an_offset_beyond_the_log_becomes_its_end(
    groups: Groups, group: str, topic: str, commit: Callable[..., None]
) -> None:
    commit(4)
    scope = ("--reset-offsets", "--group", group, "--all-topics", "--dry-run")
    status, out, err = groups.run(*scope, "--shift-by", "100")
    assert (status, out.split()[-1]) == (0, "10")
    assert err == (
        f"WARN: New offset (104) is higher than latest offset for topic partition {topic}-0. "
        "Value will be set to 10\n"
    )
    status, out, err = groups.run(*scope, "--shift-by", "-100")
    assert (status, out.split()[-1]) == (0, "0")
    assert "New offset (-96) is lower than earliest offset" in err


def test_an_export_is_a_plan(
    groups: Groups, group: str, topic: str, commit: Callable[..., None], tmp_path: Path
) -> None:
    """With several groups, each line tells which one it is for."""
    commit(4)
    other = f"{group}-other"
    groups.reset(other, "--topic", f"{topic}:0", "--to-offset", "2", "--execute")
    scope = ("--group", group, "--group", other, "--topic", f"{topic}:0")
    status, out, _ = groups.run("--reset-offsets", *scope, "--to-current", "--export")
    assert status == 0
    assert list(csv.reader(out.splitlines())) == [
        [group, topic, "0", "4"],
        [other, topic, "0", "2"],
    ]

    (plan := tmp_path / "plan.csv").write_text(out.replace(",4", ",5"))
    status, _, err = groups.run(
        "--reset-offsets", "--group", group, "--group", other, "--from-file", str(plan), "--execute"
    )
    assert (status, err) == (0, "")
    assert groups.committed(group) == {(topic, 0): 5}


def test_a_group_with_members_is_left_alone(
    cluster: Cluster, groups: Groups, group: str, topic: str
) -> None:
    with member(cluster, group, topic) as consumer:
        place = confluent_kafka.TopicPartition(topic, 0, 4)
        consumer.commit(offsets=[place], asynchronous=False)
        scope = ("--group", group, "--topic", topic)
        assert groups.error("--reset-offsets", *scope, "--to-earliest", "--execute") == (
            f"Assignments can only be reset if the group '{group}' is inactive, but the current "
            "state is Stable."
        )
        assert groups.error("--delete", "--group", group) == (
            f"Deletion of some consumer groups failed: Group '{group}' could not be deleted due "
            "to: The group is not empty."
        )
        told = groups.error("--delete-offsets", *scope)
        assert told == "the offsets of 2 of 2 partitions were not deleted"
        assert groups.committed(group) == {(topic, 0): 4}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--topic nonsense --to-latest", "there is no topic nonsense in this cluster; "),
        ("--topic {topic}:5 --to-latest", "topic {topic} has no partition 5: it has 2, from 0 on"),
        (
            "--topic {topic} --shift-by 1",
            "Cannot shift offset for partition {topic}-0 since there is no current committed",
        ),
    ],
)
def test_what_cannot_be_reset(
    groups: Groups, group: str, topic: str, options: str, told: str
) -> None:
    words = options.format(topic=topic).split()
    error = groups.error("--reset-offsets", "--group", group, "--dry-run", *words)
    assert error.startswith(told.format(topic=topic))


# -- console-consumer --group ------------------------------------------------------------------


def shell_of(cluster: Cluster) -> Shell:
    return Shell(Running(cluster.bootstrap, "", cluster.data))


def test_a_console_consumer_goes_on_where_its_group_was(
    cluster: Cluster, groups: Groups, group: str, topic: str
) -> None:
    shell = shell_of(cluster)
    read = ("console-consumer", "--topic", topic, "--group", group, "--from-beginning")
    first = shell.out(*read, "--max-messages", "4", "--property", "print.partition=true")
    assert first.splitlines() == [f"Partition:0\t{n}" for n in range(4)]
    assert groups.committed(group)[topic, 0] == 4
    assert shell.out(*read, "--max-messages", "6").split() == ["4", "5", "6", "7", "8", "9"]
    assert groups.committed(group)[topic, 0] == 10


def test_a_console_consumer_is_a_member(
    cluster: Cluster, groups: Groups, group: str, topic: str
) -> None:
    shell = shell_of(cluster)
    read = ("console-consumer", "--topic", topic, "--group", group, "--from-beginning")
    with shell.start(*read, "--consumer-property", "client.id=desk") as process:
        row = until(
            lambda: re.search(
                rf"{group} +\S+ +/127.0.0.1 +desk +2 +{topic}\(0,1\)",
                groups.run("--describe", "--group", group, "--members", "--verbose")[1],
            )
        )
        assert row
        process.terminate()


def test_a_group_and_a_partition_do_not_go_together(cluster: Cluster, topic: str) -> None:
    status, told = shell_of(cluster).error(
        "console-consumer", "--topic", topic, "--group", "g", "--partition", "0"
    )
    assert (status, told) == (2, "Options group and partition cannot be specified together.")


def test_a_property_that_there_is_not(cluster: Cluster, topic: str) -> None:
    status, told = shell_of(cluster).error(
        *("console-consumer", "--topic", topic, "--group", "g"),
        *("--consumer-property", "session.timeout=1"),
    )
    assert status == 1
    assert "did you mean session.timeout.ms?" in told
