"""What a cluster's ZooKeeper has of topics and brokers, as an administrator reads it with kazoo.

    view.znode("/controller")        the data and the stat of a znode
    view.leadership(partition)       /brokers/topics/T/partitions/P/state

A session that has ended is replaced by a new one.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import ZnodeStat

from engine.cluster.metadata_servers import PartitionLeadership
from engine.cluster.state import BrokerState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.zookeeper import znodes

ZOOKEEPER_WAIT_S = 15.0  # for an answer; without a limit kazoo waits until there is a server

QUIET = logging.getLogger(
    "engine.cluster.zookeepers.zookeeper_view"
)  # kazoo logs each connection that ends
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class ZookeeperView:
    def __init__(self, hosts: Callable[[], str]) -> None:
        """`hosts` is the address of ZooKeeper."""
        self._hosts = hosts
        self._kazoo: KazooClient | None = None
        self._open = ExitStack()

    # -- topics and brokers ------------------------------------------------------------------

    def topics(self) -> list[str]:
        return self.children(znodes.TOPICS)

    def brokers(self) -> set[int]:
        return set(map(int, self.children(znodes.BROKER_IDS)))

    def partitions(self, topic: str) -> list[int]:
        found = self.znode(znodes.topic_path(topic))
        return list(znodes.Topic.decode(found[0]).partitions) if found else []

    def leadership(self, partition: TopicPartition) -> PartitionLeadership | None:
        found = self.znode(znodes.state_path(partition))
        if found is None:
            return None
        state = znodes.LeaderAndIsr.decode(found[0])
        return PartitionLeadership(state.leader, tuple(state.isr))

    def has_session(self, number: int, broker: BrokerState) -> bool:
        """Not so while ZooKeeper still has a session of a broker that was paused for too long."""
        found = self.znode(znodes.broker_path(number))
        return broker.session == (found and int(found[1].ephemeralOwner))

    # -- znodes ------------------------------------------------------------------------------

    def ask(self, read: Callable[[KazooClient], IAsyncResult]) -> Any:
        """Read from ZooKeeper. If our session has ended, read again in a new one."""
        try:
            try:
                return read(self._session()).get(timeout=ZOOKEEPER_WAIT_S)
            except (SessionExpiredError, ConnectionLoss, ConnectionClosedError):
                self._kazoo = None
                return read(self._session()).get(timeout=ZOOKEEPER_WAIT_S)
        except (ConnectionLoss, KazooTimeoutError):
            raise ApiException(
                ErrorCode.broker_not_available,
                f"no answer from ZooKeeper at {self._hosts()} in {ZOOKEEPER_WAIT_S:g} s: is it "
                "running, with more than half of its servers?",
            ) from None

    def znode(self, path: str) -> tuple[bytes, ZnodeStat] | None:
        """The data and the stat of a znode; None: there is no such znode."""
        try:
            found: tuple[bytes, ZnodeStat] = self.ask(lambda kazoo: kazoo.get_async(path))
        except NoNodeError:
            return None
        return found

    def children(self, path: str) -> list[str]:
        try:
            return sorted(self.ask(lambda kazoo: kazoo.get_children_async(path)))
        except NoNodeError:
            return []

    def _session(self) -> KazooClient:
        if self._kazoo is None:
            made = KazooClient(self._hosts(), logger=QUIET)
            self._open.callback(made.close)
            self._open.callback(made.stop)
            made.start(ZOOKEEPER_WAIT_S)
            self._kazoo = made
        return self._kazoo

    def close(self) -> None:
        self._kazoo = None
        self._open.close()
