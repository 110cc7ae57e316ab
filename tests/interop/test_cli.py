"""The command line against a cluster that was started by it, and confluent-kafka beside it."""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = [sys.executable, "-m", "engine"]
PATIENCE = 30.0  # seconds; what takes longer will not come

_numbers = count()


class Running(NamedTuple):
    """What the line says that `cluster` prints when all is up."""

    bootstrap: str
    zookeeper: str
    data: Path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("cluster")
    command = [*ENGINE, "cluster", "--brokers", "1", "--port", "0", "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = re.fullmatch(
                r"ready bootstrap=(127\.0\.0\.1:\d+) zookeeper=(127\.0\.0\.1:\d+) data=(.+)\n",
                process.stdout.readline(),
            )
            assert line is not None
            running = Running(line[1], line[2], Path(line[3]))
            yield running
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0
    for address in (running.bootstrap, running.zookeeper):
        host, _, port = address.partition(":")
        with socket.socket() as nobody:
            assert nobody.connect_ex((host, int(port))) != 0


class Shell:
    """Runs commands on the cluster."""

    def __init__(self, cluster: Running) -> None:
        self.bootstrap = cluster.bootstrap

    def command(self, *arguments: str) -> list[str]:
        name, *options = arguments
        roles = [options.pop(0)] if name == "perf" else []
        return [*ENGINE, name, *roles, "--bootstrap-server", self.bootstrap, *options]

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            cwd=ROOT,
            check=False,
            timeout=PATIENCE,
        )

    def out(self, *arguments: str, stdin: bytes = b"") -> str:
        """What a command prints that succeeds and has nothing to complain of."""
        done = self.run(*arguments, stdin=stdin)
        complaints = re.sub(rb"Processed a total of \d+ messages\n", b"", done.stderr)
        assert (done.returncode, complaints) == (0, b"")
        return done.stdout.decode()

    def error(self, *arguments: str) -> tuple[int, str]:
        """How a command fails: its status, and the one line that it prints."""
        done = self.run(*arguments)
        assert done.stderr.count(b"\n") == 1
        return done.returncode, done.stderr.decode().removeprefix("python -m engine: ").strip()

    @contextmanager
    def start(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        with subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def shell(cluster: Running) -> Shell:
    return Shell(cluster)


@pytest.fixture
def topic(shell: Shell) -> str:
    """A new topic of two partitions."""
    name = f"topic-{next(_numbers)}"
    shell.out("topics", "--create", "--topic", name, "--partitions", "2")
    return name


def line_of(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready
    return process.stdout.readline()


def read_by_confluent(bootstrap: str, topic: str, records: int) -> list[confluent_kafka.Message]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    partitions = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in partitions])
    found: list[confluent_kafka.Message] = []
    until = time.monotonic() + PATIENCE
    while len(found) < records and time.monotonic() < until:
        found += consumer.consume(records - len(found), 0.5)
    consumer.close()
    assert not [message.error() for message in found if message.error()]
    return found


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
        ("topics --alter --topic TOPIC", 2, "--alter needs --partitions: how many there are to be"),
        ("topics --create --topic a --partitions 0", 2, "'0' is not a number from 1 on"),
        ("topics --create --topic TOPIC", 1, "Topic 'TOPIC' already exists; with --if-not-exists"),
        ("topics --create --topic a/b", 1, "Topic name 'a/b' is illegal"),
        ("topics --create --topic a --replication-factor 9", 1, "Replication factor: 9 larger"),
        (
            "topics --create --topic a --config retention.mss=1",
            1,
            "Unknown topic config name: retention.mss; did you mean retention.ms?",
        ),
        ("topics --alter --topic TOPIC --partitions 1", 1, "Topic currently has 2 partitions"),
        ("topics --describe --topic [", 2, "--topic [: not a regular expression"),
        ("topics --delete --topic xTOPIC", 1, "there is no topic xTOPIC in this cluster; did you"),
        ("configs --describe --entity-type users", 2, "invalid choice: 'users'"),
        ("configs --alter --entity-type topics --entity-name TOPIC", 2, "--alter needs"),
        ("configs --describe --entity-type topics --entity-default", 2, "is for brokers"),
        ("configs --describe --entity-type brokers --entity-name b", 2, "is its number"),
        ("configs --describe --entity-type brokers --entity-name 7", 1, "no broker 7; alive are 1"),
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
        ("console-consumer --topic TOPIC --group g", 2, "--group: consumer groups are not served"),
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
    assert of_one == (
        "Dynamic configs for broker 1 are:\n"
        "  log.flush.interval.ms=80000 sensitive=false synonyms={"
        "DYNAMIC_BROKER_CONFIG:log.flush.interval.ms=80000, "
        "DYNAMIC_DEFAULT_BROKER_CONFIG:log.flush.interval.ms=70000}\n"
    )
    assert of_all.startswith("  log.flush.interval.ms=70000 ")
    for entity in (("--entity-default",), ("--entity-name", "1")):
        shell.out(*alter, *entity, "--delete-config", "log.flush.interval.ms")
    assert "flush" not in shell.out(*brokers)


