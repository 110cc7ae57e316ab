"""`consumer-groups`: options, the values they take, and files; a real group is in tests/interop."""

from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.cli.main import main
from engine.cli.reset_offsets import add_scenarios, check, duration, instant
from engine.cli.table import table
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.cli.pretend import complaint, printed
from tests.unit.client.fake import FakeBroker, metadata


class Pretended:
    """One broker that knows groups, each in the state that stands here."""

    def __init__(self) -> None:
        self.states = {"g": "Empty"}
        self.offsets = {"g": [5, 7]}  # of partitions 0, 1 of orders
        self.refused: dict[str, ErrorCode] = {}
        self.broker = FakeBroker(
            {
                Api.METADATA: lambda request: metadata(
                    {1: self.broker.address}, {"orders": [1, 1]}, request
                ),
                Api.FIND_COORDINATOR: lambda request: Message(
                    error_code=ErrorCode.none,
                    error_message=None,
                    node_id=1,
                    host="127.0.0.1",
                    port=self.broker.address.port,
                ),
                Api.LIST_GROUPS: self._list,
                Api.DESCRIBE_GROUPS: self._describe,
                Api.OFFSET_FETCH: self._offsets,
                Api.LIST_OFFSETS: self._ends,
                Api.DELETE_GROUPS: self._delete,
            }
        )

    def run(self, options: str) -> int:
        address = str(self.broker.address)
        return main(["consumer-groups", "--bootstrap-server", address, *options.split()])

    def _list(self, request: Any) -> Any:
        groups = [
            Message(group_id=name, protocol_type="consumer", group_state=state)
            for name, state in self.states.items()
        ]
        connect = Message(group_id="a-worker", protocol_type="connect", group_state="Stable")
        return Message(error_code=ErrorCode.none, groups=[*groups, connect])

    def _describe(self, request: Any) -> Any:
        (name,) = request.groups
        found = Message(
            error_code=ErrorCode.none,
            group_id=name,
            group_state=self.states.get(name, "Dead"),
            protocol_type="consumer",
            protocol_data="",
            members=[],
        )
        return Message(groups=[found])

    def _offsets(self, request: Any) -> Any:
        partitions = [
            Message(
                partition_index=number,
                committed_offset=offset,
                committed_leader_epoch=-1,
                metadata="",
                error_code=ErrorCode.none,
            )
            for number, offset in enumerate(self.offsets.get(request.group_id, []))
        ]
        return Message(
            error_code=ErrorCode.none, topics=[Message(name="orders", partitions=partitions)]
        )

    def _ends(self, request: Any) -> Any:
        (topic,) = request.topics
        (asked,) = topic.partitions
        offset = 0 if asked.timestamp == -2 else 10
        found = Message(
            partition_index=asked.partition_index,
            error_code=ErrorCode.none,
            timestamp=-1,
            offset=offset,
            leader_epoch=0,
        )
        return Message(topics=[Message(name=topic.name, partitions=[found])])

    def _delete(self, request: Any) -> Any:
        (name,) = request.groups_names
        code = self.refused.get(name, ErrorCode.none)
        return Message(results=[Message(group_id=name, error_code=code)])


@pytest.fixture
def cluster() -> Iterator[Pretended]:
    cluster = Pretended()
    with cluster.broker:
        yield cluster


