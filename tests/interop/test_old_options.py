"""Commands of older books: --zookeeper and --broker-list, as Kafka 2.8's tools take them.

The lines that are expected are those of Kafka 2.8.2's own tools on such a cluster.
"""

import subprocess
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from engine.cli import zookeeper_configs, zookeeper_session, zookeeper_topics
from engine.cli.gone import GONE
from engine.cli.main import PROGRAM, main
from engine.client.admin.values import ConfigResource
from engine.cluster.cluster import Cluster
from engine.cluster.ports import free_port
from engine.cluster.zookeeper import ZookeeperServer
from tests.interop.shell import ENGINE, ROOT
from tests.interop.watch import until

NOTE = "Note: This will have no impact if delete.topic.enable is not set to true.\n"
_numbers = count()
Typed = Callable[..., str]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command, and returns what it prints; `error` is what it ends with instead of 0."""

    def typed(*words: str, error: str = "", warning: str = zookeeper_topics.DEPRECATED) -> str:
        status = main([*words])
        printed = capsys.readouterr()
        expected = warning + "\n" if warning else ""
        if error:
            assert printed.err.startswith(f"{expected}{PROGRAM}: {error}")
        else:
            assert (status, printed.err) == (0, expected)
        return printed.out

    return typed


@pytest.fixture
def at(cluster: Cluster) -> tuple[str, str]:
    return "--zookeeper", cluster.zookeeper


@pytest.fixture
def name() -> str:
    return f"old-{next(_numbers)}"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a ZooKeeper without a broker."""
    with ZookeeperServer(tmp_path_factory.mktemp("alone")) as server:
        yield server.address


def led(cluster: Cluster, name: str, partitions: int) -> bool:
    paths = [f"/brokers/topics/{name}/partitions/{each}/state" for each in range(partitions)]
    return all(map(cluster.znode, paths))


def test_a_topic_is_made_of_two_znodes_and_the_controller_does_the_rest(
    cluster: Cluster, typed: Typed, at: tuple[str, str], name: str
) -> None:
    size = ("--replication-factor", "1", "--partitions", "5")
    made = typed("topics", "--create", *at, *size, "--topic", name, "--config", "retention.ms=1000")
    assert made == f"Created topic {name}.\n"
    config = b'{"version":1,"config":{"retention.ms":"1000"}}'
    assert cluster.znode(f"/config/topics/{name}") == config
    assert name in typed("topics", "--list", *at).splitlines()
    until(lambda: led(cluster, name, 5))
    described = typed("topics", "--describe", *at, "--topic", name).splitlines()
    assert described == [
        f"Topic: {name}\tPartitionCount: 5\tReplicationFactor: 1\tConfigs: retention.ms=1000",
        *(
            f"\tTopic: {name}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1"
            for number in range(5)
        ),
    ]
    assert cluster.znode(f"/brokers/topics/{name}") == (  # a broker's CreateTopics adds a topic_id
        b'{"partitions":{"0":[1],"1":[1],"2":[1],"3":[1],"4":[1]},"adding_replicas":{},'
        b'"removing_replicas":{},"version":3}'
    )
    assert cluster.write(name, ["a"], partition=4) == [0]


def test_a_topic_grows_and_goes(
    cluster: Cluster, typed: Typed, at: tuple[str, str], name: str
) -> None:
    assert typed("topics", "--create", *at, "--replica-assignment", "1,1", "--topic", name)
    until(lambda: led(cluster, name, 2))
    grown = typed("topics", "--alter", *at, "--topic", name, "--partitions", "4")
    assert grown == f"{zookeeper_topics.GROWS}\nAdding partitions succeeded!\n"
    until(lambda: led(cluster, name, 4))
    less = "The number of partitions for a topic can only be increased. "
    less += f"Topic {name} currently has 4 partitions, 3 would not be an increase."
    typed("topics", "--alter", *at, "--topic", name, "--partitions", "3", error=less)
    told = typed("topics", "--delete", *at, "--topic", name)
    assert told == f"Topic {name} is marked for deletion.\n{NOTE}"
    until(lambda: name not in cluster.children("/brokers/topics"))


def test_a_configuration_is_changed_with_a_note_to_the_brokers(
    cluster: Cluster, typed: Typed, at: tuple[str, str], name: str
) -> None:
    typed("topics", "--create", *at, "--replica-assignment", "1", "--topic", name)
    until(lambda: led(cluster, name, 1))
    altered = typed("topics", "--alter", *at, "--topic", name, "--config", "retention.ms=2000")
    assert altered == f"{zookeeper_topics.CONFIG_HERE}\nUpdated config for topic {name}.\n"
    resource = ConfigResource("topic", name)

    def served() -> str:
        (described,) = cluster.admin.describe_configs([resource]).values()
        return str(described.result()["retention.ms"].value)

    until(lambda: served() == "2000")
    typed("topics", "--alter", *at, "--topic", name, "--delete-config", "retention.ms")
    assert cluster.znode(f"/config/topics/{name}") == b'{"version":1,"config":{}}'
    unknown = "Unknown topic config name: retention.mss; did you mean retention.ms?"
    wrong = ("--config", "retention.mss=1")
    typed("topics", "--alter", *at, "--topic", name, *wrong, error=unknown)


