"""Scripts with Kafka's names, typed as they stand in an article, in a directory like Kafka's."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import KafkaHome
from engine.cli.main import main
from engine.cluster.cluster import Cluster
from engine.cluster.ports import HOST, port_taken
from engine.cluster.scripts.kafka_home import COMMANDS, SERVER, ZOOKEEPER, _running
from tests.interop.shell import ROOT
from tests.interop.watch import until
from tests.limits import CHANGE_S
from tests.modes import MODES, made

TOPIC = "liuli-test"
NOBODY = "python -m engine: No kafka server to stop\n"
OWNER = """
import sys
from engine import KafkaHome
home = KafkaHome(sys.argv[1] or None).start()
print(home.path, home.zookeeper_port, flush=True)
sys.stdin.read()
"""


class Typed:
    """Commands that are typed in one directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, line: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * CHANGE_S,
        )

    def out(self, line: str, given: str = "") -> str:
        done = self.run(line, given)
        assert done.returncode == 0, done
        return done.stdout

    def error(self, line: str) -> str:
        done = self.run(line)
        assert done.returncode != 0, done
        return done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Iterator[KafkaHome]:
    with KafkaHome(tmp_path / "kafka_2.11-1.0.0") as home:
        yield home


def running(folder: Path, kind: str) -> list[int]:
    return [pid for pid, _ in _running(folder, kind)]


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_an_article_from_the_first_command_to_the_last(home: KafkaHome) -> None:
    typed = Typed(home.path)
    at, broker = f"localhost:{home.zookeeper_port}", f"localhost:{home.port}"
    typed.out("mkdir logs")
    typed.out("sed -i.old s,^log.dirs=.*,log.dirs=logs, config/server.properties")
    started = typed.out("bin/zookeeper-server-start.sh -daemon config/zookeeper.properties")
    assert started.startswith("started in the background as process ")

    create = f"bin/kafka-topics.sh --create --zookeeper {at} --replication-factor 1"
    create += f" --partitions 5 --topic {TOPIC}"
    none = "Replication factor: 1 larger than available brokers: 0.\n"
    assert typed.error(create).endswith(none)

    start = "./bin/kafka-server-start.sh"
    typed.out(f"{start} -daemon config/server.properties")
    log = home.path / "logs" / "server.log"
    until(lambda: log.exists() and "ready broker=0" in log.read_text())
    assert typed.out(create) == f"Created topic {TOPIC}.\n"
    assert typed.out(f"bin/kafka-topics.sh --list --zookeeper {at}") == f"{TOPIC}\n"
    until((home.path / "logs" / f"{TOPIC}-4").is_dir)

    produce = f"./bin/kafka-console-producer.sh --broker-list {broker} --topic {TOPIC}"
    typed.out(produce, "a\nb\nc\n")
    consume = f"--topic {TOPIC} --from-beginning --max-messages 3"
    consumed = typed.out(f"./bin/kafka-console-consumer.sh --bootstrap-server {broker} {consume}")
    assert sorted(consumed.split()) == ["a", "b", "c"]
    gone = typed.error(f"./bin/kafka-console-consumer.sh --zookeeper {at} {consume}")
    assert "there is no --zookeeper since Kafka 2.0" in gone
    dump = f"./bin/kafka-run-class.sh kafka.tools.DumpLogSegments --files ./logs/{TOPIC}-0/{0:020}"
    for suffix in ("index", "timeindex", "log --print-data-log"):
        assert typed.out(f"{dump}.{suffix}").startswith(f"Dumping logs/{TOPIC}-0/")

    typed.out("bin/kafka-server-stop.sh")
    assert not port_taken(home.port)
    assert typed.error("bin/kafka-server-stop.sh") == NOBODY
    typed.out("bin/zookeeper-server-stop.sh")
    assert not port_taken(home.zookeeper_port)


