"""What the command `cluster` refuses before it starts anything."""

import pytest

from engine.cli.main import PROGRAM, USAGE, main

ACLS = "authorizer.class.name=kafka.security.authorizer.AclAuthorizer"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--port 70000", "'70000' is not a port: 0 to 65535"),
        ("--port -1", "'-1' is not a port: 0 to 65535"),
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


def test_all_brokers_need_a_port_that_exists(tmp_path, capsys):
    words = "cluster", "--data", str(tmp_path / "data"), "--brokers", "3", "--port", "65534"
    assert main([*words]) == 1
    assert capsys.readouterr().err == f"{PROGRAM}: 3 ports from 65534 on: the last is 65535\n"
    assert not (tmp_path / "data").exists()
