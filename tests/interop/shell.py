"""A cluster that the command line started, commands that run on it, confluent-kafka to compare.

A command runs in this process, as `main(...)`: a Python of its own, which takes half a second to
start, tells no more. `apart` and `start` give it one, where pipes, signals or exits are the point.
"""

import io
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple
from unittest.mock import patch

import confluent_kafka

from engine.cli.main import PROGRAM, main
from tests.limits import CHANGE_S
from tests.modes import KRAFT, ZOOKEEPER

ROOT = Path(__file__).resolve().parents[2]
ENGINE = [sys.executable, "-m", "engine"]
PROGRESS = rb"(Processed a total of \d+ messages|\d+ records (sent|read), .*)\n"  # if it takes long

_numbers = count()


class Running(NamedTuple):
    """What the line says that `cluster` prints when all is up."""

    bootstrap: str
    metadata: str  # the addresses of ZooKeeper, or of the controllers
    data: Path
    mode: str = ZOOKEEPER


@contextmanager
def started(data: Path, mode: str = ZOOKEEPER) -> Iterator[Running]:
    """`cluster`, from the line that it prints until SIGTERM; nobody listens after that."""
    command = [*ENGINE, "cluster", "--brokers", "1", "--port", "0", "--data", str(data)]
    command += ["--kraft", "--controllers", "1"] if mode == KRAFT else []
    where = r"controllers=101@" if mode == KRAFT else "zookeeper="
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = re.fullmatch(
                rf"ready bootstrap=(127\.0\.0\.1:\d+) {where}(127\.0\.0\.1:\d+) data=(.+)\n",
                process.stdout.readline(),
            )
            assert line is not None
            running = Running(line[1], line[2], Path(line[3]), mode)
            yield running
        finally:
            process.terminate()
            assert process.wait(CHANGE_S) == 0
    for address in (running.bootstrap, running.metadata):
        host, _, port = address.partition(":")
        with socket.socket() as nobody:
            assert nobody.connect_ex((host, int(port))) != 0


class Shell:
    """Runs commands on the cluster."""

    def __init__(self, cluster: Running) -> None:
        self.bootstrap = cluster.bootstrap

    def words(self, *arguments: str) -> list[str]:
        name, *options = arguments
        roles = [options.pop(0)] if name == "perf" else []
        return [name, *roles, "--bootstrap-server", self.bootstrap, *options]

    def command(self, *arguments: str) -> list[str]:
        return [*ENGINE, *self.words(*arguments)]

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        with TemporaryFile("w+b") as given:
            given.write(stdin)
            given.seek(0)
            with patch("sys.stdin", given), redirect_stdout(out), redirect_stderr(err):
                status = main(self.words(*arguments))
        printed = []
        for stream in (out, err):
            stream.seek(0)  # which flushes, too
            printed.append(stream.buffer.read())
        return subprocess.CompletedProcess(arguments, status, *printed)

    def apart(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """In a process of its own, with pipes."""
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            cwd=ROOT,
            check=False,
            timeout=CHANGE_S,
        )

    def out(self, *arguments: str, stdin: bytes = b"") -> str:
        """What a command prints that succeeds and has nothing to complain of."""
        return self.told(self.run(*arguments, stdin=stdin))

    def told(self, done: subprocess.CompletedProcess[bytes]) -> str:
        complaints = re.sub(PROGRESS, b"", done.stderr)
        assert (done.returncode, complaints) == (0, b"")
        return done.stdout.decode()

    def error(self, *arguments: str) -> tuple[int, str]:
        """How a command fails: its status, and the one line that it prints."""
        done = self.run(*arguments)
        assert done.stderr.count(b"\n") == 1
        return done.returncode, done.stderr.decode().removeprefix(f"{PROGRAM}: ").strip()

    @contextmanager
    def start(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        with subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def new_topic(self) -> str:
        """A topic of two partitions, with a name that no other test has."""
        name = f"topic-{next(_numbers)}"
        self.out("topics", "--create", "--topic", name, "--partitions", "2")
        return name


def line_of(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], CHANGE_S)
    assert ready
    return process.stdout.readline()


def read_by_confluent(bootstrap: str, topic: str, records: int) -> list[confluent_kafka.Message]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False}
    )
    partitions = consumer.list_topics(topic, CHANGE_S).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in partitions])
    found: list[confluent_kafka.Message] = []
    until = time.monotonic() + CHANGE_S
    while len(found) < records and time.monotonic() < until:
        found += consumer.consume(records - len(found), 0.5)
    consumer.close()
    assert not [message.error() for message in found if message.error()]
    return found
