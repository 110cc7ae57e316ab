"""`leader-election`: which request is made of the options, and what is printed of the answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.cli.pretend import (
    DONE,
    ELSEWHERE,
    Pretended,
    complaint,
    pretended,
    printed,
    written,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
THREE = {
    "partitions": [{"topic": each.topic, "partition": each.partition} for each in (A1, B0, A0)]
}
PREFERRED = "leader-election --election-type preferred"


@pytest.fixture
def cluster() -> Iterator[Pretended]:
    with pretended() as cluster:
        yield cluster


def asked(cluster: Pretended) -> tuple[int, set[TopicPartition] | None]:
    """The kind of election, and of which partitions."""
    (request,) = cluster.broker.requests(Api.ELECT_LEADERS)
    if request.topic_partitions is None:
        return request.election_type, None
    topics = {topic.topic: topic.partitions for topic in request.topic_partitions}
    assert len(topics) == len(request.topic_partitions)
    wanted = {TopicPartition(name, number) for name in topics for number in topics[name]}
    return request.election_type, wanted


def test_one_partition(cluster: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("leader-election --election-type UNCLEAN --topic a --partition 1") == 0
    assert asked(cluster) == (1, {A1})
    assert printed(capsys) == [
        "Successfully completed leader election (UNCLEAN) for partitions a-1"
    ]


def test_the_partitions_of_a_file(
    cluster: Pretended, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.outcomes[A1] = (ErrorCode.election_not_needed, "it leads already")
    assert cluster.run(PREFERRED, "--path-to-json-file", written(tmp_path, THREE)) == 0
    assert asked(cluster) == (0, {A0, A1, B0})
    assert printed(capsys) == [
        "Successfully completed leader election (PREFERRED) for partitions a-0, b-0",
        "Valid replica already elected for partitions a-1",
    ]


def test_all_partitions(cluster: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that needed none are not in the answer."""
    cluster.outcomes = {B0: DONE}
    assert cluster.run(f"{PREFERRED} --all-topic-partitions") == 0
    assert asked(cluster) == (0, None)
    assert printed(capsys) == [
        "Successfully completed leader election (PREFERRED) for partitions b-0"
    ]


def test_what_could_not_be_done(
    cluster: Pretended, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.outcomes[A0] = (ErrorCode.preferred_leader_not_available, "broker 3 is dead")
    cluster.outcomes[B0] = (ErrorCode.unknown_topic_or_partition, "it does not exist")
    assert cluster.run(PREFERRED, "--path-to-json-file", written(tmp_path, THREE)) == 1
    out, err = capsys.readouterr()
    failed = "Error completing leader election (PREFERRED) for partition"
    assert out.splitlines() == [
        "Successfully completed leader election (PREFERRED) for partitions a-1",
        f"{failed}: a-0: broker 3 is dead",
        f"{failed}: b-0: it does not exist",
    ]
    assert err.endswith(": 2 replica(s) could not be elected\n")


def test_the_controller_may_just_have_changed(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refusals = [ELSEWHERE, ELSEWHERE]
    assert cluster.run(f"{PREFERRED} --topic a --partition 0") == 0
    assert printed(capsys) == [
        "Successfully completed leader election (PREFERRED) for partitions a-0"
    ]
    assert len(cluster.broker.requests(Api.ELECT_LEADERS)) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--all-topic-partitions", "the following arguments are required: --election-type"),
        ("--election-type preferred", "one of the arguments --topic --path-to-json-file"),
        ("--election-type fair --all-topic-partitions", "invalid choice: 'fair'"),
        ("--election-type unclean --topic a", "--topic and --partition go together"),
        (
            "--election-type unclean --all-topic-partitions --partition 1",
            "--topic and --partition go together",
        ),
        ("--election-type unclean --all-topic-partitions --topic a", "not allowed with"),
    ],
)
def test_options_that_make_no_sense(
    cluster: Pretended, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run(f"leader-election {options}") == 2
    assert told in complaint(capsys)
    assert cluster.broker.asked == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({}, 'is missing the list "partitions"'),
        ({"partitions": [{"topic": "a"}]}, 'no good "partition" in {"topic": "a"}'),
        (
            {"partitions": [*THREE["partitions"], *THREE["partitions"][:1]]},
            "Replica election data contains duplicate partitions: a-1",
        ),
    ],
)
def test_files_that_cannot_be(
    cluster: Pretended,
    tmp_path: Path,
    content: object,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cluster.run(PREFERRED, "--path-to-json-file", written(tmp_path, content)) == 1
    assert told in complaint(capsys)
    assert cluster.broker.asked == []
