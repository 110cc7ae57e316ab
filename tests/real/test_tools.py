"""Kafka's own command-line tools on our brokers print what they print on Kafka's.

What is expected here was compared with the output on a cluster of Kafka 2.8.2.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cluster.kafka_process import OURS
from tests.cluster.truth import Truth
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.conftest import new_topic
from tests.real.kafka import MixedCluster, Output, tool

LAYOUTS = [({1: OURS, 2: OURS}, "2.8")]
SETTINGS = {"min.insync.replicas": "1", "transaction.state.log.min.isr": "1"}
ADMIN, TOOLS, JAVA = "kafka.admin.", "kafka.tools.", "org.apache.kafka.tools."
TURNS = [[1, 2], [2, 1]]
RECORDS = "a:1\nb:2\nc:3\nd:4\n"
Run = Callable[..., str]


@pytest.fixture
def run(cluster: MixedCluster) -> Run:
    """Runs a tool that must succeed, and returns what it printed; an address is `BOOTSTRAP`."""

    def run(main: str, *arguments: str | Path, stdin: str = "") -> str:
        output = attempt(cluster, main, *arguments, stdin=stdin)
        assert output.code == 0, output
        return output.out

    return run


def attempt(cluster: MixedCluster, main: str, *arguments: str | Path, stdin: str = "") -> Output:
    options = [str(each) for each in arguments]
    if not any("BOOTSTRAP" in each for each in options):
        options = ["--bootstrap-server", "BOOTSTRAP", *options]
    known = (each.replace("BOOTSTRAP", cluster.bootstrap) for each in options)
    return tool(main, *known, stdin=stdin)


@pytest.fixture
def topic(cluster: MixedCluster, truth: Truth) -> str:
    return new_topic(cluster, truth, TURNS)


@pytest.fixture
def filled(cluster: MixedCluster, topic: str) -> str:
    """A topic whose partition 0 has four records."""
    offsets = cluster.write(topic, ["1", "2", "3", "4"], partition=0, acks="all")
    assert offsets == [0, 1, 2, 3]
    return topic


def plan(path: Path, **what: object) -> Path:
    path.write_text(json.dumps({"version": 1, **what}))
    return path


def test_topics(cluster, truth, run):
    command = f"{ADMIN}TopicCommand"
    name = ("--topic", "tea")
    config = ("--config", "retention.ms=1000000")
    made = run(command, "--create", *name, "--replica-assignment", "1:2,2:1", *config)
    assert made == "Created topic tea.\n"
    truth.await_whole("tea")
    assert "tea" in run(command, "--list").split()
    run(command, "--alter", *name, "--partitions", "3")
    until(lambda: len(truth.states("tea")) == 3, JVM_S)
    truth.await_whole("tea")
    first, *rows = run(command, "--describe", *name).splitlines()
    assert re.match(
        r"Topic: tea\tTopicId: \S{22}\tPartitionCount: 3\tReplicationFactor: 2\t", first
    )
    assert "retention.ms=1000000" in first
    assert rows[0] == "\tTopic: tea\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2"
    assert rows[1] == "\tTopic: tea\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1"
    assert run(command, "--describe", "--under-replicated-partitions") == ""
    twice = attempt(cluster, command, "--create", *name)
    assert (twice.code, "Topic 'tea' already exists." in twice.out) == (1, True)
    illegal = attempt(cluster, command, "--create", "--topic", "a/b", "--partitions", "1")
    assert illegal.code == 1
    assert 'Topic name "a/b" is illegal, it contains a character other than ' in illegal.out
    run(command, "--delete", *name)
    until(lambda: "tea" not in truth.topics(), JVM_S)


def test_configs(cluster, topic, run):
    command, of = f"{ADMIN}ConfigCommand", ("--entity-type", "topics", "--entity-name", topic)
    added = ("--add-config", "cleanup.policy=compact,max.message.bytes=5000")
    assert run(command, *of, "--alter", *added) == f"Completed updating config for topic {topic}.\n"
    first, *rows = run(command, *of, "--describe").splitlines()
    assert first == f"Dynamic configs for topic {topic} are:"
    assert [row.split("=")[:2] for row in rows] == [
        ["  cleanup.policy", "compact sensitive"],
        ["  max.message.bytes", "5000 sensitive"],
    ]
    run(command, *of, "--alter", "--delete-config", "cleanup.policy,max.message.bytes")
    assert run(command, *of, "--describe").splitlines() == [first]
    refused = attempt(cluster, command, *of, "--alter", "--add-config", "nonsense=1")
    assert refused.code == 1
    assert "InvalidConfigurationException: Unknown topic config name: nonsense" in refused.err


def test_console_clients_a_group_and_its_offsets(filled, run):
    keys = ("--property", "parse.key=true", "--property", "key.separator=:")
    run(f"{TOOLS}ConsoleProducer", "--topic", filled, *keys, stdin=RECORDS)
    group = f"group-of-{filled}"
    read = run(
        f"{TOOLS}ConsoleConsumer",
        *("--topic", filled, "--group", group, "--from-beginning", "--max-messages", "8"),
        *("--property", "print.key=true", "--timeout-ms", "60000"),
    )
    expected = [f"null\t{number}" for number in "1234"] + ["a\t1", "b\t2", "c\t3", "d\t4"]
    assert sorted(read.splitlines()) == sorted(expected)
    offsets = run(f"{TOOLS}GetOffsetShell", "--broker-list", "BOOTSTRAP", "--topic", filled)
    rows = [line.split(":") for line in offsets.splitlines()]
    assert [row[:2] for row in rows] == [[filled, "0"], [filled, "1"]]
    assert sum(int(end) for _, _, end in rows) == 8

    command, patient = f"{ADMIN}ConsumerGroupCommand", ("--timeout", "60000")
    assert re.search(
        rf"^{group} +Empty$", run(command, *patient, "--list", "--state"), re.MULTILINE
    )
    described = run(command, *patient, "--describe", "--group", group)
    lags = re.findall(rf"^{group} +{filled} +\d +(\d+) +(\d+) +0 ", described, re.MULTILINE)
    assert sum(int(end) for _, end in lags) == 8
    back = ("--reset-offsets", "--group", group, "--topic", filled, "--to-earliest", "--execute")
    assert re.findall(rf"{filled} +\d +(\d+)", run(command, *patient, *back)) == ["0", "0"]
    gone = run(command, *patient, "--delete", "--group", group)
    assert gone == f"Deletion of requested consumer groups ('{group}') was successful.\n"
    nobody = run(command, *patient, "--describe", "--group", group)
    assert f"Consumer group '{group}' does not exist." in nobody


def test_reassignment_and_preferred_leaders(truth, filled, run, tmp_path):
    command = f"{ADMIN}ReassignPartitionsCommand"
    topics = plan(tmp_path / "topics.json", topics=[{"topic": filled}])
    wanted = ("--topics-to-move-json-file", topics, "--broker-list", "1,2")
    assert f'"topic":"{filled}","partition":0,"replicas":[1,2]' in run(
        command, "--generate", *wanted
    )
    moved = [{"topic": filled, "partition": 0, "replicas": [2, 1]}]
    file = ("--reassignment-json-file", plan(tmp_path / "plan.json", partitions=moved))
    begun = run(command, "--execute", *file, "--throttle", "1000000")
    assert "The inter-broker throttle limit was set to 1000000 B/s" in begun
    assert f"Successfully started partition reassignment for {filled}-0" in begun
    until(lambda: truth.is_whole(filled), JVM_S)
    ended = run(command, "--verify", *file)
    assert f"Reassignment of partition {filled}-0 is complete." in ended
    assert f"Clearing topic-level throttles on topic {filled}" in ended
    assert run(command, "--list") == "No partition reassignments found.\n"
    elect = (f"{ADMIN}LeaderElectionCommand", "--election-type", "preferred")
    of = ("--topic", filled, "--partition", "0")
    elected = run(*elect, *of)
    assert (
        elected == f"Successfully completed leader election (PREFERRED) for partitions {filled}-0\n"
    )
    assert truth.state(filled, 0).leader == 2
    assert "Valid replica already elected for partitions" in run(*elect, *of)


def test_records_are_deleted_and_directories_described(cluster, filled, run, tmp_path):
    wanted = [{"topic": filled, "partition": 0, "offset": 3}]
    file = plan(tmp_path / "delete.json", partitions=wanted)
    deleted = run(f"{ADMIN}DeleteRecordsCommand", "--offset-json-file", file)
    assert f"partition: {filled}-0\tlow_watermark: 3" in deleted
    assert cluster.read(filled) == ["4"]
    described = run(f"{ADMIN}LogDirsCommand", "--describe", "--topic-list", filled)
    rows = json.loads(described.splitlines()[-1])["brokers"]
    for row in sorted(rows, key=lambda row: row["broker"]):
        (place,) = row["logDirs"]
        assert (place["logDir"], place["error"]) == (str(cluster.directory(row["broker"])), None)
        sizes = {each["partition"]: each["size"] for each in place["partitions"]}
        path = cluster.directory(row["broker"]) / f"{filled}-0"
        assert sizes[f"{filled}-0"] == sum(each.stat().st_size for each in path.glob("*.log"))


def test_segments_are_dumped(cluster, filled):
    path = cluster.directory(1) / f"{filled}-0" / f"{0:020}.log"
    dumped = tool(f"{TOOLS}DumpLogSegments", "--print-data-log", "--files", str(path)).out
    assert "isvalid: false" not in dumped
    assert re.findall(r"^\| offset: (\d) .* payload: (.*)$", dumped, re.MULTILINE) == [
        (str(number), str(number + 1)) for number in range(4)
    ]


def test_what_brokers_serve_and_what_they_refuse(cluster, run):
    served = run(f"{ADMIN}BrokerApiVersionsCommand")
    assert served.count("Fetch(1): ") == served.count("AlterIsr(56): 0 [usable: 0]") == 2
    acls = attempt(cluster, f"{ADMIN}AclCommand", "--list")
    assert acls.code == 1
    assert "SecurityDisabledException" in acls.out


def test_clients_that_measure_and_verify(topic, run):
    settings = ("--producer-props", "bootstrap.servers=BOOTSTRAP", "acks=all")
    sizes = ("--num-records", "1000", "--record-size", "100", "--throughput", "-1")
    assert run(f"{JAVA}ProducerPerformance", "--topic", topic, *sizes, *settings).startswith(
        "1000 records sent, "
    )
    read = run(
        f"{TOOLS}ConsumerPerformance",
        *("--broker-list", "BOOTSTRAP", "--topic", topic, "--messages", "1000"),
        *("--timeout", "60000"),
    )
    assert read.splitlines()[1].split(", ")[4] == "1000"
    verified = f"verified-{topic}"
    wrote = rows(run(f"{JAVA}VerifiableProducer", "--topic", verified, "--max-messages", "5"))
    assert [row["offset"] for row in wrote if row["name"] == "producer_send_success"] == [*range(5)]
    group = ("--group-id", verified, "--max-messages", "5", "--reset-policy", "earliest")
    heard = rows(run(f"{JAVA}VerifiableConsumer", "--topic", verified, *group))
    assert sum(row["count"] for row in heard if row["name"] == "records_consumed") == 5
    assert {row["success"] for row in heard if row["name"] == "offsets_committed"} == {True}
    copied = rows(
        run(
            f"{JAVA}TransactionalMessageCopier",
            *("--broker-list", "BOOTSTRAP", "--input-topic", verified, "--input-partition", "0"),
            *("--output-topic", f"copy-of-{topic}", "--max-messages", "5"),
            *("--transaction-size", "2", "--consumer-group", "copier"),
            *("--transactional-id", "copier"),
        )
    )
    assert copied[-1]["remaining"] == 0


def rows(printed: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
