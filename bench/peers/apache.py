"""Apache Kafka, as it comes: a broker of 3.3 or newer, and 2.8 with ZooKeeper.

    KAFKA_HOME=~/kafka_2.13-3.9.1 make bench      one broker that is its own controller (KRaft)
    make real && make bench                       2.8.2 from Maven's jars: bench/warm.py

2.8 has the settings and the options of Java that its own scripts give it.
"""

import os
import subprocess
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient

from bench.peers.kafka import KafkaPeer
from bench.peers.peer import PATIENCE, Load, Size
from bench.peers.plain import HOST, connect
from engine.cluster import java
from engine.cluster.child import Child
from engine.cluster.kafka_process import CORE, MADE
from engine.cluster.zookeeper import ZookeeperServer, free_port

CLUSTER_ID = "YmVuY2gtYmVuY2gtYmVuYw"  # any 16 bytes, in base 64
CONFIG = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
controller.listener.names=CONTROLLER
log.dirs={home}/logs
offsets.topic.replication.factor=1
"""

JAVA = "-Xmx1G -Xms1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:MaxInlineLevel=15"
CONFIG_2_8 = """\
broker.id={number}
listeners=PLAINTEXT://{host}:{port}
zookeeper.connect={zookeeper}
log.dirs={home}/logs-{number}
default.replication.factor={brokers}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor={brokers}
transaction.state.log.min.isr=1
"""


class Apache(KafkaPeer):
    name = "Apache Kafka"
    remedy = "unpack a release and set KAFKA_HOME"

    def installed(self) -> bool:
        return "KAFKA_HOME" in os.environ

    def start(self, home: Path) -> None:
        programs, config = Path(os.environ["KAFKA_HOME"], "bin"), home / "server.properties"
        port, controller = free_port(), free_port()
        config.write_text(CONFIG.format(host=HOST, port=port, controller=controller, home=home))
        environment = {"LOG_DIR": str(home)}
        subprocess.run(
            [programs / "kafka-storage.sh", "format", "-t", CLUSTER_ID, "-c", config],
            env=os.environ | environment,
            check=True,
            capture_output=True,
        )
        server = [programs / "kafka-server-start.sh", config]
        self._child = Child(server, home / "kafka.log", env=environment)
        connect(port).close()
        self.bootstrap = f"{HOST}:{port}"

    def stop(self) -> None:
        self._child.terminate()


class Kafka28(KafkaPeer):
    """Kafka 2.8 from the jars that `make real` has copied."""

    name = "Kafka 2.8"
    remedy = "`make real` copies its jars"

    def __init__(self, brokers: int = 1, more: str = "") -> None:
        self.brokers = brokers  # each has a replica of each partition
        self._more = more  # lines of server.properties

    def installed(self) -> bool:
        return any(MADE.glob(CORE))

    def start(self, home: Path) -> None:
        self._home = home
        self._zookeeper = ZookeeperServer(home / "zookeeper").start()
        self._ports = {number: free_port() for number in range(1, self.brokers + 1)}
        self.children = {number: self.start_broker(number) for number in self._ports}
        for port in self._ports.values():
            connect(port).close()
        self.bootstrap = ",".join(f"{HOST}:{port}" for port in self._ports.values())
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        while len(client.list_topics(timeout=PATIENCE).brokers) < self.brokers:
            time.sleep(0.1)  # each knows of itself first

    def start_broker(self, number: int) -> Child:
        config = self._home / f"server-{number}.properties"
        config.write_text(
            CONFIG_2_8.format(
                number=number,
                host=HOST,
                port=self._ports[number],
                home=self._home,
                zookeeper=self._zookeeper.address,
                brokers=self.brokers,
            )
            + self._more
        )
        command = [java.find(), *JAVA.split(), "-cp", MADE / "*", "kafka.Kafka", config]
        return Child(command, self._home / f"kafka-{number}.log")

    def loads(self, size: Size) -> dict[str, Load]:
        return self.columns(size)

    def stop(self) -> None:
        for child in self.children.values():
            child.terminate()
        self._zookeeper.stop()
