"""The metadata log of Kafka 3.9.1: its records, its files; and a directory that is handed over,
also to and from Kafka 3.3.2, the first release of the level that ours has, and 4.1.1.
"""

import json
import re
import subprocess
import zipfile
from dataclasses import fields
from typing import get_args

import pytest

from engine.cli.main import main
from engine.cluster.kafka_process import command
from engine.cluster.ports import free_port
from engine.metadata.meta_properties import read_meta_properties
from engine.metadata.records.brokers import NoOpRecord
from engine.metadata.records.framing import RECORD_TYPES, encode_record
from engine.raft.metadata_directory import MetadataDirectory
from engine.raft.model import QuorumConfig, QuorumIdentity
from engine.raft.raft_client import RaftClient
from engine.storage import records
from engine.storage.records import Record
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.jars import KAFKA_3_3, KAFKA_4, KRAFT, check
from tests.real.kafka import quiet, tool

NODE = 101
RELEASES = {"3.3.2": KAFKA_3_3, "3.9.1": KRAFT, "4.1.1": KAFKA_4}
METADATA_JAR = KRAFT.folder / "kafka-metadata-3.9.1.jar"


@pytest.fixture(scope="module", autouse=True)
def kraft_is_here():
    for jars in RELEASES.values():
        check(jars)


# -- records ---------------------------------------------------------------------------------


def schemas():
    with zipfile.ZipFile(METADATA_JAR) as jar:
        for name in jar.namelist():
            if name.startswith("common/metadata/") and name.endswith(".json"):
                text = re.sub(r"^\s*//.*$", "", jar.read(name).decode(), flags=re.M)
                yield json.loads(text)


def test_every_record_of_the_jar_is_declared_field_by_field():
    found = {}
    for schema in schemas():
        kind, newest = RECORD_TYPES[schema["apiKey"]]
        assert kind.__name__ == schema["name"]
        assert newest == int(schema["validVersions"].rpartition("-")[2])
        assert schema["flexibleVersions"] == "0+"
        assert_fields(kind, schema["fields"])
        found[schema["apiKey"]] = kind
    assert found.keys() == RECORD_TYPES.keys()


def assert_fields(kind, declared):
    """Names, types, versions, tags and defaults; tagged fields in any order."""
    ours = {field.name: field for field in fields(kind)}
    names = [snake(field["name"]) for field in declared]
    assert sorted(ours) == sorted(names)
    plain = [snake(it["name"]) for it in declared if "tag" not in it]
    assert [name for name in ours if name in plain] == plain
    for theirs in declared:
        field = ours[snake(theirs["name"])]
        where = f"{kind.__name__}.{field.name}"
        since = int(theirs["versions"].rstrip("+"))
        assert field.metadata.get("since", 0) == since, where
        tag = theirs.get("tag")
        assert field.metadata.get("tag") == (None if tag is None else int(tag)), where
        assert_type(field.type, theirs, where)
        if "default" in theirs:
            default = json.loads(theirs["default"].lower())
            assert field.default == default, where


def assert_type(ours, theirs, where):
    is_array, name = theirs["type"].startswith("[]"), theirs["type"].removeprefix("[]")
    if name[0].isupper():
        (nested, _) = get_args(ours)
        assert_fields(nested, theirs["fields"])
        return
    kind, primitive = get_args(ours)
    assert primitive == name, where
    assert (type(None) in get_args(kind)) is ("nullableVersions" in theirs) or name == "uuid", where
    assert ("tuple" in str(kind)) is is_array, where


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


# -- directories -----------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "server.properties"
    listener = f"127.0.0.1:{free_port()}"
    path.write_text(
        f"process.roles=controller\nnode.id={NODE}\nlog.dirs={tmp_path / 'data'}\n"
        f"controller.quorum.voters={NODE}@{listener}\nlisteners=CONTROLLER://{listener}\n"
        "controller.listener.names=CONTROLLER\n"
    )
    return path


def ours(*words):
    assert main([*map(str, words)]) == 0


def kafkas(name, *words, jars=KRAFT):
    done = tool(name, *map(str, words), folder=jars.folder)
    assert done.code == 0, done
    return done.out


def payloads(text):
    found = re.findall(
        r"(?:payload: |controlType: |SnapshotHeader |SnapshotFooter ).*$", text, re.M
    )
    assert found
    return found


