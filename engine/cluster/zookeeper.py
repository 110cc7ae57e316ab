"""A real ZooKeeper server on this machine, from the jars that PySpark contains.

    DIR/zoo.cfg          its configuration, written at each start
    DIR/zookeeper.log    its output; a restart appends to it
    DIR/zookeeper.lock   held as long as the server or its parent lives
    DIR/version-2/       ZooKeeper's own transaction logs and snapshots
    DIR/myid             its number, if it is a member of an ensemble (ensemble.py)

After a restart on the same directory all znodes are back, except the ephemeral ones, which end with
their sessions. A `durable` server flushes each write to the disk before it answers, so its znodes
outlive the machine, too. Where the directory is temporary there is nothing to outlive, and a slow
disk would only end sessions: a flush can take seconds, and heartbeats wait behind it.

The JVM gets seven of PySpark's hundreds of jars. With all of them it would load log4j's core and
Jackson, which costs half as much time and memory again as the server itself; without the core,
log4j's interface writes to stderr.

Invariant: two servers never write to one directory (the lock), and the server that answers on the
port is ours (its answer to `conf` names our directory).
"""

import fcntl
import importlib.util
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from engine.cluster import java, resources
from engine.cluster.child import Child, ServerProcess
from engine.cluster.ports import HOST, free_port, port_taken, taken

ALONE = "org.apache.zookeeper.server.ZooKeeperServerMain"
MEMBER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JARS = (
    "zookeeper",
    "zookeeper-jute",  # its serialization
    "metrics-core",
    "snappy-java",  # named by the code that writes snapshots, though ours are not compressed
    "slf4j-api",  # the logging that ZooKeeper calls,
    "log4j-slf4j2-impl",  # which passes it to log4j,
    "log4j-api",  # which writes to stderr if there is no log4j-core
)
FLAGS = (
    "-Xmx64m",
    "-XX:+UseSerialGC",  # one small heap needs no collector threads
    "-XX:TieredStopAtLevel=1",  # compile quickly rather than well
    "-Xshare:auto",
    "-XX:-UsePerfData",  # leaves nothing in /tmp
    "-Dlog4j.provider=org.apache.logging.log4j.simple.internal.SimpleProvider",
    "-Dlog4j2.simplelogLevel=INFO",
    "-Dlog4j2.simplelogShowdatetime=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dzookeeper.preAllocSize=1024",  # KB; the usual 64 MB log file per start is for big servers
)
NOT_FORCED = "-Dzookeeper.forceSync=no"  # writes are not flushed before they are answered
CONFIG = """\
dataDir=./.
clientPort={port}
clientPortAddress=127.0.0.1
tickTime={tick}
minSessionTimeout={shortest}
maxSessionTimeout=3600000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,srvr,conf,cons,mntr,wchc,dump
autopurge.purgeInterval=1
"""
QUORUM = """\
initLimit=50
syncLimit=10
"""  # ticks: 10 s to read the leader's data; after 2 s without an answer another one is elected
NOT_SERVING = "not currently serving requests"  # the answer of a server without a quorum
START_TIMEOUT_S = 60.0  # a JVM starts slowly on a busy machine
LOCK_TIMEOUT_S = 5.0  # a server whose parent was killed is gone after a second or two


class StartError(OSError):
    """ZooKeeper did not start; the message has the reason, or the last lines of its log."""


class PortTaken(StartError):
    """Another program listens on the port."""


class QuorumMember(NamedTuple):
    """How one server of an ensemble reaches the others."""

    number: int  # its own
    ports: Mapping[int, tuple[int, int]]  # of each member: for the quorum, for elections
    proxy: int  # port of the SOCKS proxy by which it reaches the others (quorum_links.py)

    @property
    def config(self) -> str:
        lines = (
            f"server.{number}={HOST}:{quorum}:{election}\n"
            for number, (quorum, election) in self.ports.items()
        )
        return QUORUM + "".join(lines)

    @property
    def flags(self) -> list[str]:
        """Java connects through the proxy, on loopback too: no address is exempt."""
        proxy = f"-DsocksProxyHost={HOST}", f"-DsocksProxyPort={self.proxy}"
        return [*proxy, "-DsocksNonProxyHosts="]


