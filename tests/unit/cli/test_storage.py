"""`python -m engine storage`: a directory is formatted once, and shown."""

import re

import pytest

from engine.cli.dump.metadata import payload
from engine.cli.main import FAILED, USAGE, main
from engine.metadata.meta_properties import read_meta_properties
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.raft.bootstrap import read_bootstrap
from engine.raft.snapshot_records import decode_snapshot
from engine.storage import checkpoints

ID = "O2whmP1nSWeNENpX08USQQ"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(f"process.roles=controller\nnode.id=101\nlog.dirs={tmp_path / 'data'}\n")
    return path


def storage(*words):
    return main(["storage", *map(str, words)])


def test_a_directory_is_formatted_and_shown(config, tmp_path, capsys):
    data = tmp_path / "data"
    assert storage("format", "-t", ID, "-c", config, "--release-version", "3.3") == 0
    assert capsys.readouterr().out == f"Formatting {data} with metadata.version 3.3-IV3.\n"
    meta = read_meta_properties(data)
    assert meta[:2] == (101, ID)
    path = data / "bootstrap.checkpoint"
    (record,) = decode_snapshot(path.read_bytes(), path).records
    assert payload(record) == (
        '{"type":"FEATURE_LEVEL_RECORD","version":0,'
        '"data":{"name":"metadata.version","featureLevel":7}}'
    )
    assert storage("info", "-c", config) == 0
    out = capsys.readouterr().out
    assert re.fullmatch(
        rf"Found log directory:\n  {data}\n\n"
        rf"Found metadata: {{cluster.id={ID}, directory.id=\S{{22}}, node.id=101, version=1}}\n\n",
        out,
    )


@pytest.mark.parametrize(("release", "level"), [("3.3-IV0", 4), ("3.3-IV2", 6), ("3.3", 7)])
def test_a_cluster_may_begin_at_an_older_level(release, level, config, tmp_path):
    assert storage("format", "-t", ID, "-c", config, "--release-version", release) == 0
    (record,) = read_bootstrap(tmp_path / "data" / "bootstrap.checkpoint")
    assert record == FeatureLevelRecord(name="metadata.version", feature_level=level)


def test_a_formatted_directory_is_left_alone(config, tmp_path, capsys):
    storage("format", "-t", ID, "-c", config)
    before = read_meta_properties(tmp_path / "data")
    assert storage("format", "-t", ID, "-c", config) == USAGE
    assert "is already formatted. Use --ignore-formatted" in capsys.readouterr().err
    assert storage("format", "-t", ID, "-c", config, "-g") == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert storage("format", "-t", ID.lower()[:21] + "g", "-c", config, "-g") == FAILED
    assert f"cluster.id is {ID}, and this node is of cluster" in capsys.readouterr().err
    assert read_meta_properties(tmp_path / "data") == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-t", "xyz"), "xyz does not appear to be a valid UUID"),
        (("-t", ID, "-r", "3.9"), "3.9: the levels that can be named are 3.3-IV0, 3.3-IV1"),
        (("-t", ID, "-r", "3.0-IV1"), "3.0-IV1: the levels that can be named are 3.3-IV0"),
    ],
)
def test_a_wrong_option_is_refused(words, why, config, capsys):
    assert storage("format", *words, "-c", config) == USAGE
    assert re.search(why, capsys.readouterr().err)


def test_a_node_needs_its_id(config, capsys):
    config.write_text("log.dirs=x\n")
    assert storage("format", "-t", ID, "-c", config) == USAGE
    assert "node.id=: a node has a number" in capsys.readouterr().err


def test_the_problems_of_directories_are_listed(config, tmp_path, capsys):
    one, two, three, four = (tmp_path / name for name in ("one", "two", "three", "four"))
    for directory in (one, two, three):
        directory.mkdir()
    checkpoints.write_meta(three / checkpoints.META, 1, "cluster")
    config.write_text(f"node.id=101\nlog.dirs={one},{two},{three}\nmetadata.log.dir={four}\n")
    assert storage("info", "-c", config) == FAILED
    out = capsys.readouterr().out
    assert "Found log directories:\n" in out
    assert f"Found problems:\n  {four} does not exist\n  {one} is not formatted.\n" in out
    assert "version 0, and 1 is expected, a broker in ZooKeeper mode has written it" in out


def test_a_random_id_is_one_that_format_takes(config, capsys):
    storage("random-uuid")
    id = capsys.readouterr().out.strip()
    assert storage("format", "-t", id, "-c", config) == 0
