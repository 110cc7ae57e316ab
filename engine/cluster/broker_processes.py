"""The brokers of a cluster, by number: each is a process that is launched, awaited and ended.

    add ──> launch ──> await_ready ──> ended("killed") ──> launch ──> ...

A broker that is launched gets what is set for the cluster: the faults of its links in its
environment, and what it reports (traces, counts of requests) as soon as it serves.
"""

from collections.abc import Iterator
from threading import Lock
from typing import Any

from engine.cluster.broker_process import BrokerProcess
from engine.cluster.link_faults import End, LinkFaults
from engine.cluster.metadata_servers import MetadataServers
from engine.cluster.node_launcher import NodeLauncher
from engine.cluster.observer import Observer
from engine.cluster.scratch import Scratch
from engine.cluster.state import Status
from engine.errors import ApiException, ErrorCode


class BrokerProcesses:
    def __init__(
        self,
        servers: MetadataServers,
        observer: Observer,
        links: LinkFaults,
        scratch: Scratch | None,
        launcher: NodeLauncher,
    ) -> None:
        self._servers = servers
        self._observer = observer
        self._links = links
        self._scratch = scratch
        self._launcher = launcher
        self._nodes: dict[int, BrokerProcess] = {}
        self._finding = Lock()
        self._reports: dict[str, dict[str, bool]] = {}  # what the brokers were asked to report

    def __iter__(self) -> Iterator[BrokerProcess]:
        return iter([*self._nodes.values()])

    def __getitem__(self, broker: End) -> BrokerProcess:
        node = self._nodes.get(broker) if isinstance(broker, int) else None
        if node is None:
            raise ApiException(
                ErrorCode.broker_not_available,
                f"there is no broker {broker} in this cluster, only {self.numbers}",
            )
        return node

    @property
    def numbers(self) -> list[int]:
        return list(self._nodes)

    def add(self, node: BrokerProcess) -> BrokerProcess:
        self._nodes[node.number] = node
        return node

    def launch(self, node: BrokerProcess) -> None:
        if self._scratch and not self._scratch.path.exists():
            raise ApiException(
                ErrorCode.broker_not_available,
                "this cluster has ended, and its files were removed: make a new one",
            )
        environment = self._links.environment(node.number)
        self._servers.prepare(node.number, node.log_directories)
        node.launch(self._servers.of_broker(node.number), environment, self._launcher)
        self._observer.note("broker.started", broker=node.number, pid=node.child.pid)

    def await_ready(self, node: BrokerProcess) -> None:
        node.await_ready()
        node.await_cluster({node.number})
        for ask, settings in self._reports.items():
            self._observer.request_running(node, {"ask": ask, **settings})

    def report(self, ask: str, **settings: bool) -> None:
        """From now on every broker reports this, or no longer; also those that start later."""
        self._reports[ask] = settings
        for node in self:
            self._observer.request_running(node, {"ask": ask, **settings})

    def ended(self, node: BrokerProcess, how: str, **data: Any) -> None:
        """A broker is down: keep its port for its next start."""
        node.reserve_port()
        self._observer.note(f"broker.{how}", broker=node.number, **data)

    def deaths(self) -> list[tuple[End, str]]:
        """The brokers that have ended by themselves since the last call, and why."""
        with self._finding:  # a recorder looks in a thread of its own
            found = [it for it in self if it.expected and it.launched and it.status is Status.DOWN]
            for node in found:
                node.expected = False
        deaths: list[tuple[End, str]] = [(node.number, node.end_reason()) for node in found]
        for node, (_, reason) in zip(found, deaths, strict=True):
            self.ended(node, "died", reason=reason)
        return deaths
