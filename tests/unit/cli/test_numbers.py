"""Numbers that a field of the protocol cannot hold: a sentence says so before anything is sent."""

from typing import cast

import pytest

from engine.cli.main import USAGE, UsageError, main
from engine.cli.reset_offsets import partitions_of
from engine.client.cluster import ClusterClient
from tests.unit.cli.pretend import complaint

INT32 = "is not a number from {} to 2147483647"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "topics --create --topic t --partitions 3000000000",
            f"argument --partitions: '3000000000' {INT32.format(1)}",
        ),
        ("topics --create --topic t --partitions 0", f"'0' {INT32.format(1)}"),
        ("topics --create --topic t --partitions 1" + "0" * 5000, INT32.format(1)),
        (
            "topics --create --topic t --replication-factor 40000",
            "argument --replication-factor: '40000' is not a number from 1 to 32767",
        ),
        (
            "topics --create --topic t --replica-assignment 1:99999999999",
            f"argument --replica-assignment: '99999999999' {INT32.format(0)}",
        ),
        (
            "consumer-groups --reset-offsets --group g --topic t --by-duration P9999999999D",
            "argument --by-duration: 'P9999999999D' is too long: 999999999 days at most",
        ),
        (
            "console-consumer --topic t --partition 0 --offset 99999999999999999999",
            "argument --offset: '99999999999999999999' is not earliest, latest or a number from 0 "
            "to 9223372036854775807",
        ),
        (
            "console-consumer --topic t --partition 99999999999",
            f"argument --partition: '99999999999' {INT32.format(0)}",
        ),
        (
            "leader-election --election-type preferred --topic t --partition 99999999999",
            f"argument --partition: '99999999999' {INT32.format(0)}",
        ),
        (
            "cluster-tool unregister --bootstrap-server 127.0.0.1:1 --id 99999999999",
            f"argument --id: '99999999999' {INT32.format(0)}",
        ),
        (
            "features --bootstrap-server 127.0.0.1:1 upgrade --feature metadata.version=99999",
            "--feature metadata.version=99999: LEVEL '99999' is not a number from 0 to 32767",
        ),
    ],
)
def test_a_number_that_is_too_large_is_told(
    command: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == USAGE
    assert told in complaint(capsys)


def test_a_partition_of_a_group_that_is_too_large_is_told() -> None:
    """No cluster is asked where the numbers are given."""
    nobody = cast(ClusterClient, None)
    assert len(partitions_of(nobody, ["t:0,2147483647"])) == 2
    with pytest.raises(UsageError, match="a partition is a number from 0 to 2147483647"):
        partitions_of(nobody, ["t:0,99999999999"])
