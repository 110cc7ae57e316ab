"""`acls`: the options that Kafka's AclCommand refuses together, before a broker is asked."""

import pytest

from engine.cli.main import USAGE, main
from tests.unit.cli.pretend import complaint

ADD = "--add --allow-principal User:a"
CONSUMER = (
    "With --consumer you must specify a --topic and a --group and no --cluster or "
    "--transactional-id option should be specified."
)


def connected(_: object) -> None:
    raise AssertionError("a broker is asked")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (f"{ADD} --consumer --topic t", CONSUMER),
        (f"{ADD} --consumer --group g", CONSUMER),
        (f"{ADD} --consumer --topic t --group g --cluster", CONSUMER),
        (f"{ADD} --consumer --topic t --group g --transactional-id x", CONSUMER),
        ("--remove --consumer --topic t", CONSUMER),
        (f"{ADD} --producer --group g", "With --producer you must specify a --topic"),
        ("--remove --producer --cluster", "With --producer you must specify a --topic"),
        (
            f"{ADD} --producer --topic t --operation Read",
            'Option "[producer]" can\'t be used with option "[operation]"',
        ),
        (
            f"{ADD} --consumer --topic t --group g --operation Read",
            'Option "[consumer]" can\'t be used with option "[operation]"',
        ),
        (
            "--add --deny-principal User:a --producer --topic t",
            'Option "[producer]" can\'t be used with option "[deny-principal]"',
        ),
        (
            f"{ADD} --deny-host h --consumer --topic t --group g",
            'Option "[consumer]" can\'t be used with option "[deny-host]"',
        ),
        (
            f"{ADD} --idempotent --topic t",
            "The --idempotent option is only available if --producer is set",
        ),
        ("--list --producer --topic t", 'Option "[list]" can\'t be used with option "[producer]"'),
        (
            "--list --allow-principal User:a",
            'Option "[list]" can\'t be used with option "[allow-principal]"',
        ),
        (
            f"{ADD} --topic t --principal User:a",
            "The --principal option is only available if --list is set",
        ),
    ],
)
def test_what_kafka_refuses_is_refused(
    words: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("engine.cli.acls.connect", connected)
    assert main(["acls", *words.split()]) == USAGE
    assert complaint(capsys).startswith(told)


@pytest.mark.parametrize(
    "words",
    [
        f"{ADD} --producer --topic t --idempotent --transactional-id x",
        f"{ADD} --consumer --topic t --group g",
        f"{ADD} --producer --consumer --topic t --group g --transactional-id x",
        f"{ADD} --operation Read --deny-principal User:b --topic t --group g",
        "--remove --consumer --topic t --group g",
        "--list --principal User:a --topic t",
    ],
)
def test_what_kafka_takes_is_taken(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cli.acls.connect", connected)
    with pytest.raises(AssertionError, match="a broker is asked"):
        main(["acls", *words.split()])
