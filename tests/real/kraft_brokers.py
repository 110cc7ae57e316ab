"""Brokers of Apache Kafka 3.9.1 whose controllers are ours, for a test."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from engine.cluster.child import Child, end_all
from engine.cluster.kafka_process import LOG4J, LOGGING, OURS, command
from engine.cluster.ports import free_ports
from engine.config.properties import properties_text
from engine.raft.bootstrap import format_directory
from tests.cluster.controllers import CLUSTER_ID, Controllers
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.jars import KRAFT

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SESSION_MS = 6000
SNAPSHOT_BYTES = 2000  # so that who begins late has to fetch a snapshot
HEAP = 300  # MB
STARTED = "Kafka Server started"
SMALL: Mapping[str, Any] = {
    "offsets.topic.num.partitions": 4,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.num.partitions": 4,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "group.initial.rebalance.delay.ms": 0,
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 500,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "process.roles": "broker",
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}


class KRaftBrokers:
    """Three controllers, 101 to 103, and brokers 1 to 3 of Kafka's. They end with the block."""

    def __init__(self, folder: Path, kinds: Sequence[str] = (OURS, OURS, OURS)) -> None:
        config = (
            f"broker.session.timeout.ms={SESSION_MS}",
            f"authorizer.class.name={AUTHORIZER}",
            "super.users=User:ANONYMOUS",
            f"metadata.log.max.record.bytes.between.snapshots={SNAPSHOT_BYTES}",
        )
        self.controllers = Controllers(folder, kinds, config)
        self.folder = folder
        self.ports = dict(enumerate(free_ports(3), 1))
        self.children: dict[int, Child] = {}

    def __enter__(self) -> Self:
        self.controllers.__enter__()
        try:
            for id in self.ports:
                format_directory(self.directory(id), id, CLUSTER_ID, 0)
                self.start(id)
            until(lambda: all(STARTED in it.output() for it in self.children.values()), JVM_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_all(list(self.children.values()), 5.0)
        self.controllers.__exit__()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def directory(self, id: int) -> Path:
        return self.folder / f"broker-{id}"

    def start(self, id: int) -> None:
        settings = {
            **SMALL,
            "node.id": id,
            "log.dirs": self.directory(id),
            "controller.quorum.voters": self.controllers.voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[id]}",
        }
        properties = self.folder / f"broker-{id}.properties"
        properties.write_text(properties_text(settings, escapes=True))
        logging = self.folder / LOGGING
        logging.write_text(LOG4J.format(level="INFO"))
        java, *rest = command("kafka.Kafka", str(properties), folder=KRAFT.folder, heap=HEAP)
        run = [java, f"-Dlog4j.configuration=file:{logging}", *rest]
        self.children[id] = Child(run, self.folder / f"broker-{id}.log", cwd=self.folder)

    def lose_disk(self, id: int) -> None:
        """The broker is down. Its directory is formatted anew."""
        shutil.rmtree(self.directory(id))
        format_directory(self.directory(id), id, CLUSTER_ID, 0)

    def logs(self, partition: str) -> list[bytes]:
        """The bytes of a partition, on each broker."""
        folders = [self.directory(id) / partition for id in self.ports]
        return [b"".join(it.read_bytes() for it in sorted(at.glob("*.log"))) for at in folders]


def described(client: Any, topic: str) -> Mapping[int, Sequence[int]]:
    """Each partition's leader and ISR: of an AdminClient's metadata."""
    found = client.list_topics(topic, timeout=JVM_S).topics[topic].partitions
    return {id: (it.leader, *sorted(it.isrs)) for id, it in found.items()}
