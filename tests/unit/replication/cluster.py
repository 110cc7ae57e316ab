"""Brokers with real logs, joined by nothing but this: controller, ZooKeeper and network in short.

cluster = Cluster(tmp_path, 3)
cluster.elect(1)               # LeaderAndIsr to all that are up
cluster.produce("a", "b")      # to whoever leads
cluster.fetch(2)               # one request of follower 2, and its answer
cluster.settle()               # until nobody has anything new to say
"""

import asyncio
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.list_offsets.v6.request import ListOffsetsRequest

from engine.broker.authorization import AuthHelper
from engine.broker.call import Call
from engine.broker.events import Ring
from engine.broker.fetch_sessions import NO_SESSION, FetchSessions
from engine.broker.handlers import fetch, offsets
from engine.broker.metadata import AliveBroker
from engine.broker.zookeeper.roles import change_roles
from engine.config import BrokerConfig, TopicConfig
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.replication.replica_manager import ReplicaManager
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.directory import LogDirectory
from engine.storage.records import Record
from engine.wire.errors import RequestHeader
from engine.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from engine.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

ORDERS = TopicPartition("orders", 0)
LAG_MS = 30_000  # replica.lag.time.max.ms


def batch(*values: str) -> bytes:
    made = [Record(at, 1_000, None, value.encode()) for at, value in enumerate(values)]
    return records.encode(made)


def checkpoint(replicas: ReplicaManager) -> None:
    asyncio.run(replicas.checkpoint(asyncio.to_thread))


def state(leader: int, epoch: int, isr: Any, replicas: Any, **more: Any) -> Any:
    given = {"controller_epoch": 1, "zk_version": epoch, "partition_index": 0} | more
    return LeaderAndIsrPartitionState(
        leader=leader, leader_epoch=epoch, isr=tuple(isr), replicas=tuple(replicas), **given
    )


def order(states: dict[TopicPartition, Any], **more: Any) -> LeaderAndIsrRequest:
    given = {"controller_id": 9, "controller_epoch": 1} | more
    return LeaderAndIsrRequest(
        topic_states=tuple(
            LeaderAndIsrTopicState(topic_name=partition.topic, partition_states=(each,))
            for partition, each in states.items()
        ),
        **given,
    )


def stop(partition: TopicPartition, epoch: int, *, delete: bool, **more: Any) -> StopReplicaRequest:
    given = {"controller_id": 9, "controller_epoch": 1} | more
    row = StopReplicaPartitionState(
        partition_index=partition.partition, leader_epoch=epoch, delete_partition=delete
    )
    topic = StopReplicaTopicState(topic_name=partition.topic, partition_states=(row,))
    return StopReplicaRequest(topic_states=(topic,), **given)


class Broker:
    """One broker: its replicas, and the handlers that serve the others."""

    authorizer = None  # nobody checks what clients may do

    def __init__(self, number: int, path: Path, cluster: "Cluster") -> None:
        self.id, self.path, self.cluster = number, path, cluster
        self.events: list[Event] = []
        self.start()

    def start(self) -> None:
        cluster = self.cluster
        given = {"broker.id": str(self.id), "zookeeper.connect": "-"} | cluster.settings
        self.config = BrokerConfig.parse(given)
        self.directory = LogDirectory(self.path, self.events.append)
        self.replicas = ReplicaManager(
            self.config, [self.directory], lambda: cluster.now, self.events.append
        )
        self.replicas.logs.load(lambda topic: cluster.topic)
        self.sessions = FetchSessions(10, Random(1))
        self.metadata: Any = cluster
        self.auth = AuthHelper(None, self.metadata, Ring(), self.now)
        self.up = True

    def kill(self) -> None:
        """No checkpoint, no farewell."""
        self.directory.abandon()
        self.up = False

    def serve(self, request: Any, version: int = 12) -> Any:
        """What this broker answers at once, as it would stand in the follower's memory."""
        call = Call(RequestHeader(0, version, 1, "test"), "127.0.0.1:1")
        if isinstance(request, ListOffsetsRequest):
            return _now(offsets.list_offsets(self.replicas, call, request))
        if not isinstance(request, FetchRequest):
            return _now(offsets.for_leader_epoch(self.replicas, call, request))
        try:
            session = self.sessions.begin(request, self.replicas, self.cluster.now)
        except ApiException as error:
            return fetch.FetchAnswer([], error.code, NO_SESSION)
        reading = fetch.Reading(self.replicas, self.metadata, self.auth, call, session, request)
        reading.read_due()
        response = reading.response()
        for topic in response.responses:
            for each in topic.partitions:
                each.records = bytes(getattr(each.records, "read", lambda: b"")())
        return response

    def now(self) -> int:
        return self.cluster.now

    @property
    def partition(self) -> Any:
        return self.replicas.partitions[ORDERS]

    @property
    def log(self) -> Any:
        return self.replicas.logs[ORDERS]

    @property
    def values(self) -> list[str]:
        return values(self.log)

    def has(self, *kinds: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.kind in kinds]


