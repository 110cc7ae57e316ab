"""Apache Kafka 2.8.2 on a ZooKeeper: kafka.Kafka, with the jars that `make real` fetches as well.

broker.id, listeners, zookeeper.connect, log.dirs       all else is Kafka's default, but for
zookeeper.session.timeout.ms=6000                       as the engine has it here
"""

from bench.brokers.jars import SERVER_FLAGS
from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.plain import HOST
from engine.cluster import java
from engine.cluster.kafka_process import CORE, LOG4J, MADE, STARTED
from engine.cluster.ports import free_port
from engine.cluster.zookeeper import ZookeeperServer

SESSION = "6000"
CONFIG = """\
broker.id={number}
listeners=PLAINTEXT://{host}:{port}
zookeeper.connect={zookeeper}
zookeeper.session.timeout.ms={session}
log.dirs={folder}/logs
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class ApacheKafka(System):
    name, kind = "Apache Kafka", "kafka"
    remedy = "python -m tests.real.jars fetches its jars"

    @classmethod
    def installed(cls) -> bool:
        return any(MADE.glob(CORE))

    @classmethod
    def version(cls) -> str:
        return next(MADE.glob(CORE)).stem.rpartition("-")[2]

    @property
    def address(self) -> str:
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def start(self) -> None:
        self._zookeeper = ZookeeperServer(self.home / "zookeeper").start()
        for number in range(1, self.size + 1):
            folder, port = self.home / f"kafka-{number}", free_port()
            folder.mkdir()
            config, logging = folder / "server.properties", folder / "log4j.properties"
            zookeeper = self._zookeeper.address
            config.write_text(
                CONFIG.format(
                    number=number,
                    host=HOST,
                    port=port,
                    zookeeper=zookeeper,
                    session=SESSION,
                    folder=folder,
                )
            )
            logging.write_text(LOG4J.format(level="INFO"))
            command = [str(java.find()), *SERVER_FLAGS, f"-Dlog4j.configuration=file:{logging}"]
            command += ["-cp", str(MADE / "*"), "kafka.Kafka", str(config)]
            self.nodes.append(Node(command, folder, port, None, _started))
            self.nodes[-1].start()

    def stop(self) -> None:
        super().stop()
        self._zookeeper.stop()


def _started(node: Node) -> bool:
    return STARTED in node.output()