def test_without_a_broker_there_is_nobody_to_keep_a_topic(typed: Typed, alone: str) -> None:
    at = ("--zookeeper", alone)
    size = ("--replication-factor", "1", "--partitions", "5", "--topic", "t")
    error = "Replication factor: 1 larger than available brokers: 0."
    typed("topics", "--create", *at, *size, error=error)
    assert typed("topics", "--list", *at) == ""
    none = "Topic 't' does not exist as expected"
    typed("topics", "--describe", *at, "--topic", "t", error=none)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("topics --create --topic t", 'Missing required argument "[partitions]"'),
        ("topics --create --topic t --partitions 1", 'Missing required argument "[replication-f'),
        ("topics --describe --at-min-isr-partitions", 'Option "[at-min-isr-partitions]" can\'t be'),
        ("topics --list --bootstrap-server b:1", "argument --zookeeper: not allowed with argument"),
        ("configs --describe --entity-type topics --all", "--bootstrap-server must be specified"),
        ("configs --describe --entity-type brokers", "--bootstrap-server option must be specified"),
        ("configs --alter --entity-type topics --add-config a=b", "An entity name must be"),
    ],
)
def test_what_has_no_sense_is_refused_before_zookeeper_is_asked(
    typed: Typed, words: str, error: str
) -> None:
    command, *options = words.split()
    typed(command, *options, "--zookeeper", "127.0.0.1:1", error=error, warning="")


def test_a_zookeeper_that_does_not_answer(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper_session, "CONNECT_WAIT_S", 0.1)
    address = f"127.0.0.1:{free_port()}"
    error = f"no answer from ZooKeeper at {address} in 0 s: is it running?"
    typed("topics", "--list", "--zookeeper", address, error=error)


def test_configs_of_topics_clients_and_users(
    cluster: Cluster, typed: Typed, at: tuple[str, str], name: str
) -> None:
    def configs(*words: str, error: str = "") -> str:
        warning = zookeeper_configs.DEPRECATED
        return typed("configs", *at, *words, error=error, warning=warning)

    typed("topics", "--create", *at, "--replica-assignment", "1", "--topic", name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    assert configs("--alter", *topic, "--add-config", "retention.ms=1") == (
        f"Completed updating config for entity: topic '{name}'.\n"
    )
    assert configs("--describe", *topic) == f"Configs for topic '{name}' are retention.ms=1\n"
    configs("--alter", *topic, "--delete-config", "flush.ms", error="Invalid config(s): flush.ms")

    client = ("--entity-type", "clients", "--entity-name", name)
    assert configs("--alter", *client, "--add-config", "producer_byte_rate=1000") == (
        f"Completed updating config for entity: client-id '{name}'.\n"
    )
    assert cluster.znode(f"/config/clients/{name}") == (
        b'{"version":1,"config":{"producer_byte_rate":"1000"}}'
    )
    shown = f"Configs for client-id '{name}' are producer_byte_rate=1000\n"
    assert configs("--describe", *client) == shown
    assert shown in configs("--describe", "--entity-type", "clients")
    unknown = "Unknown Dynamic Configuration: tea."
    configs("--alter", *client, "--add-config", "tea=1", error=unknown)

    user = ("--entity-type", "users", "--entity-name", name)
    secret = ("--add-config", "SCRAM-SHA-256=[iterations=4096,password=x]")
    assert configs("--alter", *user, *secret) == (
        f"Completed updating config for entity: user-principal '{name}'.\n"
    )
    described = configs("--describe", *user)
    assert described.startswith(f"Configs for user-principal '{name}' are SCRAM-SHA-256=salt=")
    assert "x" not in described.rpartition("=")[2]
    both = (*user, "--entity-type", "clients", "--entity-default")
    configs("--alter", *both, "--add-config", "request_percentage=5")
    assert configs("--describe", *both) == (
        f"Configs for user-principal '{name}', the default client-id are request_percentage=5\n"
    )


def test_broker_list_is_the_former_name_of_bootstrap_server(cluster: Cluster, name: str) -> None:
    cluster.topic(name)
    done = subprocess.run(
        [*ENGINE, "console-producer", "--broker-list", cluster.bootstrap, "--topic", name],
        input=b"a\nb\nc\n",
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    warning = b"Warning: --broker-list is deprecated; use --bootstrap-server instead.\n"
    assert (done.stdout, done.stderr) == (b"", warning)
    assert cluster.read(name) == ["a", "b", "c"]


@pytest.mark.parametrize(("command", "option"), [(c, o) for c in GONE for o in GONE[c]])
def test_an_option_that_is_gone_is_answered_by_what_replaced_it(
    capsys: pytest.CaptureFixture[str], command: str, option: str
) -> None:
    assert main([command, option, "x", "--topic", "t"]) == 2
    assert main([command, f"{option}=x"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert "unrecognized" not in first
    assert "{" not in first
    assert first.endswith(f"({PROGRAM} {command} --help)")


def test_the_articles_consumer_says_where_the_brokers_are_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "console-consumer --zookeeper localhost:2181 --topic liuli-test --from-beginning"
    assert main(words.split()) == 2
    told = capsys.readouterr().err
    assert "there is no --zookeeper since Kafka 2.0" in told
    assert "--bootstrap-server HOST:9092" in told


def test_the_lines_of_perf_take_the_old_names_too(
    cluster: Cluster, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.topic(name)
    to = ("--producer-props", f"bootstrap.servers={cluster.bootstrap}", "acks=all")
    size = ("--num-records", "10", "--record-size", "100", "--throughput", "-1")
    assert main(["perf", "producer", "--topic", name, *size, *to]) == 0
    old = ("--broker-list", cluster.bootstrap)
    assert main(["perf", "consumer", "--topic", name, "--messages", "10", *old]) == 0
    sent, read = capsys.readouterr().out.splitlines()
    assert (sent[:15], read[:15]) == ("10 records sent", "10 records read")
