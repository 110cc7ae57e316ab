"""`reassign-partitions`: what each action asks of a cluster, and what it prints."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.cli.pretend import (
    ELSEWHERE,
    At,
    Pretended,
    complaint,
    pretended,
    printed,
    written,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPIC, BROKER = 2, 4  # kinds of resources, by the protocol's numbers
TO_MOVE = {"version": 1, "topics": [{"topic": "a"}]}
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"
CLEARED: list[tuple[int, str, dict[str, str | None]]] = [
    *((BROKER, broker, dict.fromkeys(RATES)) for broker in "123"),
    (TOPIC, "a", {LEADERS: None, FOLLOWERS: None}),
]
CLEARING = [
    "Clearing broker-level throttles on brokers 1,2,3",
    "Clearing topic-level throttles on topic a",
]


@pytest.fixture
def cluster() -> Iterator[Pretended]:
    with pretended() as cluster:
        cluster.topics = {
            "a": [At(1, (1, 2), (1, 2)), At(2, (2, 1), (2, 1))],
            "b": [At(3, (3, 1), (3, 1))],
        }
        yield cluster


def moves(**replicas: Any) -> dict[str, Any]:
    """A reassignment file: a0=[2, 3] means partition 0 of a."""
    listed = [
        {"topic": name[0], "partition": int(name[1:]), "replicas": to}
        for name, to in replicas.items()
    ]
    return {"version": 1, "partitions": listed}


@pytest.fixture
def run(cluster: Pretended, tmp_path: Path) -> Callable[..., int]:
    """Run an action on a file with this content."""

    def run(options: str, content: object, file: str = "reassignment") -> int:
        path = written(tmp_path, content)
        return cluster.run(f"reassign-partitions {options}", f"--{file}-json-file", path)

    return run


class TestGenerate:
    """A proposal; nothing is changed."""

    def generate(self, run: Callable[..., int], brokers: str, content: object = TO_MOVE) -> int:
        return run(f"--generate --broker-list {brokers}", content, "topics-to-move")

    def test_it_proposes_what_could_be_executed(
        self, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.generate(run, "2,3") == 0
        title, current, empty, proposal, proposed = printed(capsys)
        assert (title, empty) == ("Current partition replica assignment", "")
        assert current == (
            '{"version":1,"partitions":['
            '{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
            '{"topic":"a","partition":1,"replicas":[2,1],"log_dirs":["any","any"]}]}'
        )
        assert proposal == "Proposed partition reassignment configuration"
        spread = {
            each["partition"]: each["replicas"] for each in json.loads(proposed)["partitions"]
        }
        assert spread in ({0: [2, 3], 1: [3, 2]}, {0: [3, 2], 1: [2, 3]})
        assert run("--execute", proposed) == 0

    @pytest.mark.parametrize(
        ("brokers", "content", "told"),
        [
            ("2,3,2,3", TO_MOVE, "Broker list contains duplicate entries: 2,3"),
            ("2", TO_MOVE, "Replication factor: 2 larger than available brokers: 1."),
            ("2,9", TO_MOVE, "Replication factor: 2 larger than available brokers: 1."),
            ("1,2", {"topics": [{"topic": "ab"}]}, "there is no topic ab in this cluster; did you"),
            (
                "1,2",
                {"topics": [{"topic": "a"}, {"topic": "a"}]},
                "List of topics to reassign contains duplicate entries: a",
            ),
            ("1,2", moves(a0=[1]), 'is missing the list "topics"'),
        ],
    )
    def test_what_cannot_be_spread(
        self,
        run: Callable[..., int],
        brokers: str,
        content: object,
        told: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert self.generate(run, brokers, content) == 1
        assert told in complaint(capsys)


class TestExecute:
    def test_it_asks_for_the_moves_and_prints_the_way_back(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("--execute", moves(b0=[1, 2], a1=[3])) == 0
        assert cluster.moves() == [{A1: (3,), B0: (1, 2)}]
        assert cluster.configured == []
        title, _, back, _, save, done = printed(capsys)
        assert title == "Current partition replica assignment"
        assert save == "Save this to use as the --reassignment-json-file option during rollback"
        assert done == "Successfully started partition reassignments for a-1,b-0"
        assert run("--execute", back) == 0
        assert cluster.moves()[1:] == [{A1: (2, 1), B0: (3, 1)}]

    def test_the_throttle_is_set_first(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Where a move leads from and to: brokers that keep their replica do not copy it."""
        assert run("--execute --throttle 5000", moves(a1=[3, 2], a0=[1, 2])) == 0
        rates = dict.fromkeys(RATES, "5000")
        assert cluster.configured == [
            (TOPIC, "a", {LEADERS: "0:1,0:2,1:1,1:2", FOLLOWERS: "1:3"}),
            *((BROKER, broker, rates) for broker in "123"),
        ]
        asked = [api for api, _, _ in cluster.broker.asked]
        last = max(place for place, api in enumerate(asked) if api is Api.INCREMENTAL_ALTER_CONFIGS)
        assert last < asked.index(Api.ALTER_PARTITION_REASSIGNMENTS)
        assert printed(capsys)[5:] == [
            "Warning: You must run --verify periodically, until the reassignment completes, to "
            "ensure the throttle is removed.",
            "The inter-broker throttle limit was set to 5000 B/s",
            "Successfully started partition reassignments for a-0,a-1",
        ]

    def test_what_is_under_way_is_not_disturbed_unless_told(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cluster.under_way = {B0: ((3, 1, 2), (2,), (1,))}
        assert run("--execute", moves(a0=[1, 3])) == 1
        assert complaint(capsys).startswith(
            "Cannot execute because there is an existing partition assignment. Use --additional"
        )
        assert cluster.moves() == []

    def test_an_additional_move_is_throttled_with_those_under_way(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """B's sources are those from before its move; where a-0 was going is given up."""
        cluster.alive.remove(2)
        cluster.topics["a"][0] = At(1, (1, 2, 4), (1, 2))
        cluster.under_way = {A0: ((1, 2, 4), (4,), (2,)), B0: ((3, 1, 2), (2,), (1,))}
        assert run("--execute --additional --throttle 0", moves(a0=[1, 3])) == 0
        rates = dict.fromkeys(RATES, "0")
        assert cluster.configured == [
            (TOPIC, "a", {LEADERS: "0:1,0:2", FOLLOWERS: "0:3"}),
            (TOPIC, "b", {LEADERS: "0:1,0:3", FOLLOWERS: "0:2"}),
            (BROKER, "1", rates),
            (BROKER, "3", rates),
        ]
        assert cluster.moves() == [{A0: (1, 3)}]
        assert printed(capsys)[-1] == "Successfully started partition reassignment for a-0"

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (moves(a0=[1, 9, 8]), "Unknown broker id 8"),
            (moves(c0=[1]), "there is no topic c in this cluster"),
            ("{", "is not valid JSON: "),
            ([], 'is missing the list "partitions"'),
            (moves(a0=[1]) | {"version": 2}, "Not supported version field value 2"),
            ({"partitions": [{"partition": 0, "replicas": [1]}]}, 'no good "topic" in'),
            ({"partitions": [{"topic": "a", "partition": "0"}]}, 'no good "partition" in'),
            ({"partitions": ["a-0"]}, 'no good "topic" in "a-0"'),
            (moves(a0=None), 'no good "replicas" in'),
            (moves(a0=["1"]), "the replicas of a-0 are not all numbers of brokers"),
            (moves(), "Partition reassignment list cannot be empty"),
            (moves(a0=[]), "Partition replica list cannot be empty"),
            (moves(a0=[1], a00=[2]), "contains duplicate topic partitions: a-0"),
            (
                moves(a0=[1, 2, 1]),
                "lists may not contain duplicate entries: a-0 contains multiple entries for 1",
            ),
            (
                {"partitions": [moves(a0=[1, 2])["partitions"][0] | {"log_dirs": ["any", "/x"]}]},
                'log_dirs of a-0 is not 2 times "any"',
            ),
        ],
    )
    def test_what_cannot_be_executed(
        self,
        cluster: Pretended,
        run: Callable[..., int],
        content: object,
        told: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert run("--execute --throttle 5000", content) == 1
        assert told in complaint(capsys)
        assert cluster.moves() == []
        assert cluster.configured == []

    def test_what_the_controller_refuses(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cluster.outcomes = {
            A1: (ErrorCode.invalid_replica_assignment, "broker 3 is dead"),
            B0: (ErrorCode.unknown_topic_or_partition, None),
        }
        assert run("--execute", moves(a0=[2], a1=[3], b0=[1])) == 1
        assert complaint(capsys) == (
            "Error reassigning partition(s): a-1: broker 3 is dead; b-0: unknown topic or partition"
        )

    def test_the_controller_may_just_have_changed(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cluster.refusals = [ELSEWHERE, (ErrorCode.none, None), ELSEWHERE]
        assert run("--execute", moves(a0=[3])) == 0
        assert cluster.moves() == [{A0: (3,)}] * 2
        assert "Successfully started" in printed(capsys)[-1]


class TestVerify:
    CONTENT = moves(a0=[1, 2], a1=[1, 2], b0=[1], b7=[2, 1], c0=[3])

    def test_how_far_it_is(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The order of the replicas counts: the first one is the preferred leader."""
        cluster.under_way = {B0: ((3, 1), (1,), (3,))}
        assert run("--verify", self.CONTENT) == 0
        none = "There is no active reassignment of partition"
        assert printed(capsys) == [
            "Status of partition reassignment:",
            "Reassignment of partition a-0 is complete.",
            f"{none} a-1, but replica set is 2,1 rather than 1,2.",
            "Reassignment of partition b-0 is still in progress.",
            f"{none} b-7, but replica set is  rather than 2,1.",
            f"{none} c-0, but replica set is  rather than 3.",
            "",
        ]
        assert cluster.configured == []

    def test_throttles_end_when_nothing_is_under_way_any_more(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("--verify", moves(a0=[1, 2])) == 0
        assert printed(capsys)[1:] == ["Reassignment of partition a-0 is complete.", "", *CLEARING]
        assert cluster.configured == CLEARED

    def test_moves_that_are_none_of_its_business_keep_the_throttles(
        self, cluster: Pretended, run: Callable[..., int]
    ) -> None:
        cluster.under_way = {B0: ((3, 1), (1,), (3,))}
        assert run("--verify", moves(a0=[1, 2])) == 0
        assert cluster.configured == []

    def test_throttles_can_be_kept(self, cluster: Pretended, run: Callable[..., int]) -> None:
        assert run("--verify --preserve-throttles", moves(a0=[1, 2])) == 0
        assert cluster.configured == []


class TestCancel:
    def test_only_what_is_under_way_is_called_off(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cluster.under_way = {A1: ((2, 1, 3), (3,), (2,)), B0: ((3, 1), (1,), (3,))}
        assert run("--cancel", moves(a0=[1, 2], a1=[3, 1])) == 0
        assert cluster.moves() == [{A1: None}]
        assert printed(capsys) == [
            "Successfully cancelled partition reassignment for: a-1",
            "None of the specified partition moves are active.",
            *CLEARING,
        ]
        assert cluster.configured == CLEARED

    def test_there_may_be_nothing_to_call_off(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("--cancel --preserve-throttles", moves(a0=[1, 2])) == 0
        assert cluster.moves() == []
        assert printed(capsys) == [
            "None of the specified partition reassignments are active.",
            "None of the specified partition moves are active.",
        ]
        assert cluster.configured == []

    def test_what_the_controller_refuses(
        self, cluster: Pretended, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cluster.under_way = {A0: ((1, 2, 3), (3,), (2,)), A1: ((2, 1, 3), (3,), (2,))}
        cluster.outcomes = {A0: (ErrorCode.no_reassignment_in_progress, "it is done already")}
        assert run("--cancel", moves(a0=[1, 2], a1=[3, 1])) == 1
        assert complaint(capsys) == (
            "Error cancelling partition reassignments for: a-0: it is done already"
        )


def test_the_list(cluster: Pretended, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("reassign-partitions --list") == 0
    assert printed(capsys) == ["No partition reassignments found."]
    cluster.under_way = {B0: ((3, 1, 2), (2,), (1,)), A0: ((1, 2, 3), (), (3,))}
    assert cluster.run("reassign-partitions --list") == 0
    assert printed(capsys) == [
        "Current partition reassignments:",
        "a-0: replicas: 1,2,3. removing: 3.",
        "b-0: replicas: 3,1,2. adding: 2. removing: 1.",
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "one of the arguments --generate --execute --verify --cancel --list is required"),
        ("--list --cancel", "argument --cancel: not allowed with argument --list"),
        ("--execute", "--execute needs --reassignment-json-file"),
        ("--generate --topics-to-move-json-file f", "--generate needs --broker-list"),
        ("--generate --broker-list 1;2", "'1;2' is not of the form 1,2,3"),
        ("--list --throttle 0", "--throttle can't be used with --list"),
        ("--verify --reassignment-json-file f --additional", "--additional can't be used with"),
        ("--execute --reassignment-json-file f --preserve-throttles", "can't be used with --exec"),
    ],
)
def test_options_that_make_no_sense(
    cluster: Pretended, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run(f"reassign-partitions {options}") == 2
    assert told in complaint(capsys)
    assert cluster.broker.asked == []
