"""A cluster of Apache Kafka 3.9.1 on its way from ZooKeeper to KRaft, step by step.

    with MigratingCluster(folder) as cluster:     ZooKeeper, and three brokers that use it
        cluster.start_controllers()               101, 102, 103: the migration begins by itself
        cluster.leave_zookeeper(1)                the broker is restarted as one of KRaft
        cluster.finalize(101)                     the controller is restarted without the migration

ZooKeeper is the one of every lab; brokers and controllers are Java processes, from the jars of
`make real`. 3.9 is the last release that can do this: 4.0 has no ZooKeeper.

The state that is recorded comes from files: each voter's quorum-state says whom it follows, and
the end of its log how far it is. The high watermark is what a majority of the disks has.
"""

import json
import threading
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from lab import PATIENCE, until

from engine import AdminClient, Consumer, Producer
from engine.client.admin.values import NewTopic
from engine.cluster.child import Child, end_all
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.kafka_process import LOG4J, LOGGING, MADE, command
from engine.cluster.kraft.metadata_log_reader import MetadataLogReader
from engine.cluster.ports import HOST, free_ports
from engine.cluster.state import BrokerState, ClusterState, ControllerState, Status, now
from engine.cluster.znode_changes import ChangeKind
from engine.cluster.znode_watcher import ZnodeWatcher
from engine.cluster.zookeeper import ZookeeperServer
from engine.config.properties import properties_text
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.metadata.records.framing import encode_record
from engine.raft.bootstrap import BOOTSTRAP, METADATA_VERSION, format_directory
from engine.raft.leader import majority_end
from engine.raft.quorum_state_file import QUORUM_STATE
from engine.raft.snapshot_records import encode_snapshot
from engine.storage import files
from engine.storage.partition_name import METADATA

KAFKA_3_9 = MADE.with_name("kraft")  # the jars
LEVEL = 21  # 3.9-IV0: an empty log that a migration is to fill needs 13 (3.6-IV1) at least
BROKERS, CONTROLLERS = (1, 2, 3), (101, 102, 103)
HEAP_MB = 256
STOP_S = 30.0  # for a broker to hand over what it leads
STARTED = "started (kafka.server.Kafka"  # KafkaServer with ZooKeeper, KafkaRaftServer without
RATE = 5  # records a second
SHARED: dict[str, Any] = {
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 2_000_000,
    "controlled.shutdown.retry.backoff.ms": 500,
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    "min.insync.replicas": 2,
}