def test_a_broker_without_zookeeper_says_so_and_ends(home: KafkaHome) -> None:
    soon = "--override zookeeper.connection.timeout.ms=200"
    told = Typed(home.path).error(f"bin/kafka-server-start.sh config/server.properties {soon}")
    assert f"no answer from ZooKeeper at {home.zookeeper} in 0.2 s: is it running?" in told
    assert running(home.path, SERVER) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("log.Dirs=logs", "Unknown broker config name: log.Dirs; did you mean log.dirs?"),
        ("log.retention.hours=x", "Invalid value x for configuration log.retention.hours"),
    ],
)
def test_a_bad_line_is_refused_before_anything_starts(
    home: KafkaHome, line: str, told: str
) -> None:
    with (home.path / "config" / "server.properties").open("a") as file:
        file.write(f"num.network.threads=3\n{line}\n")
    error = Typed(home.path).error("bin/kafka-server-start.sh -daemon config/server.properties")
    ignored, refused = error.splitlines()
    assert ignored == "ignored, as they have no effect here: num.network.threads"
    assert told in refused
    assert not (home.path / "logs").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("datadir=x", "Unknown ZooKeeper config name: datadir; did you mean dataDir?"),
        ("maxClientCnxns=60", "maxClientCnxns=60: it is always 0 here"),
        ("tickTime=x", "clientPort and tickTime are numbers"),
    ],
)
def test_so_is_one_of_zookeeper(home: KafkaHome, line: str, told: str) -> None:
    with (home.path / "config" / "zookeeper.properties").open("a") as file:
        file.write(f"{line}\n")
    line = "bin/zookeeper-server-start.sh -daemon config/zookeeper.properties"
    assert told in Typed(home.path).error(line)


@pytest.mark.parametrize("temporary", [False, True])
def test_what_a_script_started_ends_with_the_process_that_made_the_directory(
    tmp_path: Path, temporary: bool
) -> None:
    command = [sys.executable, "-c", OWNER, "" if temporary else str(tmp_path / "home")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as owner:
        assert owner.stdout is not None
        path, _, port = owner.stdout.readline().strip().rpartition(" ")
        typed = Typed(Path(path))
        typed.out("bin/zookeeper-server-start.sh -daemon config/zookeeper.properties")
        until(lambda: port_taken(int(port)))
        (pid,) = running(Path(path), ZOOKEEPER)
        assert pid != owner.pid
        owner.send_signal(signal.SIGKILL)
    until(lambda: has_ended(pid))
    assert not port_taken(int(port))
    assert Path(path).exists() != temporary


def test_a_cluster_has_the_scripts_and_keeps_what_is_its_own(cluster: Cluster) -> None:
    typed = Typed(cluster.data)
    at = f"--bootstrap-server {cluster.bootstrap}"
    if not cluster.is_kraft:
        at = f"--zookeeper {cluster.zookeeper}"
    create = f"bin/kafka-topics.sh --create {at} --replica-assignment 1 --topic typed"
    assert typed.out(create) == "Created topic typed.\n"
    assert typed.error("bin/kafka-server-stop.sh") == NOBODY
    start_one_more(typed, cluster)
    typed.out("bin/kafka-server-stop.sh")
    assert brokers(cluster) == {1}


def start_one_more(typed: Typed, cluster: Cluster) -> None:
    """Broker 0. Without ZooKeeper its directory has to be formatted, with the cluster's id."""
    if cluster.is_kraft:
        id = typed.out(f"bin/kafka-cluster.sh cluster-id --bootstrap-server {cluster.bootstrap}")
        typed.out(
            f"bin/kafka-storage.sh format -t {id.split()[-1]} -c config/server.properties "
            "--release-version 3.3"
        )
    typed.out("bin/kafka-server-start.sh -daemon config/server.properties")
    until(lambda: brokers(cluster) == {0, 1})


def brokers(cluster: Cluster) -> set[int]:
    """As clients see them."""
    return {*cluster.admin.list_topics(timeout=CHANGE_S).brokers}


@pytest.mark.parametrize("mode", MODES)
def test_the_end_of_a_cluster_is_the_end_of_what_its_scripts_started(
    tmp_path: Path, mode: str
) -> None:
    with made(1, mode, data=tmp_path) as cluster:
        start_one_more(Typed(tmp_path), cluster)
    assert running(tmp_path, SERVER) == []
    log = (tmp_path / "logs" / "server.log").read_text()
    assert "ready broker=0" in log
    assert "Traceback" not in log


def test_no_other_program_gets_a_port_before_the_server_is_started(home: KafkaHome) -> None:
    for port in (home.port, home.zookeeper_port):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((HOST, port))
        assert not port_taken(port)  # as our servers bind it
    home.stop()
    with socket.socket() as other:
        other.bind((HOST, home.port))


@pytest.mark.parametrize("script", COMMANDS)
def test_every_script_is_two_lines_and_has_help(
    home: KafkaHome, script: str, told: Callable[[str], str]
) -> None:
    text = (home.path / "bin" / f"{script}.sh").read_text()
    assert re.fullmatch(r'#!/bin/sh\nexec .* -m engine .* "\$@"\n', text)
    assert told(text).startswith("usage: ")


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What a script prints with --help, from this process."""

    def told(text: str) -> str:
        words = text.split(" -m engine ")[1].removesuffix(' "$@"\n').split()
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        return capsys.readouterr().out

    return told
