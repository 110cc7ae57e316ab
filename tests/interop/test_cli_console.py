"""Records by the command line, there and back, with confluent-kafka at the other end."""

import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator

import confluent_kafka
import pytest

from tests.interop.shell import (
    ENGINE,
    ROOT,
    Running,
    Shell,
    line_of,
    read_by_confluent,
    started,
)
from tests.limits import CHANGE_S
from tests.modes import KRAFT, mode_of


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


# -- records there and back ------------------------------------------------------------------

LINES = b"first\n\n\xff\xfe not text \x00\nb\xc3\xa4r\rbell\nlast"


def test_lines_come_back_as_they_were(shell: Shell, topic: str) -> None:
    """Through pipes, and commands in processes of their own."""
    shell.told(shell.apart("console-producer", "--topic", topic, stdin=LINES))
    done = shell.apart(
        "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "5"
    )
    assert done.stdout == LINES + b"\n"
    assert (done.returncode, done.stderr) == (0, b"Processed a total of 5 messages\n")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_confluent_reads_what_the_console_wrote(shell: Shell, topic: str, codec: str) -> None:
    """The records are all there, in the partitions that a Java client would have chosen."""
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
    assert producer.flush(CHANGE_S) == 0

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
    assert producer.flush(CHANGE_S) == 0
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
    shell.told(shell.apart("console-producer", "--topic", topic, stdin=lines))
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
        _, complaints = producer.communicate(timeout=CHANGE_S)
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
        assert it.wait(CHANGE_S) == 0
    os.close(terminal)


def test_control_c_ends_the_consumer_with_a_count(shell: Shell, topic: str) -> None:
    shell.out("console-producer", "--topic", topic, stdin=b"a\nb\n")
    with shell.start("console-consumer", "--topic", topic, "--from-beginning") as consumer:
        assert [line_of(consumer), line_of(consumer)] == [b"a\n", b"b\n"]
        consumer.send_signal(signal.SIGINT)
        out, err = consumer.communicate(timeout=CHANGE_S)
    assert (out, err) == (b"", b"Processed a total of 2 messages\n")
    assert consumer.returncode == 130


# -- perf ------------------------------------------------------------------------------------


def test_control_c_ends_a_measurement_with_its_totals(shell: Shell, topic: str) -> None:
    """Both have printed a line of progress, and would go on for an hour."""
    produce = ("perf", "producer", "--topic", topic, "--num-records", "90000", "--throughput", "25")
    consume = ("perf", "consumer", "--topic", topic, "--messages", "90000")
    with shell.start(*produce) as producer, shell.start(*consume) as consumer:
        for process, verb in ((consumer, "read"), (producer, "sent")):
            assert process.stderr is not None
            assert f" records {verb}, ".encode() in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=CHANGE_S)
            assert process.returncode == 130
            assert re.fullmatch(
                rf"[1-9]\d* records {verb}, .* ms max latency, .* 99\.9th\.\n", out.decode()
            )


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
    assert 0 < rate < 1010
    progress = done.stderr.splitlines()
    assert progress
    for line in progress:
        assert re.match(rb"\d+ records sent, \d+\.\d records/sec", line)


def test_perf_gives_up_when_there_is_nothing_more(shell: Shell, topic: str) -> None:
    done = shell.run("perf", "consumer", "--topic", topic, "--messages", "1", "--timeout", "200")
    assert done.returncode == 1
    assert done.stderr == b"nothing came for 200 ms, 0 of 1 records were read\n"


# -- last, because this cluster's own broker does not come back ------------------------------


@pytest.mark.long
def test_a_killed_broker_that_comes_back_is_found_again(cluster: Running, shell: Shell) -> None:
    """Both ends go on where they were: nobody has to restart them."""
    topic = "survivor"
    shell.out("topics", "--create", "--topic", topic)
    directory = cluster.data / "broker-1"
    start = [*ENGINE, "broker", "--id", "1", "--port", shell.bootstrap.partition(":")[2]]
    where = ["--zookeeper", cluster.metadata]
    if cluster.mode == KRAFT:
        where = ["--controllers", f"101@{cluster.metadata}"]
    start += [*where, "--data", str(directory)]
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
            start, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd=ROOT
        ) as broker:
            try:
                assert line_of(broker).startswith(b"ready ")
                assert line_of(consumer) == b"while it is gone\n"
                it.communicate(timeout=CHANGE_S)
                assert it.returncode == 0
            finally:
                broker.terminate()
