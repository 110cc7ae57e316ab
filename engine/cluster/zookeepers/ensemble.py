"""The ZooKeeper of a cluster: one server, an ensemble of several, or one that runs elsewhere.

    zookeepers=1    DIR/zookeeper/                               a server that is alone
    zookeepers=3    DIR/zookeeper-1/  zookeeper-2/  zookeeper-3/     members of an ensemble

The members elect a leader. It numbers each write and proposes it to all; the write is done when it
is in the logs of more than half. So of three servers one may die, of five two. With two, none may:
more than half of two is both. A read is answered by the server that is asked, which may be behind
the leader.

The ports are chosen anew at each start, and the configuration is written then; the members are
known by their numbers (myid), and the znodes are in their directories.

    kill, pause, resume, restart    a server by its name, or all: "zookeeper"
    links                           quorum_links.py
    what each of them is            ensemble_monitor.py

Invariant: a port of the ensemble stays its own while a server is down. On Linux we bind it, without
listening: Java's server binds it too (both set SO_REUSEADDR), and no program is given it by chance.
"""

import re
import shlex
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.cluster.child import Child
from engine.cluster.link_faults import End, is_zookeeper
from engine.cluster.metadata_servers import MetadataAddress
from engine.cluster.ports import bound
from engine.cluster.state import ClusterState, Status, ZookeeperState, now
from engine.cluster.zookeeper import PortTaken, QuorumMember, ZookeeperServer
from engine.cluster.zookeepers.ensemble_monitor import EnsembleMonitor, ServerReport
from engine.cluster.zookeepers.quorum_links import LoopThread, QuorumLinks
from engine.errors import invalid_config, invalid_request
from engine.links import ZOOKEEPER

ATTEMPTS = 5  # to find ports that nobody takes before our servers have them
PORTS = 3  # of a member: for clients, for the quorum, for elections
OWN = re.compile(rf"{ZOOKEEPER}(-[1-9]\d*)?")  # the directories of servers
SILENT = ServerReport("silent")

MakeServer = Callable[[Path], ZookeeperServer]  # in a directory
Note = Callable[[str, int, dict[str, Any]], None]  # adds an event: its kind, time and facts


