"""Apache Kafka 3.3 or newer: one broker that is its own controller (KRaft), as it comes.

KAFKA_HOME=~/kafka_2.13-3.9.1 make bench
"""

import os
import subprocess
from pathlib import Path

from bench.peers.kafka import KafkaPeer
from bench.peers.plain import HOST, connect
from engine.cluster.child import Child
from engine.cluster.zookeeper import free_port

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