class Cluster:
    def __init__(
        self, path: Path, size: int, settings: dict[str, str] | None = None, **topic: Any
    ) -> None:
        self.now = 1_000_000
        self.settings = settings or {}
        self.topic = TopicConfig(**topic)
        self.racks: dict[int, str] = {}
        self.epoch = self.version = -1
        self.isr: tuple[int, ...] = tuple(range(1, size + 1))
        self.leader = -1
        self.all = {number: Broker(number, path / f"{number}", self) for number in self.isr}
        self.brokers = {
            each: AliveBroker(each, "h", 1, None) for each in self.isr
        }  # as Metadata has them

    def __getitem__(self, number: int) -> Broker:
        return self.all[number]

    def place(self, number: int, rack: str) -> None:
        self.brokers[number] = self.brokers[number]._replace(rack=rack)

    # -- the controller ------------------------------------------------------------------

    def elect(self, leader: int, *, isr: Any = None, to: Any = None) -> None:
        """Decide, write it down and tell those that are up, or only some of them."""
        self.isr = tuple(isr) if isr is not None else self.isr
        self.leader, self.epoch, self.version = leader, self.epoch + 1, self.version + 1
        for number in self.all if to is None else to:
            self.tell(number)

    def tell(self, number: int) -> None:
        broker = self.all[number]
        if broker.up:
            row = state(self.leader, self.epoch, self.isr, self.all, zk_version=self.version)
            change_roles(broker.replicas.apply, order({ORDERS: row}))

    def kill(self, number: int) -> None:
        self.all[number].kill()

    def start(self, number: int) -> None:
        self.all[number].start()
        self.tell(number)

    # -- clients -------------------------------------------------------------------------

    @property
    def lead(self) -> Broker:
        return self.all[self.leader]

    def produce(self, *batches: str, to: int | None = None, to_all: bool = True) -> int:
        """Each a batch of a record; returns the last offset."""
        broker = self.all[to or self.leader]
        return [
            broker.replicas.append(ORDERS, batch(value), to_all=to_all).last_offset
            for value in batches
        ][-1]

    # -- the network ---------------------------------------------------------------------

    def fetch(self, follower: int) -> bool:
        """One request and its answer, with each leader that it follows; False: nothing to ask."""
        broker, asked = self.all[follower], False
        for leader, fetcher in list(broker.replicas.fetchers.items()):
            request = fetcher.next(self.now)
            asked |= request is not None
            if request is None:
                continue
            if leader in self.all and self.all[leader].up:
                fetcher.answered(request, self.all[leader].serve(request), self.now)
            else:
                fetcher.failed(self.now)
        return asked

    def write(self) -> list[Any]:
        """ZooKeeper's compare-and-set, for every ISR that is proposed."""
        done = []
        for broker in self.all.values():
            for proposal in broker.replicas.proposals if broker.up else []:
                if proposal.version == self.version:
                    self.version, self.isr = self.version + 1, proposal.isr
                    broker.replicas.isr_answered(proposal, self.version)
                else:
                    broker.replicas.isr_answered(proposal, None)
                done.append(proposal)
            broker.replicas.proposals.clear()
        return done

    def settle(self) -> None:
        """Fetch and write until all have everything, and know how much of it is committed."""
        for _ in range(20):
            before = self._picture()
            for number, broker in self.all.items():
                if broker.up:
                    self.fetch(number)
            self.write()
            if before == self._picture():
                return
            self.now += 100
        raise AssertionError(f"they go on for ever: {self._picture()}")

    def _picture(self) -> Any:
        return self.isr, [
            (
                each.id,
                each.log.end_offset,
                list(each.log.epochs.entries),
                each.partition.high_watermark,
                [f.stage for g in each.replicas.fetchers.values() for f in g.following.values()],
                [f.end for f in each.partition.followers.values()],
            )
            for each in self.all.values()
            if each.up and ORDERS in each.replicas.partitions
        ]


def values(log: Any) -> list[str]:
    """The records of a log, one letter or word each."""
    data = b"".join(segment.path.read_bytes() for segment in log.segments)
    return [
        (record.value or b"").decode()
        for position, header in scan(data)
        for record in records.decode(data[position : position + header.size])
    ]


def code_of(step: Any, *args: Any, **more: Any) -> ErrorCode:
    """The error that a step ends with."""
    try:
        step(*args, **more)
    except ApiException as error:
        return error.code
    return ErrorCode.none


def row(topic: str, number: int, **more: Any) -> SimpleNamespace:
    """One topic with one partition, as an answer has it."""
    return SimpleNamespace(topic=topic, partitions=[SimpleNamespace(partition=number, **more)])


def _now(work: Any) -> Any:
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")
