"""Ports of this machine: finds a free one, and the process that occupies one.

Everything here listens on loopback. A port is taken if it cannot be bound as our servers bind it.
Only Linux says which process has it, in /proc, and only root sees the processes of others:

    /proc/net/tcp          0100007F:2384 ... 0A ... 48213     listens on 9092: socket 48213
    /proc/4711/fd/5     -> socket:[48213]                     process 4711 has that socket
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

HOST = "127.0.0.1"
LISTENS = "0A"  # TCP_LISTEN
PROC = Path("/proc")


def free_port() -> int:
    """A port that is free now; another program may still take it before our server binds it."""
    return free_ports(1)[0]


def free_ports(number: int) -> list[int]:
    """So many free ports, no two alike: of those that are drawn one by one, some might be."""
    with ExitStack() as probes:
        made = [probes.enter_context(socket.socket()) for _ in range(number)]
        for probe in made:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in made]


def bound(port: int = 0) -> socket.socket:
    """A socket that has a port as our servers bind it, and does not listen; OSError: it is taken.

    A port left behind by closed connections is free. Our servers can bind the port too.
    """
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
    except OSError:
        made.close()
        raise
    return made


def port_taken(port: int) -> bool:
    try:
        bound(port).close()
    except OSError:
        return True
    return False


def taken(port: int) -> str:
    """The error text for a port that is taken."""
    holder = next(_holders(port), "another program")
    return f"port {port} of {HOST} is taken by {holder}: choose another, or 0 for any"


def _holders(port: int) -> Iterator[str]:
    """Processes that listen there: `python (process 4711)`."""
    links = {f"socket:[{each}]" for each in _sockets(port)}
    for process in PROC.glob("[0-9]*") if links else ():
        try:
            if any(_target(each) in links for each in (process / "fd").iterdir()):
                yield f"{(process / 'comm').read_text().strip()} (process {process.name})"
        except OSError:
            continue  # another user's process, or it has ended meanwhile


def _target(link: Path) -> str:
    """Where a descriptor points to; empty if it was closed meanwhile."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _sockets(port: int) -> Iterator[str]:
    for table in (PROC / "net/tcp", PROC / "net/tcp6"):
        try:
            _, *lines = table.read_text().splitlines()
        except OSError:  # not on Linux
            continue
        for line in lines:
            _, local, _, state, *more = line.split()
            if state == LISTENS and int(local.rpartition(":")[2], 16) == port:
                yield more[5]