class ZookeeperEnsemble:
    """ZooKeeper servers: several, one, or none; then `address` is that of a foreign ZooKeeper."""

    def __init__(
        self, data: Path, count: int, address: str | None, make: MakeServer, note: Note
    ) -> None:
        names = {1: ZOOKEEPER} if count == 1 else {n: member(n) for n in range(1, count + 1)}
        self._foreign = address or ""
        self.servers = {} if address else {
            number: make(data / name) for number, name in names.items()
        }  # fmt: skip
        self._names = {names[number]: number for number in self.servers}
        self._data = data
        self._note = note
        self._expected: set[int] = set()  # those that should run
        self._reserved: list[socket.socket] = []
        self._thread: LoopThread | None = None
        self._links: QuorumLinks | None = None
        self._monitor = EnsembleMonitor()

    @property
    def address(self) -> str:
        """host:port of every server, as Kafka's zookeeper.connect has them."""
        return self._foreign or ",".join(each.address for each in self.servers.values())

    @property
    def directory(self) -> Path | None:
        """Of a server that is alone; None: there are several, or it is foreign."""
        alone = len(self.servers) == 1
        return next(iter(self.servers.values())).data_dir if alone else None

    @property
    def all_name(self) -> str | None:
        return ZOOKEEPER

    @property
    def names(self) -> list[str]:
        """Of the servers that this cluster has started."""
        return [*self._names]

    @property
    def link_names(self) -> list[str]:
        """The ends of links that ZooKeeper has: all servers together, and each of several."""
        return [ZOOKEEPER, *(self._names if self.several else [])]

    def ends(self, end: End) -> list[End]:
        """A link to all servers is one of its own."""
        return [end]

    def within(self, one: End, other: End) -> bool:
        """Whether the two are a server and all servers, which have no link."""
        return ZOOKEEPER in (one, other) and is_zookeeper(one) and is_zookeeper(other)

    @property
    def several(self) -> bool:
        return len(self.servers) > 1

    @property
    def end_reason(self) -> str:
        """Why a server has ended by itself; "" if they run, or were not started."""
        return next((words for each in self.servers.values() if (words := each.end_reason)), "")

    # -- for brokers ---------------------------------------------------------------------

    def of_broker(self, number: int) -> MetadataAddress:
        return MetadataAddress(self.address)

    def server_settings(self) -> Mapping[str, str]:
        return {"broker.id": "0", "zookeeper.connect": self.address}

    def prepare(self, number: int, directories: list[Path]) -> None:
        """A broker formats its directories itself."""

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> None:
        """Returns once every server serves."""
        self._check_directories()
        if not self.several:
            for number, server in self.servers.items():
                server.start()
                self._expected.add(number)
            return
        for attempt in range(ATTEMPTS):
            try:
                self._start()
                break
            except PortTaken:
                self.stop()
                if attempt == ATTEMPTS - 1:
                    raise
        self._expected = {*self.servers}

    def await_ready(self) -> None:
        """Nothing to wait for: `start` returns when the servers serve."""

    def _start(self) -> None:
        """All JVMs start at the same time."""
        self._reserved = [bound() for _ in range(PORTS * len(self.servers))]
        ports = [each.getsockname()[1] for each in self._reserved]
        if sys.platform != "linux":
            self._release_ports()
        self._thread = LoopThread("links of the ensemble")
        self._links = QuorumLinks(self._thread, self.servers)
        members = {}
        for number, server in self.servers.items():
            server.port, *others = (ports.pop() for _ in range(PORTS))
            members[number] = (others[0], others[1])
        proxies = self._links.start(members)
        for number, server in self.servers.items():
            server.member = QuorumMember(number, members, proxies[number])
            server.launch()
        for server in self.servers.values():
            server.await_ready()
        for number, server in self.servers.items():
            self._thread.call(self._thread.spawn, self._monitor.follow(number, server.port))

    def _release_ports(self) -> None:
        while self._reserved:
            self._reserved.pop().close()

    def stop(self) -> None:
        self._expected.clear()
        for server in self.servers.values():
            if server.launched:
                server.child.ask_to_end()  # all at once; the next loop waits for each
        for server in self.servers.values():
            server.stop()
        if self._thread is not None and self._links is not None:
            self._links.close()
            self._thread.close()
            self._thread = self._links = None
        self._release_ports()

    def _check_directories(self) -> None:
        """The znodes of a cluster are in the directories of its servers, and of no others."""
        found = {each.name for each in self._data.glob("*") if OWN.fullmatch(each.name)}
        if self.servers and found and found != {*self._names}:
            held = ", ".join(sorted(found))
            raise invalid_config(
                f"{self._data} has the directories of another ensemble ({held}): start the cluster "
                f"with as many ZooKeeper servers as before, not {len(self.servers)}"
            )

    # -- faults --------------------------------------------------------------------------

    def pause(self, name: str) -> None:
        """SIGSTOP, as for a broker; the others elect another leader if this one led."""
        for number, server in self._named(name):
            self._report("paused", number)
            server.child.pause()

    def resume(self, name: str) -> None:
        for number, server in self._named(name):
            server.child.resume()
            self._report("resumed", number)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        for number, server in self._named(name):
            self._expected.discard(number)
            self._report("killed", number)  # first: the monitor tells what follows from it
            server.child.kill()

    def restart(self, name: str, *, wait: bool = True) -> None:
        """On the same ports and directories; those that run are stopped first.

        Returns once they listen; and serve, if there are enough for a quorum.
        """
        named = self._named(name)
        for number, server in named:
            self._expected.discard(number)
            if server.child.alive:
                server.child.terminate()
                self._report("stopped", number)
        for number, server in named:
            server.launch()
            self._expected.add(number)
            self._report("started", number, pid=server.child.pid)
        running = sum(each.child.alive and not each.child.paused for each in self.servers.values())
        for _, server in named if wait else ():
            server.await_ready(quorum=running > len(self.servers) / 2)

    def change_links(
        self, name: str, faults: Mapping[str, Mapping[str, Any]], *, heal: bool = False
    ) -> None:
        """What this server sends to others is now held back so."""
        if self._links is not None:
            self._links.change(self._names[name], faults)

    def mend(self) -> None:
        """Resume and restart all servers."""
        for name, number in self._names.items():
            child = self.servers[number].child
            if not child.alive:
                self.restart(name, wait=False)
            elif child.paused:
                self.resume(name)
        for server in self.servers.values():
            server.await_ready()

    def child(self, name: str) -> Child:
        """The process of one server."""
        ((_, server),) = self._named(name)
        return server.child

    def _named(self, name: str) -> list[tuple[int, ZookeeperServer]]:
        """One server by its name; all of them by "zookeeper"."""
        if not self.servers:
            raise invalid_request(f"{self.address} was not started by this cluster")
        if name != ZOOKEEPER and name not in self._names:
            known = [*self._names, ZOOKEEPER] if self.several else [ZOOKEEPER]
            raise invalid_request(
                f"there is no {name!r} in this cluster, only brokers (numbers) and "
                f"{', '.join(known)}"
            )
        return [
            (number, self.servers[number])
            for each, number in self._names.items()
            if name in (ZOOKEEPER, each)
        ]

    # -- state and events ----------------------------------------------------------------

    def deaths(self) -> list[tuple[str, str]]:
        """Servers that have ended by themselves since the last call, and why."""
        found = []
        for name, number in self._names.items():
            if number in self._expected and (why := self.servers[number].end_reason):
                self._expected.discard(number)
                found.append((name, why))
                self._report("died", number, reason=why.splitlines()[0])
        return found

    def report_events(self) -> None:
        """Pass on the events that the monitor has seen."""
        while self._monitor.news:
            self._note(*self._monitor.news.pop(0))

    def added(self, state: ClusterState) -> ClusterState:
        """A state, and in it the servers of an ensemble."""
        if not self.several:
            return state
        brokers = {it.session: number for number, it in state.brokers.items() if it.session}
        return replace(
            state, zookeepers={number: self._state(number, brokers) for number in self.servers}
        )

    def _state(self, number: int, brokers: Mapping[int, int]) -> ZookeeperState:
        server, report = self.servers[number], self._monitor.reports.get(number, SILENT)
        if server.status is not Status.UP:
            report = ServerReport("paused" if server.status is Status.PAUSED else "dead")
        here = tuple(sorted(brokers[each] for each in report.sessions if each in brokers))
        sessions = len(report.sessions)
        return ZookeeperState(report.role, report.zxid, here, sessions, server.pid, server.port)

    def command(self, name: str) -> str:
        """The command that starts a server again by hand."""
        ((_, server),) = self._named(name)
        words = shlex.join(str(word) for word in server.command())
        return f"cd {shlex.quote(str(server.data_dir))} && {words}"

    def _report(self, what: str, number: int, **facts: Any) -> None:
        if self.several:  # a server that is alone reports no events
            self._note(f"{ZOOKEEPER}.{what}", now(), {"server": number, **facts})


def check(count: int, address: str | None) -> None:
    """Refuse a number of servers, or an address, that a cluster can't have."""
    if count < 1:
        raise invalid_config(f"a cluster has one ZooKeeper server or more, not {count}")
    if address and count > 1:
        raise invalid_config(
            f'either zookeepers={count} starts servers, or zookeeper="{address}" names one '
            "that runs: choose one of the two"
        )


def member(number: int) -> str:
    """The name of a server of an ensemble, and of its directory."""
    return f"{ZOOKEEPER}-{number}"
