"""The command line against a cluster that was started by it: topics, configurations, errors."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.interop.shell import ENGINE, ROOT, Running, Shell, started
from tests.modes import mode_of


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    with started(tmp_path_factory.mktemp("cluster"), mode_of(request)) as cluster:
        yield cluster


@pytest.fixture
def shell(cluster: Running) -> Shell:
    return Shell(cluster)


@pytest.fixture
def topic(shell: Shell) -> str:
    return shell.new_topic()


# -- topics ----------------------------------------------------------------------------------


def test_the_life_of_a_topic(shell: Shell) -> None:
    create = ("topics", "--create", "--topic", "life", "--partitions", "2")
    assert shell.out(*create, "--config", "retention.ms=1000") == "Created topic life.\n"
    assert "life" in shell.out("topics", "--list").splitlines()
    assert re.fullmatch(
        "Topic: life\tTopicId: [A-Za-z0-9_-]{22}\tPartitionCount: 2\tReplicationFactor: 1"
        "\tConfigs: retention.ms=1000\n"
        "\tTopic: life\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        "\tTopic: life\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n",
        shell.out("topics", "--describe", "--topic", "life"),
    )
    assert shell.out("topics", "--alter", "--topic", "life", "--partitions", "3") == ""
    assert "PartitionCount: 3" in shell.out("topics", "--describe", "--topic", "li.e")
    assert shell.out("topics", "--describe", "--unavailable-partitions") == ""
    assert shell.out("topics", "--describe", "--under-replicated-partitions") == ""
    assert shell.out("topics", "--delete", "--topic", "life") == ""
    assert "life" not in shell.out("topics", "--list").splitlines()


def test_replicas_can_be_placed_by_hand(shell: Shell) -> None:
    shell.out("topics", "--create", "--topic", "by-hand", "--replica-assignment", "1,1,1")
    grow = ("topics", "--alter", "--topic", "by-hand", "--partitions", "4")
    shell.out(*grow, "--replica-assignment", "1,1,1,1")
    assert "PartitionCount: 4" in shell.out("topics", "--describe", "--topic", "by-hand")


def test_what_is_not_said_is_left_to_the_broker(shell: Shell) -> None:
    shell.out("topics", "--create", "--topic", "plain")
    described = shell.out("topics", "--describe", "--topic", "plain")
    assert "\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n" in described


def test_a_name_that_could_collide_is_warned_of(shell: Shell) -> None:
    printed = shell.out("topics", "--create", "--topic", "a.b")
    assert printed.startswith("WARNING: Due to limitations in metric names, topics with a period")


def test_if_exists_and_if_not_exists_make_no_fuss(shell: Shell, topic: str) -> None:
    assert shell.out("topics", "--create", "--topic", topic, "--if-not-exists") == ""
    for action in ("--describe", "--delete"):
        assert shell.out("topics", action, "--topic", "nowhere", "--if-exists") == ""


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        ("topics --list --create", 2, "argument --create: not allowed with argument --list"),
        ("topics --create", 2, "--create needs --topic"),
        (
            "topics --alter --topic TOPIC",
            2,
            "--alter needs --partitions: the new number of partitions",
        ),
        ("topics --create --topic a --partitions 0", 2, "'0' is not a number from 1 to"),
        ("topics --create --topic TOPIC", 1, "Topic 'TOPIC' already exists; with --if-not-exists"),
        ("topics --create --topic a/b", 1, 'Topic name "a/b" is illegal, it'),
        ("topics --create --topic a --replication-factor 9", 1, "Replication factor: 9 larger"),
        (
            "topics --create --topic a --config retention.mss=1",
            1,
            "Unknown topic config name: retention.mss; did you mean retention.ms?",
        ),
        ("topics --alter --topic TOPIC --partitions 1", 1, "Topic currently has 2 partitions"),
        ("topics --describe --topic [", 2, "--topic [: not a regular expression"),
        ("topics --delete --topic xTOPIC", 1, "there is no topic xTOPIC in this cluster; did you"),
        ("configs --describe --entity-type user", 2, "invalid choice: 'user'"),
        ("configs --alter --entity-type topics --entity-name TOPIC", 2, "--alter needs"),
        ("configs --describe --entity-type topics --entity-default", 2, "is for brokers"),
        ("configs --describe --entity-type brokers --entity-name b", 2, "is its number"),
        ("configs --describe --entity-type brokers --entity-name 7", 1, "no broker 7; alive are 1"),
        ("configs --describe --entity-type broker-loggers", 2, "need --entity-name"),
        (
            "configs --alter --entity-type broker-loggers --entity-name 1 --add-config tea=INFO",
            1,
            "Invalid broker logger(s): tea",
        ),
        ("configs --describe --entity-type topics --entity-name nowhere", 1, "does not exist"),
        (
            "configs --alter --entity-type topics --entity-name TOPIC --add-config flush.ms=x",
            1,
            "Invalid value x for configuration flush.ms: Not a number of type LONG",
        ),
        (
            "configs --alter --entity-type topics --entity-name TOPIC --delete-config flush.ms",
            1,
            "Invalid config(s): flush.ms: nothing is set here that could be deleted",
        ),
        ("console-consumer --topic xTOPIC", 1, "there is no topic xTOPIC in this cluster; did you"),
        ("console-consumer --topic TOPIC --partition 5", 1, "no partition 5: the last one is 1"),
        ("console-consumer --topic TOPIC --offset 1", 2, "--offset needs --partition"),
        ("console-consumer --topic TOPIC --partition 0 --offset x", 2, "'x' is not earliest, lat"),
        (
            "console-consumer --topic TOPIC --group g --partition 0",
            2,
            "Options group and partition",
        ),
        (
            "console-consumer --topic TOPIC --property print.keys=true",
            2,
            "there is no property print.keys; did you mean print.key?",
        ),
        ("console-producer --topic TOPIC --property key.separator=", 2, "cannot be empty"),
        ("console-producer --topic a/b", 1, "a/b"),
        ("perf", 2, "the following arguments are required: producer|consumer"),
        (
            "perf producer --topic TOPIC --num-records 1 --producer-props ack=1",
            2,
            "there is no producer property ack; did you mean acks?",
        ),
        ("perf producer --topic TOPIC --num-records 1 --producer-props acks=2", 2, "acks=2: it is"),
        ("topics --list --bootstrap-server nowhere", 1, "'nowhere' is not HOST:PORT, such as"),
        (
            "topics --list --bootstrap-server 127.0.0.1:1",
            1,
            "no broker at 127.0.0.1:1: Connection refused; start a cluster (see `cluster --help`)",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    shell: Shell, topic: str, arguments: str, status: int, line: str
) -> None:
    parts = [part.replace("TOPIC", topic) for part in arguments.split()]
    if parts == ["perf"]:
        done = subprocess.run([*ENGINE, "perf"], capture_output=True, cwd=ROOT, check=False)
        got, told = done.returncode, done.stderr.decode()
    else:
        got, told = shell.error(*parts)
    assert line.replace("TOPIC", topic) in told
    assert got == status


# -- configs ---------------------------------------------------------------------------------


def test_the_configuration_of_a_topic(shell: Shell, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    nothing = f"Dynamic configs for topic {topic} are:\n"
    assert shell.out("configs", "--describe", *entity) == nothing
    done = f"Completed updating config for topic {topic}.\n"
    changes = "cleanup.policy=[compact,delete],segment.ms=3000"
    assert shell.out("configs", "--alter", *entity, "--add-config", changes) == done
    assert sorted(shell.out("configs", "--describe", *entity).splitlines()[1:]) == [
        "  cleanup.policy=compact,delete sensitive=false synonyms={"
        "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "  segment.ms=3000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=3000, "
        "DEFAULT_CONFIG:log.roll.hours=168}",
    ]
    delete = ("--add-config", "flush.ms=7", "--delete-config", "cleanup.policy,segment.ms")
    assert shell.out("configs", "--alter", *entity, *delete) == done
    described = shell.out("configs", "--describe", *entity)
    assert re.findall(r"^  (\S+) ", described, re.M) == ["flush.ms=7"]
    everything = shell.out("configs", "--describe", *entity, "--all")
    assert everything.startswith(f"All configs for topic {topic} are:\n")
    assert "  retention.ms=604800000 sensitive=false" in everything


def test_the_configuration_of_brokers(shell: Shell) -> None:
    brokers = ("configs", "--describe", "--entity-type", "brokers")
    alter = ("configs", "--alter", "--entity-type", "brokers")
    default = shell.out(*alter, "--entity-default", "--add-config", "log.flush.interval.ms=70000")
    assert default == "Completed updating default config for brokers in the cluster.\n"
    one = shell.out(*alter, "--entity-name", "1", "--add-config", "log.flush.interval.ms=80000")
    assert one == "Completed updating config for broker 1.\n"
    of_one, of_all = shell.out(*brokers).split("Default configs for brokers in the cluster are:\n")
    assert of_one.startswith(
        "Dynamic configs for broker 1 are:\n"
        "  log.flush.interval.ms=80000 sensitive=false synonyms={"
        "DYNAMIC_BROKER_CONFIG:log.flush.interval.ms=80000, "
        "DYNAMIC_DEFAULT_BROKER_CONFIG:log.flush.interval.ms=70000, DEFAULT_CONFIG:"
    )
    assert of_all.startswith("  log.flush.interval.ms=70000 ")
    for entity in (("--entity-default",), ("--entity-name", "1")):
        shell.out(*alter, *entity, "--delete-config", "log.flush.interval.ms")
    assert "flush" not in shell.out(*brokers)


def test_commands_import_no_more_than_a_client_needs(shell: Shell) -> None:
    run = f"main(['topics', '--list', '--bootstrap-server', {shell.bootstrap!r}])"
    code = f"import sys; from engine.cli.main import main; {run}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(done.stdout.split())
    assert "engine.client.cluster" in loaded
    assert not loaded & {"kazoo", "pyspark", "engine.broker", "engine.cluster", "cramjam"}


def test_no_command_loads_hypothesis(shell: Shell) -> None:
    """kio does, where it is installed: that would make every broker start a third later."""
    listing = ["topics", "--list", "--bootstrap-server", shell.bootstrap]
    command = [sys.executable, "-X", "importtime", "-m", "engine", *listing]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "kio.schema" in done.stderr
    assert "hypothesis.internal" not in done.stderr


def test_log_levels_of_a_broker(shell: Shell) -> None:
    entity = ("--entity-type", "broker-loggers", "--entity-name", "1")
    set_it = ("--add-config", "engine.broker.broker_server=DEBUG")
    assert shell.out("configs", "--alter", *entity, *set_it) == (
        "Completed updating config for broker-logger 1.\n"
    )
    first, *levels = shell.out("configs", "--describe", *entity).splitlines()
    assert first == "Dynamic configs for broker-logger 1 are:"
    assert "  engine.broker.broker_server=DEBUG sensitive=false synonyms={}" in levels
    unset = ("--delete-config", "engine.broker.broker_server")
    shell.out("configs", "--alter", *entity, *unset)
    described = shell.out("configs", "--describe", *entity)
    assert (
        "  engine.broker.broker_server=INFO sensitive=false synonyms={}" in described.splitlines()
    )
