"""What the command `cluster` refuses before it starts anything."""

import pytest

from engine.cli.main import PROGRAM, USAGE, main

ACLS = "authorizer.class.name=kafka.security.authorizer.AclAuthorizer"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--controllers 3", "--controllers is for a cluster without ZooKeeper: add --kraft"),
        ("--kraft --controllers -1", "--controllers -1: 0 or more"),
        ("--kraft --zookeepers 3", "leave out --zookeeper and --zookeepers"),
        ("--kraft --zookeeper 127.0.0.1:2181", "leave out --zookeeper and --zookeepers"),
        (f"--kraft --config {ACLS}", "keeps its rules in ZooKeeper: authorizer.class.name=org."),
        (
            "--kraft --config zookeeper.session.timeout.ms=6000",
            "zookeeper.session.timeout.ms has no effect without ZooKeeper: leave it out",
        ),
    ],
)
def test_what_a_mode_does_not_have_is_one_sentence(tmp_path, capsys, words, told):
    """An option or a key of the other mode is wrong usage, and nothing is started."""
    assert main(["cluster", "--data", str(tmp_path / "data"), *words.split()]) == USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{PROGRAM}: ")
    assert told in line
    assert not (tmp_path / "data").exists()
