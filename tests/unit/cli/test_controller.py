"""A controller that is not to start says why, in one sentence."""

import pytest

from engine.cli.main import main
from engine.raft.bootstrap import format_directory
from engine.storage import checkpoints

CLUSTER = "O2whmP1nSWeNENpX08USQQ"
ALONE = "101@127.0.0.1:9193"


@pytest.fixture
def refusal(tmp_path, capsys):
    """What a controller 101 prints that does not start in the directory."""

    def run(voters=ALONE, *more):
        words = "--id", "101", "--port", "9193", "--voters", voters, "--data", str(tmp_path)
        assert main(["controller", *words, *more]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return run


def test_a_directory_that_was_not_formatted(refusal, tmp_path):
    assert f"No `meta.properties` found in {tmp_path} (have you run" in refusal()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_another_node(refusal, tmp_path):
    format_directory(tmp_path, 1, CLUSTER, 0)
    assert "node.id is 1, and this is node 101" in refusal()


def test_a_directory_of_a_broker_in_zookeeper_mode(refusal, tmp_path):
    checkpoints.write_meta(tmp_path / checkpoints.META, 101, CLUSTER)
    assert "version 0, and 1 is expected, a broker in ZooKeeper mode" in refusal()


@pytest.mark.parametrize(
    ("voters", "sentence"),
    [
        (f"{ALONE},101@127.0.0.1:9194", "controller.quorum.voters has voter 101 twice"),
        (
            "102@127.0.0.1:9194,103@127.0.0.1:9195",
            "If process.roles contains the 'controller' role, the node id 101 must be included in "
            "the set of voters controller.quorum.voters=Set(102, 103)",
        ),
        ("101", "Each entry should be in the form `{id}@{host}:{port}`."),
        ("101@127.0.0.1", "Each entry should be in the form `{id}@{host}:{port}`."),
        ("one@127.0.0.1:9193", "Failed to parse voter ID as an integer from one"),
        (" , ", "must contain a parseable set of voters"),
    ],
)
def test_a_list_of_voters_that_makes_no_sense(refusal, tmp_path, voters, sentence):
    format_directory(tmp_path, 101, CLUSTER, 0)
    assert sentence in refusal(voters)


def test_an_unknown_key_is_named_with_the_nearest_one(refusal, tmp_path):
    format_directory(tmp_path, 101, CLUSTER, 0)
    line = refusal(ALONE, "--config", "controller.quorum.fetch.timeout=9")
    assert "did you mean controller.quorum.fetch.timeout.ms?" in line
