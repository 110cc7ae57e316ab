"""The state of a broker of Apache Kafka, in the form of a debug server's response to `state`.

    Metadata           brokers, controller; leader, epoch, ISR and replicas of each partition
    DescribeLogDirs    the replicas that it has, and their sizes
    ListOffsets        the end of each log, by the replica id of Kafka's own tools for debugging,
                       which any replica answers
    Fetch at the end   the high watermark, the last stable offset and the start of each log
    ZooKeeper          its epoch and session, the controller's epoch

Missing: groups and transactions, what a leader knows of its followers, and connections.

A broker that does not answer must not delay the others, so it is asked in a thread. A late response
is used when it arrives, as that of a debug server.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import SimpleNamespace as Body
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.interfaces import IAsyncResult

from engine.client.address import Address
from engine.client.consuming.fetcher import fetch_request
from engine.client.consuming.offset_lookup import LATEST, list_offsets_request
from engine.client.metadata import metadata_request
from engine.client.raw_connection import RawConnection
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.ports import HOST
from engine.cluster.state import now
from engine.errors import ApiException
from engine.model import NO_BROKER, NO_EPOCH, TopicPartition
from engine.wire.apis import Api
from engine.wire.by_topic import by_partition
from engine.zookeeper import znodes

DEBUGGING_REPLICA = -2
Zookeeper = Callable[[Callable[[KazooClient], IAsyncResult]], Any]  # asks, and waits for the answer
Row = list[Any]


class KafkaReporter:
    def __init__(self, node: BrokerProcess, zookeeper: Zookeeper) -> None:
        self._node = node
        self._number = node.number
        self._zookeeper = zookeeper
        self._pool = ThreadPoolExecutor(1, f"reporter of broker {node.number}")
        self._pending: Future[dict[str, Any]] | None = None
        self._connection: RawConnection | None = None
        self._session: dict[str, Any] = {}
        self._rows: dict[TopicPartition, Row] = {}  # those that were reported

    def ask(self) -> None:
        """Begin to ask, unless the last response is still to come."""
        if self._pending is None:
            self._pending = self._pool.submit(self._state)

    def take(self, timeout: float) -> dict[str, Any] | None:
        """The response, if it comes in time; with the rows that have changed, as a debug server."""
        if self._pending is None or self._pending not in wait([self._pending], timeout).done:
            return None
        pending, self._pending = self._pending, None
        try:
            answer = pending.result()
        except (OSError, ApiException, KazooException):
            return None
        known, now = self._rows, answer["rows"]
        self._rows = now
        changed = [[*each, *row] for each, row in now.items() if known.get(each) != row]
        gone = [each for each in known if each not in now]
        return {**answer, "rows": changed, "gone": gone}

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._hang_up()

    # -- in the thread -------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        if self._connection is not None:
            try:
                return self._read()
            except (OSError, ApiException):
                self._hang_up()  # it was to a process that has ended
        try:
            return self._read()
        except BaseException:
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.__exit__()
            self._connection = None

    def _read(self) -> dict[str, Any]:
        if self._connection is None:
            address, security = Address(HOST, self._node.port), self._node.security_settings
            self._connection = RawConnection(address, "brokerlab-reporter", security)
            path = znodes.broker_path(self._number)
            _, stat = self._zookeeper(lambda kazoo: kazoo.get_async(path))
            self._session = {"epoch": stat.czxid, "session": stat.ephemeralOwner}
        metadata = self._connection.ask(Api.METADATA, metadata_request(None))
        partitions = dict(by_partition(metadata.topics))
        epoch, _ = self._zookeeper(lambda kazoo: kazoo.get_async(znodes.CONTROLLER_EPOCH))
        return {
            "at": now(),
            **self._session,
            "controller": metadata.controller_id,
            "controller_epoch": int(epoch),
            "active": metadata.controller_id == self._number,
            "brokers": sorted(each.node_id for each in metadata.brokers),
            "groups": None,
            "transactions": None,
            "leaderless": [
                (*name, each.leader_epoch, each.replica_nodes, each.isr_nodes)
                for name, each in partitions.items()
                if each.leader_id == NO_BROKER
            ],
            "rows": dict(self._replicas(partitions)),
        }

    def _replicas(self, partitions: dict[TopicPartition, Any]) -> Iterator[tuple[Any, Row]]:
        """In the order of ReplicaRow; see state.py."""
        assert self._connection is not None
        dirs = self._connection.ask(Api.DESCRIBE_LOG_DIRS, Body(topics=None))
        sizes = {
            each: row.partition_size
            for directory in dirs.results
            for each, row in by_partition(directory.topics)
        }
        here = [each for each in sizes if each in partitions]
        latest = list_offsets_request(dict.fromkeys(here, LATEST), isolation=0)
        asked = replace(latest, replica_id=DEBUGGING_REPLICA)
        found = by_partition(self._connection.ask(Api.LIST_OFFSETS, asked).topics)
        wanted = {each: row.offset for each, row in found if not row.error_code}
        reads = self._read_at(wanted) if wanted else {}
        for name in here:
            each, read = partitions[name], reads.get(name)
            role = "leader" if each.leader_id == self._number else "follower"
            start = committed = stable = 0
            if read is None or read.error_code:
                role = "none"  # it does not know its role yet
            else:
                start, committed = read.log_start_offset, read.high_watermark
                stable = read.last_stable_offset
            head = [role, each.leader_id, each.leader_epoch]
            brokers = [each.isr_nodes, each.replica_nodes]
            segments = len(list((self._node.directory / str(name)).glob("*.log")))
            end = max(wanted.get(name, 0), committed)
            offsets = [start, committed, stable, end]
            yield name, [*head, *brokers, *offsets, sizes[name], segments, []]

    def _read_at(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        """Fetch at the end of each log: no records, unless some have just been added."""
        assert self._connection is not None
        places = {each: (end, NO_EPOCH) for each, end in ends.items()}
        request = fetch_request(places, 0, partition_bytes=1, max_bytes=1, min_bytes=0, wait_ms=0)
        return {
            TopicPartition(topic.topic, each.partition_index): each
            for topic in self._connection.ask(Api.FETCH, request).responses
            for each in topic.partitions
        }