# -- records there and back ------------------------------------------------------------------

LINES = b"first\n\n\xff\xfe not text \x00\nb\xc3\xa4r\rbell\nlast"


def test_lines_come_back_as_they_were(shell: Shell, topic: str) -> None:
    shell.out("console-producer", "--topic", topic, stdin=LINES)
    done = shell.run(
        "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "5"
    )
    assert done.stdout == LINES + b"\n"
    assert (done.returncode, done.stderr) == (0, b"Processed a total of 5 messages\n")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_confluent_reads_what_the_console_wrote(shell: Shell, topic: str, codec: str) -> None:
    """Also the partitions are those that a Java client would have taken."""
    pairs = [(b"key-%d" % number, b"value %d" % number) for number in range(200)]
    shell.out(
        *("console-producer", "--topic", topic, "--compression-codec", codec),
        *("--property", "parse.key=true", "--property", "key.separator=: "),
        stdin=b"".join(b"%s: %s\n" % pair for pair in pairs),
    )
    theirs = f"{topic}-theirs"
    shell.out("topics", "--create", "--topic", theirs, "--partitions", "2")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": shell.bootstrap, "partitioner": "murmur2_random"}
    )
    for key, value in pairs:
        producer.produce(theirs, value, key)
    assert producer.flush(PATIENCE) == 0

    def placed(name: str) -> list[tuple[int, int, bytes, bytes]]:
        found = read_by_confluent(shell.bootstrap, name, len(pairs))
        return sorted((it.partition(), it.offset(), it.key(), it.value()) for it in found)

    ours = placed(topic)
    assert ours == placed(theirs)
    assert sorted((key, value) for _, _, key, value in ours) == sorted(pairs)


