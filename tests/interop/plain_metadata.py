"""A cluster without ZooKeeper: its metadata is a file of JSON, and its controller is a list.

    controller = ListController(path)          controller.changes: what brokers have asked for
    with PlainCluster(controller, tmp_path, brokers=2) as cluster:
        cluster.bootstrap

It implements the two interfaces behind which ZooKeeper mode stands: MetadataSource, from which a
broker gets each MetadataDelta, and ControllerGateway. So it shows that nothing else in a broker
depends on ZooKeeper. Left out: what fails, moves of partitions, security.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from engine.broker.broker import Broker
from engine.broker.broker_server import BrokerServer
from engine.broker.environment import Environment
from engine.broker.metadata_source import SourceContext
from engine.config import BrokerConfig
from engine.controller.election import elect
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import (
    BrokerEndpoint,
    BrokerRegistration,
    MetadataDelta,
    PartitionChange,
    PartitionRegistration,
    ReplicaStop,
)
from engine.metadata.gateway import Assignment
from engine.metadata.lifecycle import LifecycleStep
from engine.model import TopicPartition
from engine.replication.partition import Proposal
from tests.limits import START_S

NOWHERE = "127.0.0.1:1"  # zookeeper.connect: nobody listens there
EMPTY: dict[str, Any] = {"topics": {}, "configs": {}, "producer_ids": 0}


class ListController:
    """Decides for all brokers, which run on one event loop."""

    def __init__(self, path: Path) -> None:
        self.changes: list[tuple[Any, ...]] = []
        self._path = path
        self._state = json.loads(path.read_text()) if path.exists() else EMPTY | {"topics": {}}
        self._state["configs"] = dict(self._state["configs"])
        self.live: dict[int, BrokerRegistration] = {}
        self.sources: dict[int, PlainSource] = {}

    @property
    def topics(self) -> dict[str, dict[str, Any]]:
        """Each with its id, and a PartitionRegistration's fields by number."""
        found: dict[str, dict[str, Any]] = self._state["topics"]
        return found

    @property
    def configs(self) -> dict[str, dict[str, str]]:
        """By kind/name."""
        found: dict[str, dict[str, str]] = self._state["configs"]
        return found

    def change(self, *what: Any) -> None:
        """Note a change that was made, write the file, and tell every broker."""
        self.changes.append(what)
        for topic in self.topics.values():
            topic["partitions"] = {
                number: self._elected(known) for number, known in topic["partitions"].items()
            }
        self._path.write_text(json.dumps(self._state))
        for source in self.sources.values():
            source.publish()

    def _elected(self, known: dict[str, Any]) -> dict[str, Any]:
        """With another leader, if its own is gone."""
        if known["leader"] in self.live:
            return known
        found = elect(known["replicas"], known["isr"], self.live)
        if found.leader == known["leader"]:
            return known
        epoch, version = known["leader_epoch"] + 1, known["version"] + 1
        changed = {"leader": found.leader, "leader_epoch": epoch, "version": version}
        return known | changed | {"isr": list(found.isr)}

    def add(self, name: str, added: Assignment) -> None:
        for number, replicas in added.items():
            self.topics[name]["partitions"][str(number)] = {
                "leader": -1,
                "leader_epoch": -1,
                "isr": list(replicas),
                "replicas": list(replicas),
                "version": 0,
            }

    def alter_isr(self, proposal: Proposal) -> int | None:
        topic = self.topics.get(proposal.partition.topic, {"partitions": {}})
        known = topic["partitions"].get(str(proposal.partition.partition))
        if known is None or known["version"] != proposal.version:
            return None
        known |= {"isr": list(proposal.isr), "version": proposal.version + 1}
        self.change("isr", proposal.partition, proposal.isr)
        return proposal.version + 1

    def rows(self) -> list[PartitionChange]:
        return [
            PartitionChange(
                TopicPartition(name, int(number)),
                UUID(topic["id"]),
                PartitionRegistration(
                    **known | {"isr": tuple(known["isr"]), "replicas": tuple(known["replicas"])}
                ),
            )
            for name, topic in self.topics.items()
            for number, known in topic["partitions"].items()
        ]

    def producer_ids(self) -> range:
        first = self._state["producer_ids"]
        self._state["producer_ids"] = first + 10
        self.change("producer ids", first)
        return range(first, first + 10)