class MigratingCluster:
    def __init__(self, folder: Path) -> None:
        self.zookeeper = ZookeeperServer(folder / "zookeeper")
        self.log = MetadataLogReader(lambda: [self._metadata(id) for id in CONTROLLERS])
        self.acknowledged: list[int] = []  # the numbers that the producer has written
        self.refused: list[str] = []  # errors that the producer was told at last
        self._folder = folder
        nodes = (*BROKERS, *CONTROLLERS)
        self._ports = dict(zip(nodes, free_ports(len(nodes)), strict=True))
        self._children: dict[int, Child] = {}
        self._stopped: set[int] = set()
        self._events: list[ClusterEvent] = []
        self._over = threading.Event()
        self._writer: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / LOGGING).write_text(LOG4J.format(level="INFO"))
        self.zookeeper.start()
        self.znodes = ZnodeWatcher(self.zookeeper.address)
        try:
            for id in BROKERS:
                self._start(id, self._with_zookeeper(id))
            for id in BROKERS:
                self._await_started(id)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._writer is not None:
            self._writer.join()
        self.znodes.close()
        end_all([*self._children.values()], STOP_S / 10)
        self.zookeeper.stop()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{self._ports[id]}" for id in BROKERS)

    # -- the steps -------------------------------------------------------------------------

    def start_controllers(self) -> None:
        """Their directories have the cluster's id, which is in ZooKeeper."""
        until("the cluster's id", lambda: self.znode("/cluster/id"))
        cluster_id = (self.znode("/cluster/id") or {})["id"]
        for id in CONTROLLERS:
            directory = self.directory(id)
            format_directory(directory, id, cluster_id, now())
            level = FeatureLevelRecord(name=METADATA_VERSION, feature_level=LEVEL)
            first = encode_snapshot([encode_record(level)], 0, now())
            files.replace(directory / BOOTSTRAP, first)
            self._start(id, self._controller(id) | self._migration())
        for id in CONTROLLERS:
            self._await_started(id)

    def leave_zookeeper(self, id: int) -> None:
        """Restart the broker: from now on it reads the log of the controllers."""
        self._stop(id)
        self._start(id, self._without_zookeeper(id))
        self._await_started(id)

    def kill_controller(self, id: int) -> None:
        """SIGKILL: another one leads the quorum, and the migration."""
        self._children[id].kill()
        self._stopped.add(id)
        self._tell("killed", id)

    def restart_controller(self, id: int) -> None:
        """One that was killed; the migration is not over."""
        self._start(id, self._controller(id) | self._migration())
        self._await_started(id)

    def finalize(self, id: int) -> None:
        """Restart the controller without the migration: once all are, there is no way back."""
        self._stop(id)
        self._start(id, self._controller(id))
        self._await_started(id)

    def end_zookeeper(self) -> None:
        """The last znodes are kept, and nobody reads them."""
        self.znodes.close()
        self.zookeeper.stop()
        self.note("zookeeper.stopped", server=1)

    def step(self, words: str, short: str) -> None:
        """Say in the recording what comes next."""
        self.note("migration.step", words=words, short=short)

    def note(self, kind: str, **facts: Any) -> None:
        self._events.append(ClusterEvent(kind, now(), None, facts, len(self._events) + 1))

    # -- clients ---------------------------------------------------------------------------

    def topic(self, name: str, partitions: int = 1) -> None:
        new = NewTopic(name, num_partitions=partitions, replication_factor=3)
        self.admin.create_topics([new])[name].result(PATIENCE)

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def write(self, topic: str) -> None:
        """Records with acks=all from now on, until the end: 0, 1, 2 ..."""
        self._writer = threading.Thread(target=self._write, args=(topic,), daemon=True)
        self._writer.start()

    def stop_writing(self) -> None:
        """Returns once each record is acknowledged, or refused."""
        self._over.set()
        assert self._writer is not None, "somebody writes"
        self._writer.join()

    def _write(self, topic: str) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "acks": "all", "linger.ms": "0"}
        producer = Producer(settings | {"retry.backoff.ms": "250", "delivery.timeout.ms": "60000"})

        def told(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.append(int(message.value()))
            else:
                self.refused.append(str(error))

        number = 0
        while not self._over.wait(1 / RATE):
            producer.produce(topic, str(number), on_delivery=told)
            producer.poll(0)
            number += 1
        producer.flush(PATIENCE)
        producer.close()

    def read(self, topic: str, count: int) -> list[int]:
        """The numbers in a topic, from its beginning, until so many were read."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "check"}
        consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        found: list[int] = []

        def enough() -> bool:
            found.extend(int(it.value() or b"") for it in consumer.consume(500, 0.2))
            return len({*found}) >= count

        until("all records", enough)
        consumer.close()
        return found

    # -- what is there ---------------------------------------------------------------------

    def znode(self, path: str) -> dict[str, Any] | None:
        """The data of a znode; None: there is none."""
        found: dict[str, Any] | None = None
        for change in self.znodes.changes():
            if change.path == path and change.kind is ChangeKind.DELETED:
                found = None
            elif change.path == path and change.znode is not None:
                found = json.loads(change.znode.data)
        return found

    def migration_states(self) -> list[int]:
        """What ZkMigrationState records have said, in order."""
        return [
            entry.fields["zkMigrationState"]
            for entry in self.log.entries()
            if entry.record == "ZkMigrationStateRecord"
        ]

    def in_sync(self, topic: str) -> bool:
        """Whether every replica of the topic is in the ISR."""
        found = self.admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        return all(len(it.isrs) == len(it.replicas) for it in found.values())

    def leader(self) -> int:
        """The controller that leads the newest epoch; -1: none."""
        return max((self._election(id) for id in CONTROLLERS), default=(0, -1))[1]

    def state(self) -> ClusterState:
        chosen = self.znode("/controller") if not self.znodes.closed else None
        leader = self.leader()
        controller = leader if chosen is None else int(chosen["brokerid"])
        brokers = {
            id: BrokerState(self._status(id), True, self._pid(id), self._ports[id])
            for id in BROKERS
        }
        return ClusterState(now(), controller, brokers, {}, controllers=self._quorum())

    def events(self, after: int = 0) -> list[ClusterEvent]:
        return self._events[after:]

    def _quorum(self) -> dict[int, ControllerState]:
        started = [id for id in CONTROLLERS if id in self._children]
        ends = self.log.ends()
        known = [ends.get(self._metadata(id), 0) for id in CONTROLLERS]
        mark = majority_end(known) if started else 0
        found = {}
        for id in started:
            epoch, leader = self._election(id)
            status, role = self._status(id), self._role(id)
            found[id] = ControllerState(
                *(status, status is Status.UP, self._pid(id), self._ports[id], role, epoch, leader),
                log_end=ends.get(self._metadata(id), 0),
                high_watermark=mark,
                voters=CONTROLLERS,
                epochs=self.log.epochs(),
            )
        return found

    def _role(self, id: int) -> str:
        """A leader that was killed has no newer epoch in its file when it starts again."""
        epoch, leader = self._election(id)
        newest = max(self._election(each)[0] for each in CONTROLLERS)
        if leader == id:
            return "leader" if epoch == newest else "resigned"
        return "follower" if leader >= 0 else "unattached"

    def _election(self, id: int) -> tuple[int, int]:
        """The epoch and the leader that a controller knows; -1: none."""
        path = self._metadata(id) / QUORUM_STATE
        if not path.exists():
            return 0, -1
        found = json.loads(path.read_text())
        return found["leaderEpoch"], found["leaderId"]

    def _status(self, id: int) -> Status:
        is_up = id in self._children and id not in self._stopped
        return Status.UP if is_up and self._children[id].alive else Status.DOWN

    def _pid(self, id: int) -> int:
        return self._children[id].pid if id in self._children else 0

    # -- processes -------------------------------------------------------------------------

    def directory(self, id: int) -> Path:
        name = f"broker-{id}" if id in BROKERS else f"controller-{id - 100}"
        return self._folder / name

    def _metadata(self, id: int) -> Path:
        return self.directory(id) / METADATA

    def _start(self, id: int, settings: dict[str, Any]) -> None:
        directory = self.directory(id)
        directory.mkdir(exist_ok=True)
        properties = self._folder / f"{directory.name}.properties"
        properties.write_text(properties_text(SHARED | settings, escapes=True))
        java, *rest = command("kafka.Kafka", str(properties), folder=KAFKA_3_9, heap=HEAP_MB)
        run = [java, f"-Dlog4j.configuration=file:{self._folder / LOGGING}", *rest]
        log = self._folder / f"{directory.name}.log"
        log.unlink(missing_ok=True)  # what it says now counts
        self._children[id] = Child(run, log, cwd=self._folder)
        self._stopped.discard(id)
        self._tell("started", id, pid=self._children[id].pid)

    def _await_started(self, id: int) -> None:
        child = self._children[id]
        until(f"node {id}", lambda: STARTED in child.output() or not child.alive)
        assert child.alive, child.output()[-3000:]

    def _stop(self, id: int) -> None:
        code = self._children[id].terminate(STOP_S)
        self._stopped.add(id)
        self._tell("stopped", id, code=code)

    def _tell(self, what: str, id: int, **facts: Any) -> None:
        kind = "broker" if id in BROKERS else "controller"
        self.note(f"{kind}.{what}", **{kind: id}, **facts)

    # -- settings --------------------------------------------------------------------------

    def _with_zookeeper(self, id: int) -> dict[str, Any]:
        return {
            "broker.id": id,
            "inter.broker.protocol.version": "3.9",
            "zookeeper.session.timeout.ms": 9000,
            **self._broker(id),
            **self._migration(),
        }

    def _without_zookeeper(self, id: int) -> dict[str, Any]:
        return {"process.roles": "broker", "node.id": id, **self._broker(id)}

    def _broker(self, id: int) -> dict[str, Any]:
        return {
            "listeners": f"PLAINTEXT://{HOST}:{self._ports[id]}",
            "log.dirs": self.directory(id),
            "controller.quorum.voters": self._voters,
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 3,
        }

    def _controller(self, id: int) -> dict[str, Any]:
        return {
            "process.roles": "controller",
            "node.id": id,
            "listeners": f"CONTROLLER://{HOST}:{self._ports[id]}",
            "log.dirs": self.directory(id),
            "controller.quorum.voters": self._voters,
        }

    def _migration(self) -> dict[str, Any]:
        return {
            "zookeeper.metadata.migration.enable": "true",
            "zookeeper.connect": self.zookeeper.address,
        }

    @property
    def _voters(self) -> str:
        return ",".join(f"{id}@{HOST}:{self._ports[id]}" for id in CONTROLLERS)