def test_both_tools_show_both_directories_alike(config, tmp_path, capsys):
    for name in ("kafkas", "ours"):
        data = tmp_path / name
        text = re.sub(r"log.dirs=.*", f"log.dirs={data}", config.read_text())
        config.write_text(text)
        words = "format", "-t", "O2whmP1nSWeNENpX08USQQ", "-c", config, "--release-version", "3.3"
        if name == "ours":
            ours("storage", *words)
        else:
            kafkas("kafka.tools.StorageTool", *words)
        capsys.readouterr()
        ours("storage", "info", "-c", config)
        assert capsys.readouterr().out == kafkas("kafka.tools.StorageTool", "info", "-c", config)
        dump = "--cluster-metadata-decoder", "--files", data / "bootstrap.checkpoint"
        ours("dump-log", *dump)
        theirs = kafkas("kafka.tools.DumpLogSegments", *dump)
        assert payloads(capsys.readouterr().out) == payloads(theirs)


def run_kafka(config, data, jars):
    """A controller of Kafka's, until it has written some records; then it is killed."""
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    before = log.stat().st_size if log.exists() else 0
    with quiet() as flag:
        java, *rest = command("kafka.Kafka", str(config), folder=jars.folder, heap=256)
        with subprocess.Popen([java, flag, *rest]) as process:
            try:
                until(lambda: log.exists() and log.stat().st_size > before + 400, JVM_S)
            finally:
                process.kill()


def run_ours(data):
    """A voter of ours leads the next epoch, and writes a record."""
    directory = MetadataDirectory(data, [NODE], 0)
    identity = QuorumIdentity(NODE, read_meta_properties(data).cluster_id, frozenset([NODE]))
    shared = identity, QuorumConfig(), directory.log, directory.quorum_state
    client = RaftClient(*shared, lambda below: 0, 0)
    client.tick(10_000)
    assert client.is_leader
    value = encode_record(NoOpRecord())
    offset, _ = client.append(records.encode([Record(0, 1, None, value)]), 10_000)
    assert client.high_watermark == offset + 1
    directory.close(10_000)
    return client.epoch


@pytest.mark.timeout(4 * JVM_S)
@pytest.mark.parametrize("release", RELEASES)
def test_a_metadata_directory_is_handed_over_both_ways(config, tmp_path, capsys, release):
    data, jars = tmp_path / "data", RELEASES[release]
    ours("storage", "format", "-t", "O2whmP1nSWeNENpX08USQQ", "-c", config)
    run_kafka(config, data, jars)
    assert run_ours(data) == 2
    run_kafka(config, data, jars)
    assert run_ours(data) == 4
    epochs = (data / "__cluster_metadata-0" / "leader-epoch-checkpoint").read_text().splitlines()
    assert [line.split()[0] for line in epochs[2:]] == ["1", "2", "3", "4"]
    capsys.readouterr()
    dump = "--cluster-metadata-decoder", "--files"
    log = data / "__cluster_metadata-0" / "00000000000000000000.log"
    ours("dump-log", *dump, log)
    theirs = kafkas("kafka.tools.DumpLogSegments", *dump, log, jars=jars)
    found, expected = payloads(capsys.readouterr().out), payloads(theirs)
    if jars is KAFKA_4:  # it has other words for control records
        found = [line for line in found if line.startswith("payload: ")]
    assert found == expected
    assert "isvalid: false" not in theirs
    if jars is KRAFT:
        compare_shells(data, log, capsys)


def compare_shells(data, log, capsys):
    """The same names, and the same text at each leaf."""
    shell = "org.apache.kafka.shell.MetadataShell"
    theirs = sorted(names(kafkas(shell, "--snapshot", log, "find", "/image")))
    ours("metadata-shell", "--directory", data, "find", "/image")
    assert sorted(names(capsys.readouterr().out)) == theirs
    above = {name.rpartition("/")[0] for name in theirs}
    empty = {"acls/byId", "clientQuotas", "cluster/controllers", "configs", "delegationToken"}
    empty |= {"cluster/brokers", "topics/byId", "topics/byName"}
    leaves = [it for it in theirs if it not in above and "/scram/" not in it]
    leaves = [it for it in leaves if it.removeprefix("/image/") not in empty]
    assert len(leaves) > 3
    ours("metadata-shell", "--directory", data, "cat", *leaves)
    assert capsys.readouterr().out == kafkas(shell, "--snapshot", log, "cat", *leaves)


def names(text):
    return [line for line in text.splitlines() if line.startswith("/image")]
