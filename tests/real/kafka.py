"""Real brokers in our cluster: Apache Kafka 2.8.2, a Java process each, and Kafka's own tools.

    DIR/broker-1/    as in engine/cluster/cluster.py: a broker's log directory and its broker.log;
                     of a real broker also server.properties, which is written at each start

    with MixedCluster({1: KAFKA, 2: OURS, 3: KAFKA}) as cluster:
        cluster.kill(1)
        cluster.swap(1, OURS)          our engine on the directory that Kafka has left
        cluster.restart(1)
        cluster.tool("kafka.admin.TopicCommand", "--describe")

Both kinds get the same settings, and a port and a directory of their own; each can be killed,
paused, stopped and restarted. Links are cut and states are shown by our brokers only.

Invariant: a Java process ends with the process that started it (engine/cluster/child.py).
"""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from engine.cluster import java
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.child import Child
from engine.cluster.cluster import Cluster
from engine.cluster.ports import free_port
from engine.errors import ErrorCode, KafkaError
from tests.real.jars import JARS

OURS, KAFKA = "ours", "kafka"
STARTED = "] started (kafka.server.KafkaServer)"
PATIENCE = 120.0  # seconds; a Java process starts slowly on a busy machine
FLAGS = (
    "-XX:+UseSerialGC",  # one small heap needs no collector threads
    "-XX:TieredStopAtLevel=1",  # compile quickly rather than well
    "-XX:-UsePerfData",  # leaves nothing in /tmp
    "-Djava.awt.headless=true",
)
LOG4J = """\
log4j.rootLogger={level}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
# So that small machines hold several of them: few threads, and little memory for the cleaner. And
# a request to a controller that was cut off is given up soon.
SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "controller.socket.timeout.ms": "5000",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.cleaner.io.buffer.size": "65536",
    "socket.send.buffer.bytes": "-1",
    "socket.receive.buffer.bytes": "-1",
}


def command(main: str, *arguments: str, heap: int, classes: Sequence[Path] = ()) -> list[str]:
    """The command that runs a Java program with Kafka's jars; `heap` in MB."""
    path = ":".join(map(str, [*classes, JARS / "*"]))
    return [str(java.find()), f"-Xmx{heap}m", *FLAGS, "-cp", path, main, *arguments]


class KafkaProcess(BrokerProcess):
    """A broker of Apache Kafka; see engine/cluster/broker_process.py."""

    def launch(self, zookeeper: str, environment: Mapping[str, str], keep: Sequence[int]) -> None:
        self.release_port()
        self.port = self.port or free_port()
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = {
            **SMALL,
            **self._settings,
            "broker.id": self.number,
            "listeners": f"PLAINTEXT://{self.address}",
            "zookeeper.connect": zookeeper,
            "log.dirs": self.directory,
        }
        lines = (f"{key}={value}\n" for key, value in settings.items())
        (self.directory / "server.properties").write_text("".join(lines))
        self._child = Child(
            ["nice", "-n", "5", *self.arguments(zookeeper)],
            self.directory / "broker.log",
            env=environment,
            keep=keep,
        )
        self.expected = True

    def arguments(self, zookeeper: str) -> list[str]:
        properties = self.directory / "log4j.properties"
        properties.write_text(LOG4J.format(level="INFO"))
        java, *rest = command("kafka.Kafka", str(self.directory / "server.properties"), heap=384)
        return [java, f"-Dlog4j.configuration=file:{properties}", *rest]

    def command(self, zookeeper: str) -> str:
        return shlex.join(self.arguments(zookeeper))

    def await_ready(self) -> None:
        if not self._wait(lambda: STARTED in self.child.output()):
            lines = self.child.output().splitlines()
            reasons = [line for line in lines if re.search("Exception|ERROR|FATAL|Error", line)]
            told = [f"Kafka's broker {self.number} did not start:", *(reasons or lines)[:8]]
            raise KafkaError(ErrorCode.broker_not_available, "\n".join(told))


class Output(NamedTuple):
    """What a tool of Kafka's printed."""

    code: int
    out: str
    err: str


class MixedCluster(Cluster):
    """A cluster whose brokers are of either kind, by their number."""

    def __init__(self, kinds: Mapping[int, str], **settings: Any) -> None:
        self._kinds = dict(kinds)
        super().__init__(len(kinds), **settings)

    def _add(self, number: int, port: int) -> BrokerProcess:
        made = KafkaProcess if self._kinds[number] == KAFKA else BrokerProcess
        node = made(number, port, self.directory(number), self._config)
        self._nodes[number] = node
        return node

    def add_broker(self, kind: str = OURS) -> int:
        self._kinds[max(self.brokers) + 1] = kind
        return super().add_broker()

    def kind(self, broker: int) -> str:
        return self._kinds[broker]

    def of(self, kind: str) -> list[int]:
        """The brokers of that kind."""
        return [broker for broker in self.brokers if self._kinds[broker] == kind]

    def swap(self, broker: int, kind: str) -> None:
        """The broker is down. Its next start is one of that kind, on the same port and directory.

        Without effect on the order in which the cluster names its brokers.
        """
        old = self._nodes[broker]
        old.release_port()
        self._kinds[broker] = kind
        self._add(broker, old.port)
        old.expected = False

    def tool(self, main: str, *arguments: str, stdin: str = "", heap: int = 128) -> Output:
        """Run one of Kafka's command-line tools, to its end."""
        return tool(main, *arguments, stdin=stdin, heap=heap)

    def client_tool(self, main: str, *arguments: str, **how: Any) -> Output:
        """One that takes --bootstrap-server."""
        return tool(main, "--bootstrap-server", self.bootstrap, *arguments, **how)


def tool(main: str, *arguments: str, stdin: str = "", heap: int = 128) -> Output:
    with quiet() as flag:
        java, *rest = command(main, *arguments, heap=heap)
        done = subprocess.run(
            ["nice", "-n", "5", java, flag, *rest],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    return Output(done.returncode, done.stdout, done.stderr)


@contextmanager
def quiet() -> Iterator[str]:
    """The flag by which a tool logs warnings only."""
    with TemporaryDirectory(prefix="brokerlab-") as folder:
        path = Path(folder, "log4j.properties")
        path.write_text(LOG4J.format(level="WARN"))
        yield f"-Dlog4j.configuration=file:{path}"
