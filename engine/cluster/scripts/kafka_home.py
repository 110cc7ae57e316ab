"""A directory like that of an unpacked Kafka, so that a command from a book works in it unchanged.

    DIR/bin/kafka-topics.sh ...              two lines each: they call python -m engine topics ...
    DIR/bin/kafka-server-start.sh ...
    DIR/config/server.properties             for one more broker, with the number 0
    DIR/config/zookeeper.properties          in a cluster with ZooKeeper
    DIR/logs/kafkaServer.out ...             what servers print that were started with -daemon
    DIR/run/owner.lock                       held by the process that made the directory
    DIR/run/server-4711.pid                  held by each server that was started by a script

A cluster makes these in its own directory. `KafkaHome()` makes a directory without a cluster: there
the reader starts ZooKeeper and a broker, as an article says.

    with KafkaHome() as home:
        !cd {home.path} && bin/zookeeper-server-start.sh -daemon config/zookeeper.properties

Invariant: a server that was started by a script ends with the process that made the directory, in
whatever way that ends: the system releases its lock. Where nobody holds the lock, the server runs
until it is stopped, as Kafka's would.
Invariant: a stop script ends no process but those that were started from its own directory. A lock
on the file with the process id shows that the process is still the one that has written it.
Invariant: no other program gets a port of config/ before the server is started: it is bound, and
nobody listens.
"""

import fcntl
import os
import shlex
import shutil
import signal
import socket
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from engine.cluster import defaults
from engine.cluster.ports import HOST, bound, free_ports, port_taken
from engine.cluster.scratch import Scratch
from engine.config.properties import properties_text
from engine.errors import invalid_request

COMMANDS = {  # by the name of the script
    "kafka-acls": "acls",
    "kafka-configs": "configs",
    "kafka-console-consumer": "console-consumer",
    "kafka-console-producer": "console-producer",
    "kafka-consumer-groups": "consumer-groups",
    "kafka-consumer-perf-test": "perf consumer",
    "kafka-dump-log": "dump-log",
    "kafka-leader-election": "leader-election",
    "kafka-producer-perf-test": "perf producer",
    "kafka-reassign-partitions": "reassign-partitions",
    "kafka-run-class": "run-class --home {home}",
    "kafka-server-start": "server-start --home {home}",
    "kafka-server-stop": "server-stop --home {home}",
    "kafka-topics": "topics",
}
OF_ZOOKEEPER = {
    "zookeeper-server-start": "zookeeper-server-start --home {home}",
    "zookeeper-server-stop": "zookeeper-server-stop --home {home}",
}
OF_KRAFT = {
    "kafka-cluster": "cluster-tool",
    "kafka-features": "features",
    "kafka-metadata-quorum": "metadata-quorum",
    "kafka-metadata-shell": "metadata-shell",
    "kafka-storage": "storage",
}
SERVER, ZOOKEEPER = "server", "zookeeper"  # what a script starts
STOP_WAIT_S = 30.0  # for a server to end
CHECK_S = 0.02  # between two looks whether it has ended