def test_the_console_reads_what_confluent_wrote(shell: Shell, topic: str) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": shell.bootstrap, "compression.type": "lz4"}
    )
    headers = [("a", b"1"), ("b", None)]
    producer.produce(topic, b"one", b"k", 1, timestamp=1000, headers=headers)
    producer.produce(topic, None, b"k", 1, timestamp=2000)
    producer.produce(topic, b"three", None, 1, timestamp=3000)
    assert producer.flush(PATIENCE) == 0
    shown = [
        part
        for name in ("timestamp", "partition", "offset", "headers", "key")
        for part in ("--property", f"print.{name}=true")
    ]
    consume = ("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "3")
    assert shell.out(*consume, *shown) == (
        "CreateTime:1000\tPartition:1\tOffset:0\ta:1,b:null\tk\tone\n"
        "CreateTime:2000\tPartition:1\tOffset:1\tNO_HEADERS\tk\tnull\n"
        "CreateTime:3000\tPartition:1\tOffset:2\tNO_HEADERS\tnull\tthree\n"
    )
    keys = ("--property", "print.key=true", "--property", "print.value=false")
    words = ("--property", "null.literal=-", "--property", "line.separator=|")
    assert shell.out(*consume, *keys, *words) == "k|k|-|"


def test_a_tombstone_can_be_sent(shell: Shell, topic: str) -> None:
    shell.out(
        *("console-producer", "--topic", topic, "--property", "parse.key=true"),
        *("--property", "null.marker=NULL"),
        stdin=b"k\tNULL\n",
    )
    (record,) = read_by_confluent(shell.bootstrap, topic, 1)
    assert (record.key(), record.value()) == (b"k", None)


def test_a_line_without_key_is_an_error_that_costs_no_other_line(shell: Shell, topic: str) -> None:
    produce = ("console-producer", "--topic", topic, "--property", "parse.key=true")
    done = shell.run(*produce, stdin=b"a\t1\nno key\n")
    told = b"No key found on line 2: no key; the key.separator is '\\t'"
    assert (done.returncode, told in done.stderr) == (1, True)
    shell.out(*produce, "--property", "ignore.error=true", stdin=b"no key\n")
    found = read_by_confluent(shell.bootstrap, topic, 2)
    assert sorted((it.key() or b"-", it.value()) for it in found) == [
        (b"-", b"no key"),
        (b"a", b"1"),
    ]


def test_a_batch_that_is_refused_is_told_and_the_rest_is_sent(shell: Shell, topic: str) -> None:
    limit = ("--entity-type", "topics", "--entity-name", topic)
    shell.out("configs", "--alter", *limit, "--add-config", "max.message.bytes=1000")
    long, short = b"x" * 20_000, b"short"
    done = shell.run("console-producer", "--topic", topic, stdin=long + b"\n" + short + b"\n")
    assert done.returncode == 1
    assert done.stderr.startswith(f"not sent, 1 records: {topic}-0: ".encode())
    assert [it.value() for it in read_by_confluent(shell.bootstrap, topic, 1)] == [short]


@pytest.mark.parametrize("acks", ["0", "1", "-1", "all"])
def test_acks(shell: Shell, topic: str, acks: str) -> None:
    produce = ("console-producer", "--topic", topic, "--request-required-acks", acks)
    shell.out(*produce, stdin=b"a line\n")
    assert [it.value() for it in read_by_confluent(shell.bootstrap, topic, 1)] == [b"a line"]


def test_a_topic_comes_into_being_when_it_is_written_to(shell: Shell) -> None:
    shell.out("console-producer", "--topic", "unasked", stdin=b"a line\n")
    consume = ("console-consumer", "--topic", "unasked", "--from-beginning", "--max-messages", "1")
    assert shell.out(*consume) == "a line\n"


def test_many_lines_go_to_all_partitions_and_none_is_lost(shell: Shell, topic: str) -> None:
    lines = b"".join(b"%d\n" % number for number in range(30_000))
    shell.out("console-producer", "--topic", topic, stdin=lines)
    found = read_by_confluent(shell.bootstrap, topic, 30_000)
    assert {it.partition() for it in found} == {0, 1}
    assert sorted(int(it.value()) for it in found) == list(range(30_000))
    consume = ("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "30000")
    assert sorted(map(int, shell.out(*consume).split())) == list(range(30_000))


@pytest.mark.parametrize(
    ("offset", "printed"),
    [
        (["--offset", "3"], "3 4"),
        (["--offset", "earliest"], "0 1 2 3 4"),
        ([], ""),
        (["--offset", "latest"], ""),
        (["--from-beginning"], "0 1 2 3 4"),
    ],
)
def test_where_reading_starts(shell: Shell, topic: str, offset: list[str], printed: str) -> None:
    shell.out("console-producer", "--topic", topic, stdin=b"0\n1\n2\n3\n4\n")
    consume = ("console-consumer", "--topic", topic, "--timeout-ms", "700", "--partition", "0")
    assert shell.out(*consume, *offset).split() == printed.split()


# -- while it runs ---------------------------------------------------------------------------


def test_a_line_is_sent_while_the_pipe_is_still_open(shell: Shell, topic: str) -> None:
    with shell.start("console-producer", "--topic", topic) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"early\n")
        producer.stdin.flush()
        found = read_by_confluent(shell.bootstrap, topic, 1)
        assert [it.value() for it in found] == [b"early"]
        _, complaints = producer.communicate(timeout=PATIENCE)
        assert (producer.returncode, complaints) == (0, b"")


def test_a_terminal_gets_a_prompt_and_each_line_is_sent(shell: Shell, topic: str) -> None:
    terminal, far_end = pty.openpty()
    command = shell.command("console-producer", "--topic", topic)
    with subprocess.Popen(command, stdin=far_end, stdout=far_end, stderr=far_end, cwd=ROOT) as it:
        os.close(far_end)
        assert os.read(terminal, 1) == b">"
        os.write(terminal, b"typed\n")
        found = read_by_confluent(shell.bootstrap, topic, 1)
        assert [record.value() for record in found] == [b"typed"]
        os.write(terminal, b"\x04")  # control-D
        assert it.wait(PATIENCE) == 0
    os.close(terminal)


def test_control_c_ends_the_consumer_with_a_count(shell: Shell, topic: str) -> None:
    shell.out("console-producer", "--topic", topic, stdin=b"a\nb\n")
    with shell.start("console-consumer", "--topic", topic, "--from-beginning") as consumer:
        assert [line_of(consumer), line_of(consumer)] == [b"a\n", b"b\n"]
        consumer.send_signal(signal.SIGINT)
        out, err = consumer.communicate(timeout=PATIENCE)
    assert (out, err) == (b"", b"Processed a total of 2 messages\n")
    assert consumer.returncode == 130


# -- perf ------------------------------------------------------------------------------------

RESULT = (
    r"3000 records {verb}, \d+\.\d records/sec \(\d+\.\d\d MB/sec\), \d+\.\d ms avg latency, "
    r"\d+\.\d ms max latency, \d+\.\d ms 50th, \d+\.\d ms 95th, \d+\.\d ms 99th, "
    r"\d+\.\d ms 99\.9th\.\n"
)


def test_perf_measures_both_ways(shell: Shell, topic: str) -> None:
    props = ("--producer-props", "acks=all", "batch.size=4096", "compression.type=zstd")
    produce = ("perf", "producer", "--topic", topic, "--num-records", "3000", *props)
    assert re.fullmatch(RESULT.format(verb="sent"), shell.out(*produce))
    consume = ("perf", "consumer", "--topic", topic, "--messages", "3000")
    assert re.fullmatch(RESULT.format(verb="read"), shell.out(*consume))
    found = read_by_confluent(shell.bootstrap, topic, 3000)
    assert {len(it.value()) for it in found} == {200}


def test_perf_holds_back_and_tells_how_it_goes(shell: Shell, topic: str) -> None:
    produce = ("perf", "producer", "--topic", topic, "--num-records", "2500")
    done = shell.run(*produce, "--throughput", "1000")
    rate = float(done.stdout.split(b", ")[1].split()[0])
    assert 900 < rate < 1010
    (progress,) = done.stderr.splitlines()
    assert re.match(rb"\d+ records sent, \d+\.\d records/sec", progress)


def test_perf_gives_up_when_there_is_nothing_more(shell: Shell, topic: str) -> None:
    done = shell.run("perf", "consumer", "--topic", topic, "--messages", "1", "--timeout", "200")
    assert done.returncode == 1
    assert done.stderr == b"nothing came for 200 ms, 0 of 1 records were read\n"


def test_commands_import_no_more_than_a_client_needs(shell: Shell) -> None:
    run = f"main(['topics', '--list', '--bootstrap-server', {shell.bootstrap!r}])"
    code = f"import sys; from engine.cli.main import main; {run}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    loaded = set(done.stdout.split())
    assert "engine.client.cluster" in loaded
    assert not loaded & {"kazoo", "pyspark", "engine.broker", "engine.cluster", "cramjam"}


# -- last, because this cluster's own broker does not come back ------------------------------


def test_a_killed_broker_that_comes_back_is_found_again(cluster: Running, shell: Shell) -> None:
    """Both ends go on where they were: nobody has to restart them."""
    topic = "survivor"
    shell.out("topics", "--create", "--topic", topic)
    directory = cluster.data / "broker-1"
    start = [*ENGINE, "broker", "--id", "1", "--port", shell.bootstrap.partition(":")[2]]
    start += ["--zookeeper", cluster.zookeeper, "--data", str(directory)]
    with (
        shell.start("console-consumer", "--topic", topic, "--from-beginning") as consumer,
        shell.start("console-producer", "--topic", topic, "--request-required-acks", "all") as it,
    ):
        assert it.stdin is not None
        it.stdin.write(b"before\n")
        it.stdin.flush()
        assert line_of(consumer) == b"before\n"
        os.kill(int((directory / "broker.pid").read_text()), signal.SIGKILL)
        it.stdin.write(b"while it is gone\n")
        it.stdin.flush()
        with subprocess.Popen(
            start, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
        ) as broker:
            try:
                assert line_of(broker).startswith(b"ready ")
                assert line_of(consumer) == b"while it is gone\n"
                it.communicate(timeout=PATIENCE)
                assert it.returncode == 0
            finally:
                broker.terminate()