class PlainGateway:
    """Of one broker. The controller's list has what was asked for."""

    controller_id = 1
    decides_in_order = True

    def __init__(self, controller: ListController, source: "PlainSource") -> None:
        self._controller, self._source = controller, source

    @property
    def is_controller(self) -> bool:
        return self._source.id == self.controller_id

    def snapshot(self) -> dict[str, Any]:
        return {"changes": len(self._controller.changes)}

    def is_deleting(self, topic: str) -> bool:
        return False

    async def create_topic(
        self, name: str, assignment: Assignment, overrides: Mapping[str, str]
    ) -> None:
        if name in self._controller.topics:
            raise ApiException(ErrorCode.topic_already_exists)
        self._controller.topics[name] = {"id": str(uuid4()), "partitions": {}}
        self._controller.configs[f"topics/{name}"] = dict(overrides)
        self._controller.add(name, assignment)
        self._controller.change("create", name, len(assignment))

    async def create_partitions(self, name: str, added: Assignment) -> None:
        self._controller.add(name, added)
        self._controller.change("grow", name, len(added))

    async def delete_topic(self, name: str) -> None:
        del self._controller.topics[name], self._controller.configs[f"topics/{name}"]
        self._controller.change("delete", name)

    def alter_isr(self) -> Coroutine[Any, Any, None]:
        assert self._source.broker is not None
        replicas, proposed = self._source.broker.replicas, asyncio.Event()
        replicas.work_changed.append(proposed.set)

        async def run() -> None:
            while True:
                await proposed.wait()
                proposed.clear()
                proposals, replicas.proposals = replicas.proposals, []
                for each in proposals:
                    replicas.isr_answered(each, self._controller.alter_isr(each))

        return run()

    async def config(self, kind: str, name: str) -> Mapping[str, str]:
        return self._controller.configs.get(f"{kind}/{name}", {})

    async def alter_config(self, kind: str, name: str, values: Mapping[str, str]) -> None:
        self._controller.configs[f"{kind}/{name}"] = dict(values)
        self._controller.change("configure", kind, name)

    async def allocate_producer_ids(self) -> range:
        return self._controller.producer_ids()

    async def _refuse(self, *asked: Any, **more: Any) -> Any:
        raise ApiException(ErrorCode.unsupported_version, "this controller is only a list")

    elect_leaders = alter_reassignments = list_reassignments = _refuse
    quotas = alter_quotas = credentials = alter_credentials = alter_acls = _refuse
    commit_offset = committed_offset = _refuse