class ZookeeperServer(ServerProcess):
    """One server; as a context manager, started and stopped by the with block."""

    def __init__(
        self,
        data_dir: Path,
        port: int = 0,
        tick_time: int = 200,
        keep: Sequence[int] = (),
        *,
        durable: bool = False,
    ) -> None:
        super().__init__(port)
        self.data_dir = data_dir.resolve()
        self.tick_time = tick_time  # ms; sessions last two ticks at least, and end on a tick
        self.member: QuorumMember | None = None  # None: it is alone
        self._any_port = port == 0
        self._keep = keep  # file descriptors that its process inherits
        self._flags = FLAGS if durable else (*FLAGS, NOT_FORCED)
        self._lock: int | None = None

    @property
    def end_reason(self) -> str:
        """Why it ended by itself; "" if it runs, or was not started."""
        if self._child is None or self._child.alive:
            return ""
        return f"ZooKeeper has ended{_end(self._child)}"

    def start(self) -> Self:
        """Returns once the server answers."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        while True:
            if self._any_port:
                self.port = free_port()
            elif port_taken(self.port):
                raise PortTaken(taken(self.port))
            try:
                self.launch()
                self.await_ready()
                self._any_port = False  # it keeps this one over a restart
                return
            except PortTaken:
                if not self._any_port:
                    raise
                # Another program took the port between our check and the server's bind.

    def command(self) -> list[str | Path]:
        """The command that starts it, to be run in its directory."""
        flags, main = (self.member.flags, MEMBER) if self.member else ([], ALONE)
        return [java.find(), *self._flags, *flags, "-cp", class_path(), main, "./zoo.cfg"]

    def launch(self) -> None:
        """Start the process, on `port`; it does not answer yet."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = _lock(self.data_dir / "zookeeper.lock")
        config = CONFIG.format(port=self.port, tick=self.tick_time, shortest=2 * self.tick_time)
        if self.member:
            (self.data_dir / "myid").write_text(f"{self.member.number}\n")
            config += self.member.config
        (self.data_dir / "zoo.cfg").write_text(config)
        self._child = Child(
            self.command(),
            self.data_dir / "zookeeper.log",
            cwd=self.data_dir,  # so that zoo.cfg needs no path: it can't hold every character
            env={"LC_ALL": "C.UTF-8"},
            keep=[self._lock, *self._keep],
        )

    def await_ready(self, *, quorum: bool = True) -> None:
        """Wait until it serves; without `quorum`, until it at least listens."""
        child, begun = self.child, time.monotonic()
        # It never answers who came while it began to listen. A busy one needs longer.
        while not self._answers(quorum, timeout_s=0.05 + (time.monotonic() - begun) / 10):
            if not child.alive:
                if "java.net.BindException" in child.output():
                    raise PortTaken(taken(self.port))
                raise StartError(f"ZooKeeper ended while starting{_end(child)}")
            if time.monotonic() > begun + START_TIMEOUT_S:
                raise StartError(f"ZooKeeper: no answer in {START_TIMEOUT_S:.0f} s{_end(child)}")
            time.sleep(0.01)

    def _answers(self, quorum: bool, timeout_s: float) -> bool:
        """Whether a server listens, is ours, and has loaded its data (`ruok` comes before)."""
        try:
            answer = ask(self.port, "conf", timeout_s=timeout_s)
        except OSError:
            return False
        if not quorum and NOT_SERVING in answer:
            return True
        config = dict(line.partition("=")[::2] for line in answer.splitlines())
        return Path(config.get("dataDir", "")).resolve() == self.data_dir / "version-2"


def ask(port: int, command: str, host: str = HOST, timeout_s: float = 1) -> str:
    """One of ZooKeeper's four-letter words: `ruok`, `srvr`, `conf`, `cons`, `wchc`, `dump`."""
    with socket.create_connection((host, port), timeout_s) as connection:
        connection.sendall(command.encode())
        with connection.makefile(encoding="utf-8") as answer:
            return answer.read()


def class_path() -> str:
    """The few jars that a server needs, out of PySpark's."""
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        raise StartError("the ZooKeeper server comes with PySpark: pip install pyspark")
    jars = Path(package.origin).parent / "jars"
    found = {name: next(jars.glob(f"{name}-[0-9]*.jar"), None) for name in JARS}
    if missing := [name for name, jar in found.items() if jar is None]:
        raise StartError(f"no {', '.join(missing)} in {jars}: is PySpark 4 installed?")
    return ":".join(map(str, found.values()))


def _lock(path: Path) -> int:
    """Lock a file by a descriptor that the server inherits: locked while either process lives."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                raise StartError(f"another ZooKeeper runs in {path.parent}") from None
            time.sleep(0.05)


def _end(child: Child) -> str:
    """How it ended: the last lines of the log, without the frames of Java's stack traces."""
    code, output = child.exit_code, child.output()
    hint = resources.hint(code, output)
    if hint and code is not None and code < 0:
        return hint  # a process that is killed writes nothing about it
    lines = [line for line in output.splitlines() if not line.startswith("\tat ")]
    return "\n".join([f"{hint} The log ends:" if hint else ":", *lines[-8:]])
