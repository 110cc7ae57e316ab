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

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.cluster import Cluster
from engine.cluster.kafka_process import LOG4J, OURS, command
from tests.limits import JVM_S
from tests.real.jars import JARS


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

    def _add(self, number: int, port: int, kind: str = "") -> BrokerProcess:
        return super()._add(number, port, kind or self._kinds[number])

    def add_broker(self, kind: str = OURS) -> int:
        self._kinds[max(self.brokers) + 1] = kind
        return super().add_broker(kind)

    def kind(self, broker: int) -> str:
        return self._kinds[broker]

    def of(self, kind: str) -> list[int]:
        """The brokers of that kind."""
        return [broker for broker in self.brokers if self._kinds[broker] == kind]

    def swap(self, broker: int, kind: str) -> None:
        """The broker is down. Its next start is one of that kind, on the same port and directory.

        Without effect on the order in which the cluster names its brokers.
        """
        old = self._processes[broker]
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


def tool(
    main: str, *arguments: str, stdin: str = "", heap: int = 128, folder: Path = JARS
) -> Output:
    """`folder`: of the jars; by default, those of Kafka 2.8.2."""
    with quiet() as flag:
        java, *rest = command(main, *arguments, folder=folder, heap=heap)
        done = subprocess.run(
            ["nice", "-n", "5", java, flag, *rest],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=JVM_S,
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
