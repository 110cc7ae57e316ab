"""A broker of Apache Kafka in a cluster of ours: a Java process instead of a Python one.

    DIR/broker-4/    its log directory and its broker.log, as of any broker; and server.properties,
                     which is written at each start

It gets the settings of the cluster, those of security included. It can be killed, paused, stopped
and restarted. It has no debug server: kafka_reporter.py asks it for its state. It emits no events,
and no link of its own is cut or slow; a broker of ours can hold back its messages to it.

Kafka's jars are those of `make real`, or of the Kafka 2.8 that KAFKA_HOME names.

Invariant: a Java process ends with the process that started it (child.py).
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import engine
from engine.cluster import java
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.node_launcher import NodeLauncher, Start
from engine.cluster.ports import free_port
from engine.config import protocol
from engine.config.properties import properties_text
from engine.errors import ApiException, ErrorCode

OURS, KAFKA = "ours", "kafka"  # the kinds of brokers
MADE = Path(engine.__file__).resolve().parents[1] / "build" / "real" / "jars"  # by `make real`
CORE = "kafka_2.1*-2.8.*.jar"
STARTED = "] started (kafka.server.KafkaServer)"
HEAP = 384  # MB
FLAGS = (
    "-XX:+UseSerialGC",  # one small heap needs no collector threads
    "-XX:TieredStopAtLevel=1",  # compile quickly rather than well
    "-XX:-UsePerfData",  # leaves nothing in /tmp
    "-Djava.awt.headless=true",
)
LOGGING = "log4j.properties"
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
    "inter.broker.protocol.version": protocol.DEFAULT,  # Kafka's own default is its release
}


def jars() -> Path:
    """The folder with Kafka's jars; an ApiException says how to get them."""
    home = os.environ.get("KAFKA_HOME")
    folder = Path(home, "libs") if home else MADE
    if not any(folder.glob(CORE)):
        where = f"KAFKA_HOME is {home}, which has none" if home else "there are none"
        raise ApiException(
            ErrorCode.broker_not_available,
            f"Apache Kafka's jars, release 2.8, are needed and {where}: `make real` gets them "
            "(with Maven and a JDK), or set KAFKA_HOME to the directory of a Kafka 2.8",
        )
    return folder


def command(
    main: str, *arguments: str, folder: Path, heap: int, classes: Sequence[Path] = ()
) -> list[str]:
    """The command that runs a Java program with Kafka's jars; `heap` in MB."""
    path = ":".join(map(str, [*classes, folder / "*"]))
    return [str(java.find()), f"-Xmx{heap}m", *FLAGS, "-cp", path, main, *arguments]


class KafkaProcess(BrokerProcess):
    """See broker_process.py."""

    is_kafka = True

    def launch(
        self, source: MetadataAddress, environment: Mapping[str, str], launcher: NodeLauncher
    ) -> None:
        self.port = self.port or free_port()
        super().launch(source, environment, launcher)

    def _starter(self, launcher: NodeLauncher) -> Start:
        return launcher.run

    def command(self, source: MetadataAddress) -> str:
        return shlex.join(self.arguments(source))

    def _write_settings(self, zookeeper: str) -> None:
        settings = {
            **SMALL,
            **self._settings,
            "broker.id": self.number,
            "listeners": f"PLAINTEXT://{self.address}",
            "zookeeper.connect": zookeeper,
            "log.dirs": self.directory,
        }
        (self.directory / LOGGING).write_text(LOG4J.format(level="INFO"))
        path = self.directory / "server.properties"
        if self._security is None:
            path.write_text(properties_text(settings, escapes=True))
        else:
            secured = self._security.kafka_settings(self.number, self.port)
            self._security.write(path, {**settings, **secured})

    def arguments(self, source: MetadataAddress) -> list[str]:
        """The whole command: Java's, and Kafka's."""
        properties = str(self.directory / "server.properties")
        java, *rest = command("kafka.Kafka", properties, folder=jars(), heap=HEAP)
        return [java, f"-Dlog4j.configuration=file:{self.directory / LOGGING}", *rest]

    def await_ready(self) -> None:
        if not self.wait_for(lambda: STARTED in self.child.output()):
            lines = self.child.output().splitlines()
            reasons = [line for line in lines if re.search("Exception|ERROR|FATAL|Error", line)]
            told = [f"Kafka's broker {self.number} did not start:", *(reasons or lines)[:8]]
            raise ApiException(ErrorCode.broker_not_available, "\n".join(told))
        self.release_port()