def test_groups_of_other_protocols_are_not_listed(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.states["a-long-name-of-a-group"] = "Stable"
    assert cluster.run("--list --state") == 0
    assert printed(capsys) == [
        "GROUP                  STATE",
        "a-long-name-of-a-group Stable",
        "g                      Empty",
    ]


def test_a_group_that_is_rebalancing(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.states["g"] = "PreparingRebalance"
    assert cluster.run("--describe --group g") == 0
    out, err = capsys.readouterr()
    assert err == "\nWarning: Consumer group 'g' is rebalancing.\n"
    assert [line.split()[2:6] for line in out.splitlines()[2:]] == [
        ["0", "5", "10", "5"],
        ["1", "7", "10", "3"],
    ]


def test_of_several_groups_some_are_not_there(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    """What there is is told all the same."""
    assert cluster.run("--describe --group g --group h --group i --state") == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[2].split()[0] == "g"
    assert err.splitlines()[-1].endswith(
        "Consumer group 'h' does not exist. Consumer group 'i' does not exist."
    )


def test_of_several_groups_some_cannot_be_deleted(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refused["h"] = ErrorCode.non_empty_group
    assert cluster.run("--delete --group g --group h") == 1
    out, err = capsys.readouterr()
    assert out == "These consumer groups were deleted successfully: 'g'\n"
    assert "Group 'h' could not be deleted due to: The group is not empty." in err


def test_a_reset_without_execute_does_nothing(
    cluster: Pretended, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("--reset-offsets --group g --all-topics --to-latest") == 0
    out, err = capsys.readouterr()
    assert "without --execute nothing is committed" in err
    assert [line.split() for line in out.splitlines()[2:]] == [
        ["g", "orders", "0", "10"],
        ["g", "orders", "1", "10"],
    ]
    assert cluster.broker.requests(Api.OFFSET_COMMIT) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "one of the arguments --list --describe --reset-offsets --delete --delete-offsets"),
        ("--describe", "--describe needs --group or --all-groups"),
        ("--list --group g", "it takes neither --group nor --all-groups"),
        ("--list --state sleepy", "Invalid state list 'sleepy'. Valid states are: Preparing"),
        ("--describe --group g --state stable", "--state takes no value"),
        ("--describe --group g --members --offsets", "not allowed with"),
        ("--delete --group g --topic t", "--delete takes the whole group"),
        ("--delete-offsets --group g", "--delete-offsets needs one --group, and --topic"),
        ("--delete-offsets --group g --group h --topic t", "needs one --group"),
        ("--reset-offsets --group g --topic t", "--reset-offsets needs one of --to-earliest"),
        ("--reset-offsets --group g --to-earliest", "needs --topic or --all-topics"),
        ("--reset-offsets --group g --topic t --all-topics --to-latest", "give one of them"),
        (
            "--reset-offsets --group g --topic orders:a --to-latest --dry-run",
            "not of the form orders:0,1",
        ),
        ("--reset-offsets --group g --to-latest --to-earliest", "not allowed with"),
        ("--reset-offsets --group g --dry-run --execute --to-latest", "not allowed with"),
        ("--reset-offsets --group g --to-datetime yesterday", "2021-04-19T08:00:00.000"),
        ("--reset-offsets --group g --by-duration 5m", "PnDTnHnMnS"),
    ],
)
def test_options_that_make_no_sense(
    cluster: Pretended, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run(options) == 2
    assert told in complaint(capsys)


@pytest.mark.parametrize("scenario", ["--to-offset", "--shift-by"])
def test_zero_is_a_value_like_others(scenario: str) -> None:
    parser = ArgumentParser()
    add_scenarios(parser)
    check(parser.parse_args(["--topic", "orders", scenario, "0", "--dry-run"]))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("orders,0", "line 1: not [group,]topic,partition,offset: orders,0"),
        ("orders,0,5\norders,one,5", "line 2: not"),
        ("g,orders,0,-5", "line 1: not"),
        ("h,orders,0,5", "No reset plan for group g found"),
        ("", "No reset plan for group g found"),
    ],
)
def test_plans_that_make_no_sense(
    cluster: Pretended,
    tmp_path: Path,
    content: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (plan := tmp_path / "plan.csv").write_text(content)
    assert cluster.run(f"--reset-offsets --group g --from-file {plan} --execute") == 1
    assert told in complaint(capsys)
    assert cluster.broker.requests(Api.OFFSET_COMMIT) == []


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:01.5", 1500),
        ("1970-01-02T00:00:00.000Z", 86_400_000),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1969-12-31T23:00:00.000-01:00", 0),
    ],
)
def test_times(text: str, milliseconds: int) -> None:
    assert instant(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("P2D", timedelta(days=2)),
        ("PT1H30M", timedelta(minutes=90)),
        ("P1DT1H1M1.5S", timedelta(days=1, hours=1, minutes=1, seconds=1.5)),
        ("-PT1H", timedelta(hours=-1)),
        ("pt-5m", timedelta(minutes=-5)),
    ],
)
def test_durations(text: str, meant: timedelta) -> None:
    assert duration(text) == meant


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "1D", "P1H", "PT1D", ""])
def test_what_is_no_duration(cluster: Pretended, text: str) -> None:
    assert cluster.run(f"--reset-offsets --group g --all-topics --by-duration={text}") == 2


def test_a_column_is_as_wide_as_its_widest_cell(capsys: pytest.CaptureFixture[str]) -> None:
    table([("A", "B", "C"), ("aaaaaa", 1, ""), ("a", 22, "c")], [3, 4])
    assert printed(capsys) == ["A      B    C", "aaaaaa 1", "a      22   c"]
