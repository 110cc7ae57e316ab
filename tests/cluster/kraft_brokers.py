"""Brokers of both kinds on a quorum of controllers: processes of ours, or of Apache Kafka 3.9."""

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from engine.cluster.child import Child, end_all
from engine.cluster.kafka_process import OURS, SMALL
from engine.cluster.ports import free_ports
from engine.raft.bootstrap import format_directory
from tests.cluster.controllers import CLUSTER_ID, Controllers, kafka_of
from tests.interop.watch import until
from tests.limits import JVM_S

STARTED = re.compile(rb"^ready broker=|Kafka Server started", re.MULTILINE)
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "broker.heartbeat.interval.ms": "500",
}


class KRaftBrokers:
    """Brokers by their number, each of a kind. They end with the block."""

    def __init__(self, controllers: Controllers, kinds: Mapping[int, str]) -> None:
        self.controllers, self.kinds = controllers, kinds
        self.ports = dict(zip(kinds, free_ports(len(kinds)), strict=True))
        self.children: dict[int, Child] = {}
        for id in kinds:
            format_directory(self.directory(id), id, CLUSTER_ID, 0)

    def __enter__(self) -> Self:
        for id in self.kinds:
            self.start(id)
        self.await_registered(*self.kinds)
        return self

    def __exit__(self, *_: object) -> None:
        end_all(list(self.children.values()), 5.0)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def directory(self, id: int) -> Path:
        return self.controllers.folder / f"broker-{id}"

    def log_of(self, id: int) -> Path:
        return self.controllers.folder / f"broker-{id}.log"

    def start(self, id: int) -> None:
        command = self._ours(id) if self.kinds[id] == OURS else self._kafkas(id)
        self.children[id] = Child(command, self.log_of(id), cwd=self.controllers.folder)

    def kill(self, id: int) -> None:
        self.children[id].kill()

    def _ours(self, id: int) -> list[str]:
        python = sys.executable, "-m", "engine", "broker"
        where = "--port", str(self.ports[id]), "--data", str(self.directory(id))
        keys = [word for each in SETTINGS.items() for word in ("--config", "=".join(each))]
        return [*python, "--id", str(id), *where, "--controllers", self.controllers.voters, *keys]

    def _kafkas(self, id: int) -> list[str]:
        small = {key: value for key, value in SMALL.items() if "protocol" not in key}
        settings = {
            **small,
            **SETTINGS,
            "process.roles": "broker",
            "node.id": id,
            "log.dirs": self.directory(id),
            "controller.quorum.voters": self.controllers.voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[id]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
        return kafka_of(settings, self.controllers.folder, f"broker-{id}", self.kinds[id])

    # -- what is so ------------------------------------------------------------------------

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def await_registered(self, *ids: int) -> None:
        """Until clients see exactly these brokers."""
        admin = self.admin

        def seen() -> bool:
            with suppress(KafkaException):  # a broker that knows none yet
                return set(admin.list_topics(timeout=JVM_S).brokers) == set(ids)
            return False

        until(seen, JVM_S)

    def leader(self, topic: str, partition: int) -> int:
        leader: int = self.admin.list_topics(topic).topics[topic].partitions[partition].leader
        return leader

    def await_in_sync(self, topic: str) -> None:
        """Until every replica of the topic is in sync, and leads what it should."""
        admin = self.admin

        def whole() -> bool:
            rows = admin.list_topics(topic).topics[topic].partitions.values()
            return all(set(row.isrs) == set(row.replicas) and row.leader >= 0 for row in rows)

        until(whole, JVM_S)

    def records_of(self, id: int, topic: str, partition: int) -> bytes:
        """The bytes of a replica's log, of all segments."""
        paths = sorted((self.directory(id) / f"{topic}-{partition}").glob("*.log"))
        return b"".join(path.read_bytes() for path in paths)