class KafkaHome:
    def __init__(
        self, path: Path | str | None = None, *, zookeeper_port: int = 0, port: int = 0
    ) -> None:
        """Without a path: a temporary directory. Ports are for config/; 0 takes free ones."""
        self._scratch = Scratch() if path is None else None
        self.path = self._scratch.path if self._scratch else Path(path or "").resolve()
        free, other = free_ports(2)
        self.port, self.zookeeper_port = port or free, zookeeper_port or other
        self._owner: int | None = None  # the descriptor of the lock
        self._reserved: list[socket.socket] = []

    @property
    def bootstrap(self) -> str:
        """The address of a broker that is started with config/server.properties."""
        return f"{HOST}:{self.port}"

    @property
    def zookeeper(self) -> str:
        """The address of a ZooKeeper that is started with config/zookeeper.properties."""
        return f"{HOST}:{self.zookeeper_port}"

    def start(self) -> Self:
        """Make the directory. No server is started."""
        found = {"broker.id": "0", "zookeeper.connect": self.zookeeper}
        self.write(found, self.path / "zookeeper")
        return self

    def write(self, source: Mapping[str, str], data: Path | None = None) -> None:
        """Write bin/ and config/, and own what is started from now on.

        `source`: settings of a broker, its number and where its metadata comes from. `data`: the
        directory of a ZooKeeper that config/zookeeper.properties is for.
        """
        self._own()
        has_zookeeper = "zookeeper.connect" in source
        self._write_scripts(COMMANDS | (OF_ZOOKEEPER if has_zookeeper else OF_KRAFT))
        server = {
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": self.path / "kafka-logs",
            **source,
            **defaults.small(brokers=1),
        }
        self._write_config("server.properties", server)
        if data is not None:
            port = source["zookeeper.connect"].rpartition(":")[2]
            self._write_config("zookeeper.properties", {"dataDir": data, "clientPort": port})

    def _write_scripts(self, commands: Mapping[str, str]) -> None:
        folder, home = self.path / "bin", shlex.quote(str(self.path))
        folder.mkdir(parents=True, exist_ok=True)
        for name, command in commands.items():
            words = f"{shlex.quote(sys.executable)} -m engine {command.format(home=home)}"
            script = folder / f"{name}.sh"
            script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            script.chmod(0o755)

    def _write_config(self, name: str, values: Mapping[str, object]) -> None:
        folder = self.path / "config"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(properties_text(values, escapes=True))

    def _own(self) -> None:
        if self._owner is not None:
            return
        path = _owner_lock(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        owner = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not locked(owner):
            os.close(owner)
            raise invalid_request(f"another process has made {self.path}, and still runs")
        self._owner = owner
        ports = self.port, self.zookeeper_port  # of one that is taken, a script tells
        self._reserved = [bound(port) for port in ports if not port_taken(port)]
        _open.add(self)

    def stop(self) -> None:
        """End what was started by scripts, then give the directory up."""
        if self._owner is not None:
            for kind in (SERVER, ZOOKEEPER):  # brokers first: they close their sessions
                stop(self.path, kind)
            self._give_up()
        if self._scratch is not None:
            self._scratch.remove()

    def _give_up(self) -> None:
        _open.discard(self)
        while self._reserved:
            self._reserved.pop().close()
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


# -- a server that a script has started ------------------------------------------------------


class Registered:
    """The file with the process id of this process, locked for as long as it runs."""

    def __init__(self, home: Path, kind: str) -> None:
        self._path = home / "run" / f"{kind}-{os.getpid()}.pid"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        held = locked(self._lock)
        assert held, "the name has our own process id"
        os.write(self._lock, b"%d\n" % os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._lock)


def stop(home: Path, kind: str) -> int:
    """End the servers of this kind, SIGTERM first. Returns how many there were."""
    running = list(_running(home, kind))
    try:
        for pid, _ in running:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_WAIT_S
        for pid, lock in running:
            while not locked(lock):
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(CHECK_S)
    finally:
        for _, lock in running:
            os.close(lock)
    return len(running)


def _running(home: Path, kind: str) -> Iterator[tuple[int, int]]:
    """The process id of each server that runs, and its file, open."""
    for path in sorted((home / "run").glob(f"{kind}-*.pid")):
        lock = os.open(path, os.O_RDWR)
        if locked(lock):  # it was killed
            path.unlink(missing_ok=True)
            os.close(lock)
        else:
            yield int(path.stem.rpartition("-")[2]), lock


def locked(descriptor: int) -> bool:
    """Lock a file, if nobody else has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_owned(home: Path) -> bool:
    """Whether the process still runs that made this directory, and ends what is started here."""
    try:
        with _owner_lock(home).open("rb+") as owner:
            return not locked(owner.fileno())
    except FileNotFoundError:
        return False


def await_orphan(home: Path) -> None:
    """Wait until that process has ended."""
    # No such file: it was a temporary directory, and is removed already.
    with suppress(FileNotFoundError), _owner_lock(home).open("rb+") as owner:
        fcntl.flock(owner, fcntl.LOCK_SH)


def _owner_lock(home: Path) -> Path:
    return home / "run" / "owner.lock"


def remove_rest(home: Path) -> None:
    """If the directory was a temporary one and is removed already, remove what we wrote since."""
    if not (home / "bin").exists():
        shutil.rmtree(home, ignore_errors=True)


_open: weakref.WeakSet[KafkaHome] = weakref.WeakSet()


def _give_all_up() -> None:
    """In a forked copy of the owner: it may run for long, and the directory is not its own."""
    for home in list(_open):
        home._give_up()


os.register_at_fork(after_in_child=_give_all_up)