class PlainSource:
    """Of one broker."""

    address = "a file"
    session_id = quorum = None
    is_settled = True

    def __init__(self, context: SourceContext, controller: ListController) -> None:
        self.id = context.config.broker_id
        self.broker: Broker | None = None
        self._context, self._controller = context, controller
        self._known: dict[TopicPartition, UUID | None] = {}  # that this broker was told of

    async def connect(self, stack: AsyncExitStack) -> str:
        return "a-cluster-in-one-file"

    def claim(self, directory: Any, cluster_id: str) -> None:
        directory.claim(self.id, cluster_id)

    def gateway(self, configs: Any, authorizer: Any) -> Any:
        self._gateway = PlainGateway(self._controller, self)
        return self._gateway

    def handlers(self, broker: Broker) -> Mapping[Any, Any]:
        return {}  # no broker of this mode sends requests of its own

    async def load(self, broker: Broker, topics: Iterable[str]) -> None:
        self.broker = broker
        broker.configs.apply(self._configs())

    async def follow(self, broker: Broker) -> None:
        self._context.lifecycle.take(LifecycleStep.LOADED)
        self._context.spawn(self._gateway.alter_isr())

    async def register(self, broker: Broker, ports: Mapping[str, int]) -> None:
        endpoints = tuple(
            BrokerEndpoint(name, host, port or ports[name])
            for name, host, port, _ in self._context.config.advertised
        )
        self._controller.sources[self.id] = self
        self._controller.live[self.id] = BrokerRegistration(self.id, endpoints)
        self._context.lifecycle.take(LifecycleStep.REGISTERED)
        self._controller.change("register", self.id)

    async def leave(self, broker: Broker) -> None:
        del self._controller.sources[self.id], self._controller.live[self.id]
        self._controller.change("leave", self.id)

    def metadata(self, topic: str | None) -> Mapping[str, Any]:
        return {}

    def log_dir_failed(self) -> None:
        raise AssertionError("no disk fails here")

    def _configs(self) -> MetadataDelta:
        entities = {tuple(key.split("/")): it for key, it in self._controller.configs.items()}
        return MetadataDelta(configs=entities)  # type: ignore[arg-type]

    def publish(self) -> None:
        """Tell the broker how everything is now."""
        assert self.broker is not None
        rows = self._controller.rows()
        gone = self._known.keys() - {each.partition for each in rows}
        self.broker.publisher.apply(self._configs())
        roles = [
            each
            for each in rows
            if each.now is not None
            and self.id in each.now.replicas
            and each.now.leader_epoch > self._epoch(each.partition)
        ]
        stops = [
            ReplicaStop(each, None, delete=True)
            for each in gone & self.broker.replicas.partitions.keys()
        ]
        errors = self.broker.publisher.apply(
            MetadataDelta(
                controller=PlainGateway.controller_id,
                brokers=list(self._controller.live.values()),
                partitions=[
                    *rows,
                    *(PartitionChange(each, self._known[each], None) for each in gone),
                ],
                roles=roles,
                stops=stops,
            ),
        )
        assert set(errors) <= {ErrorCode.none}, errors
        self._known = {each.partition: each.topic_id for each in rows}

    def _epoch(self, partition: TopicPartition) -> int:
        assert self.broker is not None
        known = self.broker.replicas.partitions.get(partition)
        return known.leader_epoch if known else -2


class PlainEnvironment(Environment):
    def __init__(self, config: BrokerConfig, controller: ListController) -> None:
        super().__init__(config)
        self._controller = controller

    def prepare(self, stop: Callable[[], None]) -> None:
        """Without signals, which only a process's first thread may have."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.stop = stop

    def source(self, context: SourceContext) -> PlainSource:  # type: ignore[override]
        return PlainSource(context, self._controller)


class PlainCluster:
    """Brokers on an event loop in a thread of its own."""

    def __init__(self, controller: ListController, path: Path, brokers: int) -> None:
        self._controller, self._path, self._size = controller, path, brokers
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._environments: dict[int, PlainEnvironment] = {}
        self._runs: dict[int, Future[None]] = {}
        self._ports: dict[int, int] = {}

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def __enter__(self) -> Self:
        self._thread.start()
        for broker in range(1, self._size + 1):
            self._start(broker)
        return self

    def _start(self, broker: int) -> None:
        given = {
            "broker.id": str(broker),
            "zookeeper.connect": NOWHERE,
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(self._path / f"broker-{broker}"),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "2",
            "group.initial.rebalance.delay.ms": "0",
            "replica.lag.time.max.ms": "1500",  # until the leader of one who has left acknowledges
        }
        config = BrokerConfig.parse(given)
        environment = self._environments[broker] = PlainEnvironment(config, self._controller)
        ready: Future[int] = Future()

        async def run() -> None:
            await BrokerServer(config, environment).run(ready.set_result)

        self._runs[broker] = asyncio.run_coroutine_threadsafe(run(), self._loop)
        self._runs[broker].add_done_callback(
            lambda run: ready.done() or ready.set_exception(run.exception() or AssertionError())
        )
        self._ports[broker] = ready.result(START_S)

    def stop(self, broker: int) -> None:
        """In order, as SIGTERM does it."""
        self._loop.call_soon_threadsafe(self._environments.pop(broker).stop)
        self._runs.pop(broker).result(START_S)
        del self._ports[broker]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for broker in list(self._runs):
            self.stop(broker)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
